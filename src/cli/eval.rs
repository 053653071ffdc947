//! `eval`: an expression, a template or a step's configuration, evaluated as a promotion would, and nothing is run.

use std::{fs, io::Read, path::Path, sync::Arc};

use serde::Serialize;
use serde_json::Value as Json;

use super::{
    Done, Exit, Failure,
    args::{Eval, EvalForm, Global},
    output, session,
};
use crate::{
    cluster::{Connection, find, port::KubePort},
    engine::{
        port::PortError,
        scope::{
            Outside,
            trial::{Shown, Trial, TrialError},
        },
        step::Registry,
    },
    expr::{
        Value,
        kargo::{Source, Tried},
        show,
        template::HIDDEN,
    },
    steps,
};

mod alone;
mod batch;

use alone::Alone;

/// What an expression is evaluated on.
enum Ground {
    /// Names from a file, or none.
    Alone(Alone),
    /// A promotion.
    Promotion(Box<Trial>),
}

impl Ground {
    /// The value; an error is one text, without what came from Secrets.
    async fn evaluate(&self, source: Source, over: Vec<(String, Value)>) -> Result<Tried, String> {
        match self {
            Self::Alone(alone) => alone.evaluate(&source, over),
            Self::Promotion(trial) => trial.evaluate(source, over).await,
        }
    }
}

/// Runs the verb.
pub async fn run(global: &Global, args: &Eval) -> Done {
    let ground = match (&args.promotion, &global.context) {
        (Some(name), _) => Ground::Promotion(Box::new(trial(global, args, name).await?)),
        (None, Some(file)) => Ground::Alone(Alone::new(context(Path::new(file))?)),
        (None, None) => Ground::Alone(Alone::new(Vec::new())),
    };
    if let Some(file) = &args.batch {
        return batch::run(&ground, file).await;
    }
    if args.config.is_some() {
        let Ground::Promotion(trial) = &ground else {
            return Err(Failure::new(
                Exit::Usage,
                "cannot evaluate a step's configuration without its promotion",
            )
            .hint("Name it with --promotion"));
        };
        return configuration(trial, args.output).await;
    }
    let source = match (&args.template, &args.expression) {
        (Some(text), _) => Source::Template(text.clone()),
        (None, Some(text)) => Source::Expression(text.clone()),
        (None, None) => return Err(Failure::new(Exit::Usage, "there is nothing to evaluate")),
    };
    let tried = ground
        .evaluate(source, Vec::new())
        .await
        .map_err(|why| Failure::new(Exit::Failed, why))?;
    print(&tried, args.output)
}

/// For machines.
#[derive(Serialize)]
struct Answer {
    value: Json,
    #[serde(rename = "type")]
    kind: &'static str,
    /// What the step would say to this configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused: Vec<String>,
}

fn line<T: Serialize>(answer: &T) -> Result<String, Failure> {
    serde_json::to_string(answer)
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot print the answer: {error}")))
}

fn print(tried: &Tried, form: EvalForm) -> Done {
    notes(&tried.unknown);
    let hidden = Value::from(HIDDEN);
    let value = if tried.from_secret {
        note("the value came from a Secret and is not shown");
        &hidden
    } else {
        &tried.value
    };
    match form {
        EvalForm::Text => output::print(&(output::visible_lines(&show::text(value)) + "\n"))?,
        EvalForm::Json => {
            let answer = Answer {
                value: show::json(value),
                kind: show::kind(&tried.value),
                refused: Vec::new(),
            };
            output::print(&(line(&answer)? + "\n"))?;
        }
    }
    Ok(Exit::Done)
}

/// Beside the result, on stderr: what is no error, but hardly meant.
fn note(text: &str) {
    eprintln!("note: {}", output::visible_lines(text));
}

fn notes(texts: &[String]) {
    for text in texts {
        note(text);
    }
}

