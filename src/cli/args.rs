//! The command line: kubectl's flags, our verbs.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum, builder::NonEmptyStringValueParser};

use crate::{cluster::answer::COMMENT_MAX, rules::durations::GoDuration};

/// Watch, approve and run Kargo promotions.
#[derive(Debug, Parser)]
#[command(
    name = "tidewaiter",
    version,
    about,
    propagate_version = true,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// What to connect to, and as whom.
    #[command(flatten)]
    pub global: Global,
    /// What to do; the console where nothing is said.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

impl Cli {
    /// Flags that make no sense together for this verb, as a sentence.
    pub fn conflict(&self) -> Option<&'static str> {
        let file = matches!(&self.verb, Some(Verb::Eval(eval)) if eval.promotion.is_none());
        let both = self.global.local.is_some() && self.global.context.is_some();
        (both && !file).then_some("--local and --context cannot be used together")
    }
}

/// Flags of every verb.
#[derive(Clone, Debug, Default, Args)]
pub struct Global {
    /// Use the local cluster stored in DIR instead of a kubeconfig
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "TIDEWAITER_LOCAL",
        conflicts_with = "kubeconfig"
    )]
    pub local: Option<PathBuf>,
    /// Path of the kubeconfig file
    #[arg(long, global = true, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig (`eval` without --promotion: a file of variables)
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,
    /// Project (a Project is a namespace)
    #[arg(
        short = 'n',
        long = "namespace",
        visible_short_alias = 'p',
        visible_alias = "project",
        global = true,
        value_name = "PROJECT",
        value_parser = project
    )]
    pub namespace: Option<String>,
    /// All projects
    #[arg(short = 'A', long, global = true, conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// User to act as
    #[arg(long = "as", global = true, value_name = "USER", value_parser = NonEmptyStringValueParser::new())]
    pub as_user: Option<String>,
    /// Group to act in; may be repeated
    #[arg(
        long = "as-group",
        global = true,
        value_name = "GROUP",
        requires = "as_user"
    )]
    pub as_group: Vec<String>,
    /// How long one request may take, such as 30s
    #[arg(long, global = true, value_name = "DURATION", value_parser = duration)]
    pub request_timeout: Option<Duration>,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Columns.
    #[default]
    Table,
    /// More columns.
    Wide,
    /// The stored objects as JSON.
    Json,
    /// The stored objects as YAML.
    Yaml,
    /// `kind/name` only.
    Name,
}

/// What `get` can list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Noun {
    /// Promotions.
    #[value(aliases = ["promotion", "promo", "promos"])]
    Promotions,
    /// Stages.
    #[value(alias = "stage")]
    Stages,
    /// Freight.
    #[value(alias = "freights")]
    Freight,
    /// ApprovalRequests.
    #[value(aliases = ["request", "approvalrequests", "approvalrequest"])]
    Requests,
    /// Approvals.
    #[value(alias = "approval")]
    Approvals,
    /// Projects.
    #[value(alias = "project")]
    Projects,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Open the console (the default)
    Ui(Ui),
    /// Play with a sample project on a local cluster with real git repositories
    Demo(Demo),
    /// List objects, or show one
    Get(Get),
    /// Show a promotion's steps, and the reason it waits
    Describe(Describe),
    /// Create a Promotion of a piece of Freight to a Stage
    Promote(Promote),
    /// Approve what a gate asks, or Freight for a Stage
    Approve(Approve),
    /// Reject what a gate asks
    Reject(Reject),
    /// Promote the same Freight to the same Stage again
    Retry(Retry),
    /// Stop a promotion
    Abort(Named),
    /// Have the executor look at a promotion again now
    Refresh(Named),
    /// Verify the Freight of a Stage again
    Verify(VerifyStage),
    /// Execute promotions
    Run(Run),
    /// Create or update objects from a file
    Apply(Apply),
    /// Check Stages and tasks in files before anything runs
    Lint(Lint),
    /// Try an expression, a template or a step's configuration; nothing is run
    Eval(Eval),
    /// Show paths, versions and what we are connected to
    Info(Info),
    /// Print shell completions
    Completions(Completions),
    /// Print the manual page
    Man,
}

/// The console.
#[derive(Clone, Debug, Default, Args)]
pub struct Ui {
    /// Execute promotions in this process too
    #[arg(long)]
    pub execute: bool,
    /// Shard to execute
    #[arg(long, value_name = "NAME", requires = "execute", value_parser = NonEmptyStringValueParser::new())]
    pub shard: Option<String>,
    /// Offer nothing that changes anything
    #[arg(long, conflicts_with = "execute")]
    pub readonly: bool,
}

