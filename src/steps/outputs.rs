//! `outputs: [{name, fromExpression}]`: what a step puts out, by expressions over what it read.
//!
//! The expressions carry no delimiters. Shared by the parse steps, where the document is the environment
//! ([`Env::of`]), and by `http`, where `response` is a name in it.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::schema::{Object, Shape, list, some_text};
use crate::{
    engine::step::StepError,
    expr::{self, Env},
};

/// One output.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// What later steps call it.
    pub name: String,
    /// An expression without delimiters.
    pub from_expression: String,
}

/// A list of outputs, at least `min`.
pub fn shape(min: usize) -> Shape {
    let output = Object::new()
        .required("name", some_text())
        .required("fromExpression", some_text());
    list(output, min)
}

/// Every output's value; of outputs with one name the last counts. The same input fails again in the same way, but
/// Kargo counts this against the threshold, so it is Errored here too.
pub fn evaluate(outputs: &[Output], env: &Env<'_>) -> Result<Map<String, Value>, StepError> {
    let mut values = Map::new();
    for output in outputs {
        values.insert(output.name.clone(), value(output, env)?);
    }
    Ok(values)
}

fn value(output: &Output, env: &Env<'_>) -> Result<Value, StepError> {
    let text = &output.from_expression;
    let failed = |doing: &str| {
        let name = &output.name;
        StepError::errored(format!(
            "failed to extract outputs: output {name}: error {doing} expression {text:?}"
        ))
    };
    let program = expr::parse(text).map_err(|error| {
        let failed = failed("compiling").because(error);
        if text.contains("${{") || text.contains("${%") {
            failed.hint("Leave out the delimiters: fromExpression is an expression already")
        } else {
            failed
        }
    })?;
    let value = program
        .eval(env)
        .map_err(|error| failed("evaluating").because(error))?;
    value
        .to_json()
        .map_err(|error| failed("keeping the value of").because(error))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outputs(pairs: &[(&str, &str)]) -> Vec<Output> {
        pairs
            .iter()
            .map(|(name, expression)| Output {
                name: (*name).into(),
                from_expression: (*expression).into(),
            })
            .collect()
    }

    fn document(json: Value) -> Env<'static> {
        Env::of(expr::Value::from_json_as_floats(&json))
    }

    #[test]
    fn values_come_from_the_document_or_from_names() {
        let env = document(json!({"app": {"version": "1.0.0", "ports": [80, 443]}, "n": 4.5}));
        let wanted = [
            ("v", "app.version"),
            ("n", "n * 2"),
            ("first", "app.ports[0]"),
            ("all", "map(app.ports, # + 1)"),
            ("none", "missing"),
            ("size", "len($env)"),
        ];
        assert_eq!(
            Value::Object(evaluate(&outputs(&wanted), &env).unwrap()),
            json!({"v": "1.0.0", "n": 9, "first": 80, "all": [81, 444], "none": null, "size": 2})
        );
        let response = expr::Value::map([("status", expr::Value::Int(200))]);
        let env = Env::new().with("response", response);
        let values = evaluate(&outputs(&[("ok", "response.status == 200")]), &env).unwrap();
        assert_eq!(Value::Object(values), json!({"ok": true}));
    }

    #[test]
    fn documents_that_are_no_map_are_env_only() {
        let env = document(json!(["a", {"b": 1}]));
        let values = evaluate(&outputs(&[("x", "$env[0]"), ("y", "$env[-1].b")]), &env).unwrap();
        assert_eq!(Value::Object(values), json!({"x": "a", "y": 1}));
        for (document, says) in [
            (json!(["a"]), "cannot use string as an index of an array"),
            (json!(null), "cannot fetch name from <nil>"),
            (json!(4), "cannot fetch name from float64"),
        ] {
            let env = super::tests::document(document);
            let error = evaluate(&outputs(&[("x", "name")]), &env).unwrap_err();
            assert!(error.sentence().contains(says), "{}", error.sentence());
        }
    }

    #[test]
    fn errors_name_the_output_and_the_expression() {
        let env = document(json!({"a": {}}));
        let cases = [
            (
                "(1 + 2",
                "output x: error compiling expression \"(1 + 2\": ",
            ),
            (
                "gone.path",
                "output x: error evaluating expression \"gone.path\": cannot fetch path from <nil>",
            ),
            (
                "0.0 / 0.0",
                "output x: error keeping the value of expression \"0.0 / 0.0\": json: unsupported value: NaN",
            ),
            ("${{ a }}", "Leave out the delimiters"),
        ];
        for (expression, says) in cases {
            let all = outputs(&[("fine", "1"), ("x", expression)]);
            let sentence = evaluate(&all, &env).unwrap_err().sentence();
            assert!(sentence.contains(says), "{sentence}");
        }
    }
}
