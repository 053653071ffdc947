//! Objects as rows of tables, one function a noun.

use std::collections::BTreeMap;

use super::{super::output::Table, Format, Get};
use crate::{
    cluster::{Connection, people},
    kargo::{
        Approval, ApprovalRequest, Freight, FreightName, Project, ProjectName, Stage, StageName,
        Timestamp,
        approval::{Decision, RequestPhase},
    },
    rules::{
        approval, durations,
        rows::{FreightRow, PromotionRow, RequestRow, StageRow},
        who::Directory,
        why,
    },
};

/// Aliases by project and name of the Freight.
pub(super) type Aliases = BTreeMap<(ProjectName, FreightName), String>;

/// What a table of promotions needs besides them.
pub(super) struct Around {
    pub stages: Vec<StageRow>,
    pub requests: Vec<RequestRow>,
    pub aliases: Aliases,
    pub now: Timestamp,
}

/// The Promotions of each Stage: a table has thousands, and each is explained by those of its own Stage.
fn by_stage(rows: &[PromotionRow]) -> BTreeMap<(&ProjectName, &StageName), Vec<&PromotionRow>> {
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for row in rows {
        found
            .entry((&row.project, &row.stage))
            .or_default()
            .push(row);
    }
    found
}

fn why_of(row: &PromotionRow, others: &[&PromotionRow], around: &Around) -> String {
    let stage = around
        .stages
        .iter()
        .find(|stage| stage.project == row.project && stage.name == row.stage);
    let request = around
        .requests
        .iter()
        .find(|request| request.promotion_uid == row.uid && request.phase == RequestPhase::Open);
    why::why(row, stage, others, request, around.now)
}

/// Promotions, each with why it is where it is.
pub(super) fn promotions(
    rows: &[PromotionRow],
    all: &[PromotionRow],
    around: &Around,
    args: &Get,
) -> Table {
    let wide = args.output == Format::Wide;
    let mut titles = vec![
        "PROJECT", "NAME", "PHASE", "STAGE", "FREIGHT", "STEP", "WHY", "AGE",
    ];
    if wide {
        titles.extend(["CREATOR", "STARTED", "FINISHED"]);
    }
    let mut table = Table::new(&titles);
    let stages = by_stage(all);
    for row in rows {
        let others = stages
            .get(&(&row.project, &row.stage))
            .map(Vec::as_slice)
            .unwrap_or_default();
        let step = row
            .step
            .as_ref()
            .map(|step| format!("{}/{} {}", step.number, row.steps, step.alias));
        let freight = alias_of(&around.aliases, &row.project, &row.freight);
        let mut cells = vec![
            row.project.to_string(),
            row.name.to_string(),
            if row.phase.as_str().is_empty() {
                "New".into()
            } else {
                row.phase.to_string()
            },
            row.stage.to_string(),
            freight,
            step.unwrap_or_default(),
            why_of(row, others, around),
            age(row.created_at, around.now),
        ];
        if wide {
            cells.push(row.creator.clone());
            cells.push(time(row.started_at));
            cells.push(time(row.finished_at));
        }
        table.row(cells);
    }
    table
}

/// A piece of Freight as people call it: by alias, else by the start of its name.
fn alias_of(aliases: &Aliases, project: &ProjectName, name: &FreightName) -> String {
    aliases
        .get(&(project.clone(), name.clone()))
        .filter(|alias| !alias.is_empty())
        .cloned()
        .unwrap_or_else(|| name.as_str().chars().take(7).collect())
}

fn time(at: Option<Timestamp>) -> String {
    at.map(|at| at.to_string()).unwrap_or_default()
}

fn age(since: Option<Timestamp>, now: Timestamp) -> String {
    since
        .map(|since| durations::human(since.until(now)))
        .unwrap_or_default()
}

/// Stages, with the Freight that is there by alias.
pub(super) fn stages(found: &[Stage], aliases: &Aliases) -> Table {
    let now = Timestamp::now();
    let mut table = Table::new(&[
        "PROJECT",
        "NAME",
        "SHARD",
        "FREIGHT",
        "HEALTH",
        "CURRENT PROMOTION",
        "AUTO",
        "READY",
        "AGE",
    ]);
    for stage in found {
        let row = StageRow::of(stage);
        let there: Vec<String> = row
            .freight
            .iter()
            .map(|name| alias_of(aliases, &row.project, name))
            .collect();
        table.row(vec![
            row.project.to_string(),
            row.name.to_string(),
            row.shard,
            there.join(", "),
            row.health,
            row.current_promotion
                .map(|name| name.to_string())
                .unwrap_or_default(),
            if row.auto_promotion {
                "on".into()
            } else {
                "off".into()
            },
            row.ready_message,
            age(row.created_at, now),
        ]);
    }
    table
}

