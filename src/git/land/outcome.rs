//! What a push's answer means for each member: fact first, then reason.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    HeaderKey, LandError,
    chain::{Chain, Link},
    fact, pause,
    queue::{Entry, Queue},
};
use crate::git::{
    branch::BranchName,
    id::CommitId,
    mirror::{FetchError, Mirror, RemoteTip, history::Walk},
    transport::{RefRefusal, RemoteError, Trouble},
};

const RACE_PAUSE: Duration = Duration::from_millis(20);
const RACE_PAUSE_MOST: Duration = Duration::from_secs(3);
const TROUBLE_PAUSE: Duration = Duration::from_millis(500);
const TROUBLE_PAUSE_MOST: Duration = Duration::from_secs(30);
/// Tokens take a moment to be known everywhere; more than that is no moment.
const UNAUTHORISED_TRIES: u32 = 3;
/// Words that we do not know may mean anything.
const OTHER_TRIES: u32 = 5;

/// A push that was sent.
pub struct Pushed<'a> {
    pub queue: &'a Queue,
    pub mirror: &'a Arc<Mirror>,
    pub branch: &'a BranchName,
    /// What it stated the branch to be before.
    pub tip: &'a RemoteTip,
}

/// All members found their work done already.
pub fn nothing_to_push(queue: &Queue, chain: Chain) {
    for link in chain.links {
        link.entry.landed(link.head, true);
    }
    for (entry, error) in chain.deferred {
        entry.resolve(Err(error));
    }
    queue.again(chain.left);
}

/// What marks these members' commits.
pub fn headers(entries: &[Entry]) -> Vec<HeaderKey> {
    entries
        .iter()
        .map(|entry| entry.request.header.clone())
        .collect()
}

/// Resolves those whose header was met on the branch; returns the others.
pub fn without_landed(entries: Vec<Entry>, walk: &Walk) -> Vec<Entry> {
    let mut others = Vec::new();
    for mut entry in entries {
        match walk.marked.get(&entry.request.header) {
            Some(head) => {
                entry.request.mirror.remote.git.counters().landed(1);
                entry.landed(head.clone(), false);
            }
            None => {
                entry.unsure = None;
                others.push(entry);
            }
        }
    }
    others
}

/// How often a fault is met before it counts as lasting.
pub fn tries(trouble: Trouble) -> u32 {
    match trouble {
        Trouble::Unreachable => u32::MAX,
        Trouble::Unauthorised => UNAUTHORISED_TRIES,
        Trouble::Other => OTHER_TRIES,
        Trouble::NotFound | Trouble::Unsupported | Trouble::Damaged | Trouble::Program => 0,
    }
}

/// The remote cannot be read or written: again later, within the budget.
pub fn after_trouble(queue: &Queue, entries: Vec<Entry>, error: &FetchError) {
    let tries = match error {
        FetchError::Remote(e) => tries(e.trouble),
        _ => 0,
    };
    let earlier = entries
        .iter()
        .map(|entry| entry.troubles)
        .max()
        .unwrap_or(0);
    let at = Instant::now() + pause(TROUBLE_PAUSE, earlier, TROUBLE_PAUSE_MOST);
    let mut again = Vec::new();
    for mut entry in entries {
        entry.troubles += 1;
        entry.ticket.note(&error.to_string());
        if entry.troubles < tries && at < entry.ticket.until {
            entry.pause = Some(at);
            again.push(entry);
        } else {
            entry.fail(|branch| LandError::Remote {
                branch,
                source: error.clone(),
            });
        }
    }
    queue.again(again);
}

