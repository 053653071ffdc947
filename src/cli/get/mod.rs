//! `get`: tables of rows, or the stored objects; once, or (in `follow`) again for what changes.

mod follow;
mod shown;
mod tables;

use kube::Resource;
use serde::Serialize;
use serde_json::Value;

use super::{
    Done, Exit, Failure,
    args::{Format, Get, Global, Noun},
    output, session,
};
use crate::{
    cluster::{
        Connection, Error, Kind,
        find::{self, Scope},
    },
    kargo::{Approval, ApprovalRequest, Freight, Promotion, Stage, StageName, Timestamp},
    rules::rows::{PromotionRow, RequestRow, StageRow},
};
use shown::Shown;
use tables::{Aliases, Around};

/// Runs the verb.
pub async fn run(global: &Global, args: &Get) -> Done {
    let connection = session::connect(global).await?;
    let scope = session::scope(global, &connection);
    if args.watch {
        return follow::run(&connection, &scope, args).await;
    }
    let shown = look(&connection, &scope, args).await?;
    if shown.is_empty() && matches!(args.output, Format::Table | Format::Wide) {
        eprintln!("No {} found in {}", noun(args), scope.describe());
        return Ok(Exit::Done);
    }
    output::print(&shown.render(args)?)?;
    Ok(Exit::Done)
}

/// The noun as it was meant, for sentences.
fn noun(args: &Get) -> String {
    format!("{:?}", args.noun).to_lowercase()
}

/// What there is now.
async fn look(connection: &Connection, scope: &Scope, args: &Get) -> Result<Shown, Failure> {
    let client = &connection.client;
    match args.noun {
        Noun::Promotions => {
            let mut found = find::list::<Promotion>(client, scope).await?;
            found.sort_by(|a, b| (b.created_at(), b.name()).cmp(&(a.created_at(), a.name())));
            found.retain(|promotion| of_stage(args, &promotion.spec.stage));
            // Why one waits depends on the others of its Stage, so the rows of all are needed.
            let rows: Vec<PromotionRow> = found.iter().map(PromotionRow::of).collect();
            let found = named(found, args, scope, |promotion| {
                vec![promotion.name().to_owned()]
            })?;
            if let Some(shown) = objects(&found, args, "promotion")? {
                return Ok(shown);
            }
            let around = around(connection, scope).await?;
            let wanted: Vec<PromotionRow> = found.iter().map(PromotionRow::of).collect();
            Ok(Shown::Table(tables::promotions(
                &wanted, &rows, &around, args,
            )))
        }
        Noun::Stages => {
            let mut found = find::list::<Stage>(client, scope).await?;
            found.retain(|stage| of_stage(args, &stage.stage_name()));
            let found = named(found, args, scope, |stage| vec![stage.name().to_owned()])?;
            if let Some(shown) = objects(&found, args, "stage")? {
                return Ok(shown);
            }
            let aliases = aliases(&or_none(find::list(client, scope).await, OPTIONAL)?);
            Ok(Shown::Table(tables::stages(&found, &aliases)))
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
            let table = |found: &[Freight]| tables::freight(found, args);
            or_table(&found, args, "freight", table)
        }
        Noun::Requests => {
            let mut found = or_none(find::list::<ApprovalRequest>(client, scope).await, ABSENT)?;
            found.sort_by(|a, b| (a.created_at(), a.name()).cmp(&(b.created_at(), b.name())));
            found.retain(|request| of_stage(args, &request.spec.stage));
            let found = named(found, args, scope, |request| {
                vec![request.name().to_owned()]
            })?;
            let table = |found: &[ApprovalRequest]| tables::requests(found, connection);
            or_table(&found, args, "approvalrequest", table)
        }
        Noun::Approvals => {
            let mut found = or_none(find::list::<Approval>(client, scope).await, ABSENT)?;
            found.sort_by(|a, b| (a.created_at(), a.name()).cmp(&(b.created_at(), b.name())));
            found.retain(|approval| of_stage(args, &approval.spec.stage));
            let found = named(found, args, scope, |approval| {
                vec![approval.name().to_owned()]
            })?;
            or_table(&found, args, "approval", tables::approvals)
        }
        Noun::Projects => {
            let found = find::projects(client).await?;
            let found = named(found, args, scope, |project| {
                vec![project.name().to_owned()]
            })?;
            or_table(&found, args, "project", tables::projects)
        }
    }
}

/// The objects in the form that was asked for, columns by `table`.
fn or_table<K>(
    found: &[K],
    args: &Get,
    kind: &str,
    table: impl Fn(&[K]) -> output::Table,
) -> Result<Shown, Failure>
where
    K: Resource<DynamicType = ()> + Serialize,
{
    Ok(objects(found, args, kind)?.unwrap_or_else(|| Shown::Table(table(found))))
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
        let noun = noun(args);
        let doing = format!("cannot find {noun} {typed:?} in {}", scope.describe());
        return Err(
            Error::new(Kind::NotFound, doing, "there is none of that name")
                .hint(format!("See what there is: tidewaiter get {noun} -A"))
                .into(),
        );
    }
    Ok(hits)
}

/// The objects as such, where the format asks for them.
fn objects<K>(found: &[K], args: &Get, kind: &str) -> Result<Option<Shown>, Failure>
where
    K: Resource<DynamicType = ()> + Serialize,
{
    match args.output {
        Format::Table | Format::Wide => Ok(None),
        Format::Name => {
            let line = |object: &K| {
                let name = object.meta().name.as_deref().unwrap_or_default();
                format!("{kind}/{name}")
            };
            Ok(Some(Shown::Names(found.iter().map(line).collect())))
        }
        Format::Json | Format::Yaml => {
            let values = found
                .iter()
                .map(serde_json::to_value)
                .collect::<Result<Vec<Value>, _>>();
            let values = values.map_err(|error| {
                Failure::new(Exit::Failed, format!("cannot print the objects: {error}"))
            })?;
            Ok(Some(Shown::Objects(values)))
        }
    }
}

/// Without our CRD there are simply none of our kinds.
const ABSENT: &[Kind] = &[Kind::Absent];
/// What a table shows besides its own kind may be missing, or none of this user's business.
const OPTIONAL: &[Kind] = &[Kind::Absent, Kind::Forbidden];

/// What was listed; nothing where it could not be for one of these reasons.
fn or_none<K>(listed: Result<Vec<K>, Error>, reasons: &[Kind]) -> Result<Vec<K>, Error> {
    match listed {
        Err(error) if reasons.contains(&error.kind) => Ok(Vec::new()),
        other => other,
    }
}

/// What a table of promotions shows besides them.
async fn around(connection: &Connection, scope: &Scope) -> Result<Around, Failure> {
    let client = &connection.client;
    let (stages, requests, freight) = tokio::join!(
        find::list::<Stage>(client, scope),
        find::list::<ApprovalRequest>(client, scope),
        find::list::<Freight>(client, scope),
    );
    let rows = |stages: Vec<Stage>| stages.iter().map(StageRow::of).collect();
    let asked = |requests: Vec<ApprovalRequest>| requests.iter().map(RequestRow::of).collect();
    Ok(Around {
        stages: or_none(stages, OPTIONAL).map(rows)?,
        requests: or_none(requests, OPTIONAL).map(asked)?,
        aliases: aliases(&or_none(freight, OPTIONAL)?),
        now: Timestamp::now(),
    })
}

fn aliases(freight: &[Freight]) -> Aliases {
    freight
        .iter()
        .map(|freight| {
            let key = (freight.project(), freight.freight_name());
            (key, freight.alias().into())
        })
        .collect()
}
