//! `lint`: checks Stages and tasks in files before anything runs.
//!
//! | file | what it does |
//! | --- | --- |
//! | [`codes`] | the table of what can be found |
//! | `files`, `source` | what is read, and where every character of it stands |
//! | `course` | the steps of a Stage in order, tasks in their places |
//! | `whole`, `config` | objects, steps and configurations as they are written |
//! | `texts` | goes through everything that may hold expressions, and asks the next three |
//! | `names`, `order`, `values` | what expressions name; what runs after what; what becomes of values |
//!
//! All of it is pure but `files`: from texts to findings.

use std::collections::BTreeSet;

use serde_json::{Value, json};

pub mod codes;
mod config;
mod course;
mod files;
mod finding;
mod kinds;
mod names;
mod order;
mod source;
mod texts;
mod values;
mod whole;

use self::{
    codes::{Code, Severity},
    course::{Kind, Object},
    files::File,
    finding::{Finding, Report},
    source::{Node, Unreadable},
};
use super::{
    Done, Exit,
    args::{Format, Lint},
    output,
};

/// What was looked at.
#[derive(Debug, Default)]
struct Counts {
    files: usize,
    checked: usize,
    ignored: usize,
    /// Files of a folder that are not YAML and have nothing to do with Kargo.
    passed_over: usize,
}

/// Runs the verb.
pub fn run(args: &Lint) -> Done {
    let files = files::read(&args.files)?;
    let (findings, counts) = check(&files);
    let errors = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .count();
    let warnings = findings.len() - errors;
    match args.output {
        Format::Json | Format::Yaml => {
            let value = json!({
                "findings": findings.iter().map(Finding::json).collect::<Vec<Value>>(),
                "errors": errors,
                "warnings": warnings,
                "files": counts.files,
                "checked": counts.checked,
                "ignored": counts.ignored,
            });
            output::print(&output::document(&value, args.output)?)?;
        }
        _ => {
            let lines: String = findings
                .iter()
                .map(|finding| output::visible_lines(&finding.line()) + "\n")
                .collect();
            output::print(&lines)?;
            eprintln!("{}", summary(&counts, errors, warnings));
        }
    }
    Ok(if errors > 0 || (args.strict && warnings > 0) {
        Exit::Failed
    } else {
        Exit::Done
    })
}

fn number(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn summary(counts: &Counts, errors: usize, warnings: usize) -> String {
    let mut text = format!(
        "{} in {} checked: {}, {}",
        number(counts.checked, "object", "objects"),
        number(counts.files, "file", "files"),
        number(errors, "error", "errors"),
        number(warnings, "warning", "warnings"),
    );
    if counts.ignored > 0 {
        text.push_str(&format!(
            "; {} of other kinds ignored",
            number(counts.ignored, "object", "objects")
        ));
    }
    if counts.passed_over > 0 {
        text.push_str(&format!(
            "; {} not YAML and without Kargo's objects",
            number(counts.passed_over, "file is", "files are")
        ));
    }
    text
}

/// From files to findings.
fn check(files: &[File]) -> (Vec<Finding>, Counts) {
    let mut report = Report::default();
    let mut counts = Counts {
        files: files.len(),
        ..Counts::default()
    };
    let documents: Vec<(&File, Vec<Node>)> = files
        .iter()
        .map(|file| (file, documents(file, &mut report, &mut counts)))
        .collect();
    let mut objects = Vec::new();
    for (file, nodes) in &documents {
        for node in nodes {
            collect(file, node, String::new(), &mut objects, &mut counts);
        }
    }
    counts.checked = objects.len();
    let (stages, tasks): (Vec<Object<'_>>, Vec<Object<'_>>) = objects
        .into_iter()
        .partition(|object| object.kind == Kind::Stage);
    for object in stages.iter().chain(&tasks) {
        whole::definition(object, &mut report);
        whole::written_steps(object, &mut report);
    }
    let registry = crate::steps::registry();
    let mut used = vec![false; tasks.len()];
    let mut courses: Vec<_> = stages
        .iter()
        .map(|stage| course::of_stage(stage, &tasks, &mut used))
        .collect();
    let alone = tasks.iter().zip(&used).filter(|(_, used)| !**used);
    courses.extend(alone.map(|(task, _)| course::of_task(task)));
    for course in &courses {
        whole::steps(course, &registry, &mut report);
        texts::check(course, &registry, &mut report);
    }
    (report.into_findings(), counts)
}

/// The documents of a file; what keeps them from being read is a finding.
fn documents(file: &File, report: &mut Report, counts: &mut Counts) -> Vec<Node> {
    let source = &file.source;
    match source.read() {
        Ok((nodes, twice)) => {
            // Such keys are a matter of ours only where there are objects of ours.
            let ours = file.named || source.contains("kargo.akuity.io");
            let mut seen = BTreeSet::new();
            for problem in twice.into_iter().filter(|_| ours) {
                if let Unreadable::Duplicate(at, name) = problem
                    && seen.insert(at)
                {
                    report.add_to_file(
                        source,
                        source.place(at),
                        Code::DuplicateKey,
                        format!("the key {name} is there twice"),
                        "remove one: readers of YAML differ in which they take",
                    );
                }
            }
            nodes
        }
        Err(_) if !file.named && !source.contains("kargo.akuity.io") => {
            counts.passed_over += 1;
            Vec::new()
        }
        Err(Unreadable::Form(place, why)) => {
            report.add_to_file(
                source,
                place,
                Code::YamlForm,
                format!("not looked into: {why}"),
                "write it in a simpler form",
            );
            Vec::new()
        }
        Err(Unreadable::Syntax(place, why)) => {
            report.add_to_file(
                source,
                place,
                Code::YamlSyntax,
                format!("not YAML: {why}"),
                "",
            );
            Vec::new()
        }
        Err(Unreadable::Duplicate(..)) => Vec::new(),
    }
}

/// The objects of a document; Lists are opened.
fn collect<'s>(
    file: &'s File,
    node: &'s Node,
    within: String,
    objects: &mut Vec<Object<'s>>,
    counts: &mut Counts,
) {
    let (api_version, kind) = (node.text_at(&["apiVersion"]), node.text_at(&["kind"]));
    if kind.ends_with("List") && node.get("items").is_some() {
        let items = node.get("items").map_or(&[][..], Node::items);
        for (index, item) in items.iter().enumerate() {
            collect(
                file,
                item,
                format!("{within}items[{index}]."),
                objects,
                counts,
            );
        }
    } else if let Some(kind) = Kind::of(api_version, kind) {
        objects.push(Object {
            source: &file.source,
            node,
            kind,
            within,
        });
    } else if !node.is_null() {
        counts.ignored += 1;
    }
}
