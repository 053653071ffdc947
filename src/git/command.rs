//! The user's `git` as a child process: every one is built, watched and ended here.

use std::{
    ffi::{OsStr, OsString},
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{process::Command, sync::OnceCell};

use super::{counters::Counters, credentials::Prepared, redact};

pub mod child;

/// The oldest git that everything here was tried on.
const OLDEST: GitVersion = GitVersion {
    major: 2,
    minor: 39,
    patch: 0,
};

/// Set for every command. No background work, no hooks, nothing sent that was not asked for.
const CONFIG: &[&str] = &[
    "gc.auto=0",
    "maintenance.auto=false",
    "fetch.writeCommitGraph=false",
    "fetch.prune=false",
    "push.followTags=false",
    "core.hooksPath=/dev/null",
    "color.ui=false",
    "advice.fetchShowForcedUpdates=false",
];

/// What would point a child at another repository, or make it print what is secret.
const UNSET: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_QUARANTINE_PATH",
    "GIT_TRACE",
    "GIT_TRACE_PACKET",
    "GIT_TRACE_CURL",
    "GIT_CURL_VERBOSE",
    "LANGUAGE",
];

/// How git is run.
#[derive(Clone, Debug)]
pub struct GitSettings {
    /// A path, or a name that is looked up in `PATH`.
    pub program: PathBuf,
    /// Set on every child after everything else but credentials.
    pub env: Vec<(OsString, OsString)>,
    /// When a command is taken for hung and ended.
    pub deadline: Duration,
    /// Bytes that the commits since the last fetch of a branch may be, before it is taken for
    /// rewritten: then only its tip is fetched, since a forced branch may bring its whole history.
    pub history_limit: u64,
}

impl Default for GitSettings {
    fn default() -> Self {
        Self {
            program: PathBuf::from("git"),
            env: Vec::new(),
            deadline: Duration::from_secs(120),
            history_limit: 128 << 20,
        }
    }
}

/// The git program. Clones share one version check and one set of counters.
#[derive(Clone, Debug)]
pub struct Git(Arc<Program>);

#[derive(Debug)]
struct Program {
    settings: GitSettings,
    counters: Counters,
    version: OnceCell<GitVersion>,
}

/// What `git version` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion {
    major: u32,
    minor: u32,
    patch: u32,
}

impl fmt::Display for GitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl GitVersion {
    /// Reads `git version 2.39.5 (Apple Git-154)`, `2.47.1.windows.2`, `2.50.0-rc1` and the like.
    fn parse(text: &str) -> Option<Self> {
        let words = text.trim().strip_prefix("git version ")?;
        let number = words.split([' ', '-']).next()?;
        let mut parts = number.split('.').map(|part| part.parse::<u32>().ok());
        let (major, minor) = (parts.next()??, parts.next()??);
        Some(Self {
            major,
            minor,
            patch: parts.next().flatten().unwrap_or(0),
        })
    }
}

/// A git command could not be run to its end.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GitError {
    /// There is no such program.
    #[error("git was not found (looked for `{program}`); tidewaiter needs git {OLDEST} or newer")]
    Missing {
        /// As configured.
        program: String,
    },
    /// The program is older than everything that was tried.
    #[error("git {found} is too old; tidewaiter needs git {OLDEST} or newer")]
    TooOld {
        /// The version that it says it is.
        found: GitVersion,
    },
    /// The program does not answer as git does.
    #[error("`{program} version` answered {answer:?}, which is no git version")]
    NoVersion {
        /// As configured.
        program: String,
        /// The start of what it printed.
        answer: String,
    },
    /// The system could not start or watch it.
    #[error("git {verb} could not be run")]
    Io {
        /// The git command's name.
        verb: String,
        /// Why.
        #[source]
        source: Arc<io::Error>,
    },
    /// It was ended at its deadline.
    #[error("git {verb} was ended after {seconds} s without a result{said}")]
    TimedOut {
        /// The git command's name.
        verb: String,
        /// How long it was let run.
        seconds: u64,
        /// Its last words, with a separator, or nothing.
        said: String,
    },
}

/// One command to run.
pub(super) struct Call<'a> {
    /// The command's name, `fetch`.
    pub verb: &'a str,
    /// Everything after the name.
    pub args: Vec<OsString>,
    /// The bare repository that it works in.
    pub repository: Option<&'a Path>,
    /// How it logs in.
    pub login: Prepared,
    /// Instead of the usual deadline.
    pub deadline: Option<Duration>,
}

/// What a command that ran to its end said, each text bounded.
pub(super) struct Output {
    pub success: bool,
    /// As it came: a short password would blank parts of object ids. Not for people.
    pub stdout: String,
    /// Redacted.
    pub stderr: String,
    /// What to hide in whatever is taken from `stdout`.
    pub secrets: Vec<String>,
}

impl Git {
    /// Nothing is run yet: the first command checks the version.
    pub fn new(settings: GitSettings, counters: Counters) -> Self {
        Self(Arc::new(Program {
            settings,
            counters,
            version: OnceCell::new(),
        }))
    }

    /// The user's git, with the usual settings and counters of its own.
    pub fn usual() -> Self {
        Self::new(GitSettings::default(), Counters::default())
    }

    /// The counters that every command adds to.
    pub fn counters(&self) -> &Counters {
        &self.0.counters
    }

    /// The version, asked once; an error when git is missing or too old.
    pub async fn version(&self) -> Result<GitVersion, GitError> {
        self.0
            .version
            .get_or_try_init(|| self.ask_version())
            .await
            .copied()
    }

