//! Which rows a table shows and in which order: by moments, never by how an age reads, with the name to break ties
//! and the unknown last whichever way it goes.

use std::{borrow::Cow, cmp::Ordering};

use crate::{
    kargo::{Phase, ProjectName, Timestamp},
    rules::rows::{FreightRow, PromotionRow, RequestRow, StageRow},
};

use super::{
    index::Index,
    message::{Row, RowName},
    table::Shape,
};

/// What a table can be sorted by. A table without that column keeps to the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Column {
    Age,
    Name,
    Phase,
    Stage,
    Freight,
    Creator,
    Duration,
}

/// A column and its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// By what.
    pub column: Column,
    /// Whether from its usual end or the other; age goes from young to old.
    pub reversed: bool,
}

impl Sort {
    /// By `column`, from its usual end.
    pub fn by(column: Column) -> Self {
        Self {
            column,
            reversed: false,
        }
    }

    fn apply(self, ordering: Ordering) -> Ordering {
        if self.reversed {
            ordering.reverse()
        } else {
            ordering
        }
    }

    /// Two moments, the later first; unknown ones last.
    fn newest(self, a: Option<Timestamp>, b: Option<Timestamp>) -> Ordering {
        self.known(a, b, |a, b| b.cmp(a))
    }

    fn known<T>(
        self,
        a: Option<T>,
        b: Option<T>,
        compare: impl Fn(&T, &T) -> Ordering,
    ) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) => self.apply(compare(&a, &b)),
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    }

    /// Two texts; empty ones last.
    fn text(self, a: &str, b: &str) -> Ordering {
        self.known(
            Some(a).filter(|a| !a.is_empty()),
            Some(b).filter(|b| !b.is_empty()),
            Ord::cmp,
        )
    }
}

/// What narrows and orders the tables.
#[derive(Debug)]
pub struct View<'a> {
    /// One Project, or all.
    pub project: Option<&'a ProjectName>,
    /// Text that a row must have, in lower case; empty for all.
    pub filter: &'a str,
    /// The order.
    pub sort: Sort,
    /// Aliases of Freight.
    pub index: &'a Index,
}

impl View<'_> {
    /// Whether a row of that Project is shown; `texts` are asked for only where there is a filter.
    fn narrow<'t>(&self, project: &ProjectName, texts: impl FnOnce() -> Vec<Cow<'t, str>>) -> bool {
        self.project.is_none_or(|only| only == project)
            && (self.filter.is_empty() || texts().iter().any(|text| contains(text, self.filter)))
    }
}

/// Whether `text` has `low` in it, whatever its case.
fn contains(text: &str, low: &str) -> bool {
    if text.is_ascii() && low.is_ascii() {
        return text
            .as_bytes()
            .windows(low.len())
            .any(|window| window.eq_ignore_ascii_case(low.as_bytes()));
    }
    text.to_lowercase().contains(low)
}

/// The last word: name, then uid, never two rows alike.
fn by_key<R: Row + RowName>(a: &R, b: &R) -> Ordering {
    (a.project_name(), a.name_text(), a.uid()).cmp(&(b.project_name(), b.name_text(), b.uid()))
}

/// What needs a person comes first.
fn urgency(phase: &Phase) -> u8 {
    match phase {
        Phase::Failed | Phase::Errored => 0,
        Phase::Unknown(_) => 1,
        Phase::Running => 2,
        Phase::Pending => 3,
        Phase::New => 4,
        Phase::Aborted => 5,
        Phase::Succeeded => 6,
    }
}

