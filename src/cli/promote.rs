//! `promote`: creates Promotions and prints their names.

use std::collections::BTreeMap;

use super::{
    Done, Exit, Failure,
    args::{Global, Promote},
    names, session, wait,
};
use crate::{
    cluster::{
        Connection,
        act::{self, What},
        find::{self, Scope},
    },
    kargo::{Promotion, StageName, artifact::Origin},
};

/// Runs the verb.
pub async fn run(global: &Global, args: &Promote) -> Done {
    let connection = session::connect(global).await?;
    let project = session::project(global, &connection).await?;
    let scope = Scope::Project(project.clone());
    let stage = find::stage(
        &connection.client,
        &scope,
        &StageName::from(args.stage.as_str()),
    )
    .await?;
    let what = what(&connection, &scope, args).await?;
    let targets = if args.downstream {
        let origin = match &what {
            (What::Origin(warehouse), _) => Origin::warehouse(warehouse),
            (What::Freight(_), origin) => origin.clone(),
        };
        let stages = act::downstream(&connection.client, &stage, &origin).await?;
        if stages.is_empty() {
            let why = format!(
                "no stage takes freight of {} from stage {project}/{}",
                origin.key(),
                args.stage
            );
            return Err(Failure::new(
                Exit::NotFound,
                format!("cannot promote downstream: {why}"),
            ));
        }
        stages
    } else {
        vec![stage]
    };
    let mut made: Vec<Promotion> = Vec::new();
    let mut failures: Vec<Failure> = Vec::new();
    for target in &targets {
        match act::promote(
            &connection.client,
            &project,
            &target.stage_name(),
            &what.0,
            BTreeMap::new(),
        )
        .await
        {
            Ok(promotion) => made.push(promotion),
            Err(error) => failures.push(error.into()),
        }
    }
    names::print(&made, args.output)?;
    if let Some(last) = failures.pop() {
        // Each is told; the code is its own only where nothing else was asked for.
        let alone = made.is_empty() && failures.is_empty();
        for failure in failures {
            failure.report();
        }
        return Err(Failure {
            exit: if alone { last.exit } else { Exit::Failed },
            ..last
        });
    }
    if args.wait {
        let names: Vec<_> = made.iter().map(Promotion::promotion_name).collect();
        return wait::for_end(&connection, &project, &names, args.timeout).await;
    }
    Ok(Exit::Done)
}

async fn what(
    connection: &Connection,
    scope: &Scope,
    args: &Promote,
) -> Result<(What, Origin), Failure> {
    let client = &connection.client;
    if let Some(warehouse) = &args.origin {
        return Ok((
            What::Origin(warehouse.clone()),
            Origin::warehouse(warehouse),
        ));
    }
    let freight = match (&args.freight, &args.freight_alias) {
        (_, Some(alias)) => find::freight_by_alias(client, scope, alias).await?,
        (Some(name), None) => find::freight(client, scope, name).await?,
        (None, None) => {
            return Err(Failure::new(
                Exit::Usage,
                "cannot promote: no freight is named",
            ));
        }
    };
    Ok((What::Freight(freight.freight_name()), freight.origin))
}
