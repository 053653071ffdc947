//! `http`: one request, or one asked again until its expressions hold. `client` sends (by the clients in `pool`), `answer` is what expressions
//! see, `config` is shared with `http-download`.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use reqwest::{
    Method, StatusCode,
    header::{HeaderMap, HeaderValue},
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    files,
    outputs::{self, Output},
    schema::{Object, Shape, matching, some_text, text, typed, unless_empty},
};
use crate::{
    engine::step::{Around, Class, Ending, Files, Outcome, Step, StepCx, StepError},
    kargo::{StepKind, Timestamp},
};

pub mod answer;
pub mod client;
pub mod config;
mod pool;

use answer::Answer;
use client::{Request, SendError};
use config::Pair;

/// See the module.
pub struct Http;

/// The most of a body that is sent or read, in bytes.
pub const BODY_MAX: usize = 2 << 20;

const TIMEOUT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_secs(30);

/// What a server is told so that it can tell a repetition from a second request.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

fn shape() -> Shape {
    Object::new()
        .optional("method", matching("^(DELETE|GET|HEAD|PATCH|POST|PUT)$"))
        .required("url", some_text())
        .optional("headers", config::pairs())
        .optional("queryParams", config::pairs())
        .optional("body", text())
        .optional("bodyFromFile", text())
        .at_most_one(&["body", "bodyFromFile"])
        .optional("insecureSkipTLSVerify", Shape::Flag)
        .optional("proxy", matching("^https?://.*$"))
        .optional("timeout", config::duration())
        .optional("pollInterval", config::duration())
        .optional(
            "responseContentType",
            matching("^(application/json|application/yaml|text/plain)$"),
        )
        .optional("outputs", outputs::shape(0))
        .optional("successExpression", text())
        .optional("failureExpression", text())
        .optional("errorExpression", text())
        // Ours.
        .optional("onUnknown", Shape::OneOf(&["fail", "repeat"]))
        .into()
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    method: String,
    url: String,
    headers: Vec<Pair>,
    query_params: Vec<Pair>,
    #[serde(deserialize_with = "unless_empty")]
    body: Option<String>,
    #[serde(deserialize_with = "unless_empty")]
    body_from_file: Option<String>,
    #[serde(rename = "insecureSkipTLSVerify")]
    insecure_skip_tls_verify: bool,
    proxy: String,
    timeout: String,
    poll_interval: String,
    response_content_type: String,
    outputs: Vec<Output>,
    success_expression: String,
    failure_expression: String,
    error_expression: String,
    on_unknown: String,
}

impl Config {
    fn method(&self) -> Method {
        // The shape lets no other through.
        Method::from_bytes(self.method.as_bytes()).unwrap_or(Method::GET)
    }

    fn timeout(&self) -> Result<Duration, String> {
        config::span("timeout", &self.timeout, TIMEOUT)
    }

    fn poll(&self) -> Result<Duration, String> {
        config::span("pollInterval", &self.poll_interval, POLL)
    }

    /// Whether a second request does no harm: it only reads, or the template says that it is to be repeated.
    fn may_repeat(&self) -> bool {
        matches!(self.method(), Method::GET | Method::HEAD) || !self.poll_interval.is_empty()
    }

    /// Mistakes in expressions are found before anything is sent.
    fn compile(&self) -> Result<(), StepError> {
        for (what, expression) in [
            (SUCCESS, &self.success_expression),
            (FAILURE, &self.failure_expression),
            ("error expression", &self.error_expression),
        ] {
            if !expression.is_empty() {
                answer::compiled(what, expression)?;
            }
        }
        for output in &self.outputs {
            answer::compiled(OUTPUT, &output.from_expression)?;
        }
        Ok(())
    }
}

const SUCCESS: &str = "success expression";
const FAILURE: &str = "failure expression";
const OUTPUT: &str = "output expression";

/// What is sent for a configuration that has passed the check.
pub async fn request(
    files: &mut Files,
    around: &Around,
    config: &Value,
) -> Result<Request, StepError> {
    prepared(files, around, &typed(config)?).await
}

async fn prepared(
    files: &mut Files,
    around: &Around,
    config: &Config,
) -> Result<Request, StepError> {
    let url = config::address(&config.url, &config.query_params)?;
    let mut headers = config::headers(&config.headers)?;
    if !headers.contains_key(IDEMPOTENCY_KEY) {
        let key = format!("{}/{}", around.uid, around.alias);
        let key = HeaderValue::from_bytes(key.as_bytes()).map_err(|error| {
            StepError::config("the step's alias cannot be sent in a header").because(error)
        })?;
        headers.insert(IDEMPOTENCY_KEY, key);
    }
    let body = match (&config.body, &config.body_from_file) {
        (_, Some(path)) => from_file(files, path).await?,
        (Some(text), None) => Bytes::from(text.clone()),
        (None, None) => Bytes::new(),
    };
    Ok(Request {
        method: config.method(),
        url,
        headers,
        body,
        timeout: config.timeout().map_err(StepError::config)?,
        insecure: config.insecure_skip_tls_verify,
        proxy: Some(config.proxy.clone()).filter(|proxy| !proxy.is_empty()),
    })
}

