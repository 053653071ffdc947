//! What is known of the cluster: Stages, Freight and policies whole, Promotions as rows. Turns changes into notices
//! and into Stages that need a look.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Notice, PromotionKey, Resting, StageKey, Waiting};
use crate::{
    engine::{
        keeper::Snapshot,
        port::{Change, Key, Kind},
    },
    kargo::{
        Approval, ApprovalRequest, Freight, FreightName, Phase, ProjectConfig, ProjectName,
        Promotion, PromotionName, RequestName, Stage, StageName, approval::RequestPhase,
        freight::FreightStatus, meta,
    },
    rules::rows::PromotionRow,
};

/// A question.
struct Asked {
    promotion: PromotionName,
    open: bool,
}

/// The desk.
pub struct Desk {
    shard: Option<String>,
    stages: BTreeMap<StageKey, Arc<Stage>>,
    rows: BTreeMap<StageKey, BTreeMap<PromotionName, PromotionRow>>,
    stage_of: HashMap<PromotionKey, StageName>,
    refreshes: HashMap<PromotionKey, String>,
    freight: BTreeMap<ProjectName, BTreeMap<FreightName, Arc<Freight>>>,
    configs: BTreeMap<ProjectName, Arc<ProjectConfig>>,
    requests: HashMap<(ProjectName, RequestName), Asked>,
    /// Answers that nobody has judged.
    approvals: HashMap<Key, RequestName>,
    /// Stages that need a look.
    pub dirty: BTreeSet<StageKey>,
    /// Everything that there is has been heard of once.
    synced: bool,
}

fn read<T: DeserializeOwned>(kind: Kind, value: Value) -> Option<T> {
    let name = value
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    match serde_json::from_value(value) {
        Ok(object) => Some(object),
        Err(error) => {
            tracing::warn!(kind = kind.as_str(), name, %error, "an object cannot be read and is left alone");
            None
        }
    }
}

impl Desk {
    /// An empty one for that shard; none is everything.
    pub fn new(shard: Option<String>) -> Self {
        Self {
            shard,
            stages: BTreeMap::new(),
            rows: BTreeMap::new(),
            stage_of: HashMap::new(),
            refreshes: HashMap::new(),
            freight: BTreeMap::new(),
            configs: BTreeMap::new(),
            requests: HashMap::new(),
            approvals: HashMap::new(),
            dirty: BTreeSet::new(),
            synced: false,
        }
    }

    fn is_ours(&self, label: Option<&str>) -> bool {
        self.shard
            .as_deref()
            .is_none_or(|shard| label == Some(shard))
    }

    /// Takes in a change.
    pub fn take(&mut self, change: Change) -> Vec<Notice> {
        match change {
            Change::Synced => {
                self.synced = true;
                self.orphans(|_, _| true)
            }
            Change::Deleted(key) => self.deleted(&key),
            Change::Applied(kind, value) => self.applied(kind, value),
        }
    }

    fn applied(&mut self, kind: Kind, value: Value) -> Vec<Notice> {
        match kind {
            Kind::Stage => {
                if let Some(stage) = read(kind, value) {
                    self.stage(stage);
                }
            }
            Kind::Promotion => {
                return read(kind, value)
                    .map(|promotion| self.promotion(&promotion))
                    .unwrap_or_default();
            }
            Kind::Freight => {
                if let Some(freight) = read(kind, value) {
                    self.take_freight(freight);
                }
            }
            Kind::ProjectConfig => {
                if let Some(config) = read::<ProjectConfig>(kind, value) {
                    let project = config.project();
                    self.configs.insert(project.clone(), Arc::new(config));
                    self.soil(&project, |_| true);
                }
            }
            Kind::ApprovalRequest => {
                return read::<ApprovalRequest>(kind, value)
                    .map(|request| self.request(&request))
                    .unwrap_or_default();
            }
            Kind::Approval => {
                if let Some(approval) = read::<Approval>(kind, value) {
                    return self.approval(&approval);
                }
            }
            Kind::Warehouse
            | Kind::ConfigMap
            | Kind::Secret
            | Kind::ServiceAccount
            | Kind::Event => {}
        }
        Vec::new()
    }