impl Shape<PromotionRow> for View<'_> {
    /// Those that failed, of the Projects shown.
    fn tallies(&self, row: &PromotionRow) -> bool {
        matches!(row.phase, Phase::Failed | Phase::Errored)
            && self.project.is_none_or(|only| *only == row.project)
    }

    fn keeps(&self, row: &PromotionRow) -> bool {
        self.narrow(&row.project, || {
            let mut texts: Vec<Cow<'_, str>> = vec![
                format!("{}/{}", row.project, row.stage).into(),
                row.name.as_str().into(),
                row.freight.as_str().into(),
                self.index.freight_text(&row.project, &row.freight).into(),
                row.phase.as_str().into(),
                row.creator.as_str().into(),
                row.message.as_str().into(),
            ];
            if let Some(step) = &row.step {
                texts.extend([step.alias.as_str().into(), step.message.as_str().into()]);
            }
            texts
        })
    }

    fn compare(&self, a: &PromotionRow, b: &PromotionRow) -> Ordering {
        let sort = self.sort;
        let took = |row: &PromotionRow| Some(row.started_at?.until(row.finished_at?));
        match sort.column {
            Column::Age => sort.newest(a.created_at, b.created_at),
            Column::Name => sort.apply(a.name.cmp(&b.name)),
            Column::Phase => sort.apply(
                urgency(&a.phase)
                    .cmp(&urgency(&b.phase))
                    .then_with(|| a.phase.cmp(&b.phase)),
            ),
            Column::Stage => sort.apply((&a.project, &a.stage).cmp(&(&b.project, &b.stage))),
            Column::Freight => sort.text(
                self.index.freight_text(&a.project, &a.freight),
                self.index.freight_text(&b.project, &b.freight),
            ),
            Column::Creator => sort.text(&a.creator, &b.creator),
            Column::Duration => sort.known(took(a), took(b), |a, b| b.cmp(a)),
        }
        .then_with(|| by_key(a, b))
    }
}

impl Shape<RequestRow> for View<'_> {
    fn keeps(&self, row: &RequestRow) -> bool {
        self.narrow(&row.project, || {
            vec![
                format!("{}/{}", row.project, row.stage).into(),
                row.promotion.as_str().into(),
                row.step.as_str().into(),
                row.creator.as_str().into(),
                row.message.as_str().into(),
            ]
        })
    }

    fn compare(&self, a: &RequestRow, b: &RequestRow) -> Ordering {
        use crate::kargo::approval::RequestPhase::Open;
        let sort = self.sort;
        let closed = |row: &RequestRow| row.phase != Open;
        // What is answered already is of less interest, whatever the order.
        closed(a)
            .cmp(&closed(b))
            .then_with(|| match sort.column {
                // The inbox is read from its oldest question.
                Column::Age => Sort {
                    reversed: !sort.reversed,
                    ..sort
                }
                .newest(a.created_at, b.created_at),
                Column::Stage => sort.apply((&a.project, &a.stage).cmp(&(&b.project, &b.stage))),
                Column::Creator => sort.text(&a.creator, &b.creator),
                Column::Phase => sort.apply((a.phase as u8).cmp(&(b.phase as u8))),
                Column::Name | Column::Freight | Column::Duration => {
                    sort.apply(a.promotion.cmp(&b.promotion))
                }
            })
            .then_with(|| by_key(a, b))
    }
}

impl Shape<StageRow> for View<'_> {
    fn keeps(&self, row: &StageRow) -> bool {
        self.narrow(&row.project, || {
            vec![
                format!("{}/{}", row.project, row.name).into(),
                row.freight_summary.as_str().into(),
                row.health.as_str().into(),
                row.shard.as_str().into(),
                row.ready_message.as_str().into(),
            ]
        })
    }

    fn compare(&self, a: &StageRow, b: &StageRow) -> Ordering {
        let sort = self.sort;
        match sort.column {
            Column::Age => sort.newest(a.created_at, b.created_at),
            Column::Phase => sort.text(&a.health, &b.health),
            Column::Freight => sort.text(&a.freight_summary, &b.freight_summary),
            // As Freight goes through them.
            Column::Stage => {
                let place = |row: &StageRow| self.index.depth(&row.project, &row.name);
                let by_project = a.project.cmp(&b.project);
                sort.apply(by_project.then_with(|| place(a).cmp(&place(b))))
            }
            Column::Name | Column::Creator | Column::Duration => sort.apply(by_key(a, b)),
        }
        .then_with(|| by_key(a, b))
    }
}

