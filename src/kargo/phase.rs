//! Phases and statuses: closed sets in Kargo's code, plain strings in its schemas, so unknown ones are kept as read.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($(#[$vdoc])* $variant,)+
            /// A word that this version does not know, as it was read.
            Unknown(String),
        }

        impl $name {
            /// The word as Kargo writes it.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)+
                    Self::Unknown(text) => text,
                }
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                match text.as_str() {
                    $($text => Self::$variant,)+
                    _ => Self::Unknown(text),
                }
            }
        }

        impl From<$name> for String {
            fn from(word: $name) -> String {
                word.as_str().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string" })
            }
        }
    };
}

words! {
    /// `status.phase` of a Promotion; a new one has the empty phase.
    Phase {
        /// Created, not yet seen by an executor.
        New = "",
        /// Seen, waiting for its turn in the Stage's queue.
        Pending = "Pending",
        /// Its steps are being run.
        Running = "Running",
        /// Ended well.
        Succeeded = "Succeeded",
        /// A step said no.
        Failed = "Failed",
        /// A step could not be done.
        Errored = "Errored",
        /// A person ended it.
        Aborted = "Aborted",
    }
}

impl Phase {
    /// Whether nothing more will happen.
    pub fn is_terminal(&self) -> bool {
        matches!(
            self,
            Self::Succeeded | Self::Failed | Self::Errored | Self::Aborted
        )
    }
}

#[expect(
    clippy::derivable_impls,
    reason = "the macro makes enums that have no default"
)]
impl Default for Phase {
    fn default() -> Self {
        Self::New
    }
}

words! {
    /// `status` of one entry of `stepExecutionMetadata`.
    StepStatus {
        /// Started, or waiting.
        Running = "Running",
        /// Ended well.
        Succeeded = "Succeeded",
        /// Not run, or nothing was to be done.
        Skipped = "Skipped",
        /// Ended by a person.
        Aborted = "Aborted",
        /// Said no.
        Failed = "Failed",
        /// Could not be done.
        Errored = "Errored",
    }
}

impl StepStatus {
    /// Kargo's severity, low to high; unknown words count as the worst.
    pub fn severity(&self) -> u8 {
        match self {
            Self::Succeeded => 0,
            Self::Skipped => 1,
            Self::Running => 2,
            Self::Aborted => 3,
            Self::Failed => 4,
            Self::Errored => 5,
            Self::Unknown(_) => 6,
        }
    }

    /// Whether the word is one of the ends (a step between retries has one too: see `finishedAt`).
    pub fn is_terminal(&self) -> bool {
        !matches!(self, Self::Running | Self::Unknown(_))
    }
}

words! {
    /// Phase of a verification. Kargo's words differ from a Promotion's: `Successful`, `Error`.
    VerificationPhase {
        /// Not begun.
        Pending = "Pending",
        /// Under way.
        Running = "Running",
        /// Passed.
        Successful = "Successful",
        /// Did not pass.
        Failed = "Failed",
        /// Could not be made.
        Error = "Error",
        /// Ended by a person.
        Aborted = "Aborted",
        /// Neither passed nor failed.
        Inconclusive = "Inconclusive",
    }
}

impl VerificationPhase {
    /// Whether nothing more will happen.
    pub fn is_terminal(&self) -> bool {
        !matches!(self, Self::Pending | Self::Running | Self::Unknown(_))
    }
}

words! {
    /// `status.health.status` of a Stage.
    HealthState {
        /// All is well.
        Healthy = "Healthy",
        /// There is nothing to judge.
        NotApplicable = "NotApplicable",
        /// On its way.
        Progressing = "Progressing",
        /// Cannot be told (Kargo's word; distinct from a word that we do not know).
        Unclear = "Unknown",
        /// Something is wrong.
        Unhealthy = "Unhealthy",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_words_survive_a_round_trip() {
        let phase: Phase = serde_json::from_str("\"Paused\"").unwrap();
        assert_eq!(phase, Phase::Unknown("Paused".into()));
        assert!(!phase.is_terminal());
        assert_eq!(serde_json::to_string(&phase).unwrap(), "\"Paused\"");
    }
}
