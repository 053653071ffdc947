//! `yaml-merge`: lays YAML files over each other; the first one keeps every byte that the others do not change.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    files,
    schema::{Object, Shape, list, some_text, text, typed},
    yaml::{self, Unmerged, YamlError},
};
use crate::{
    engine::{
        step::{Class, Outcome, Step, StepCx, StepError},
        workspace::Workspace,
    },
    git::path::RepoPath,
    kargo::StepKind,
};

/// See the module.
pub struct YamlMerge;

fn shape() -> Shape {
    Object::new()
        .required("inFiles", list(text(), 1))
        .required("outFile", some_text())
        .optional("ignoreMissingFiles", Shape::Flag)
        .into()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    in_files: Vec<String>,
    out_file: String,
    #[serde(default)]
    ignore_missing_files: bool,
}

/// Kargo's message.
pub fn commit_message(out_file: &str, in_files: &[String]) -> String {
    match in_files {
        [] => String::new(),
        [one] => format!("Wrote {one} to {out_file}"),
        several => format!(
            "Merged {} YAML files to {out_file}\n- {}",
            several.len(),
            several.join("\n- ")
        ),
    }
}

const DOING: &str = "error merging YAML files";

/// What to do about files that cannot be merged.
fn refused(name: &str, error: YamlError) -> StepError {
    let doing = format!("{DOING}: error reading input file {name}");
    let made = match error {
        YamlError::NotYaml { .. } => {
            StepError::errored(doing).hint("Correct the file in the repository")
        }
        YamlError::Unsettable { .. } | YamlError::Unproved(_) => {
            StepError::errored(format!("{DOING}: {name} cannot be laid over the others"))
                .hint("Nothing was written; correct one of the files at this key")
        }
        _ => StepError::errored(doing),
    };
    made.because(error)
}

/// What was merged, and how it went.
struct Done {
    names: Vec<String>,
    changed: bool,
    cut: Vec<String>,
}

fn merge(
    workspace: &mut Workspace,
    inputs: &[(String, RepoPath)],
    out: &RepoPath,
    ignore_missing: bool,
) -> Result<Done, StepError> {
    let (mut names, mut texts) = (Vec::new(), Vec::new());
    for (name, path) in inputs {
        let file = workspace.read(path).map_err(|error| {
            files::failed(format!("{DOING}: error reading input file {name}"), error)
        })?;
        if file.is_some() {
            texts.push(files::read_text(workspace, path, DOING)?);
            names.push(name.clone());
        } else if !ignore_missing {
            return Err(StepError::errored(format!("input file {name:?} not found"))
                .hint("Correct the path, or set ignoreMissingFiles"));
        }
    }
    let merged = yaml::merge(&texts).map_err(|Unmerged { file, error }| {
        refused(names.get(file).map_or("", String::as_str), error)
    })?;
    let doing = "error writing the merged YAML";
    let before = workspace
        .read(out)
        .map_err(|error| files::failed(doing, error))?;
    let changed = before.is_none_or(|file| file.bytes != merged.text.as_bytes());
    if changed {
        files::write_text(workspace, out, &merged.text, doing)?;
    }
    let cut = merged
        .cut
        .iter()
        .filter_map(|file| names.get(*file).cloned());
    Ok(Done {
        cut: cut.collect(),
        changed,
        names,
    })
}

#[async_trait]
impl Step for YamlMerge {
    fn kind(&self) -> StepKind {
        "yaml-merge".into()
    }

    fn class(&self) -> Class {
        Class::Workspace
    }

    fn shape(&self) -> Shape {
        shape()
    }

    async fn run(&self, cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let config: Config = typed(config)?;
        let inputs = config
            .in_files
            .into_iter()
            .map(|name| files::path("inFiles", &name).map(|path| (name, path)))
            .collect::<Result<Vec<_>, StepError>>()?;
        let out = files::path("outFile", &config.out_file)?;
        let ignore_missing = config.ignore_missing_files;
        let done = cx
            .files
            .edit(move |workspace| merge(workspace, &inputs, &out, ignore_missing))
            .await?;
        let outcome = Outcome::succeeded(Map::from_iter([(
            "commitMessage".to_owned(),
            Value::String(commit_message(&config.out_file, &done.names)),
        )]));
        Ok(if !done.cut.is_empty() {
            outcome.saying(format!(
                "only the first document of {} was merged",
                done.cut.join(", ")
            ))
        } else if done.changed {
            outcome
        } else {
            outcome.saying("the file is like that already")
        })
    }
}
