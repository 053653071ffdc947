//! `apply -f`: documents of YAML or JSON, each created or updated.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

use serde_json::Value;

use super::{
    Done, Exit, Failure,
    args::{Apply, Global},
    output, session,
};
use crate::cluster::apply::{self, Applied};

/// Runs the verb. All files are read before anything is sent: a bad one changes nothing.
pub async fn run(global: &Global, args: &Apply) -> Done {
    let mut objects = Vec::new();
    for file in &args.files {
        objects.extend(read(file)?);
    }
    let connection = session::connect(global).await?;
    for object in objects {
        let project = global
            .namespace
            .as_deref()
            .or(connection.project.as_ref().map(AsRef::as_ref));
        let line = match apply::apply(&connection.client, object, project).await? {
            Applied::Created(what) => format!("{what} created\n"),
            Applied::Configured(what) => format!("{what} configured\n"),
            Applied::Unchanged(what) => format!("{what} unchanged\n"),
        };
        output::print(&line)?;
    }
    Ok(Exit::Done)
}

fn read(file: &Path) -> Result<Vec<Value>, Failure> {
    let name = file.display();
    let mut text = String::new();
    let read = if file.as_os_str() == "-" {
        io::stdin().read_to_string(&mut text).map(|_| ())
    } else {
        fs::read_to_string(file).map(|content| text = content)
    };
    read.map_err(|error| Failure::new(Exit::NotFound, format!("cannot read {name}: {error}")))?;
    parse(&text).map_err(|why| Failure::new(Exit::Usage, format!("cannot read {name}: {why}")))
}

/// The objects of a stream of documents; Lists are opened, empty documents left out.
pub fn parse(text: &str) -> Result<Vec<Value>, String> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).map_err(|error| {
        let text = error.to_string();
        text.strip_prefix("error: ").unwrap_or(&text).to_owned()
    })?;
    let mut objects = Vec::new();
    for document in documents {
        match document {
            Value::Null => {}
            Value::Object(mut map) if map.get("kind").and_then(Value::as_str) == Some("List") => {
                match map.remove("items") {
                    Some(Value::Array(items)) => objects.extend(items),
                    _ => return Err("a List has no items".into()),
                }
            }
            Value::Object(map) => objects.push(Value::Object(map)),
            other => return Err(format!("expected an object, found {}", kind_of(&other))),
        }
    }
    Ok(objects)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "a list",
        Value::String(_) => "a text",
        Value::Number(_) => "a number",
        Value::Bool(_) => "a bool",
        Value::Null | Value::Object(_) => "something else",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_lists_are_opened() {
        let text = "kind: A\n---\n---\nkind: List\nitems:\n- kind: B\n- kind: C\n";
        let kinds: Vec<_> = parse(text)
            .unwrap()
            .iter()
            .map(|object| object["kind"].clone())
            .collect();
        assert_eq!(kinds, ["A", "B", "C"]);
        assert!(parse("- a\n").unwrap_err().contains("a list"));
        assert!(parse("a: [").is_err());
    }
}
