//! Watches made into the console's messages, in batches so that a long list does not flood it.

use std::collections::BTreeSet;

use futures::{Stream, StreamExt};
use kube::{Resource, core::NamespaceResourceScope};
use serde::de::DeserializeOwned;
use tokio::{sync::mpsc, task::JoinSet};

use crate::{
    cluster::{Connection, find::Scope, watch},
    console::message::{Change, FeedEvent, FeedState, Kind, Message, Row, RowName},
    kargo::{ApprovalRequest, Freight, ProjectName, Promotion, Stage, Timestamp},
    rules::rows::{FreightRow, PromotionRow, RequestRow, StageRow},
};

/// Rows in one message at most.
const BATCH: usize = 250;

/// Where news comes from and where it goes.
#[derive(Clone, Copy)]
pub struct Wires<'a> {
    /// The cluster.
    pub connection: &'a Connection,
    /// What of it is listed.
    pub scope: &'a Scope,
    /// The console.
    pub to: &'a mpsc::Sender<Message>,
    /// Whoever wants to know which Projects have objects.
    pub projects: &'a mpsc::Sender<ProjectName>,
}

/// Starts a task for every kind that the console lists.
pub fn start(tasks: &mut JoinSet<()>, wires: Wires<'_>) {
    use FeedEvent::{Freight as Cargo, Promotions, Requests, Stages};
    spawn::<Promotion, _>(tasks, wires, Kind::Promotions, PromotionRow::of, Promotions);
    spawn::<ApprovalRequest, _>(tasks, wires, Kind::Requests, RequestRow::of, Requests);
    spawn::<Stage, _>(tasks, wires, Kind::Stages, StageRow::of, Stages);
    spawn::<Freight, _>(tasks, wires, Kind::Freight, FreightRow::of, Cargo);
}

fn spawn<K, R>(
    tasks: &mut JoinSet<()>,
    wires: Wires<'_>,
    kind: Kind,
    row: fn(&K) -> R,
    wrap: fn(Change<R>) -> FeedEvent,
) where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned
        + Send
        + 'static,
    R: Row + RowName + Send + 'static,
{
    let changes = watch::rows(wires.scope.api::<K>(&wires.connection.client), row);
    let (to, projects) = (wires.to.clone(), wires.projects.clone());
    tasks.spawn(pass_on(changes, to, projects, kind, wrap));
}

/// Passes changes on until the console is gone.
async fn pass_on<R: Row + RowName>(
    changes: impl Stream<Item = watch::Change<R>> + Send,
    to: mpsc::Sender<Message>,
    projects: mpsc::Sender<ProjectName>,
    kind: Kind,
    wrap: fn(Change<R>) -> FeedEvent,
) {
    let mut batches = Box::pin(changes.ready_chunks(BATCH));
    let mut listing = false;
    let mut last_good = Timestamp::now();
    let mut seen = BTreeSet::new();
    while let Some(batch) = batches.next().await {
        for change in &batch {
            if let watch::Change::Upsert(row) = change
                && !seen.contains(row.project_name())
            {
                let project = row.project_name().clone();
                // One that finds no room is named again with its next row.
                if projects.try_send(project.clone()).is_ok() {
                    seen.insert(project);
                }
            }
        }
        for event in events(batch, &mut listing, &mut last_good, kind, wrap) {
            if to.send(Message::Feed(event)).await.is_err() {
                return;
            }
        }
    }
}

/// One batch as messages: rows that follow each other go together.
fn events<R: Row>(
    batch: Vec<watch::Change<R>>,
    listing: &mut bool,
    last_good: &mut Timestamp,
    kind: Kind,
    wrap: fn(Change<R>) -> FeedEvent,
) -> Vec<FeedEvent> {
    let mut events = Vec::new();
    let mut rows: Vec<R> = Vec::new();
    let flush = |rows: &mut Vec<R>, listing: bool, events: &mut Vec<FeedEvent>| {
        if !rows.is_empty() {
            let rows = std::mem::take(rows);
            events.push(wrap(if listing {
                Change::Page(rows)
            } else {
                Change::Upsert(rows)
            }));
        }
    };
    for change in batch {
        if let watch::Change::Upsert(row) = change {
            *last_good = Timestamp::now();
            rows.push(row);
            continue;
        }
        flush(&mut rows, *listing, &mut events);
        match change {
            watch::Change::Upsert(_) => {}
            watch::Change::Listing => *listing = true,
            watch::Change::Listed => {
                *listing = false;
                *last_good = Timestamp::now();
                events.push(wrap(Change::ListDone));
                events.push(FeedEvent::State(kind, FeedState::Live));
            }
            watch::Change::Delete(row) => events.push(wrap(Change::Delete(row.key()))),
            watch::Change::Stale(error) => {
                events.push(FeedEvent::State(
                    kind,
                    FeedState::StaleSince {
                        since: *last_good,
                        error,
                    },
                ));
            }
            watch::Change::Forbidden(why) => {
                events.push(FeedEvent::State(kind, FeedState::Forbidden(why)))
            }
            watch::Change::Absent(why) => {
                events.push(FeedEvent::State(kind, FeedState::Absent(why)))
            }
        }
    }
    flush(&mut rows, *listing, &mut events);
    events
}