    /// Takes in a Stage, unless a newer version is known.
    pub fn stage(&mut self, stage: Stage) {
        let key = (stage.project(), stage.stage_name());
        if !self.is_ours(stage.label(meta::SHARD)) {
            self.stages.remove(&key);
            return;
        }
        let version = |stage: &Stage| {
            stage
                .metadata
                .resource_version
                .clone()
                .and_then(|version| version.parse::<u64>().ok())
        };
        if let Some(known) = self.stages.get(&key)
            && (version(known) > version(&stage)
                || known.metadata.resource_version == stage.metadata.resource_version)
            && known.uid() == stage.uid()
        {
            return;
        }
        self.stages.insert(key.clone(), Arc::new(stage));
        self.dirty.insert(key);
    }

    fn promotion(&mut self, promotion: &Promotion) -> Vec<Notice> {
        let row = PromotionRow::of(promotion);
        let key = (row.project.clone(), row.name.clone());
        let stage = (row.project.clone(), row.stage.clone());
        if !self.is_ours(promotion.label(meta::SHARD)) {
            return self.forget(&key).into_iter().collect();
        }
        let rows = self.rows.entry(stage.clone()).or_default();
        let old = rows.get(&row.name).cloned();
        // A status that was written here is heard of later; what is known to have ended stays so.
        if old.as_ref().is_some_and(|old| {
            old.uid == row.uid && old.phase.is_terminal() && !row.phase.is_terminal()
        }) {
            return Vec::new();
        }
        rows.insert(row.name.clone(), row.clone());
        self.stage_of.insert(key.clone(), row.stage.clone());
        if old.as_ref().is_none_or(|old| old.phase != row.phase) {
            self.dirty.insert(stage);
        }
        if row.phase.is_terminal() {
            return Vec::new();
        }
        if promotion.is_deleting() {
            return vec![Notice::Gone(key, Some(row.uid))];
        }
        if let Some(request) = promotion.abort_request() {
            let was = old.is_some_and(|old| old.aborting && old.uid == row.uid);
            return if was {
                Vec::new()
            } else {
                vec![Notice::Abort(key, request)]
            };
        }
        let token = promotion.annotation(meta::REFRESH).unwrap_or_default();
        let known = self.refreshes.insert(key.clone(), token.to_owned());
        let mut notices = Vec::new();
        if known.is_some_and(|known| known != token) {
            notices.push(Notice::Wake(key.clone()));
        }
        if old.is_none() {
            // One that waits at a gate may have to make way.
            let current = self
                .stages
                .get(&(row.project.clone(), row.stage))
                .and_then(|stage| stage.status.current_promotion.as_ref());
            notices.extend(current.map(|current| Notice::Wake((key.0, current.name.clone()))));
        }
        notices
    }

    fn take_freight(&mut self, freight: Freight) {
        let project = freight.project();
        let known = self.freight.entry(project.clone()).or_default();
        let old = known.insert(freight.freight_name(), Arc::new(freight.clone()));
        let touched = match &old {
            Some(old) if old.status == freight.status => return,
            Some(old) => Some(touched(&old.status, &freight.status)),
            None => None,
        };
        self.soil(&project, |stage| {
            stage
                .spec
                .requested_freight
                .iter()
                .filter(|request| request.origin == freight.origin)
                .any(|request| {
                    touched.as_ref().is_none_or(|touched| {
                        touched.contains(&stage.stage_name())
                            || request
                                .sources
                                .stages
                                .iter()
                                .any(|source| touched.contains(source))
                    })
                })
        });
    }

    fn request(&mut self, request: &ApprovalRequest) -> Vec<Notice> {
        let (project, name) = (request.project(), request.request_name());
        let open = request.status.phase == RequestPhase::Open;
        let asked = Asked {
            promotion: request.spec.promotion.name.clone(),
            open,
        };
        self.requests.insert((project.clone(), name.clone()), asked);
        let of = |(key, request): (&Key, &RequestName)| {
            (key.project == project && *request == name).then(|| key.clone())
        };
        let unjudged: Vec<Key> = self.approvals.iter().filter_map(of).collect();
        let of = &request.spec.promotion.name;
        let left = if self.synced && open {
            self.orphans(|in_project, asks| *in_project == project && asks == of)
        } else {
            Vec::new()
        };
        unjudged
            .into_iter()
            .filter_map(|key| self.consequence(key))
            .chain(left)
            .collect()
    }