    async fn ask_version(&self) -> Result<GitVersion, GitError> {
        let mut command = self.command(&[], &Prepared::default());
        command.arg("version");
        let raw = child::run(command, Duration::from_secs(20))
            .await
            .map_err(|why| self.failed("version", why))?;
        let said = String::from_utf8_lossy(&raw.stdout);
        match GitVersion::parse(&said) {
            Some(found) if found < OLDEST => Err(GitError::TooOld { found }),
            Some(found) => Ok(found),
            None => Err(GitError::NoVersion {
                program: self.program(),
                answer: said.trim().chars().take(100).collect(),
            }),
        }
    }

    /// Runs one command to its end; an exit code other than 0 is an [`Output`], not an error.
    /// Dropping the future ends the command.
    pub(super) async fn run(&self, call: Call<'_>) -> Result<Output, GitError> {
        self.version().await?;
        self.count(call.verb);
        let mut command = self.command(CONFIG, &call.login);
        if let Some(path) = call.repository {
            command.arg("--git-dir").arg(path);
        }
        command.arg(call.verb).args(&call.args);
        let deadline = call.deadline.unwrap_or(self.0.settings.deadline);
        let ended = child::run(command, deadline).await;
        let text =
            |bytes: &[u8]| redact::secrets(&String::from_utf8_lossy(bytes), &call.login.secrets);
        match ended {
            Ok(raw) => Ok(Output {
                success: raw.success,
                stdout: String::from_utf8_lossy(&raw.stdout).into_owned(),
                stderr: text(&raw.stderr),
                secrets: call.login.secrets,
            }),
            Err(child::Ended::Late { after, stderr }) => Err(self.failed(
                call.verb,
                child::Ended::Late {
                    after,
                    stderr: text(stderr.as_bytes()),
                },
            )),
            Err(why) => Err(self.failed(call.verb, why)),
        }
    }

    pub(super) fn history_limit(&self) -> u64 {
        self.0.settings.history_limit
    }

    /// What this variable will be in our children, credentials aside.
    pub(super) fn env(&self, name: &str) -> Option<OsString> {
        let set = self
            .0
            .settings
            .env
            .iter()
            .rev()
            .find(|(set, _)| set == name);
        set.map(|(_, value)| value.clone())
            .or_else(|| std::env::var_os(name))
    }

    /// Whether the user's configuration sets this.
    pub(super) async fn user_config(&self, name: &str) -> bool {
        let args = args(["--get", name]);
        let call = Call {
            verb: "config",
            args,
            repository: None,
            login: Prepared::default(),
            deadline: None,
        };
        self.run(call)
            .await
            .is_ok_and(|said| !said.stdout.trim().is_empty())
    }

    /// Runs another program as our children are run; not counted. `None`: it could not be run.
    pub(super) async fn run_other(
        &self,
        program: &str,
        args: &[String],
        deadline: Duration,
    ) -> Option<Output> {
        let mut command = Command::new(program);
        command.args(args);
        self.set_env(&mut command, &Prepared::default());
        let raw = child::run(command, deadline).await.ok()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&raw.stdout), text(&raw.stderr));
        Some(Output {
            success: raw.success,
            stdout,
            stderr,
            secrets: Vec::new(),
        })
    }

    fn count(&self, verb: &str) {
        self.0.counters.command();
        match verb {
            "fetch" => self.0.counters.fetch(),
            "push" => self.0.counters.push(),
            _ => {}
        }
    }

    fn program(&self) -> String {
        self.0.settings.program.display().to_string()
    }

    fn command(&self, config: &[&str], login: &Prepared) -> Command {
        let mut command = Command::new(&self.0.settings.program);
        self.set_env(&mut command, login);
        let owned = login.config.iter().map(String::as_str);
        for value in config.iter().copied().chain(owned) {
            command.arg("-c").arg(value);
        }
        command
    }

    fn set_env(&self, command: &mut Command, login: &Prepared) {
        for unset in UNSET {
            command.env_remove(unset);
        }
        command
            .env("LC_ALL", "C")
            .env("LANG", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh")
            // The terminal is the console's: ssh asks a graphical helper, or nobody.
            .env("SSH_ASKPASS_REQUIRE", "force");
        if std::env::var_os("SSH_ASKPASS").is_none() {
            command.env("SSH_ASKPASS", "false");
        }
        command.envs(
            self.0
                .settings
                .env
                .iter()
                .map(|(name, value)| (name, value)),
        );
        for (name, value) in &login.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }

    fn failed(&self, verb: &str, why: child::Ended) -> GitError {
        match why {
            child::Ended::Io(source) if source.kind() == io::ErrorKind::NotFound => {
                GitError::Missing {
                    program: self.program(),
                }
            }
            child::Ended::Io(source) => GitError::Io {
                verb: verb.to_owned(),
                source: Arc::new(source),
            },
            child::Ended::Late { after, stderr } => {
                let last = stderr.trim().lines().last().unwrap_or_default();
                let said = if last.is_empty() {
                    String::new()
                } else {
                    format!(": {last}")
                };
                GitError::TimedOut {
                    verb: verb.to_owned(),
                    seconds: after.as_secs(),
                    said,
                }
            }
        }
    }
}

/// Arguments from anything text-like, in order.
pub(super) fn args<S: AsRef<OsStr>>(parts: impl IntoIterator<Item = S>) -> Vec<OsString> {
    parts
        .into_iter()
        .map(|part| part.as_ref().to_owned())
        .collect()
}

#[cfg(test)]
mod tests;
