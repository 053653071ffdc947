//! `verify`: asks for another verification of what is in a Stage.

use super::{
    Done, Exit,
    args::{Global, VerifyStage},
    output, session,
};
use crate::{
    cluster::{act, find},
    kargo::StageName,
};

/// Runs the verb.
pub async fn run(global: &Global, args: &VerifyStage) -> Done {
    let connection = session::connect(global).await?;
    let scope = session::scope(global, &connection);
    let stage = find::stage(
        &connection.client,
        &scope,
        &StageName::from(args.stage.as_str()),
    )
    .await?;
    act::verify(&connection.client, &stage).await?;
    output::print(&format!("stage/{} verification requested\n", stage.name()))?;
    Ok(Exit::Done)
}
