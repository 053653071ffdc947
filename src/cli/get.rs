//! `get`: tables of rows, or the stored objects.

use std::collections::BTreeMap;

use futures::{StreamExt, stream::SelectAll};
use kube::Resource;
use serde_json::Value;

use super::{
    Done, Exit, Failure,
    args::{Format, Get, Global, Noun},
    output::{self, Table},
    session,
};
use crate::{
    cluster::{
        Connection, Error, Kind,
        find::{self, Scope},
        people,
        watch::{self, Change},
    },
    kargo::{
        Approval, ApprovalRequest, Freight, Project, ProjectName, Promotion, Stage, StageName,
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

/// What a table of promotions needs besides them.
struct Around {
    stages: Vec<StageRow>,
    requests: Vec<RequestRow>,
    aliases: BTreeMap<(ProjectName, String), String>,
    now: Timestamp,
}

/// Runs the verb.
pub async fn run(global: &Global, args: &Get) -> Done {
    let connection = session::connect(global).await?;
    let scope = session::scope(global, &connection);
    if args.watch {
        return watch_for_ever(&connection, &scope, args).await;
    }
    let text = once(&connection, &scope, args).await?;
    output::print(&text)?;
    Ok(Exit::Done)
}

async fn once(connection: &Connection, scope: &Scope, args: &Get) -> Result<String, Failure> {
    let client = &connection.client;
    match args.noun {
        Noun::Promotions => {
            let mut found = find::list::<Promotion>(client, scope).await?;
            found.sort_by(|a, b| (b.created_at(), b.name()).cmp(&(a.created_at(), a.name())));
            found.retain(|promotion| of_stage(args, &promotion.spec.stage));
            let found = named(found, args, scope, |promotion| {
                vec![promotion.name().to_owned()]
            })?;
            if let Some(text) = objects(&found, args, "promotion")? {
                return Ok(text);
            }
            let around = around(connection, scope).await?;
            let rows: Vec<PromotionRow> = found.iter().map(PromotionRow::of).collect();
            Ok(promotions(&rows, &around, args))
        }
        Noun::Stages => {
            let found = find::list::<Stage>(client, scope).await?;
            let found = named(found, args, scope, |stage| vec![stage.name().to_owned()])?;
            objects(&found, args, "stage")?.map_or_else(|| Ok(stages(&found, args)), Ok)
        }
        Noun::Freight => {
            let mut found = find::list::<Freight>(client, scope).await?;
            found.sort_by(|a, b| (b.created_at(), b.name()).cmp(&(a.created_at(), a.name())));
            found.retain(|freight| {
                args.stage
                    .as_ref()
                    .is_none_or(|stage| freight.status.currently_in.contains_key(stage.as_str()))
            });
            let names = |freight: &Freight| vec![freight.name().to_owned(), freight.alias().into()];
            let found = named(found, args, scope, names)?;
            objects(&found, args, "freight")?.map_or_else(|| Ok(freight(&found, args)), Ok)
        }
        Noun::Requests => {
            let mut found = find::list::<ApprovalRequest>(client, scope).await?;
            found.sort_by(|a, b| (a.created_at(), a.name()).cmp(&(b.created_at(), b.name())));
            found.retain(|request| of_stage(args, &request.spec.stage));
            let found = named(found, args, scope, |request| {
                vec![request.name().to_owned()]
            })?;
            objects(&found, args, "approvalrequest")?
                .map_or_else(|| Ok(requests(&found, connection, args)), Ok)
        }
        Noun::Approvals => {
            let mut found = find::list::<Approval>(client, scope).await?;
            found.sort_by(|a, b| (a.created_at(), a.name()).cmp(&(b.created_at(), b.name())));
            let found = named(found, args, scope, |approval| {
                vec![approval.name().to_owned()]
            })?;
            objects(&found, args, "approval")?.map_or_else(|| Ok(approvals(&found, args)), Ok)
        }
        Noun::Projects => {
            let found = find::projects(client).await?;
            let found = named(found, args, scope, |project| {
                vec![project.name().to_owned()]
            })?;
            objects(&found, args, "project")?.map_or_else(|| Ok(projects(&found, args)), Ok)
        }
    }
}

fn of_stage(args: &Get, stage: &StageName) -> bool {
    args.stage
        .as_ref()
        .is_none_or(|wanted| stage.as_str() == wanted)
}

/// Those that the name given means: exactly, else by their start.
fn named<K>(
    found: Vec<K>,
    args: &Get,
    scope: &Scope,
    names: impl Fn(&K) -> Vec<String>,
) -> Result<Vec<K>, Failure> {
    let Some(typed) = &args.name else {
        return Ok(found);
    };
    let (exact, others): (Vec<K>, Vec<K>) = found
        .into_iter()
        .partition(|object| names(object).contains(typed));
    let hits = if exact.is_empty() {
        others
            .into_iter()
            .filter(|object| names(object).iter().any(|name| name.starts_with(typed)))
            .collect()
    } else {
        exact
    };
    if hits.is_empty() {
        let doing = format!(
            "cannot find {:?} {typed:?} in {}",
            args.noun,
            scope.describe()
        )
        .to_lowercase();
        return Err(Error::new(Kind::NotFound, doing, "there is none of that name").into());
    }
    Ok(hits)
}

/// The objects as such, where the format asks for them.
fn objects<K>(found: &[K], args: &Get, kind: &str) -> Result<Option<String>, Failure>
where
    K: Resource<DynamicType = ()> + serde::Serialize,
{
    match args.output {
        Format::Table | Format::Wide => Ok(None),
        Format::Name => {
            let line = |object: &K| {
                format!(
                    "{kind}/{}\n",
                    object.meta().name.as_deref().unwrap_or_default()
                )
            };
            Ok(Some(found.iter().map(line).collect()))
        }
        Format::Json | Format::Yaml => {
            let values = found
                .iter()
                .map(serde_json::to_value)
                .collect::<Result<Vec<Value>, _>>();
            let mut values = values.map_err(|error| {
                Failure::new(Exit::Failed, format!("cannot print the objects: {error}"))
            })?;
            let value = match (args.name.is_some(), values.len()) {
                (true, 1) => values.pop().unwrap_or_default(),
                _ => output::list(values),
            };
            output::document(&value, args.output).map(Some)
        }
    }
}

async fn around(connection: &Connection, scope: &Scope) -> Result<Around, Failure> {
    let client = &connection.client;
    let (stages, requests, freight) = tokio::join!(
        find::list::<Stage>(client, scope),
        find::list::<ApprovalRequest>(client, scope),
        find::list::<Freight>(client, scope),
    );
    // Requests are ours: a cluster without our CRD simply has none.
    let requests = match requests {
        Err(error) if matches!(error.kind, Kind::Absent | Kind::Forbidden) => Vec::new(),
        other => other?,
    };
    Ok(Around {
        stages: stages?.iter().map(StageRow::of).collect(),
        requests: requests.iter().map(RequestRow::of).collect(),
        aliases: freight?
            .iter()
            .map(|freight| {
                (
                    (freight.project(), freight.name().to_owned()),
                    freight.alias().into(),
                )
            })
            .collect(),
        now: Timestamp::now(),
    })
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

fn promotions(rows: &[PromotionRow], around: &Around, args: &Get) -> String {
    let wide = args.output == Format::Wide;
    let mut titles = vec![
        "PROJECT", "NAME", "PHASE", "STAGE", "FREIGHT", "STEP", "WHY", "AGE",
    ];
    if wide {
        titles.extend(["CREATOR", "STARTED", "FINISHED"]);
    }
    let mut table = Table::new(&titles);
    let stages = by_stage(rows);
    for row in rows {
        let others = stages
            .get(&(&row.project, &row.stage))
            .map(Vec::as_slice)
            .unwrap_or_default();
        let step = row
            .step
            .as_ref()
            .map(|step| format!("{}/{} {}", step.number, row.steps, step.alias));
        let freight = around
            .aliases
            .get(&(row.project.clone(), row.freight.to_string()))
            .filter(|alias| !alias.is_empty())
            .cloned()
            .unwrap_or_else(|| row.freight.as_str().chars().take(7).collect());
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
    render(&table, rows.is_empty(), args)
}

fn time(at: Option<Timestamp>) -> String {
    at.map(|at| at.to_string()).unwrap_or_default()
}

fn age(since: Option<Timestamp>, now: Timestamp) -> String {
    since
        .map(|since| durations::human(since.until(now)))
        .unwrap_or_default()
}

fn render(table: &Table, empty: bool, args: &Get) -> String {
    if empty {
        eprintln!("No {:?} found", args.noun);
        return String::new();
    }
    table.render(!args.no_headers)
}

fn stages(found: &[Stage], args: &Get) -> String {
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
        table.row(vec![
            row.project.to_string(),
            row.name.to_string(),
            row.shard,
            row.freight_summary,
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
    render(&table, found.is_empty(), args)
}

fn freight(found: &[Freight], args: &Get) -> String {
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
    render(&table, found.is_empty(), args)
}

fn requests(found: &[ApprovalRequest], connection: &Connection, args: &Get) -> String {
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
    render(&table, found.is_empty(), args)
}

fn approvals(found: &[Approval], args: &Get) -> String {
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
    render(&table, found.is_empty(), args)
}

fn projects(found: &[Project], args: &Get) -> String {
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
    render(&table, found.is_empty(), args)
}

/// Prints the list once, then again a line for every object that changes.
async fn watch_for_ever(connection: &Connection, scope: &Scope, args: &Get) -> Done {
    let client = &connection.client;
    let mut changes: SelectAll<futures::stream::BoxStream<'_, Change<String>>> = SelectAll::new();
    let name_of = |meta: &kube::core::ObjectMeta| meta.name.clone().unwrap_or_default();
    macro_rules! watched {
        ($kind:ty) => {
            changes.push(
                watch::rows(scope.api::<$kind>(client), move |object: &$kind| {
                    name_of(&object.metadata)
                })
                .boxed(),
            )
        };
    }
    match args.noun {
        Noun::Promotions => {
            watched!(Promotion);
            watched!(ApprovalRequest);
        }
        Noun::Stages => watched!(Stage),
        Noun::Freight => watched!(Freight),
        Noun::Requests => watched!(ApprovalRequest),
        Noun::Approvals => watched!(Approval),
        Noun::Projects => changes.push(
            watch::rows(kube::Api::all(client.clone()), move |object: &Project| {
                name_of(&object.metadata)
            })
            .boxed(),
        ),
    }
    let mut shown = String::new();
    let mut quiet = args.clone();
    while let Some(change) = changes.next().await {
        match change {
            Change::Listed | Change::Upsert(_) | Change::Delete(_) => {
                let text = once(connection, scope, &quiet).await?;
                output::print(&fresh_lines(&shown, &text))?;
                shown = text;
                quiet.no_headers = true;
            }
            Change::Listing => {}
            Change::Stale(why) => eprintln!("the watch fails, trying again: {why}"),
            Change::Forbidden(why) => {
                return Err(Failure::new(
                    Exit::Refused,
                    format!("cannot watch {:?}: {why}", args.noun),
                ));
            }
            Change::Absent(why) => {
                return Err(Failure::new(
                    Exit::Unreachable,
                    format!("cannot watch {:?}: {why}", args.noun),
                ));
            }
        }
    }
    Ok(Exit::Done)
}

/// The lines of `now` that were not in `before`, ages aside.
fn fresh_lines(before: &str, now: &str) -> String {
    let without_age = |line: &str| {
        line.rsplit_once("   ")
            .map_or_else(|| line.to_owned(), |(rest, _)| rest.trim_end().to_owned())
    };
    let known: std::collections::BTreeSet<String> = before.lines().map(without_age).collect();
    now.lines()
        .filter(|line| !known.contains(&without_age(line)))
        .map(|line| format!("{line}\n"))
        .collect()
}
