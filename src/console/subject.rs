//! What a command is about: the object under the cursor, or the one that is open.

use crate::{
    kargo::{ProjectName, StageName, approval::RequestPhase},
    rules::rows::{PromotionRow, RequestRow},
};

use super::{
    message::{Key, Kind, Row},
    state::{Screen, State},
};

/// The Promotion that a command is about. The open one's row is made from the object, which is as fresh or fresher.
pub fn promotion(state: &State) -> Option<PromotionRow> {
    match state.screen() {
        Screen::List(Kind::Promotions) => state.tables.promotions.current().cloned(),
        Screen::Promotion(open) => of_key(state, &open.key),
        _ => None,
    }
}

/// The row of a Promotion: of the whole object where that is here, else of the table.
pub fn of_key(state: &State, key: &Key) -> Option<PromotionRow> {
    match state.detail.of(key) {
        Some(detail) => Some(PromotionRow::of(&detail.promotion)),
        None => state.tables.promotions.get(key).cloned(),
    }
}

/// The Stage that a command is about.
pub fn stage(state: &State) -> Option<(ProjectName, StageName)> {
    if let Screen::List(Kind::Stages) = state.screen() {
        return state
            .tables
            .stages
            .current()
            .map(|row| (row.project.clone(), row.name.clone()));
    }
    promotion(state).map(|row| (row.project, row.stage))
}

/// The request that a command is about, or why there is none.
pub fn request(state: &State) -> Result<RequestRow, String> {
    match state.screen() {
        Screen::List(Kind::Requests) => state
            .tables
            .requests
            .current()
            .cloned()
            .ok_or_else(|| "nothing is asked".to_owned()),
        Screen::Request(open) => match state.request.of(&open.key) {
            Some(request) => Ok(RequestRow::of(request)),
            None => state
                .tables
                .requests
                .get(&open.key)
                .cloned()
                .ok_or_else(|| "the request is not here yet".to_owned()),
        },
        _ => of_promotion(state),
    }
}

/// The open request of the Promotion under the cursor. With more than one open gate the step under the cursor
/// decides, and without that nothing does: an answer must never go to the other gate.
fn of_promotion(state: &State) -> Result<RequestRow, String> {
    let row = promotion(state).ok_or_else(|| "no Promotion is chosen".to_owned())?;
    let open: Vec<&RequestRow> = state
        .tables
        .index
        .requests_of(&row.uid)
        .filter_map(|key| state.tables.requests.get(key))
        .filter(|request| request.phase == RequestPhase::Open)
        .collect();
    let step = match state.screen() {
        Screen::Promotion(screen) => state
            .detail
            .of(&screen.key)
            .and_then(|detail| detail.promotion.spec.steps.get(screen.step))
            .map(|step| &step.alias),
        _ => None,
    };
    let chosen = open.iter().find(|request| Some(&request.step) == step);
    match (chosen, open.as_slice()) {
        (Some(request), _) => Ok((*request).clone()),
        (None, []) => Err("it asks nothing".to_owned()),
        (None, [only]) => Ok((*only).clone()),
        (None, several) => Err(format!(
            "{} gates are open: choose one in approvals",
            several.len()
        )),
    }
}

/// What copying gives here, byte for byte as the source has it.
pub fn text(state: &State) -> Option<String> {
    match state.screen() {
        Screen::List(Kind::Promotions) => {
            state.tables.promotions.current().map(|row| row.key().name)
        }
        Screen::List(Kind::Stages) => state.tables.stages.current().map(|row| row.key().name),
        Screen::List(Kind::Freight) => state.tables.freight.current().map(|row| row.key().name),
        Screen::List(Kind::Requests) => state
            .tables
            .requests
            .current()
            .map(|row| row.promotion.to_string()),
        Screen::Request(open) => state
            .request
            .of(&open.key)
            .map(|request| request.spec.change.diff.clone()),
        Screen::Promotion(open) => {
            let Some(detail) = state.detail.of(&open.key) else {
                return Some(open.key.name.clone());
            };
            if open.whole {
                return detail.whole.as_ref().map(|whole| whole.diff.clone());
            }
            let step = detail.promotion.spec.steps.get(open.step)?;
            let message = detail
                .promotion
                .step_metadata(&step.alias)
                .map(|entry| &entry.message);
            let message = message.filter(|message| !message.is_empty());
            let change = detail
                .changes
                .iter()
                .find(|change| change.alias == step.alias);
            match (message, change) {
                (Some(message), _) => Some(message.clone()),
                (None, Some(change)) => Some(change.change.diff.clone()),
                (None, None) => Some(open.key.name.clone()),
            }
        }
        Screen::Errors(_) => state.troubles.back().map(|trouble| trouble.text.clone()),
        Screen::Log(_) | Screen::Help(_) => None,
    }
}
