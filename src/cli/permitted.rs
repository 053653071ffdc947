//! Asking the rules whether a verb makes sense, before anything is sent.

use std::collections::BTreeMap;

use crate::{
    cluster::{Connection, people},
    kargo::Timestamp,
    rules::{
        permissions::{self, Action, Actor},
        rows::PromotionRow,
        who::Directory,
    },
};

/// Whether `action` can be done with a Promotion; a verb that answers gates asks more.
pub fn on_promotion(
    action: Action,
    row: &PromotionRow,
    connection: &Connection,
) -> Result<(), String> {
    let person = people::person(&connection.who);
    let actor = Actor {
        person: &person,
        directory: &Directory::default(),
        read_only: false,
        refused: &BTreeMap::new(),
        now: Timestamp::now(),
    };
    permissions::on_promotion(action, row, &[], &actor)
}
