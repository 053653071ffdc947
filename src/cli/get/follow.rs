//! `get -w`: the list once, then a line for whatever changes.

use std::time::Duration;

use futures::{
    StreamExt,
    stream::{BoxStream, SelectAll},
};

use super::{Connection, Done, Exit, Failure, Get, Noun, Scope, look, noun, output};
use crate::{
    cluster::watch::{self, Change},
    kargo::{Approval, ApprovalRequest, Freight, Project, Promotion, Stage},
};

/// Changes that come together are looked at together: one look lists everything.
const CALM: Duration = Duration::from_millis(100);
/// Changes taken at once.
const BATCH: usize = 1024;

/// What a watch says to this verb.
enum Heard {
    /// Something is different.
    Changed,
    /// The connection fails; it is tried again.
    Failing(String),
    /// It will never work.
    Refused(Exit, String),
}

/// Prints the list once, then again a line for every object that changes.
pub(super) async fn run(connection: &Connection, scope: &Scope, args: &Get) -> Done {
    let mut changes = watches(connection, scope, args.noun).ready_chunks(BATCH);
    let mut before = None;
    let mut told = None;
    while let Some(heard) = changes.next().await {
        let mut changed = false;
        for one in heard {
            match one {
                Heard::Changed => changed = true,
                Heard::Failing(why) => tell(&mut told, &why),
                Heard::Refused(exit, why) => {
                    return Err(Failure::new(
                        exit,
                        format!("cannot watch {}: {why}", noun(args)),
                    ));
                }
            }
        }
        if !changed {
            continue;
        }
        match look(connection, scope, args).await {
            Ok(now) => {
                output::print(&now.news(before.as_ref(), args)?)?;
                before = Some(now);
                told = None;
            }
            // The watch fails for the same reason, and its next list brings what was missed.
            Err(failure) if failure.exit == Exit::NotFound && before.is_none() => {
                return Err(failure);
            }
            Err(failure) => tell(&mut told, &failure.sentence),
        }
        tokio::time::sleep(CALM).await;
    }
    Ok(Exit::Done)
}

/// Says a reason once, not at every try.
fn tell(told: &mut Option<String>, why: &str) {
    if told.as_deref() != Some(why) {
        eprintln!(
            "the connection fails, trying again: {}",
            output::visible(why)
        );
        *told = Some(why.to_owned());
    }
}

fn watches<'a>(
    connection: &'a Connection,
    scope: &'a Scope,
    noun: Noun,
) -> SelectAll<BoxStream<'a, Heard>> {
    let client = &connection.client;
    let mut all = SelectAll::new();
    match noun {
        Noun::Promotions => {
            all.push(heard(
                watch::rows(scope.api::<Promotion>(client), |_| ()),
                true,
            ));
            // Only says what a promotion waits for: without it the list is as good.
            all.push(heard(
                watch::rows(scope.api::<ApprovalRequest>(client), |_| ()),
                false,
            ));
        }
        Noun::Stages => all.push(heard(watch::rows(scope.api::<Stage>(client), |_| ()), true)),
        Noun::Freight => all.push(heard(
            watch::rows(scope.api::<Freight>(client), |_| ()),
            true,
        )),
        Noun::Requests => {
            all.push(heard(
                watch::rows(scope.api::<ApprovalRequest>(client), |_| ()),
                true,
            ));
        }
        Noun::Approvals => all.push(heard(
            watch::rows(scope.api::<Approval>(client), |_| ()),
            true,
        )),
        Noun::Projects => {
            let api = kube::Api::<Project>::all(client.clone());
            all.push(heard(watch::rows(api, |_| ()), true));
        }
    }
    all
}

/// A list in progress is no change until it is complete. What is not `needed` may be missing.
fn heard<'a>(
    changes: impl futures::Stream<Item = Change<()>> + Send + 'a,
    needed: bool,
) -> BoxStream<'a, Heard> {
    let mut listing = false;
    changes
        .filter_map(move |change| {
            let heard = match change {
                Change::Listing => {
                    listing = true;
                    None
                }
                Change::Listed => {
                    listing = false;
                    Some(Heard::Changed)
                }
                Change::Upsert(()) | Change::Delete(()) => (!listing).then_some(Heard::Changed),
                Change::Stale(why) => Some(Heard::Failing(why)),
                Change::Forbidden(why) => needed.then_some(Heard::Refused(Exit::Refused, why)),
                Change::Absent(why) => needed.then_some(Heard::Refused(Exit::Unreachable, why)),
            };
            std::future::ready(heard)
        })
        .boxed()
}
