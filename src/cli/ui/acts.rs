//! Does what the console asks, and answers each deed.

use tokio::{sync::mpsc, task::JoinHandle};

use super::detail::{self, Mirrors};
use crate::{
    cluster::{
        Connection, Error, Kind,
        act::{self, What},
        answer,
        find::{self, Scope},
        template,
    },
    console::message::{Action, ActionId, Answer, Effect, Key, Message},
    kargo::{
        ApprovalRequest, Promotion,
        approval::{CountReason, Decision},
    },
};

/// How long to wait for the executor's word on an answer.
const VERDICT: std::time::Duration = std::time::Duration::from_secs(5);

/// Serves the console's orders until it is gone.
pub async fn serve(
    connection: Connection,
    mirrors: Mirrors,
    mut orders: mpsc::Receiver<Effect>,
    to: mpsc::Sender<Message>,
) {
    let mut open_promotion: Option<JoinHandle<()>> = None;
    let mut open_request: Option<JoinHandle<()>> = None;
    while let Some(effect) = orders.recv().await {
        match effect {
            Effect::OpenPromotion(key) => {
                let task =
                    detail::follow_promotion(connection.clone(), mirrors.clone(), key, to.clone());
                replace(&mut open_promotion, Some(tokio::spawn(task)));
            }
            Effect::CloseDetail => replace(&mut open_promotion, None),
            Effect::FetchRequest(key) => {
                let task = detail::follow_request(connection.clone(), key, to.clone());
                replace(&mut open_request, Some(tokio::spawn(task)));
            }
            Effect::CloseRequest => replace(&mut open_request, None),
            Effect::Act { id, action } => {
                let (connection, to) = (connection.clone(), to.clone());
                tokio::spawn(async move {
                    let message = perform(&connection, id, action).await;
                    // The console may be gone by now; then nobody is there to be told.
                    let _ = to.send(message).await;
                });
            }
            Effect::Copy(_) | Effect::Quit(_) => {}
        }
    }
    replace(&mut open_promotion, None);
    replace(&mut open_request, None);
}

fn replace(task: &mut Option<JoinHandle<()>>, with: Option<JoinHandle<()>>) {
    if let Some(old) = std::mem::replace(task, with) {
        old.abort();
    }
}

async fn perform(connection: &Connection, id: ActionId, action: Action) -> Message {
    let result = match action {
        Action::Retry {
            promotion,
            with_current_template,
        } => match retry_one(connection, &promotion, with_current_template).await {
            Ok(Retried::Made(text)) => Ok(text),
            Ok(Retried::Differs(differences)) => {
                return Message::TemplateDiffers { id, differences };
            }
            Err(error) => Err(error),
        },
        Action::Approve(given) => give(connection, &given, Decision::Approve).await,
        Action::Reject(given) => give(connection, &given, Decision::Reject).await,
        other => simple(connection, other).await,
    };
    match result {
        Ok(text) => Message::Done { id, text },
        Err(error) => Message::Failed {
            id,
            text: error.to_string(),
            hint: error.hint.unwrap_or_default(),
        },
    }
}

async fn simple(connection: &Connection, action: Action) -> Result<String, Error> {
    let client = &connection.client;
    match action {
        Action::Abort { promotion } => {
            act::abort(client, &promotion.project, &promotion.promotion_name()).await?;
            Ok(format!("abort of {} requested", promotion.name))
        }
        Action::Refresh { promotion } => {
            act::refresh(client, &promotion.project, &promotion.promotion_name()).await?;
            Ok(format!("refresh of {} requested", promotion.name))
        }
        Action::Promote {
            project,
            stage,
            freight,
        } => {
            let made = act::promote(
                client,
                &project,
                &stage,
                &What::Freight(freight),
                std::collections::BTreeMap::new(),
            )
            .await?;
            Ok(format!("created {}", made.name()))
        }
        Action::Verify { project, stage } => {
            let stage = find::stage(client, &Scope::Project(project), &stage).await?;
            act::verify(client, &stage).await?;
            Ok(format!("verification of {} requested", stage.name()))
        }
        Action::Approve(_) | Action::Reject(_) | Action::Retry { .. } => Ok(String::new()),
    }
}

/// What a retry came to.
enum Retried {
    Made(String),
    Differs(Vec<String>),
}

async fn retry_one(
    connection: &Connection,
    key: &Key,
    with_current_template: bool,
) -> Result<Retried, Error> {
    let client = &connection.client;
    let scope = Scope::Project(key.project.clone());
    let old: Promotion = find::promotion(client, &scope, &key.name).await?;
    let stage = find::stage(client, &scope, &old.spec.stage).await?;
    let differences = template::differences(client, &old, &stage).await?;
    if !differences.is_empty() && !with_current_template {
        return Ok(Retried::Differs(differences));
    }
    let made = act::retry(client, &old).await?;
    Ok(Retried::Made(format!("created {}", made.name())))
}

async fn give(
    connection: &Connection,
    given: &Answer,
    decision: Decision,
) -> Result<String, Error> {
    let client = &connection.client;
    let api = Scope::Project(given.project.clone()).api::<ApprovalRequest>(client);
    let doing = || format!("cannot get request {}/{}", given.project, given.request);
    let request = api
        .get(given.request.as_str())
        .await
        .map_err(|error| Error::from_kube(doing(), &error))?;
    if request.uid() != given.uid {
        return Err(Error::new(
            Kind::Conflict,
            doing(),
            "it is another request by now; look at it again",
        ));
    }
    answer::check(client, &request, &connection.who, decision, &given.message).await?;
    let stored = answer::answer(
        client,
        &request,
        &connection.who,
        decision,
        &given.digest,
        &given.message,
    )
    .await?;
    let word = if decision == Decision::Approve {
        "approved"
    } else {
        "rejected"
    };
    let gate = format!(
        "gate {} of {}",
        request.spec.step, request.spec.promotion.name
    );
    match answer::verdict(client, &stored, VERDICT).await? {
        None => Ok(format!(
            "recorded for {gate}; no executor has counted it yet"
        )),
        Some(status) if status.counted == Some(true) => Ok(format!("{word} {gate}")),
        Some(status) => {
            let why = status
                .reason
                .map_or("the executor did not say why", CountReason::explain);
            Err(Error::new(
                Kind::Forbidden,
                format!("the answer to {gate} does not count"),
                why,
            ))
        }
    }
}
