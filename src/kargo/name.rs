//! Every kind of name its own type. Reading takes any text: the API server has judged it already.

use std::{borrow::Borrow, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! name {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        #[schemars(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps `text` as it is.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The bare text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Whether nothing was given.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }
    )+};
}

name! {
    /// A Project's name, which is also its namespace.
    ProjectName,
    /// A Stage's name within its Project.
    ///
    /// ```compile_fail
    /// # use tidewaiter::kargo::{StageName, FreightName};
    /// fn promote(_: &StageName, _: &FreightName) {}
    /// let (stage, freight) = (StageName::from("prod"), FreightName::from("f"));
    /// promote(&freight, &stage);
    /// ```
    StageName,
    /// A Promotion's name: `<stage>.<ulid>.<first 7 of freight>`.
    PromotionName,
    /// A Freight's name: the SHA-1 of its content, 40 hexadecimal digits.
    FreightName,
    /// A Freight's two-word alias.
    FreightAlias,
    /// A Warehouse's name within its Project.
    WarehouseName,
    /// A step's alias, unique within its Promotion; `task::step` for a step that came from a task.
    Alias,
    /// What a step `uses`.
    StepKind,
    /// An object's `metadata.uid`.
    Uid,
    /// The name of an ApprovalRequest.
    RequestName,
    /// The name of an Approval.
    ApprovalName,
}

impl Alias {
    /// The task's part of `task::step`, where the step came from a task.
    pub fn task(&self) -> Option<&str> {
        self.as_str().rsplit_once("::").map(|(task, _)| task)
    }
}