/// Freight, with the Stages that it is in.
pub(super) fn freight(found: &[Freight], args: &Get) -> Table {
    let now = Timestamp::now();
    let mut table = Table::new(&[
        "PROJECT",
        "NAME",
        "ALIAS",
        "ORIGIN",
        "ARTIFACTS",
        "IN",
        "AGE",
    ]);
    for object in found {
        let row = FreightRow::of(object);
        let stages: Vec<&str> = row.status.currently_in.keys().map(AsRef::as_ref).collect();
        let name = if args.output == Format::Wide {
            row.name.to_string()
        } else {
            row.name.as_str().chars().take(7).collect()
        };
        table.row(vec![
            row.project.to_string(),
            name,
            row.alias.to_string(),
            row.origin.name,
            row.artifacts.join(", "),
            stages.join(","),
            age(row.created_at, now),
        ]);
    }
    table
}

/// What gates ask, and whether this user may answer.
pub(super) fn requests(found: &[ApprovalRequest], connection: &Connection) -> Table {
    let now = Timestamp::now();
    let person = people::person(&connection.who);
    let mut table = Table::new(&[
        "PROJECT",
        "NAME",
        "PHASE",
        "STAGE",
        "PROMOTION",
        "STEP",
        "APPROVALS",
        "CHANGE",
        "YOU",
        "AGE",
    ]);
    for request in found {
        let row = RequestRow::of(request);
        let approved = row
            .responses
            .iter()
            .filter(|response| response.action == "approve")
            .count();
        let directory = Directory {
            project: row.project.clone(),
            ..Directory::default()
        };
        let verdict = approval::may_answer(&row, &person, Decision::Approve, &directory, now);
        let you = match (row.phase, verdict) {
            (RequestPhase::Open, Ok(())) => "may answer".to_owned(),
            (RequestPhase::Open, Err(why)) => why.to_string(),
            _ => String::new(),
        };
        table.row(vec![
            row.project.to_string(),
            row.name.to_string(),
            format!("{:?}", row.phase),
            row.stage.to_string(),
            row.promotion.to_string(),
            row.step.to_string(),
            format!("{approved} of {}", row.min_approvals),
            format!("{} files +{} -{}", row.files, row.added, row.removed),
            you,
            age(row.created_at, now),
        ]);
    }
    table
}

/// Answers.
pub(super) fn approvals(found: &[Approval]) -> Table {
    let now = Timestamp::now();
    let mut table = Table::new(&[
        "PROJECT", "NAME", "REQUEST", "USER", "DECISION", "COUNTED", "MESSAGE", "AGE",
    ]);
    for approval in found {
        let counted = match (approval.status.counted, approval.status.reason) {
            (Some(true), _) => "yes".to_owned(),
            (Some(false), reason) => reason
                .map(|reason| format!("{reason:?}").to_lowercase())
                .unwrap_or_default(),
            (None, _) => String::new(),
        };
        table.row(vec![
            approval.project().to_string(),
            approval.name().to_owned(),
            approval.spec.request.to_string(),
            approval.spec.user.clone(),
            format!("{:?}", approval.spec.decision),
            counted,
            approval.spec.message.clone(),
            age(approval.created_at(), now),
        ]);
    }
    table
}

/// Projects.
pub(super) fn projects(found: &[Project]) -> Table {
    let now = Timestamp::now();
    let mut table = Table::new(&["NAME", "READY", "STATUS", "AGE"]);
    for project in found {
        let ready = project
            .status
            .conditions
            .iter()
            .find(|condition| condition.kind == "Ready");
        table.row(vec![
            project.name().to_owned(),
            ready
                .map(|condition| condition.status.clone())
                .unwrap_or_default(),
            ready
                .map(|condition| condition.message.clone())
                .unwrap_or_default(),
            age(project.created_at(), now),
        ]);
    }
    table
}
