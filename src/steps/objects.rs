//! What the steps that change the Project's objects have in common.

use crate::engine::{
    port::{Port, PortError, change::ChangeError},
    step::{StepCx, StepError},
};

/// The cluster. A step that changes objects is no part of a replay, so it is always there.
pub fn port<'a>(cx: &StepCx<'a>) -> Result<&'a dyn Port, StepError> {
    cx.port
        .ok_or_else(|| StepError::errored("objects are not changed in a replay"))
}

/// Why an object was not changed, as the step's error.
pub fn failed(doing: impl Into<String>, error: ChangeError) -> StepError {
    let doing = doing.into();
    let ChangeError { lacks, why } = error;
    let made = match &why {
        PortError::Forbidden { .. } | PortError::Invalid { .. } | PortError::TooLarge { .. } => {
            StepError::refused(doing)
        }
        PortError::Unreachable { .. } => StepError::transient(doing),
        PortError::Conflict { .. } | PortError::Gone { .. } | PortError::Unreadable { .. } => {
            StepError::errored(doing)
        }
    };
    let made = made.because(why);
    match lacks {
        Some(permission) => made.hint(format!("The executor's account needs {permission}")),
        None => made,
    }
}
