//! A step's configuration before it is evaluated, by the step's own shape.

use serde_json::Value;

use super::{
    codes::Code,
    course::{Course, Step},
    finding::Report,
    source::Node,
    whole::{At, at},
};
use crate::{
    engine::{
        shape::{Problem, Shape, Trouble},
        step,
    },
    expr::template,
};

/// Checks it by the shape, and by what the step checks besides.
pub fn check(course: &Course<'_>, step: &Step<'_>, kind: &dyn step::Step, report: &mut Report) {
    let config = step.config();
    let value = config.map_or(Value::Null, Node::json);
    if let Some(text) = value.as_str().filter(|text| template::is_template(text)) {
        // Kargo reads the configuration as an object before it evaluates anything.
        let problem = format!("the configuration is the text {text:?} and must be an object");
        let here = at(course, step, "config", config.unwrap_or(step.node));
        report.add(here.finding(
            Code::ConfigType,
            problem,
            "write the fields, each with its own expression",
        ));
        return;
    }
    let problems = kind.shape().check_template(&value);
    for problem in &problems {
        let (code, hint) = told(problem);
        let here = place(course, step, config, problem);
        report.add(here.finding(code, problem.to_string(), hint));
    }
    if !problems.is_empty() {
        return;
    }
    // What the shape does not say. What is said about a text that is still to be evaluated means nothing yet.
    for text in kind.check(&value) {
        let (way, rest) = text.split_once(": ").unwrap_or(("(root)", &text));
        let way: Vec<String> = match way {
            "(root)" => Vec::new(),
            way => way.split('.').map(str::to_owned).collect(),
        };
        let found = config.map(|config| config.follow(&way));
        let known = match found {
            Some((node, _, true)) => !has_template(node) && !way.is_empty(),
            _ => false,
        };
        if !known && has_any_template(config) {
            continue;
        }
        let problem = Problem {
            at: if known { way } else { Vec::new() },
            trouble: Trouble::Value,
            text: rest.to_owned(),
        };
        let here = place(course, step, config, &problem);
        report.add(here.finding(Code::ConfigValue, text.clone(), ""));
    }
}

fn told(problem: &Problem) -> (Code, &'static str) {
    match &problem.trouble {
        Trouble::Unknown(_) => (Code::ConfigField, ""),
        Trouble::Missing => (Code::ConfigMissing, "add it to the step's config"),
        Trouble::Exclusive => (Code::ConfigExclusive, ""),
        Trouble::Value => (Code::ConfigValue, ""),
        Trouble::Type if problem.text.ends_with("given: string") => (
            Code::ConfigType,
            "a text with anything around the expression, or with quote(), stays a text",
        ),
        Trouble::Type if problem.text.contains("Expected: string") => (
            Code::ConfigType,
            "put it in quotes; an expression in quote()",
        ),
        Trouble::Type => (Code::ConfigType, ""),
    }
}

fn place<'a, 's>(
    course: &'a Course<'s>,
    step: &'a Step<'s>,
    config: Option<&Node>,
    problem: &Problem,
) -> At<'a, 's> {
    let mut way = problem.at.clone();
    if let Trouble::Unknown(name) = &problem.trouble {
        way.push(name.clone());
    }
    let entry = step.node.entry("config");
    let byte = match (config, way.is_empty(), entry) {
        (Some(config), false, _) => config.follow(&way).1,
        (_, _, Some(entry)) => entry.at,
        _ => step.node.bytes.start,
    };
    let field = std::iter::once("config".to_owned())
        .chain(way)
        .collect::<Vec<_>>();
    At {
        place: step.object.source.place(byte),
        ..at(course, step, &field.join("."), step.node)
    }
}

fn has_template(node: &Node) -> bool {
    node.text().is_some_and(template::is_template)
        || node.items().iter().any(has_template)
        || node.fields().iter().any(|entry| has_template(&entry.value))
}

fn has_any_template(config: Option<&Node>) -> bool {
    config.is_some_and(has_template)
}

/// The shape that a field has, where the step tells.
pub fn shape_of<'k>(shape: &'k Shape, way: &[String]) -> Option<&'k Shape> {
    shape
        .below(way)
        .filter(|shape| !matches!(shape, Shape::Any | Shape::Free))
}