/// The demo.
#[derive(Clone, Debug, Default, Args)]
pub struct Demo {
    /// Where to keep the repositories and the local cluster (default: a new temporary folder)
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Play the scenario without a terminal, one line per event, and check its outcome
    #[arg(long)]
    pub plain: bool,
}

/// Listing.
#[derive(Clone, Debug, Args)]
pub struct Get {
    /// What to list
    pub noun: Noun,
    /// One object's name (or a Freight's alias)
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub name: Option<String>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
    /// Go on printing changes
    #[arg(short, long)]
    pub watch: bool,
    /// Leave out the line of column names
    #[arg(long)]
    pub no_headers: bool,
    /// Only promotions, requests or freight of this Stage
    #[arg(long, value_name = "STAGE", value_parser = NonEmptyStringValueParser::new())]
    pub stage: Option<String>,
}

/// One promotion in full.
#[derive(Clone, Debug, Args)]
pub struct Describe {
    /// The kind, `promotion`
    #[arg(value_parser = ["promotion", "promotions", "promo"])]
    pub noun: String,
    /// Its name; the start is enough where it is unique
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub name: String,
}

/// Promoting.
#[derive(Clone, Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub struct Promote {
    /// The Stage to promote to
    #[arg(long, value_name = "STAGE", value_parser = NonEmptyStringValueParser::new())]
    pub stage: String,
    /// Freight by name; the start is enough where it is unique
    #[arg(long, value_name = "NAME", group = "what", value_parser = NonEmptyStringValueParser::new())]
    pub freight: Option<String>,
    /// Freight by alias
    #[arg(long, value_name = "ALIAS", group = "what", value_parser = NonEmptyStringValueParser::new())]
    pub freight_alias: Option<String>,
    /// The newest Freight of this Warehouse that is available
    #[arg(long, value_name = "WAREHOUSE", group = "what", value_parser = NonEmptyStringValueParser::new())]
    pub origin: Option<String>,
    /// To the Stages after STAGE instead of to STAGE itself
    #[arg(long)]
    pub downstream: bool,
    /// Wait for the end; the exit code tells how it was
    #[arg(long)]
    pub wait: bool,
    /// How long to wait, such as 10m
    #[arg(long, value_name = "DURATION", requires = "wait", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value = "name")]
    pub output: Format,
}

/// Approving.
#[derive(Clone, Debug, Args)]
pub struct Approve {
    /// The promotion whose gate is answered; the start is enough where it is unique
    #[arg(required_unless_present = "freight", conflicts_with = "freight", value_parser = NonEmptyStringValueParser::new())]
    pub promotion: Option<String>,
    /// The gate's alias, where several are open
    #[arg(long, value_name = "ALIAS", conflicts_with = "freight", value_parser = NonEmptyStringValueParser::new())]
    pub step: Option<String>,
    /// Comment to be recorded
    #[arg(short, long, value_name = "TEXT", conflicts_with = "freight", value_parser = comment)]
    pub message: Option<String>,
    /// Freight to be made available to a Stage, by name or alias
    #[arg(long, value_name = "NAME", requires = "stage", value_parser = NonEmptyStringValueParser::new())]
    pub freight: Option<String>,
    /// The Stage that the Freight is approved for
    #[arg(long, value_name = "STAGE", requires = "freight", value_parser = NonEmptyStringValueParser::new())]
    pub stage: Option<String>,
}

/// Rejecting.
#[derive(Clone, Debug, Args)]
pub struct Reject {
    /// The promotion whose gate is answered; the start is enough where it is unique
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub promotion: String,
    /// The gate's alias, where several are open
    #[arg(long, value_name = "ALIAS", value_parser = NonEmptyStringValueParser::new())]
    pub step: Option<String>,
    /// Comment to be recorded
    #[arg(short, long, value_name = "TEXT", value_parser = comment)]
    pub message: Option<String>,
}

/// Retrying.
#[derive(Clone, Debug, Args)]
pub struct Retry {
    /// The promotion to repeat; the start is enough where it is unique
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub promotion: String,
    /// Go on although the Stage's template differs from what was run
    #[arg(long)]
    pub with_current_template: bool,
    /// Wait for the end; the exit code tells how it was
    #[arg(long)]
    pub wait: bool,
}

/// A promotion by name.
#[derive(Clone, Debug, Args)]
pub struct Named {
    /// The promotion; the start is enough where it is unique
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub promotion: String,
}

