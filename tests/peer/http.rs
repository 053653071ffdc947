//! `http` and `http-download`, against a server on this machine that says what the tables' server says.

use std::time::Duration;

use serde_json::{Value, json};
use tidewaiter::{
    engine::step::{Ending, ErrorKind, Outcome, StepError},
    steps::http::{
        self,
        answer::{Answer, Mode},
    },
};

use crate::{
    bench::Bench,
    server::{Reply, Server},
    *,
};

/// The one answer of the tables' server.
fn server(row: &Value) -> Server {
    let fake = &row["fake"];
    let headers = fake["headers"].as_object().into_iter().flatten();
    let headers = headers
        .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
        .collect();
    let status = u16::try_from(fake["status"].as_u64().unwrap()).unwrap();
    let body = text(fake, "body").as_bytes().to_vec();
    let reply = Reply::Whole(status, headers, body);
    Server::new(move |_, _| reply.clone())
}

/// Every number as Go's float64: the tables say which are ints.
fn floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(floats).collect(),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), floats(value)))
                .collect(),
        ),
        other => other.clone(),
    }
}

/// Kargo's word for what is asked again for ever is Failed without an error; here it is asked again within a budget.
fn status(result: &Result<Outcome, StepError>, row: &Value) -> &'static str {
    match result {
        Ok(Outcome {
            ending: Ending::Waiting { .. },
            ..
        }) => "Running",
        Err(error) if error.kind == ErrorKind::Transient && row["want"]["error"].is_null() => {
            let code = row["fake"]["status"].to_string();
            assert!(error.sentence().contains(&code), "{}", error.sentence());
            "Failed"
        }
        result => ended(result),
    }
}

fn refusal(id: &str, error: &StepError, wanted: &Value) -> Result<(), String> {
    let sentence = error.sentence();
    said(id, &sentence, wanted)?;
    for part in wanted["notContains"].as_array().into_iter().flatten() {
        if sentence.contains(part.as_str().unwrap()) {
            return Err(format!("says {sentence:?}, which has {part}"));
        }
    }
    match wanted["terminal"].as_bool() {
        Some(terminal) => {
            let again = matches!(error.kind, ErrorKind::Errored | ErrorKind::Transient);
            same("terminal", !again, terminal)
        }
        None => Ok(()),
    }
}

fn run(row: &Value) -> Result<(), String> {
    let server = server(row);
    let config = row["config"].to_string().replace("$SERVER", &server.url);
    let config = serde_json::from_str(&config).unwrap();
    let (uses, want) = (text(row, "step"), &row["want"]);
    let mut bench = Bench::new();
    set_up(&mut bench, row)?;
    let result = bench.run(uses, &config);
    same("status", status(&result, row), text(want, "status"))?;
    if let Ok(outcome) = &result {
        let output = if want["output"].is_null() {
            json!({})
        } else {
            want["output"].clone()
        };
        let ours = Value::Object(outcome.output.clone());
        same("output", floats(&ours), floats(&output))?;
        for check in want["resultChecks"].as_array().into_iter().flatten() {
            let Ending::Waiting { poll } = outcome.ending else {
                return Err("it does not wait".into());
            };
            if text(check, "op") == "equals" {
                let nanos = check["value"].as_u64().unwrap();
                same("retryAfter", poll, Duration::from_nanos(nanos))?;
            }
        }
    }
    if let (Err(error), true) = (&result, want["error"].is_object()) {
        refusal(text(row, "id"), error, &want["error"])?;
    }
    left_behind(&mut bench, &want["files"])
}

fn nothing_said() -> Answer {
    Answer::read(reqwest::StatusCode::OK, &Default::default(), b"", "").unwrap()
}