impl Shape<FreightRow> for View<'_> {
    fn keeps(&self, row: &FreightRow) -> bool {
        self.narrow(&row.project, || {
            let names = [
                row.project.as_str(),
                row.name.as_str(),
                row.alias.as_str(),
                row.origin.name.as_str(),
            ];
            names
                .into_iter()
                .chain(row.artifacts.iter().map(String::as_str))
                .map(Cow::from)
                .collect()
        })
    }

    fn compare(&self, a: &FreightRow, b: &FreightRow) -> Ordering {
        let sort = self.sort;
        match sort.column {
            Column::Age => sort.newest(a.created_at, b.created_at),
            Column::Freight | Column::Name => sort.text(a.alias.as_str(), b.alias.as_str()),
            Column::Stage => sort.apply((&a.project, &a.origin).cmp(&(&b.project, &b.origin))),
            Column::Phase | Column::Creator | Column::Duration => sort.apply(by_key(a, b)),
        }
        .then_with(|| by_key(a, b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::{fixtures, message::Change, table::Table};

    fn sorted(rows: Vec<PromotionRow>, sort: Sort) -> Vec<String> {
        let index = Index::default();
        let mut table = Table::default();
        table.apply(
            Change::Page(rows),
            &View {
                project: None,
                filter: "",
                sort,
                index: &index,
            },
        );
        (0..table.len())
            .map(|at| table.nth(at).unwrap().name.to_string())
            .collect()
    }

    #[test]
    fn ages_sort_by_moment_with_the_unknown_last_c76() {
        let made = [
            ("59s", Some("2026-06-01T11:59:01Z")),
            ("26d", Some("2026-05-06T12:00:00Z")),
            ("unknown", None),
            ("77m", Some("2026-06-01T10:43:00Z")),
            ("2y4d", Some("2024-05-28T12:00:00Z")),
            ("364d", Some("2025-06-02T12:00:00Z")),
            ("61s-b", Some("2026-06-01T11:58:59Z")),
            ("61s-a", Some("2026-06-01T11:58:59Z")),
        ];
        let rows: Vec<_> = made
            .iter()
            .map(|(name, at)| PromotionRow {
                created_at: at.map(|at| at.parse().unwrap()),
                ..fixtures::promotion("shop", "prod", name)
            })
            .collect();
        let young = [
            "59s", "61s-a", "61s-b", "77m", "26d", "364d", "2y4d", "unknown",
        ];
        assert_eq!(sorted(rows.clone(), Sort::by(Column::Age)), young);
        let old = [
            "2y4d", "364d", "26d", "77m", "61s-a", "61s-b", "59s", "unknown",
        ];
        assert_eq!(
            sorted(
                rows,
                Sort {
                    column: Column::Age,
                    reversed: true
                }
            ),
            old
        );
    }

    #[test]
    fn durations_sort_by_length_c76() {
        let took = [("1m", 60_000), ("900ms", 900), ("1h", 3_600_000)];
        let start: Timestamp = "2026-06-01T00:00:00Z".parse().unwrap();
        let mut rows: Vec<_> = took
            .iter()
            .map(|(name, millis)| PromotionRow {
                started_at: Some(start),
                finished_at: Some(start.plus(std::time::Duration::from_millis(*millis))),
                ..fixtures::promotion("shop", "prod", name)
            })
            .collect();
        rows.push(PromotionRow {
            finished_at: None,
            ..fixtures::promotion("shop", "prod", "running")
        });
        assert_eq!(
            sorted(rows, Sort::by(Column::Duration)),
            ["1h", "1m", "900ms", "running"]
        );
    }

    #[test]
    fn filters_look_at_what_is_shown_whatever_the_case() {
        let index = Index::default();
        let row = PromotionRow {
            message: "Ünmöglich".into(),
            ..fixtures::promotion("shop", "prod", "p1")
        };
        for (filter, found) in [
            ("op/pr", true),
            ("running", true),
            ("ünm", true),
            ("pay", false),
        ] {
            let view = View {
                project: None,
                filter,
                sort: Sort::by(Column::Age),
                index: &index,
            };
            assert_eq!(view.keeps(&row), found, "{filter}");
        }
        let other = ProjectName::from("pay");
        let view = View {
            project: Some(&other),
            filter: "",
            sort: Sort::by(Column::Age),
            index: &index,
        };
        assert!(!view.keeps(&row));
    }
}
