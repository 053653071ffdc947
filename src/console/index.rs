//! What one table knows of the rows of another: a Freight's alias, a Promotion's requests, a Stage's queue.

use std::collections::{BTreeSet, HashMap};

use crate::{
    kargo::{FreightAlias, FreightName, ProjectName, StageName, Uid},
    rules::{
        pipeline::Pipeline,
        rows::{FreightRow, PromotionRow, RequestRow, StageRow},
    },
};

use super::{
    message::{Change, Key, Row},
    table::Table,
};

/// See the module.
#[derive(Debug, Default)]
pub struct Index {
    aliases: HashMap<ProjectName, HashMap<FreightName, FreightAlias>>,
    requests: HashMap<Uid, BTreeSet<Key>>,
    queues: HashMap<ProjectName, HashMap<StageName, BTreeSet<Key>>>,
    stages: HashMap<ProjectName, HashMap<StageName, Key>>,
    freight: HashMap<ProjectName, HashMap<FreightName, Key>>,
    /// How far down the pipeline each Stage is.
    depths: HashMap<ProjectName, HashMap<StageName, usize>>,
}

impl Index {
    /// Takes in news of Freight, before the table does.
    pub fn freight(&mut self, change: &Change<FreightRow>) {
        // A name is a digest of the content: an alias left behind by a Freight that is gone is still right.
        if let Change::Page(rows) | Change::Upsert(rows) = change {
            for row in rows {
                self.freight
                    .entry(row.project.clone())
                    .or_default()
                    .insert(row.name.clone(), row.key());
            }
            for row in rows.iter().filter(|row| !row.alias.is_empty()) {
                self.aliases
                    .entry(row.project.clone())
                    .or_default()
                    .insert(row.name.clone(), row.alias.clone());
            }
        }
    }

    /// Takes in news of Stages, before the table does.
    pub fn stages(&mut self, change: &Change<StageRow>) {
        if let Change::Page(rows) | Change::Upsert(rows) = change {
            for row in rows {
                self.stages
                    .entry(row.project.clone())
                    .or_default()
                    .insert(row.name.clone(), row.key());
            }
        }
    }

    /// Works out anew where each Stage is in its pipeline; says whether anything moved.
    pub fn pipelines(&mut self, table: &Table<StageRow>) -> bool {
        let mut projects: HashMap<&ProjectName, Vec<&StageRow>> = HashMap::new();
        for row in table.all() {
            projects.entry(&row.project).or_default().push(row);
        }
        let mut depths: HashMap<ProjectName, HashMap<StageName, usize>> = HashMap::new();
        for (project, stages) in projects {
            let layers = Pipeline::of(stages).layers.into_iter().enumerate();
            let places = layers
                .flat_map(|(depth, stages)| stages.into_iter().map(move |stage| (stage, depth)));
            depths.insert(project.clone(), places.collect());
        }
        let moved = self.depths != depths;
        self.depths = depths;
        moved
    }

    /// How far down the pipeline a Stage is.
    pub fn depth(&self, project: &ProjectName, stage: &StageName) -> usize {
        self.depths
            .get(project)
            .and_then(|stages| stages.get(stage))
            .copied()
            .unwrap_or_default()
    }

    /// Takes in news of requests, before the table does.
    pub fn request(&mut self, change: &Change<RequestRow>, table: &Table<RequestRow>) {
        match change {
            Change::Page(rows) | Change::Upsert(rows) => {
                for row in rows {
                    self.requests
                        .entry(row.promotion_uid.clone())
                        .or_default()
                        .insert(row.key());
                }
            }
            Change::Delete(key) => {
                if let Some(keys) = table
                    .get(key)
                    .and_then(|row| self.requests.get_mut(&row.promotion_uid))
                {
                    keys.remove(key);
                }
            }
            Change::ListDone => {}
        }
    }

    /// Takes in news of Promotions, before the table does.
    pub fn promotion(&mut self, change: &Change<PromotionRow>) {
        if let Change::Page(rows) | Change::Upsert(rows) = change {
            for row in rows {
                let queue = self
                    .queues
                    .entry(row.project.clone())
                    .or_default()
                    .entry(row.stage.clone())
                    .or_default();
                if row.phase.is_terminal() {
                    queue.remove(&row.key());
                } else {
                    queue.insert(row.key());
                }
            }
        }
    }

    /// The alias of a Freight, if it was seen.
    pub fn alias(&self, project: &ProjectName, name: &FreightName) -> Option<&str> {
        self.aliases
            .get(project)?
            .get(name)
            .map(FreightAlias::as_str)
    }

    /// How a Freight is called in a table: its alias, else the start of its name.
    pub fn freight_text<'a>(&'a self, project: &ProjectName, name: &'a FreightName) -> &'a str {
        let text = name.as_str();
        let short = text
            .char_indices()
            .nth(7)
            .and_then(|(end, _)| text.get(..end))
            .unwrap_or(text);
        self.alias(project, name).unwrap_or(short)
    }

    /// Every Project that a Promotion, a Stage or a Freight was seen of, by name.
    pub fn projects(&self) -> BTreeSet<&ProjectName> {
        self.queues
            .keys()
            .chain(self.stages.keys())
            .chain(self.freight.keys())
            .collect()
    }

    /// The Stage of that name; it may be gone.
    pub fn stage(&self, project: &ProjectName, name: &StageName) -> Option<&Key> {
        self.stages.get(project)?.get(name)
    }

    /// The Freight of that name; it may be gone.
    pub fn freight_key(&self, project: &ProjectName, name: &FreightName) -> Option<&Key> {
        self.freight.get(project)?.get(name)
    }

    /// The requests of a Promotion; some may be gone.
    pub fn requests_of(&self, promotion: &Uid) -> impl Iterator<Item = &Key> {
        self.requests.get(promotion).into_iter().flatten()
    }

    /// The Promotions of a Stage that have not ended, in no order that matters; some may be gone.
    pub fn queue(&self, project: &ProjectName, stage: &StageName) -> impl Iterator<Item = &Key> {
        self.queues
            .get(project)
            .and_then(|stages| stages.get(stage))
            .into_iter()
            .flatten()
    }
}