/// A Stage by name.
#[derive(Clone, Debug, Args)]
pub struct VerifyStage {
    /// The Stage
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub stage: String,
}

/// Executing.
#[derive(Clone, Debug, Default, Args)]
pub struct Run {
    /// Only the Stages of this shard
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub shard: Option<String>,
    /// Return when no step can run and no timer is due within a second
    #[arg(long)]
    pub until_idle: bool,
    /// Form of the counts at the end
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}

/// Applying.
#[derive(Clone, Debug, Args)]
pub struct Apply {
    /// File of YAML or JSON documents; `-` is standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

/// Checking files.
#[derive(Clone, Debug, Args)]
pub struct Lint {
    /// Files of YAML or JSON documents, or folders of them; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Fail for warnings too
    #[arg(long)]
    pub strict: bool,
    /// Form of the output: lines, json or yaml
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}

/// Trying expressions.
#[derive(Clone, Debug, Args)]
#[command(group = clap::ArgGroup::new("source").required(true))]
pub struct Eval {
    /// An expression, without delimiters
    #[arg(value_name = "EXPR", group = "source", allow_hyphen_values = true)]
    pub expression: Option<String>,
    /// Text with expressions in ${{ }} or ${% %}
    #[arg(
        long,
        value_name = "TEXT",
        group = "source",
        allow_hyphen_values = true
    )]
    pub template: Option<String>,
    /// The configuration of the step of this alias, and what the step would refuse of it
    #[arg(long, value_name = "ALIAS", group = "source", requires = "promotion", value_parser = NonEmptyStringValueParser::new())]
    pub config: Option<String>,
    /// Lines of {"id", "expr" or "template", "env"}, answered by a line each; `-` is standard input
    #[arg(long, value_name = "FILE", group = "source")]
    pub batch: Option<PathBuf>,
    /// The promotion whose expressions these could be; the start of its name is enough where it is unique
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub promotion: Option<String>,
    /// As seen by the step of this alias (default: behind the last step)
    #[arg(long, value_name = "ALIAS", requires = "promotion", conflicts_with = "config", value_parser = NonEmptyStringValueParser::new())]
    pub step: Option<String>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t)]
    pub output: EvalForm,
}

/// How a value is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum EvalForm {
    /// The value alone.
    #[default]
    Text,
    /// The value and its type.
    Json,
}

/// Showing paths and versions.
#[derive(Clone, Debug, Args)]
pub struct Info {
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}

/// Completions.
#[derive(Clone, Debug, Args)]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// A duration as Go writes it: `90s`, `5m`, `1h30m`; a bare number is seconds, as in kubectl.
fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    text.parse::<GoDuration>()
        .map(GoDuration::to_std)
        .map_err(|error| error.to_string())
}

/// A Project's name: one that could be a namespace, so that it can stand in an address.
fn project(text: &str) -> Result<String, String> {
    let sound = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    if text.is_empty() || !text.chars().all(sound) {
        return Err("a project's name has lower-case letters, digits and '-'".into());
    }
    Ok(text.to_owned())
}

/// A comment that can be kept whole.
fn comment(text: &str) -> Result<String, String> {
    if text.len() > COMMENT_MAX {
        let length = text.len();
        return Err(format!(
            "it has {length} bytes; at most {COMMENT_MAX} are kept"
        ));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn kubectls_habits_work() {
        let cli = Cli::try_parse_from(["tidewaiter", "get", "promo", "-p", "shop", "-o", "wide"])
            .unwrap();
        assert_eq!(cli.global.namespace.as_deref(), Some("shop"));
        let Some(Verb::Get(get)) = cli.verb else {
            panic!("not get")
        };
        assert_eq!((get.noun, get.output), (Noun::Promotions, Format::Wide));
        assert!(Cli::try_parse_from(["tidewaiter", "get", "stages", "-A", "-n", "x"]).is_err());
        assert!(Cli::try_parse_from(["tidewaiter", "promote", "--stage", "s"]).is_err());
        let conflict = |args: &[&str]| {
            let flags = ["tidewaiter", "--local", "d", "--context", "c"];
            let cli = Cli::try_parse_from(flags.iter().chain(args).copied()).unwrap();
            cli.conflict().is_some()
        };
        assert!(conflict(&["ui"]));
        assert!(conflict(&["eval", "1", "--promotion", "p"]));
        assert!(!conflict(&["eval", "1"]));
    }
}