impl Pushed<'_> {
    /// The server took it.
    pub async fn landed(&self, chain: Chain, head: &CommitId) {
        self.mirror.remote.git.counters().landed(chain.commits);
        if let Err(error) = self.mirror.pushed(self.branch, head).await {
            // It has landed all the same; the next fetch will write the ref.
            tracing::warn!(branch = %self.branch, %error, "the mirror could not note a push");
        }
        self.queue.note_landed(self.mirror.key(), head);
        for link in chain.links {
            link.entry.landed(link.head, link.commits == 0);
        }
        for (entry, error) in chain.deferred {
            entry.resolve(Err(error));
        }
        self.queue.again(chain.left);
    }

    /// Nobody knows whether it landed: the next round looks first.
    pub fn without_answer(&self, chain: Chain, error: RemoteError) {
        let (mut entries, others) = take_apart(chain);
        for entry in &mut entries {
            entry.unsure.get_or_insert_with(|| self.tip.clone());
        }
        self.queue.again(others);
        after_trouble(self.queue, entries, &error.into());
    }

    /// The server did not take it. Where is the branch now, and are we on it?
    pub async fn not_updated(&self, chain: Chain, reason: RefRefusal, words: &str) {
        let (mut entries, others) = take_apart(chain);
        for entry in &mut entries {
            entry.ticket.note(words);
        }
        self.queue.again(others);
        let now = match self.look(&mut entries).await {
            Ok(now) => now,
            Err(error) => {
                for entry in &mut entries {
                    entry.unsure.get_or_insert_with(|| self.tip.clone());
                }
                return after_trouble(self.queue, entries, &error);
            }
        };
        if *self.tip == RemoteTip::Absent && now == RemoteTip::Absent {
            match in_the_way(self.mirror, self.branch).await {
                Ok(Some(in_the_way)) => {
                    for entry in entries {
                        let in_the_way = in_the_way.clone();
                        entry.fail(|branch| LandError::NameCollision { branch, in_the_way });
                    }
                    return;
                }
                Ok(None) => {}
                Err(error) => return after_trouble(self.queue, entries, &error.into()),
            }
        }
        let moved = now != *self.tip;
        match reason {
            RefRefusal::LostRace => self.lost_race(entries),
            _ if moved && entries.iter().any(|entry| !entry.second_chance) => {
                for entry in &mut entries {
                    entry.second_chance = true;
                }
                self.queue.again(entries);
            }
            RefRefusal::Declined if entries.len() > 1 => self.halve(entries),
            RefRefusal::Declined | RefRefusal::Protected => self.refuse(entries, words),
        }
    }

    /// Fetches, and resolves the members that are on the branch after all.
    async fn look(&self, entries: &mut Vec<Entry>) -> Result<RemoteTip, FetchError> {
        let now = self
            .mirror
            .fetch(std::slice::from_ref(self.branch))
            .await?
            .get(self.branch);
        if let RemoteTip::At(tip) = &now {
            let walk = fact::search(
                self.mirror,
                self.branch,
                tip,
                self.tip.commit(),
                &headers(entries),
            )
            .await?;
            *entries = without_landed(std::mem::take(entries), &walk);
        }
        Ok(now)
    }

    fn lost_race(&self, entries: Vec<Entry>) {
        self.mirror.remote.git.counters().lost_race();
        let earlier = entries.iter().map(|entry| entry.races).max().unwrap_or(0);
        let at = Instant::now() + pause(RACE_PAUSE, earlier, RACE_PAUSE_MOST);
        let mut again = Vec::new();
        for mut entry in entries {
            entry.races += 1;
            if entry.races < entry.request.budget.max_attempts && at < entry.ticket.until {
                entry.pause = Some(at);
                again.push(entry);
            } else {
                entry.exhaust();
            }
        }
        self.queue.again(again);
    }

    /// Somebody in it is at fault: each half goes alone.
    fn halve(&self, mut entries: Vec<Entry>) {
        let mut second = entries.split_off(entries.len() / 2);
        for half in [&mut entries, &mut second] {
            let group = self.queue.new_group();
            for entry in half {
                entry.group = Some(group);
            }
        }
        entries.append(&mut second);
        self.queue.again(entries);
    }

    fn refuse(&self, entries: Vec<Entry>, words: &str) {
        for entry in entries {
            self.mirror.remote.git.counters().refusal();
            entry.fail(|branch| LandError::Refused {
                branch,
                words: words.to_owned(),
            });
        }
    }
}

/// Those whose commits were pushed, and those who only stood on them or had no room.
fn take_apart(chain: Chain) -> (Vec<Entry>, Vec<Entry>) {
    let (pushed, noops): (Vec<Link>, Vec<Link>) =
        chain.links.into_iter().partition(|link| link.commits > 0);
    let entries = |links: Vec<Link>| links.into_iter().map(|link| link.entry);
    let others = entries(noops)
        .chain(chain.deferred.into_iter().map(|(entry, _)| entry))
        .chain(chain.left);
    let others = others.map(|mut entry| {
        // What they stood on may be the one at fault: no part in the search for it.
        entry.group = None;
        entry
    });
    let others = others.collect();
    (entries(pushed).collect(), others)
}

/// The branch on the remote that excludes this name: `env` or `env/prod/x` for `env/prod`.
pub async fn in_the_way(
    mirror: &Mirror,
    branch: &BranchName,
) -> Result<Option<String>, RemoteError> {
    let full = branch.full_ref();
    let parents = full
        .match_indices('/')
        .skip(2)
        .filter_map(|(at, _)| full.get(..at))
        .map(str::to_owned);
    let patterns = parents.chain([format!("{full}/*")]).collect();
    let there = mirror.remote.refs(mirror.path(), patterns).await?;
    let excludes = |name: &&String| {
        full.starts_with(&format!("{name}/")) || name.starts_with(&format!("{full}/"))
    };
    Ok(there
        .keys()
        .find(excludes)
        .and_then(|name| name.strip_prefix("refs/heads/"))
        .map(str::to_owned))
}