fn criteria(row: &Value, name: &str, what: &str) -> Result<(), String> {
    let decided = nothing_said().holds(what, text(&row["config"], name));
    match (decided, row["want"]["error"].is_null()) {
        (Ok(decided), true) => {
            let checks = row["want"]["outChecks"].as_array().unwrap();
            let wanted = &checks.last().unwrap()["value"];
            same("decided", &json!(decided), wanted)
        }
        (Err(error), false) => refusal(text(row, "id"), &error, &row["want"]["error"]),
        (decided, _) => Err(format!("{decided:?}")),
    }
}

fn outputs(row: &Value) -> Result<(), String> {
    let mut found = serde_json::Map::new();
    for output in row["outputs"].as_array().into_iter().flatten() {
        match nothing_said().value("output expression", text(output, "fromExpression")) {
            Ok(value) => {
                found.insert(text(output, "name").to_owned(), value.to_json().unwrap());
            }
            Err(error) => return refusal(text(row, "id"), &error, &row["want"]["error"]),
        }
    }
    match &row["want"]["outChecks"][0]["value"] {
        Value::Null => same("outputs", found.len(), 0),
        wanted => same("outputs", &Value::Object(found), wanted),
    }
}

fn request(row: &Value) -> Result<(), String> {
    let mut bench = Bench::new();
    for (path, content) in row["files"].as_object().into_iter().flatten() {
        let bytes: Vec<u8> = if let Some(byte) = content["repeatByte"].as_u64() {
            let length = usize::try_from(content["length"].as_u64().unwrap()).unwrap();
            vec![u8::try_from(byte).unwrap(); length]
        } else if let Some(bytes) = content["bytes"].as_array() {
            let byte = |byte: &Value| u8::try_from(byte.as_u64().unwrap()).unwrap();
            bytes.iter().map(byte).collect()
        } else {
            continue; // It lies outside of the workspace.
        };
        bench.write(path, bytes, None)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let made = http::request(&mut bench.files, &bench.around, &row["config"]);
    let (made, want) = (runtime.block_on(made), &row["want"]);
    let request = match made {
        Ok(request) => request,
        Err(error) => return refusal(text(row, "id"), &error, &want["error"]),
    };
    if !want["error"].is_null() {
        return Err("it is accepted".into());
    }
    if let Some(bytes) = want["bodyBytes"].as_array() {
        return same("body", &json!(request.body.to_vec()), &json!(bytes));
    }
    same("method", request.method.as_str(), text(want, "method"))?;
    let url = reqwest::Url::parse(text(want, "url")).unwrap();
    same("url", &request.url, &url)?;
    for (name, value) in want["headers"].as_object().unwrap() {
        let ours = request.headers.get(name).and_then(|v| v.to_str().ok());
        same(name, ours, value.as_str())?;
    }
    Ok(())
}

#[test]
fn requests_and_what_follows_from_their_answers_are_the_same() {
    let Some(rows) = rows("kargo-steps.json") else {
        return;
    };
    let mine = |row: &Value| {
        matches!(text(row, "step"), "http" | "http-download") && text(row, "kind") != "config-check"
    };
    let compared = compare(&rows, mine, |row| match text(row, "kind") {
        "run" => run(row),
        "http-parse-mode" => same(
            "mode",
            Mode::of(text(row, "contentType")).to_string().as_str(),
            text(row, "want"),
        ),
        "http-success" => criteria(row, "successExpression", "success expression"),
        "http-failure" => criteria(row, "failureExpression", "failure expression"),
        "http-outputs" => outputs(row),
        "http-request" => request(row),
        other => Err(format!("{other} is not known")),
    });
    // Configurations are compared with those of all steps, and none of them is listed as different.
    let checked = |row: &&Value| {
        matches!(text(row, "step"), "http" | "http-download") && text(row, "kind") == "config-check"
    };
    let checked = rows.iter().filter(checked).count();
    let listed = DIFFERENT.iter().filter(|(id, _)| id.starts_with("http"));
    let different = listed.count();
    println!(
        "http, http-download: {} of {} agree with Kargo; {different} differ on purpose",
        compared + checked - different,
        compared + checked
    );
    assert_eq!((compared, checked), (62, 35));
}
