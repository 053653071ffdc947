//! What is known of the people of each Project that has objects, and what the cluster would refuse us there: asked
//! once a Project is seen, and again from time to time.

use std::{collections::BTreeMap, time::Duration};

use tokio::sync::mpsc;

use crate::{
    cluster::{Connection, access, people},
    console::message::Message,
    kargo::ProjectName,
    rules::{permissions::Action, who::Directory},
};

/// How long an answer is good for.
const GOOD: Duration = Duration::from_secs(120);

type Known = (Directory, BTreeMap<Action, String>);

/// Tells what is known of every Project that is named, until nobody names or listens any more.
pub async fn follow(
    connection: Connection,
    mut seen: mpsc::Receiver<ProjectName>,
    to: mpsc::Sender<Message>,
) {
    let mut known: BTreeMap<ProjectName, Known> = BTreeMap::new();
    let mut again = tokio::time::interval(GOOD);
    loop {
        let ask: Vec<ProjectName> = tokio::select! {
            project = seen.recv() => match project {
                Some(project) if known.contains_key(&project) => continue,
                Some(project) => vec![project],
                None => return,
            },
            _ = again.tick() => known.keys().cloned().collect(),
        };
        for project in ask {
            let found = (
                people::directory(&connection.client, &project).await,
                access::refused(&connection.client, &project).await,
            );
            if known.insert(project.clone(), found.clone()).as_ref() == Some(&found) {
                continue;
            }
            let (directory, refused) = found;
            let news = [
                Message::Directory(directory),
                Message::Refused { project, refused },
            ];
            for message in news {
                if to.send(message).await.is_err() {
                    return;
                }
            }
        }
    }
}