    fn approval(&mut self, approval: &Approval) -> Vec<Notice> {
        let key = Key::new(Kind::Approval, &approval.project(), approval.name());
        if approval.status.counted.is_some() {
            // We have judged it ourselves.
            self.approvals.remove(&key);
            return Vec::new();
        }
        self.approvals
            .insert(key.clone(), approval.spec.request.clone());
        self.consequence(key).into_iter().collect()
    }

    /// What an answer leads to: it wakes who asked, or comes too late.
    fn consequence(&mut self, key: Key) -> Option<Notice> {
        let request = self.approvals.get(&key)?;
        let asked = self.requests.get(&(key.project.clone(), request.clone()))?;
        if asked.open {
            return Some(Notice::Wake((key.project.clone(), asked.promotion.clone())));
        }
        self.approvals.remove(&key);
        Some(Notice::Late(key))
    }

    /// Marks Stages of a Project for a look.
    fn soil(&mut self, project: &ProjectName, which: impl Fn(&Stage) -> bool) {
        let stages = self
            .stages
            .iter()
            .filter(|((of, _), stage)| of == project && which(stage));
        self.dirty.extend(stages.map(|(key, _)| key.clone()));
    }

    fn deleted(&mut self, key: &Key) -> Vec<Notice> {
        let project = key.project.clone();
        match key.kind {
            Kind::Promotion => {
                let promotion = PromotionName::from(key.name.as_str());
                let gone = self.forget(&(project.clone(), promotion.clone()));
                let left = self.orphans(|of, asks| *of == project && *asks == promotion);
                return gone.into_iter().chain(left).collect();
            }
            Kind::Stage => {
                let stage = (project.clone(), StageName::from(key.name.as_str()));
                self.stages.remove(&stage);
                self.dirty.remove(&stage);
                let names = self
                    .rows
                    .get(&stage)
                    .map(|rows| rows.keys().cloned().collect::<Vec<_>>())
                    .unwrap_or_default();
                // They go with their Stage.
                let gone: Vec<Notice> = names
                    .iter()
                    .filter_map(|name| self.forget(&(project.clone(), name.clone())))
                    .collect();
                let left = self.orphans(|of, asks| *of == project && names.contains(asks));
                return gone.into_iter().chain(left).collect();
            }
            Kind::Freight => {
                if let Some(known) = self.freight.get_mut(&project) {
                    known.remove(key.name.as_str());
                }
                self.soil(&project, |_| true);
            }
            Kind::ProjectConfig => {
                self.configs.remove(&project);
                self.soil(&project, |_| true);
            }
            Kind::ApprovalRequest => {
                let asked = self
                    .requests
                    .remove(&(project.clone(), key.name.as_str().into()));
                return asked
                    .map(|asked| Notice::Wake((project, asked.promotion)))
                    .into_iter()
                    .collect();
            }
            Kind::Approval => {
                self.approvals.remove(key);
            }
            Kind::Warehouse
            | Kind::ConfigMap
            | Kind::Secret
            | Kind::ServiceAccount
            | Kind::Event => {}
        }
        Vec::new()
    }

    /// Open questions of Promotions that are not here: deleted while nobody looked, or another shard's; whoever hears of
    /// it looks.
    fn orphans(&self, which: impl Fn(&ProjectName, &PromotionName) -> bool) -> Vec<Notice> {
        let open = self.requests.iter().filter(|((project, _), asked)| {
            asked.open
                && which(project, &asked.promotion)
                && self
                    .row(&(project.clone(), asked.promotion.clone()))
                    .is_none_or(|row| row.phase.is_terminal())
        });
        open.map(|((project, name), _)| {
            Notice::Orphan(Key::new(Kind::ApprovalRequest, project, name))
        })
        .collect()
    }

    fn forget(&mut self, key: &PromotionKey) -> Option<Notice> {
        let stage = (key.0.clone(), self.stage_of.remove(key)?);
        self.refreshes.remove(key);
        let row = self.rows.get_mut(&stage)?.remove(&key.1);
        self.dirty.insert(stage);
        let open = row.filter(|row| !row.phase.is_terminal());
        Some(Notice::Gone(key.clone(), open.map(|row| row.uid)))
    }

