//! Asking the rules whether a verb makes sense, before anything is sent.

use std::collections::BTreeMap;

use super::{Exit, Failure, args::Global, session};
use crate::{
    cluster::{Connection, find, people},
    kargo::{Promotion, Timestamp},
    rules::{
        permissions::{self, Action, Actor},
        rows::PromotionRow,
        who::Directory,
    },
};

/// The Promotion that is meant, if `action` can be done with it; a verb that answers gates asks more.
pub async fn promotion(
    global: &Global,
    connection: &Connection,
    typed: &str,
    action: Action,
) -> Result<Promotion, Failure> {
    let scope = session::scope(global, connection);
    let promotion = find::promotion(&connection.client, &scope, typed).await?;
    let person = people::person(&connection.who);
    let actor = Actor {
        person: &person,
        directory: &Directory::default(),
        read_only: false,
        refused: &BTreeMap::new(),
        now: Timestamp::now(),
    };
    let row = PromotionRow::of(&promotion);
    permissions::on_promotion(action, &row, &[], &actor).map_err(|why| {
        let verb = format!("{action:?}").to_lowercase();
        let sentence = format!(
            "cannot {verb} promotion {}/{}: {why}",
            row.project, row.name
        );
        Failure::new(Exit::Refused, sentence)
    })?;
    Ok(promotion)
}
