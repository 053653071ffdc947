//! A push under way, as seen from beside the run: it cannot be called back, only waited for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Shared between the run and whoever wants to end it.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct Pushing(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    to: Option<String>,
    called_back: bool,
}

impl Pushing {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the branch or tag that a push is under way to.
    pub fn begin(&self, to: &impl ToString) {
        self.state().to = Some(to.to_string());
    }

    /// There is an answer, or no push yet.
    pub fn end(&self) {
        self.state().to = None;
    }

    /// The branch or tag, while nobody knows whether it will land.
    pub fn target(&self) -> Option<String> {
        self.state().to.clone()
    }

    /// No further try, and no further step.
    pub fn call_back(&self) {
        self.state().called_back = true;
    }

    /// Whether somebody wants it to end.
    pub fn is_called_back(&self) -> bool {
        self.state().called_back
    }
}
