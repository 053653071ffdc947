//! `abort` and `refresh`: annotations on a Promotion, as Kargo reads them.

use super::{
    Done, Exit,
    args::{Global, Named},
    executor, output, permitted, session,
};
use crate::{cluster::act, rules::permissions::Action};

/// Asks for the end of a promotion.
pub async fn abort(global: &Global, args: &Named) -> Done {
    let connection = session::connect(global).await?;
    let promotion =
        permitted::promotion(global, &connection, &args.promotion, Action::Abort).await?;
    let (project, name) = (promotion.project(), promotion.promotion_name());
    act::abort(&connection.client, &project, &name).await?;
    output::print(&format!("promotion/{name} abort requested\n"))?;
    Ok(Exit::Done)
}

/// Asks for another look at a promotion, and says what came of it where an executor is at work.
pub async fn refresh(global: &Global, args: &Named) -> Done {
    let connection = session::connect(global).await?;
    let promotion =
        permitted::promotion(global, &connection, &args.promotion, Action::Refresh).await?;
    let (project, name) = (promotion.project(), promotion.promotion_name());
    let token = act::refresh(&connection.client, &project, &name).await?;
    let patience = executor::patience(&connection).await?;
    let line = match act::refreshed(&connection.client, &promotion, &token, patience).await? {
        Some(now) => {
            let message = output::visible(&now.status.message);
            let line = format!("promotion/{name} refreshed: {} {message}", now.status.phase);
            line.trim_end().to_owned()
        }
        None if patience.is_zero() => {
            format!("promotion/{name} refresh requested; no executor runs")
        }
        None => format!("promotion/{name} refresh requested; nobody has looked at it yet"),
    };
    output::print(&format!("{line}\n"))?;
    Ok(Exit::Done)
}
