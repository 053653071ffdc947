//! `abort` and `refresh`: annotations on a Promotion, as Kargo reads them.

use super::{
    Done, Exit, Failure,
    args::{Global, Named},
    output, permitted, session,
};
use crate::{
    cluster::{Connection, act, find},
    rules::{permissions::Action, rows::PromotionRow},
};

/// Asks for the end of a promotion.
pub async fn abort(global: &Global, args: &Named) -> Done {
    let connection = session::connect(global).await?;
    let promotion = find::promotion(
        &connection.client,
        &session::scope(global, &connection),
        &args.promotion,
    )
    .await?;
    let (project, name) = (promotion.project(), promotion.promotion_name());
    allowed(Action::Abort, &PromotionRow::of(&promotion), &connection)?;
    act::abort(&connection.client, &project, &name).await?;
    output::print(&format!("promotion/{name} abort requested\n"))?;
    Ok(Exit::Done)
}

/// Asks for another look at a promotion.
pub async fn refresh(global: &Global, args: &Named) -> Done {
    let connection = session::connect(global).await?;
    let promotion = find::promotion(
        &connection.client,
        &session::scope(global, &connection),
        &args.promotion,
    )
    .await?;
    let (project, name) = (promotion.project(), promotion.promotion_name());
    allowed(Action::Refresh, &PromotionRow::of(&promotion), &connection)?;
    act::refresh(&connection.client, &project, &name).await?;
    output::print(&format!("promotion/{name} refresh requested\n"))?;
    Ok(Exit::Done)
}

fn allowed(action: Action, row: &PromotionRow, connection: &Connection) -> Result<(), Failure> {
    permitted::on_promotion(action, row, connection).map_err(|why| {
        let verb = format!("{action:?}").to_lowercase();
        Failure::new(
            Exit::Refused,
            format!(
                "cannot {verb} promotion {}/{}: {why}",
                row.project, row.name
            ),
        )
    })
}
