//! Writing a Promotion's status: merge patches of what changed, each on the version that it was based on.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    Epoch, Journal, KEY,
    limits::{self, JOURNAL_MAX, TooMuch},
};
use crate::{
    engine::port::{Port, PortError, PortExt, patiently},
    kargo::{Phase, Promotion, PromotionName, promotion::PromotionStatus},
};

/// Why nothing more may be written to this Promotion.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// Somebody else runs it now, or ended it.
    #[error("{promotion} is no longer ours: {why}")]
    Lost {
        /// Which.
        promotion: PromotionName,
        /// What was found instead.
        why: String,
    },
    /// The journal has outgrown its place.
    #[error("the record of {promotion} does not fit")]
    TooMuch {
        /// Which.
        promotion: PromotionName,
        /// What, and by how much.
        #[source]
        source: TooMuch,
    },
    /// The cluster refused.
    #[error("cannot store what became of {promotion}")]
    Port {
        /// Which.
        promotion: PromotionName,
        /// Why.
        #[source]
        source: PortError,
    },
}

/// One Promotion's status: as it is stored, and as it should be.
pub struct Ledger {
    port: Arc<dyn Port>,
    /// As the server has it.
    stored: Promotion,
    /// As it should be, our key excepted.
    pub status: PromotionStatus,
    /// Our key.
    pub journal: Journal,
    epoch: Epoch,
}

impl Ledger {
    /// Takes the Promotion over for `epoch`. A journal that cannot be read is an error: it may hold an intent.
    pub fn open(
        port: Arc<dyn Port>,
        promotion: Promotion,
        epoch: Epoch,
    ) -> Result<Self, serde_json::Error> {
        let mut journal = Journal::read(&promotion.status)?;
        journal.epoch = epoch.clone();
        Ok(Self {
            port,
            status: promotion.status.clone(),
            stored: promotion,
            journal,
            epoch,
        })
    }