/// The configuration without secrets, and what the step would say to the real one.
async fn configuration(trial: &Trial, form: EvalForm) -> Done {
    let step = trial.step().cloned().unwrap_or_default();
    let (alias, uses) = (&step.alias, &step.uses);
    let Shown {
        config,
        real,
        runs,
        unknown,
    } = trial
        .configure()
        .await
        .map_err(|why| Failure::new(Exit::Failed, format!("step {alias}: {why}")))?;
    let registry = steps::registry();
    let refused: Vec<String> = match registry.find(uses) {
        Some(kind) => kind
            .check(&real)
            .iter()
            .map(|problem| trial.redact(problem))
            .collect(),
        None => {
            let kinds = registry.kinds();
            let hint = crate::expr::suggest::hint(uses.as_str(), kinds.iter().map(AsRef::as_ref));
            vec![format!("unknown step kind {:?}{hint}", uses.as_str())]
        }
    };
    match form {
        EvalForm::Text => {
            output::print(&output::document(&config, super::args::Format::Json)?)?;
        }
        EvalForm::Json => {
            let answer = Answer {
                value: config,
                kind: "map",
                refused: refused.clone(),
            };
            output::print(&(line(&answer)? + "\n"))?;
        }
    }
    notes(&unknown);
    match runs {
        Ok(true) => {}
        Ok(false) => note(&format!(
            "step {alias} would be skipped: its condition is false"
        )),
        Err(why) => {
            return Err(Failure::new(Exit::Failed, format!("step {alias}: {why}")));
        }
    }
    if refused.is_empty() {
        return Ok(Exit::Done);
    }
    Err(Failure::new(
        Exit::Failed,
        format!(
            "step {alias} ({uses}) would refuse this configuration: {}",
            refused.join("; ")
        ),
    ))
}

/// The promotion's expressions, on a connection that is only read from.
async fn trial(global: &Global, args: &Eval, name: &str) -> Result<Trial, Failure> {
    let connection = session::connect(global).await?;
    let scope = session::scope(global, &connection);
    let promotion = find::promotion(&connection.client, &scope, name).await?;
    let at = args.config.as_deref().or(args.step.as_deref());
    Trial::of(&outside(&connection), &promotion, at)
        .await
        .map_err(|error| failed(&error))
}

fn outside(connection: &Connection) -> Outside {
    Outside {
        port: Arc::new(KubePort::new(connection.client.clone())),
        shared_namespace: Some(super::executor::SHARED_NAMESPACE.into()),
        ui_base_url: String::new(),
    }
}

fn failed(error: &TrialError) -> Failure {
    let exit = match error {
        TrialError::Gone(_) | TrialError::NoStep { .. } => Exit::NotFound,
        TrialError::Steps(_) => Exit::Failed,
        TrialError::Port(PortError::Forbidden { .. }) => Exit::Refused,
        TrialError::Port(PortError::Unreachable { .. }) => Exit::Unreachable,
        TrialError::Port(_) => Exit::Failed,
    };
    Failure::new(exit, crate::engine::sentence(error))
}

/// Names and values of a file: an object in JSON or YAML.
fn context(file: &Path) -> Result<Vec<(String, Value)>, Failure> {
    let name = file.display();
    let mut text = String::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut text).map(|_| ())
    } else {
        fs::read_to_string(file).map(|content| text = content)
    };
    read.map_err(|error| {
        Failure::new(Exit::NotFound, format!("cannot read the context {name}: {error}")).hint(
            "Without --promotion, --context names a file of variables; with it, a context of the kubeconfig",
        )
    })?;
    let unreadable = |why: String| {
        Failure::new(
            Exit::Usage,
            format!("cannot read the context {name}: {why}"),
        )
        .hint("It is an object in JSON or YAML: the names that expressions see, and their values")
    };
    // Nearly all JSON is YAML, but its escapes and long numbers are JSON's.
    let parsed: Json = match serde_json::from_str(&text) {
        Ok(parsed) => parsed,
        Err(_) => serde_saphyr::from_str(&text).map_err(|error| unreadable(error.to_string()))?,
    };
    match parsed {
        Json::Object(entries) => Ok(values(&entries)),
        Json::Null => Ok(Vec::new()),
        _ => Err(unreadable("it is not an object".into())),
    }
}

/// Names and their values.
fn values(entries: &serde_json::Map<String, Json>) -> Vec<(String, Value)> {
    entries
        .iter()
        .map(|(name, value)| (name.clone(), Value::from_json(value)))
        .collect()
}
