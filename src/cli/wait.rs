//! Waiting for promotions to end, with what they do meanwhile on stderr.

use std::time::Duration;

use futures::StreamExt;
use kube::{Api, api::ListParams};

use super::{Done, Exit, Failure, output};
use crate::{
    cluster::{
        Connection, Error, Kind,
        watch::{self, Change},
    },
    kargo::{Phase, ProjectName, Promotion, PromotionName},
    rules::rows::PromotionRow,
};

/// How long a connection may fail before waiting is given up.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long a refused login is given to be renewed.
const RENEWAL: Duration = Duration::from_secs(3);

/// Waits until all of `names` have ended; done only if all succeeded.
pub async fn for_end(
    connection: &Connection,
    project: &ProjectName,
    names: &[PromotionName],
    limit: Option<Duration>,
) -> Done {
    let waiting = wait(connection, project, names.to_vec());
    match limit {
        None => waiting.await,
        Some(limit) => tokio::time::timeout(limit, waiting)
            .await
            .unwrap_or_else(|_| {
                let names: Vec<&str> = names.iter().map(PromotionName::as_str).collect();
                Err(Failure::new(
                    Exit::TimedOut,
                    format!("{} did not end within {limit:?}", names.join(", ")),
                )
                .hint("It goes on; see what it waits for: tidewaiter describe promotion NAME"))
            }),
    }
}

async fn wait(
    connection: &Connection,
    project: &ProjectName,
    mut open: Vec<PromotionName>,
) -> Done {
    let api: Api<Promotion> = Api::namespaced(connection.client.clone(), project.as_str());
    let mut changes = Box::pin(watch::rows(api, PromotionRow::of));
    let mut worst = Exit::Done;
    let mut failing_since = None;
    let mut listed: Option<Vec<PromotionName>> = None;
    while let Some(change) = changes.next().await {
        let good = !matches!(
            change,
            Change::Listing | Change::Stale(_) | Change::Forbidden(_) | Change::Absent(_)
        );
        if good {
            failing_since = None;
        }
        match change {
            Change::Upsert(row) => {
                if let Some(seen) = &mut listed {
                    seen.push(row.name.clone());
                }
                if row.phase.is_terminal() && open.contains(&row.name) {
                    eprintln!(
                        "{} {}: {}",
                        row.name,
                        row.phase,
                        if row.message.is_empty() {
                            "-".to_owned()
                        } else {
                            output::visible(&row.message)
                        }
                    );
                    if row.phase != Phase::Succeeded {
                        worst = Exit::Failed;
                    }
                    open.retain(|name| *name != row.name);
                }
            }
            Change::Delete(row) => gone(&mut open, &mut worst, |name| *name == row.name),
            Change::Listing => listed = Some(Vec::new()),
            Change::Listed => {
                let seen = listed.take().unwrap_or_default();
                gone(&mut open, &mut worst, |name| !seen.contains(name));
            }
            Change::Forbidden(why) => {
                return Err(Failure::new(
                    Exit::Refused,
                    format!("cannot watch promotions in {project}: {why}"),
                ));
            }
            Change::Stale(why) | Change::Absent(why) => {
                if failing_since.is_none() {
                    eprintln!(
                        "the connection fails, trying again: {}",
                        output::visible(&why)
                    );
                }
                let since = *failing_since.get_or_insert_with(tokio::time::Instant::now);
                // A refused login does not mend itself.
                if since.elapsed() > RENEWAL
                    && let Some(error) = refusal(connection, project).await
                {
                    return Err(error.into());
                }
                if since.elapsed() > PATIENCE {
                    return Err(Failure::new(
                        Exit::Unreachable,
                        format!("cannot watch promotions in {project}: {why}"),
                    ));
                }
            }
        }
        if open.is_empty() {
            return Ok(worst);
        }
    }
    Err(Failure::new(
        Exit::Unreachable,
        format!("the watch on promotions in {project} ended"),
    ))
}

/// Why the API server will not know us, if that is what is wrong.
async fn refusal(connection: &Connection, project: &ProjectName) -> Option<Error> {
    let api: Api<Promotion> = Api::namespaced(connection.client.clone(), project.as_str());
    let one = ListParams::default().limit(1);
    let doing = format!("cannot watch promotions in {project}");
    let error = Error::from_kube(doing, &api.list(&one).await.err()?);
    (error.kind == Kind::Unauthorised).then_some(error)
}

fn gone(open: &mut Vec<PromotionName>, worst: &mut Exit, is_gone: impl Fn(&PromotionName) -> bool) {
    open.retain(|name| {
        let lost = is_gone(name);
        if lost {
            eprintln!("{name} was deleted before it ended");
            *worst = Exit::Failed;
        }
        !lost
    });
}
