//! Which whole objects the screens and dialogs need: asked for when one begins to need it, given up when none does.

use crate::kargo::approval::RequestPhase;

use super::{
    dialogs::Dialog,
    message::{Effect, Key, Row},
    state::{Screen, State},
};

/// A whole object that is asked for, and what came of it.
#[derive(Debug)]
pub struct Watched<T> {
    /// Which.
    pub key: Option<Key>,
    /// The object, once it came.
    pub value: Option<Box<T>>,
    /// Why it did not come.
    pub error: Option<String>,
}

impl<T> Default for Watched<T> {
    fn default() -> Self {
        Self {
            key: None,
            value: None,
            error: None,
        }
    }
}

impl<T> Watched<T> {
    /// The object, if it is this one and it came.
    pub fn of(&self, key: &Key) -> Option<&T> {
        self.value
            .as_deref()
            .filter(|_| self.key.as_ref() == Some(key))
    }

    /// Takes in what came, if it was asked for.
    pub fn arrived(&mut self, uid: &crate::kargo::Uid, value: Box<T>) -> bool {
        let wanted = self.key.as_ref().is_some_and(|key| key.uid == *uid);
        if wanted {
            self.value = Some(value);
            self.error = None;
        }
        wanted
    }

    /// Takes in why it did not come.
    pub fn failed(&mut self, uid: &crate::kargo::Uid, error: String) {
        if self.key.as_ref().is_some_and(|key| key.uid == *uid) {
            self.error = Some(error);
        }
    }

    /// Follows the wish; says what is to be done where it changed.
    fn follow(
        &mut self,
        wanted: Option<Key>,
        ask: fn(Key) -> Effect,
        close: Effect,
    ) -> Option<Effect> {
        if self.key == wanted {
            return None;
        }
        *self = Self {
            key: wanted.clone(),
            ..Self::default()
        };
        Some(wanted.map_or(close, ask))
    }
}

/// Asks for what is needed now, and gives up what no longer is.
pub fn follow(state: &mut State) -> Vec<Effect> {
    let detail = wanted_promotion(state);
    let request = wanted_request(state);
    let detail = state
        .detail
        .follow(detail, Effect::OpenPromotion, Effect::CloseDetail);
    let request = state
        .request
        .follow(request, Effect::FetchRequest, Effect::CloseRequest);
    detail.into_iter().chain(request).collect()
}

fn wanted_promotion(state: &State) -> Option<Key> {
    state.layers().find_map(|screen| match screen {
        Screen::Promotion(open) => Some(open.key.clone()),
        _ => None,
    })
}

/// That of the dialog, else of the screen, else what the gate under the cursor asks.
fn wanted_request(state: &State) -> Option<Key> {
    if let Some(Dialog::Answer(dialog)) = &state.dialog {
        return Some(dialog.key());
    }
    state.layers().find_map(|screen| match screen {
        Screen::Request(open) => Some(open.key.clone()),
        Screen::Promotion(open) => {
            let step = state
                .detail
                .of(&open.key)?
                .promotion
                .spec
                .steps
                .get(open.step)?;
            let requests = &state.tables.requests;
            let asked = |key: &&Key| {
                requests.get(key).is_some_and(|row| {
                    row.step == step.alias && row.phase != RequestPhase::Withdrawn
                })
            };
            let mut keys: Vec<&Key> = state
                .tables
                .index
                .requests_of(&open.key.uid)
                .filter(asked)
                .collect();
            // The newest of several questions of one gate.
            keys.sort_by_key(|key| requests.get(key).and_then(|row| row.created_at));
            keys.last().and_then(|key| requests.get(key)).map(Row::key)
        }
        _ => None,
    })
}
