//! A push under way, as seen from beside the run: it cannot be called back, only waited for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::git::branch::BranchName;

/// Shared between the run and whoever wants to end it.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct Pushing(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    to: Option<BranchName>,
    called_back: bool,
}

impl Pushing {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the branch that a push is under way to; none once there is an answer.
    pub fn set(&self, to: Option<&BranchName>) {
        self.state().to = to.cloned();
    }

    /// The branch, while nobody knows whether it will land.
    pub fn branch(&self) -> Option<BranchName> {
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