    /// One Promotion.
    pub fn row(&self, key: &PromotionKey) -> Option<&PromotionRow> {
        self.rows
            .get(&(key.0.clone(), self.stage_of.get(key)?.clone()))?
            .get(&key.1)
    }

    /// Notes an end that we wrote ourselves.
    pub fn ended(&mut self, key: &PromotionKey, phase: Phase) {
        let Some(stage) = self.stage_of.get(key) else {
            return;
        };
        if let Some(row) = self
            .rows
            .get_mut(&(key.0.clone(), stage.clone()))
            .and_then(|rows| rows.get_mut(&key.1))
        {
            row.phase = phase;
        }
    }

    /// Whether another Promotion of the Stage is queued behind this one.
    pub fn newer_waits(&self, row: &PromotionRow) -> bool {
        let rows = self.rows.get(&(row.project.clone(), row.stage.clone()));
        rows.is_some_and(|rows| {
            rows.values()
                .any(|other| other.name > row.name && !other.phase.is_terminal())
        })
    }

    /// The Promotions whose Stages say that it is their turn.
    pub fn turns(&self) -> Vec<PromotionKey> {
        let turn = |(key, stage): (&StageKey, &Arc<Stage>)| {
            let current = stage.status.current_promotion.as_ref()?;
            let row = self.rows.get(key)?.get(&current.name)?;
            let ours = !row.phase.is_terminal() && row.phase != Phase::New;
            ours.then(|| (key.0.clone(), current.name.clone()))
        };
        self.stages.iter().filter_map(turn).collect()
    }

    /// What a look at a Stage needs.
    pub fn snapshot(&self, key: &StageKey) -> Option<Snapshot> {
        Some(Snapshot {
            stage: Arc::clone(self.stages.get(key)?),
            promotions: self
                .rows
                .get(key)
                .map(|rows| rows.values().cloned().collect())
                .unwrap_or_default(),
            freight: self
                .freight
                .get(&key.0)
                .map(|freight| freight.values().cloned().collect())
                .unwrap_or_default(),
            config: self.configs.get(&key.0).cloned(),
        })
    }

    /// Promotions by phase.
    pub fn phases(&self) -> BTreeMap<String, usize> {
        let mut phases = BTreeMap::new();
        for row in self.rows.values().flat_map(BTreeMap::values) {
            let phase = if row.phase == Phase::New {
                "New"
            } else {
                row.phase.as_str()
            };
            *phases.entry(phase.to_owned()).or_default() += 1;
        }
        phases
    }

    /// Promotions that wait for their turn.
    pub(super) fn queued(&self, resting: &BTreeMap<PromotionKey, Resting>) -> Vec<Waiting> {
        let open = self
            .rows
            .values()
            .flat_map(BTreeMap::values)
            .filter(|row| !row.phase.is_terminal());
        let behind =
            open.filter(|row| !resting.contains_key(&(row.project.clone(), row.name.clone())));
        let waiting = behind.map(|row| {
            let stage = self.stages.get(&(row.project.clone(), row.stage.clone()));
            let current = stage.and_then(|stage| stage.status.current_promotion.as_ref());
            Waiting {
                project: row.project.clone(),
                stage: row.stage.clone(),
                promotion: row.name.clone(),
                what: current.map_or_else(
                    || "its turn".to_owned(),
                    |current| format!("its turn, behind {}", current.name),
                ),
            }
        });
        waiting.collect()
    }
}

/// The Stages of which a Freight's status says something else.
fn touched(old: &FreightStatus, new: &FreightStatus) -> BTreeSet<StageName> {
    fn differing<T: PartialEq>(
        old: &BTreeMap<StageName, T>,
        new: &BTreeMap<StageName, T>,
    ) -> Vec<StageName> {
        let names = old.keys().chain(new.keys());
        names
            .filter(|name| old.get(*name) != new.get(*name))
            .cloned()
            .collect()
    }
    let mut stages = BTreeSet::new();
    stages.extend(differing(&old.currently_in, &new.currently_in));
    stages.extend(differing(&old.verified_in, &new.verified_in));
    stages.extend(differing(&old.approved_for, &new.approved_for));
    stages
}