async fn from_file(files: &mut Files, path: &str) -> Result<Bytes, StepError> {
    let doing = format!("could not read bodyFromFile {path}");
    let at = files::path("bodyFromFile", path)
        .map_err(|error| StepError::config(doing.clone()).because(error.sentence()))?;
    files
        .edit(move |workspace| {
            let file = workspace
                .read(&at)
                .map_err(|error| files::failed(&doing, error))?;
            let Some(file) = file else {
                return Err(StepError::errored(format!(
                    "{doing}: there is no such file"
                )));
            };
            if file.bytes.len() > BODY_MAX {
                return Err(StepError::config(format!(
                    "{doing}: its content exceeds limit of {BODY_MAX} bytes"
                )));
            }
            Ok(Bytes::from(file.bytes))
        })
        .await
}

/// What an answer means.
fn decide(
    config: &Config,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    sent: Timestamp,
) -> Result<Outcome, StepError> {
    let answer = Answer::read(status, headers, body, &config.response_content_type)?;
    let failure = answer.holds(FAILURE, &config.failure_expression)?;
    if failure == Some(true) {
        let said = format!("HTTP ({}) response met failure criteria", status.as_u16());
        return Err(StepError::failed(
            answer.explained(said, &config.error_expression)?,
        ));
    }
    match (answer.holds(SUCCESS, &config.success_expression)?, failure) {
        (Some(true), _) => {}
        (None, None) if status.is_success() => {}
        (None, None) => return Err(refused(config, status, sent)),
        _ => {
            let poll = config.poll().map_err(StepError::config)?;
            return Ok(Outcome {
                ending: Ending::Waiting { poll },
                ..Outcome::succeeded(Map::new())
            }
            .saying(format!(
                "HTTP ({}) response met no criteria yet; asked again every {poll:?}",
                status.as_u16()
            )));
        }
    }
    let mut output = Map::new();
    for wanted in &config.outputs {
        let value = answer.value(OUTPUT, &wanted.from_expression)?;
        let value = value.to_json().map_err(|why| {
            StepError::errored(format!("output {} cannot be stored: {why}", wanted.name))
        })?;
        output.insert(wanted.name.clone(), value);
    }
    Ok(Outcome::succeeded(output))
}

/// The server answered, and it is no success. Asked again within the budget: the server knows by the key whether it
/// has done it. A gateway does not know what became of the request behind it.
fn refused(config: &Config, status: StatusCode, sent: Timestamp) -> StepError {
    let said = format!("HTTP request failed with status {status}");
    let unknown = matches!(status.as_u16(), 502 | 504);
    if unknown && !config.may_repeat() {
        return lost(config, said, sent);
    }
    StepError::transient(said)
}

/// It may have happened, and nobody can tell.
fn lost(config: &Config, why: String, sent: Timestamp) -> StepError {
    if config.on_unknown == "repeat" {
        return StepError::transient(why);
    }
    StepError::refused(format!(
        "outcome unknown: may have been sent at {sent}: {why}"
    ))
    .hint("Look there what became of it; `onUnknown: repeat` would send it again")
}

fn no_answer(config: &Config, error: SendError, sent: Timestamp) -> StepError {
    match error {
        SendError::Unusable { .. } => StepError::config(error.to_string()),
        SendError::TooLarge { .. } => StepError::failed(error.to_string())
            .hint("Ask for less, or use http-download for files"),
        SendError::Untrusted { .. } => untrusted(&error),
        SendError::NoAnswer { .. } if !config.may_repeat() => lost(config, error.to_string(), sent),
        SendError::NoAnswer { .. } | SendError::Unreachable { .. } => {
            StepError::transient(error.to_string())
        }
    }
}

/// Trying again would not help, and going on would not be safe.
pub fn untrusted(error: &SendError) -> StepError {
    StepError::errored(error.to_string()).hint(
        "Add the authority to this machine's certificates (SSL_CERT_FILE), or set insecureSkipTLSVerify",
    )
}

#[async_trait]
impl Step for Http {
    fn kind(&self) -> StepKind {
        "http".into()
    }

    fn class(&self) -> Class {
        Class::UnknowableEffect
    }

    fn class_of(&self, config: &Value) -> Class {
        match typed::<Config>(config) {
            Ok(config) if config.may_repeat() => Class::RepeatableEffect,
            _ => Class::UnknowableEffect,
        }
    }

    fn rests(&self) -> bool {
        true
    }

    fn shape(&self) -> Shape {
        shape()
    }

    fn check(&self, config: &Value) -> Vec<String> {
        let mut problems = shape().check(config);
        if problems.is_empty()
            && let Ok(config) = typed::<Config>(config)
        {
            problems.extend(config.timeout().err());
            problems.extend(config.poll().err());
        }
        problems
    }

    async fn run(&self, cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let config: Config = typed(config)?;
        config.compile()?;
        let request = prepared(cx.files, cx.around, &config).await?;
        let sent = Timestamp::now();
        let failed = |error| no_answer(&config, error, sent);
        let answered = client::send(&request).await.map_err(failed)?;
        let (status, headers) = (answered.status, answered.headers.clone());
        let body = answered.body(BODY_MAX).await.map_err(failed)?;
        // A large body is parsed, and expressions may take their time with it.
        let judged =
            tokio::task::spawn_blocking(move || decide(&config, status, &headers, &body, sent));
        judged
            .await
            .map_err(|error| StepError::errored("the answer could not be judged").because(error))?
    }
}

#[cfg(test)]
mod tests;
