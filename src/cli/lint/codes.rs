//! The table of what lint finds. Codes are stable: pipelines name them.

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It cannot work.
    Error,
    /// It is likely not what was meant.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

macro_rules! codes {
    ($($code:ident $name:literal $severity:ident $meaning:literal;)+) => {
        /// What was found.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum Code { $($code),+ }

        impl Code {
            /// All of them, as the manual lists them.
            pub const ALL: &'static [Self] = &[$(Self::$code),+];

            /// As it is printed.
            pub fn name(self) -> &'static str {
                match self { $(Self::$code => $name),+ }
            }

            /// How bad it usually is.
            pub fn severity(self) -> Severity {
                match self { $(Self::$code => Severity::$severity),+ }
            }

            /// What it means, for the manual.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$code => $meaning),+ }
            }
        }
    };
}

codes! {
    YamlSyntax "yaml-syntax" Error "the file is neither YAML nor JSON";
    YamlForm "yaml-form" Warning "YAML of a form that lint does not follow; nothing in the file was checked";
    DuplicateKey "duplicate-key" Error "a key is there twice in one mapping";
    UnknownField "unknown-field" Error "Kargo knows no such field: a server would refuse or drop it";
    InvalidField "invalid-field" Error "a value that the kind's definition refuses";
    TaskStepField "task-step-field" Error "a step that names a task has `if`, `config`, `retry` or `continueOnError`";
    DuplicateAlias "duplicate-alias" Error "two steps have one alias";
    ReservedAlias "reserved-alias" Error "an alias of the form that steps without one are given (`step-1`, `task-2`)";
    UnknownTask "unknown-task" Warning "the task is not among the files, so it could not be looked into";
    TaskVariable "task-variable" Error "a task's variable has no default and is given nowhere";
    UnknownStep "unknown-step" Error "there is no step kind of that name";
    StepUnsupported "step-unsupported" Warning "Kargo has this step kind, and this version of tidewaiter does not run it; its configuration was not checked";
    RetryInvalid "retry-invalid" Error "`retry.timeout` is no duration, or a limit is negative";
    ConfigField "config-field" Error "the step's configuration has no such field";
    ConfigMissing "config-missing" Error "a required field of the configuration is not there";
    ConfigType "config-type" Error "a value of the configuration has the wrong type";
    ConfigExclusive "config-exclusive" Error "fields of the configuration exclude each other, or one of several is missing";
    ConfigValue "config-value" Error "a value of the configuration that the step refuses";
    ExpressionSyntax "expression-syntax" Error "an expression that does not parse";
    ExpressionUnclosed "expression-unclosed" Error "`${{` or `${%` without its end";
    ExpressionEmpty "expression-empty" Warning "an expression with nothing in it, behind which no other is evaluated";
    UnknownName "unknown-name" Error "there is nothing of that name where the expression stands";
    UnknownFunction "unknown-function" Error "there is no function of that name where the expression stands";
    UnknownVariable "unknown-variable" Error "no variable of that name is defined before";
    UnknownContext "unknown-context" Error "`ctx` has no such field";
    UnknownMember "unknown-member" Error "what the function gives has no such field";
    UnknownOutput "unknown-output" Error "no step has that alias";
    LaterOutput "later-output" Error "the output of a step that has not run yet";
    SkippedOutput "skipped-output" Error "the output of a step whose condition is never true";
    MaybeSkippedOutput "maybe-skipped-output" Warning "the output of a step that has a condition, read where it may have been skipped";
    UnknownOutputField "unknown-output-field" Warning "the step has no output of that name";
    IfNotBool "if-not-bool" Error "a condition that does not give true or false";
    IfIgnoresFailure "if-ignores-failure" Warning "an effect whose condition lets it run although an earlier step failed";
    GateContinues "gate-continues" Error "`continueOnError` on a gate, which is refused";
    EffectAfterGate "effect-after-gate" Warning "an effect whose condition lets it run although a gate before it was not passed";
    CommitNotPush "commit-not-push" Warning "git-commit's id where git-push's is meant: a push may rebase the commit";
    SecretShown "secret-shown" Error "a secret that ends up where it is stored or shown";
    Retyped "retyped" Warning "a text that may look like a number, which the typing of results would change";
    QuoteInText "quote-in-text" Warning "`quote` inside a longer text, which puts quotation marks into it";
}
