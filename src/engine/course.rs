//! One promotion's unchanging facts, which its run and its replays share.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Map, Value};

use super::{
    fetched::{Book, Fetched, Recorder},
    journal::{self, Journal},
    scope::Scope,
    step::Around,
    tools::{Happening, Tools, What},
};
use crate::kargo::{
    Alias, Freight, ProjectName, Promotion, PromotionName, PromotionStep, Stage, StageName,
    Timestamp, Uid,
    artifact::{FreightCollection, FreightReference},
    promotion::StepMetadata,
};

/// The facts.
pub struct Course {
    /// What all promotions share.
    pub tools: Arc<Tools>,
    /// The Project.
    pub project: ProjectName,
    /// The Stage.
    pub stage: StageName,
    /// The Promotion.
    pub promotion: PromotionName,
    /// Its uid, which is in the header of its commits.
    pub uid: Uid,
    /// Its steps, each with an alias.
    pub steps: Vec<PromotionStep>,
    /// The Freight of its start.
    pub freight: FreightCollection,
    /// What its expressions see.
    pub scope: Scope,
    /// What its steps have brought in.
    pub fetched: Arc<Book>,
}

impl Course {
    /// What a step has brought in, and brings.
    pub fn fetched(&self, alias: &Alias, recorder: Option<Recorder>) -> Fetched {
        let store = self.tools.mirrors.fetched(self.uid.as_str());
        let book = Arc::clone(&self.fetched);
        Fetched::new(store, self.uid.as_str(), alias.clone(), book, recorder)
    }

    /// A step's surroundings.
    pub fn around(&self, alias: &Alias, started_at: Timestamp) -> Around {
        Around {
            project: self.project.clone(),
            stage: self.stage.clone(),
            promotion: self.promotion.clone(),
            uid: self.uid.clone(),
            alias: alias.clone(),
            started_at,
            freight: self.freight.clone(),
            author: self.tools.settings.author.clone(),
        }
    }

    /// Tells whoever listens.
    pub fn tell(&self, step: Option<&Alias>, what: What) {
        self.tools.tell(Happening {
            project: self.project.clone(),
            stage: self.stage.clone(),
            promotion: self.promotion.clone(),
            step: step.cloned(),
            what,
        });
    }
}

/// A promotion's steps with the aliases that Kargo would give them; an error names one that cannot be.
pub fn steps_of(promotion: &Promotion) -> Result<Vec<PromotionStep>, String> {
    let mut steps = promotion.spec.steps.clone();
    let mut seen = BTreeSet::new();
    for (at, step) in steps.iter_mut().enumerate() {
        if step.alias.is_empty() {
            step.alias = format!("step-{}", at + 1).into();
        }
        if step.alias == *journal::KEY {
            return Err(format!("the alias {} is reserved", step.alias));
        }
        if !seen.insert(step.alias.clone()) {
            return Err(format!("two steps have the alias {}", step.alias));
        }
    }
    Ok(steps)
}

/// The Freight, and where the Stage takes several origins those of the others that are there.
pub fn collection(stage: &Stage, freight: &Freight) -> FreightCollection {
    let requests = &stage.spec.requested_freight;
    let mut items: BTreeMap<String, FreightReference> = BTreeMap::new();
    if requests.len() > 1 {
        let last = stage
            .status
            .last_promotion
            .as_ref()
            .and_then(|last| last.status.as_ref());
        let before = last
            .and_then(|status| status.freight_collection.as_ref())
            .map(|c| c.items.clone())
            .unwrap_or_default();
        items = before
            .into_iter()
            .filter(|(key, _)| requests.iter().any(|request| request.origin.key() == *key))
            .collect();
    }
    items.insert(freight.origin.key(), freight.reference());
    FreightCollection::new(items.into_values())
}

/// What a promotion has done so far: what expressions, replays and gates look back on.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// The outputs by alias.
    pub outputs: Map<String, Value>,
    /// How the steps ended.
    pub metas: Vec<StepMetadata>,
    /// What they decided.
    pub journal: Journal,
}

impl Past {
    /// The entry of a step that it has come to.
    pub fn meta(&self, alias: &Alias) -> Option<&StepMetadata> {
        self.metas.iter().find(|entry| entry.alias == *alias)
    }
}

/// Puts an output where later steps look for it. Outputs that a step composes inside a task are the task's as well.
pub fn put_output(
    outputs: &mut Map<String, Value>,
    step: &PromotionStep,
    output: Map<String, Value>,
) {
    if step.uses == *"compose-output"
        && let Some(task) = step.alias.task()
        && let Value::Object(task) = outputs
            .entry(task.to_owned())
            .or_insert_with(|| Value::Object(Map::new()))
    {
        task.extend(output.clone());
    }
    outputs.insert(step.alias.to_string(), Value::Object(output));
}