    /// Takes over what another holder of the claim has begun: from here on a write of theirs is refused. False: they
    /// have written meanwhile, so that what was read here must not be gone on with.
    pub async fn claim(&mut self) -> Result<bool, PortError> {
        if self.stored.status.started_at.is_none() || self.epoch_of(&self.stored) == self.epoch {
            return Ok(true);
        }
        let version = self.stored.metadata.resource_version.clone();
        let (project, name) = (self.stored.project(), self.stored.promotion_name());
        let body = json!({
            "metadata": {"resourceVersion": version.unwrap_or_default()},
            "status": {"state": {KEY: {"epoch": self.epoch}}},
        });
        let call = || {
            self.port
                .patch_status::<Promotion>(&project, name.as_str(), body.clone())
        };
        match patiently(call).await {
            Ok(stored) => {
                self.stored = stored;
                Ok(true)
            }
            Err(PortError::Conflict { .. } | PortError::Gone { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn epoch_of(&self, promotion: &Promotion) -> Epoch {
        Journal::read(&promotion.status)
            .map(|journal| journal.epoch)
            .unwrap_or_default()
    }

    /// The Promotion as last seen, for its metadata and spec.
    pub fn promotion(&self) -> &Promotion {
        &self.stored
    }

    /// The outputs so far.
    pub fn outputs(&self) -> Map<String, Value> {
        super::outputs(&self.status)
    }

    /// The whole status as it should be stored.
    fn wanted(&self) -> Result<PromotionStatus, LedgerError> {
        let mut status = self.status.clone();
        status.message = limits::message(&status.message);
        for entry in &mut status.step_execution_metadata {
            entry.message = limits::message(&entry.message);
        }
        let journal = serde_json::to_value(&self.journal)
            .map(limits::without_nulls)
            .unwrap_or_default();
        let size = limits::size(&journal);
        if size > JOURNAL_MAX {
            let source = TooMuch {
                what: "the journal".into(),
                size,
                max: JOURNAL_MAX,
            };
            return Err(LedgerError::TooMuch {
                promotion: self.stored.promotion_name(),
                source,
            });
        }
        let mut state = status.state_map();
        state.insert(KEY.into(), journal);
        status.state = Some(Value::Object(state));
        Ok(status)
    }

    /// Stores what differs. Waits while the cluster is away; after a conflict looks whether the Promotion is still
    /// ours, and writes the same result on its new version.
    pub async fn write(&mut self) -> Result<(), LedgerError> {
        let wanted = json_of(&self.wanted()?);
        loop {
            let Some(patch) = difference(&json_of(&self.stored.status), &wanted) else {
                return Ok(());
            };
            let version = self
                .stored
                .metadata
                .resource_version
                .clone()
                .unwrap_or_default();
            let body = json!({"metadata": {"resourceVersion": version}, "status": patch});
            let (project, name) = (self.stored.project(), self.stored.promotion_name());
            let call = || {
                self.port
                    .patch_status::<Promotion>(&project, name.as_str(), body.clone())
            };
            match patiently(call).await {
                Ok(stored) => {
                    self.stored = stored;
                    return Ok(());
                }
                Err(PortError::Conflict { .. }) => self.look_again().await?,
                Err(PortError::Gone { .. }) => return Err(self.lost("it was deleted")),
                Err(source) => {
                    return Err(LedgerError::Port {
                        promotion: name,
                        source,
                    });
                }
            }
        }
    }

    /// Reads the Promotion again; an error if it has ended, is on its way out, or has another writer.
    pub async fn look_again(&mut self) -> Result<(), LedgerError> {
        let (project, name) = (self.stored.project(), self.stored.promotion_name());
        let call = || self.port.get::<Promotion>(&project, name.as_str());
        let found = patiently(call).await.map_err(|source| LedgerError::Port {
            promotion: name.clone(),
            source,
        })?;
        let Some(found) = found.filter(|found| found.uid() == self.stored.uid()) else {
            return Err(self.lost("it was deleted"));
        };
        if found.is_deleting() {
            return Err(self.lost("it is being deleted"));
        }
        if found.status.phase.is_terminal() {
            return Err(self.lost(&format!("somebody else wrote {}", found.status.phase)));
        }
        let now = self.epoch_of(&found);
        if now != self.epoch && now != self.epoch_of(&self.stored) {
            return Err(self.lost(&format!("{} runs it now", now.holder)));
        }
        if now != self.epoch && found.status != self.stored.status {
            // Not ours yet, and somebody went on with it: what we have was made from what is no more.
            return Err(self.lost("somebody else went on with it"));
        }
        self.stored = found;
        Ok(())
    }

    fn lost(&self, why: &str) -> LedgerError {
        LedgerError::Lost {
            promotion: self.stored.promotion_name(),
            why: why.to_owned(),
        }
    }

    /// Ends the Promotion although its record does not fit: what was stored stays, with the phase and a message.
    pub async fn write_end_only(
        &mut self,
        phase: Phase,
        message: String,
    ) -> Result<(), LedgerError> {
        let mut status = self.stored.status.clone();
        status.phase = phase;
        status.message = limits::message(&message);
        status.finished_at = self.status.finished_at;
        if let Some((entry, mine)) = status.step_execution_metadata.last_mut().and_then(|entry| {
            Some((
                self.status
                    .step_execution_metadata
                    .iter()
                    .find(|mine| mine.alias == entry.alias)?,
                entry,
            ))
        }) {
            mine.status = entry.status.clone();
            mine.finished_at = entry.finished_at;
        }
        self.journal = Journal::read(&status).unwrap_or_default();
        self.status = status;
        self.write().await
    }
}

fn json_of(status: &PromotionStatus) -> Value {
    serde_json::to_value(status).unwrap_or_default()
}

/// The merge patch that turns `old` into `new`; none where they are equal. Lists are replaced as a whole.
pub fn difference(old: &Value, new: &Value) -> Option<Value> {
    if old == new {
        return None;
    }
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return Some(new.clone());
    };
    let mut patch = Map::new();
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in new {
        match old.get(key) {
            None => {
                patch.insert(key.clone(), value.clone());
            }
            Some(before) => {
                if let Some(change) = difference(before, value) {
                    patch.insert(key.clone(), change);
                }
            }
        }
    }
    Some(Value::Object(patch))
}
