//! The pipeline of a Project: which Stage takes its Freight from which.

use std::collections::{BTreeMap, BTreeSet};

use crate::kargo::{StageName, artifact::Origin};

use super::rows::StageRow;

/// One arrow, for one origin.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The source: a Stage, or none for the Warehouse itself.
    pub from: Option<StageName>,
    /// The Stage that takes it.
    pub to: StageName,
    /// Whose Freight.
    pub origin: Origin,
}

/// The Stages of one Project and how Freight goes through them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pipeline {
    /// All arrows, sorted. Sources that name a Stage that is not there are kept.
    pub edges: Vec<Edge>,
    /// Columns from left to right: a Stage stands to the right of all that it takes from. Stages in a circle stand in
    /// the last column.
    pub layers: Vec<Vec<StageName>>,
}

impl Pipeline {
    /// Of the Stages of one Project.
    pub fn of<'a>(stages: impl IntoIterator<Item = &'a StageRow>) -> Self {
        let stages: Vec<&StageRow> = stages.into_iter().collect();
        let mut edges: Vec<Edge> = stages.iter().flat_map(|stage| edges_of(stage)).collect();
        edges.sort();
        edges.dedup();
        let layers = layers(
            stages.iter().map(|stage| stage.name.clone()).collect(),
            &edges,
        );
        Self { edges, layers }
    }

    /// Stages that take Freight of `origin` straight from `stage`.
    pub fn downstream(&self, stage: &StageName, origin: &Origin) -> Vec<&StageName> {
        let from_here = |edge: &&Edge| edge.from.as_ref() == Some(stage) && edge.origin == *origin;
        self.edges
            .iter()
            .filter(from_here)
            .map(|edge| &edge.to)
            .collect()
    }

    /// Stages that `stage` takes its Freight from, of whatever origin.
    pub fn upstream(&self, stage: &StageName) -> BTreeSet<&StageName> {
        self.edges
            .iter()
            .filter(|edge| edge.to == *stage)
            .filter_map(|edge| edge.from.as_ref())
            .collect()
    }

    /// Every Stage that Freight can reach from `stage`, near or far; itself only in a circle.
    pub fn reach(&self, stage: &StageName) -> BTreeSet<&StageName> {
        let mut found = BTreeSet::new();
        let mut open = vec![stage];
        while let Some(next) = open.pop() {
            for edge in self
                .edges
                .iter()
                .filter(|edge| edge.from.as_ref() == Some(next))
            {
                if found.insert(&edge.to) {
                    open.push(&edge.to);
                }
            }
        }
        found
    }
}

fn edges_of(stage: &StageRow) -> Vec<Edge> {
    let edge = |from: Option<&StageName>, origin: &Origin| Edge {
        from: from.cloned(),
        to: stage.name.clone(),
        origin: origin.clone(),
    };
    let mut edges = Vec::new();
    for request in &stage.requests {
        if request.sources.direct {
            edges.push(edge(None, &request.origin));
        }
        edges.extend(
            request
                .sources
                .stages
                .iter()
                .map(|source| edge(Some(source), &request.origin)),
        );
    }
    edges
}

/// Takes away, again and again, the Stages that nothing remaining leads to.
fn layers(mut remaining: BTreeSet<StageName>, edges: &[Edge]) -> Vec<Vec<StageName>> {
    let mut layers = Vec::new();
    while !remaining.is_empty() {
        let waits = |stage: &StageName| {
            edges.iter().any(|edge| {
                edge.to == *stage
                    && edge
                        .from
                        .as_ref()
                        .is_some_and(|from| remaining.contains(from))
            })
        };
        let (later, mut layer): (BTreeSet<StageName>, Vec<StageName>) = {
            let mut split: BTreeMap<bool, Vec<StageName>> = BTreeMap::new();
            for stage in &remaining {
                split.entry(waits(stage)).or_default().push(stage.clone());
            }
            let later = split
                .remove(&true)
                .unwrap_or_default()
                .into_iter()
                .collect();
            (later, split.remove(&false).unwrap_or_default())
        };
        if layer.is_empty() {
            layer = later.into_iter().collect();
            remaining = BTreeSet::new();
        } else {
            remaining = later;
        }
        layers.push(layer);
    }
    layers
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Stages as `name: warehouse < source source`.
    fn pipeline(lines: &[&str]) -> Pipeline {
        let rows: Vec<StageRow> = lines
            .iter()
            .map(|line| {
                let (name, rest) = line.split_once(": ").unwrap();
                let requests: Vec<_> = rest
                    .split(", ")
                    .map(|request| {
                        let (origin, sources) = request.split_once(" <").unwrap_or((request, ""));
                        let stages: Vec<&str> = sources.split_whitespace().collect();
                        json!({"origin": {"kind": "Warehouse", "name": origin}, "sources": {"direct": stages.is_empty(), "stages": stages}})
                    })
                    .collect();
                let stage = json!({"metadata": {"name": name}, "spec": {"requestedFreight": requests}});
                StageRow::of(&serde_json::from_value(stage).unwrap())
            })
            .collect();
        Pipeline::of(&rows)
    }

    fn names<'a>(stages: impl IntoIterator<Item = &'a StageName>) -> Vec<&'a str> {
        stages.into_iter().map(StageName::as_str).collect()
    }

    fn columns(pipeline: &Pipeline) -> Vec<Vec<&str>> {
        pipeline.layers.iter().map(names).collect()
    }

    #[test]
    fn columns_follow_the_longest_way() {
        let shop = pipeline(&[
            "test: w",
            "uat: w < test",
            "prod-eu: w < uat",
            "prod-us: w < uat test",
            "other: v",
        ]);
        assert_eq!(
            columns(&shop),
            [
                vec!["other", "test"],
                vec!["uat"],
                vec!["prod-eu", "prod-us"]
            ]
        );
        assert_eq!(
            names(shop.reach(&"test".into())),
            ["prod-eu", "prod-us", "uat"]
        );
        assert_eq!(names(shop.upstream(&"prod-us".into())), ["test", "uat"]);
    }

    #[test]
    fn downstream_is_by_origin() {
        let shop = pipeline(&[
            "test: w, v",
            "a: w < test",
            "b: v < test",
            "c: w < test, v < test",
        ]);
        assert_eq!(
            names(shop.downstream(&"test".into(), &Origin::warehouse("w"))),
            ["a", "c"]
        );
        assert_eq!(
            names(shop.downstream(&"test".into(), &Origin::warehouse("v"))),
            ["b", "c"]
        );
        assert_eq!(
            names(shop.downstream(&"a".into(), &Origin::warehouse("w"))),
            [""; 0]
        );
    }

    #[test]
    fn circles_and_missing_sources_do_no_harm() {
        let odd = pipeline(&["start: w", "a: w < b start", "b: w < a", "lost: w < gone"]);
        assert_eq!(columns(&odd), [vec!["lost", "start"], vec!["a", "b"]]);
        assert_eq!(names(odd.reach(&"a".into())), ["a", "b"]);
        assert_eq!(columns(&pipeline(&[])), Vec::<Vec<&str>>::new());
    }
}
