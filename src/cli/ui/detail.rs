//! The object that is open on the screen: followed, and with the changes that its steps made where their objects
//! are on this machine.

use std::{path::PathBuf, sync::Arc};

use futures::StreamExt;
use tokio::sync::mpsc;

use crate::{
    cli::args::Global,
    cluster::{
        Connection,
        find::Scope,
        watch::{self, Change},
    },
    config::Folders,
    console::message::{Detail, FileCount, FileDiff, Key, Message, StepChange},
    engine::{
        record,
        workspace::{MirrorKey, MirrorPaths},
    },
    git::{diff::FileChanges, mirror},
    kargo::{ApprovalRequest, Promotion},
};

/// Where git objects may be found on this machine, for reading only.
#[derive(Clone, Debug)]
pub struct Mirrors {
    root: Arc<PathBuf>,
}

impl Mirrors {
    /// The mirrors that an executor with the same flags keeps.
    pub fn of(global: &Global) -> Self {
        Self {
            root: Arc::new(Folders::of_user().mirrors(global.local.as_deref())),
        }
    }
}

impl MirrorPaths for Mirrors {
    fn path(&self, key: &MirrorKey) -> Option<PathBuf> {
        mirror::Mirrors::path_below(&self.root, key)
    }
    fn scratch(&self) -> PathBuf {
        mirror::scratch_path(&self.root)
    }
}

/// Sends the Promotion now and whenever it changes.
pub async fn follow_promotion(
    connection: Connection,
    mirrors: Mirrors,
    key: Key,
    to: mpsc::Sender<Message>,
) {
    let api = Scope::Project(key.project.clone()).api::<Promotion>(&connection.client);
    let mut changes = Box::pin(watch::one(api, &key.name));
    while let Some(change) = changes.next().await {
        let message = match change {
            Change::Upsert(promotion) if promotion.uid() == key.uid => {
                let mirrors = mirrors.clone();
                let made = tokio::task::spawn_blocking(move || detail(promotion, &mirrors)).await;
                match made {
                    Ok(detail) => Message::Detail(Box::new(detail)),
                    Err(error) => Message::DetailFailed {
                        uid: key.uid.clone(),
                        error: error.to_string(),
                    },
                }
            }
            Change::Upsert(_) | Change::Delete(_) => Message::DetailFailed {
                uid: key.uid.clone(),
                error: format!("promotion {} is gone", key.name),
            },
            Change::Forbidden(why) | Change::Absent(why) => Message::DetailFailed {
                uid: key.uid.clone(),
                error: why,
            },
            Change::Listing | Change::Listed | Change::Stale(_) => continue,
        };
        if to.send(message).await.is_err() {
            return;
        }
    }
}

/// Sends the request now and whenever it changes.
pub async fn follow_request(connection: Connection, key: Key, to: mpsc::Sender<Message>) {
    let api = Scope::Project(key.project.clone()).api::<ApprovalRequest>(&connection.client);
    let mut changes = Box::pin(watch::one(api, &key.name));
    while let Some(change) = changes.next().await {
        let message = match change {
            Change::Upsert(request) if request.uid() == key.uid => {
                Message::Request(Box::new(request))
            }
            Change::Upsert(_) | Change::Delete(_) => Message::RequestFailed {
                uid: key.uid.clone(),
                error: format!("request {} is gone", key.name),
            },
            Change::Forbidden(why) | Change::Absent(why) => Message::RequestFailed {
                uid: key.uid.clone(),
                error: why,
            },
            Change::Listing | Change::Listed | Change::Stale(_) => continue,
        };
        if to.send(message).await.is_err() {
            return;
        }
    }
}

fn detail(promotion: Promotion, mirrors: &Mirrors) -> Detail {
    let record = record::changes(&promotion, mirrors);
    let changes = record
        .steps
        .iter()
        .map(|(alias, change)| StepChange {
            alias: alias.clone(),
            change: shown(change),
        })
        .collect();
    Detail {
        changes,
        whole: record.whole.as_ref().map(shown),
        promotion,
    }
}

fn shown(change: &FileChanges) -> FileDiff {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    FileDiff {
        files: change
            .files
            .iter()
            .map(|file| FileCount {
                path: file.path.clone(),
                added: count(file.added),
                removed: count(file.removed),
            })
            .collect(),
        diff: change.text.clone(),
    }
}
