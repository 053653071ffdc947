//! Programs that steps run: found on PATH, in a folder of their own, and with nothing of the user's around them.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::process::Command;

use crate::{
    engine::{
        step::StepError,
        workspace::{
            WorkspaceError,
            folder::{self, Folder, LIMITS},
        },
    },
    git::{
        command::child::{self, Ended},
        path::RepoPath,
        tree::Mode,
    },
};

/// A program that a step needs.
pub struct Program {
    /// As it is looked up.
    pub name: &'static str,
    /// The versions that were tried.
    pub tried: &'static str,
    /// Where to get it.
    pub site: &'static str,
}

/// See <https://kustomize.io>.
pub const KUSTOMIZE: Program = Program {
    name: "kustomize",
    tried: "5.7; 5.0 and newer should work",
    site: "https://kubectl.docs.kubernetes.io/installation/kustomize/",
};

/// See <https://helm.sh>.
pub const HELM: Program = Program {
    name: "helm",
    tried: "3.18; 3.12 and newer should work",
    site: "https://helm.sh/docs/intro/install/",
};

/// When a program is taken for hung.
const DEADLINE: Duration = Duration::from_secs(300);
/// Rendered manifests of the largest charts are a few megabytes.
const OUTPUT_MAX: usize = 64 << 20;
/// Of what a program said when it failed.
const SAID_MAX: usize = 1500;

/// Passed on where a program may use the network: how to reach it, and whom to trust there.
const FOR_NETWORK: [&str; 8] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Where programs are looked up.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    path: Option<OsString>,
    deadline: Option<Duration>,
}

/// What to run.
pub struct Call<'a> {
    /// The program.
    pub program: &'a Program,
    /// What it is told.
    pub args: Vec<OsString>,
    /// The working directory is in it, and so is everything that the program keeps for itself.
    pub folder: &'a Folder,
    /// Whether it may go outside. Without this it is kept from it as well as an environment can.
    pub network: bool,
    /// What is being done, for errors.
    pub doing: &'a str,
}

/// The directory of a [`Folder`] that holds the workspace's files.
const FILES: &str = "files";

impl Programs {
    /// Looked up in this, instead of in PATH.
    pub fn on(path: impl Into<OsString>) -> Self {
        Self {
            path: Some(path.into()),
            deadline: None,
        }
    }

    /// Ended after this time.
    pub fn within(self, deadline: Duration) -> Self {
        Self {
            deadline: Some(deadline),
            ..self
        }
    }

    fn path(&self) -> OsString {
        let own = || std::env::var_os("PATH").unwrap_or_default();
        self.path.clone().unwrap_or_else(own)
    }

    /// Where the program is; an error that says how to get it where it is not.
    pub fn find(&self, program: &Program) -> Result<PathBuf, StepError> {
        let runs = |at: &PathBuf| {
            let about = std::fs::metadata(at);
            about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
        };
        // A relative directory would be one in the folder that the program works in.
        std::env::split_paths(&self.path())
            .filter(|dir| dir.is_absolute())
            .map(|dir| dir.join(program.name))
            .find(runs)
            .ok_or_else(|| {
                let name = program.name;
                StepError::errored(format!("the program {name} is not in PATH of the executor"))
                    .hint(format!(
                        "Install {name} where the executor runs ({}; tried with {})",
                        program.site, program.tried
                    ))
            })
    }

    /// Runs it to its end and gives what it printed; an error with its own words where it fails.
    pub async fn run(&self, call: Call<'_>) -> Result<Vec<u8>, StepError> {
        let Call {
            program,
            args,
            folder,
            network,
            doing,
        } = call;
        let mut command = Command::new(self.find(program)?);
        command.args(args).current_dir(made(folder, FILES, doing)?);
        command
            .env_clear()
            .envs(self.environment(folder, network, doing)?);
        let deadline = self.deadline.unwrap_or(DEADLINE);
        let name = program.name;
        let failed = |text: String| StepError::errored(format!("{doing}: {name} {text}"));
        match child::run_bounded(command, deadline, OUTPUT_MAX).await {
            Ok(raw) if raw.cut => Err(failed(format!("printed more than {OUTPUT_MAX} bytes"))),
            Ok(raw) if raw.success => Ok(raw.stdout),
            Ok(raw) => Err(failed(format!("failed: {}", words(&raw.stderr, folder)))),
            Err(Ended::Late { after, stderr }) => {
                let said = words(stderr.as_bytes(), folder);
                let text = format!("was ended after {} s without a result", after.as_secs());
                Err(failed(if said.is_empty() {
                    text
                } else {
                    format!("{text}: {said}")
                }))
            }
            Err(Ended::Io(error)) if error.kind() == io::ErrorKind::Interrupted => {
                Err(failed("was ended".into()).because(error))
            }
            Err(Ended::Io(error)) => Err(failed("could not be run".into()).because(error)),
        }
    }

    /// Everything that the program sees of the world.
    fn environment(
        &self,
        folder: &Folder,
        network: bool,
        doing: &str,
    ) -> Result<Vec<(&'static str, OsString)>, StepError> {
        let home = made(folder, "home", doing)?;
        let temporary = made(folder, "tmp", doing)?;
        let plugins = made(folder, "home/plugins", doing)?;
        let at = |name: &str| home.join(name).into_os_string();
        let mut all: Vec<(&'static str, OsString)> = vec![
            ("PATH", self.path()),
            ("HOME", home.clone().into_os_string()),
            ("TMPDIR", temporary.into_os_string()),
            ("LC_ALL", "C".into()),
            ("LANG", "C".into()),
            ("TZ", "UTC".into()),
            ("XDG_CONFIG_HOME", at("config")),
            ("XDG_CACHE_HOME", at("cache")),
            ("XDG_DATA_HOME", at("data")),
            ("HELM_CONFIG_HOME", at("helm/config")),
            ("HELM_CACHE_HOME", at("helm/cache")),
            ("HELM_DATA_HOME", at("helm/data")),
            ("HELM_REPOSITORY_CONFIG", at(REPOSITORIES)),
            ("HELM_REPOSITORY_CACHE", at("helm/repositories")),
            ("HELM_REGISTRY_CONFIG", at("helm/registry.json")),
            ("HELM_PLUGINS", plugins.into_os_string()),
            ("KUBECONFIG", "/dev/null".into()),
            ("DOCKER_CONFIG", at("docker")),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
            ("GIT_TERMINAL_PROMPT", "0".into()),
            ("GIT_ASKPASS", "false".into()),
            ("SSH_ASKPASS", "false".into()),
        ];
        if network {
            let known = |name| Some((name, std::env::var_os(name)?));
            all.extend(FOR_NETWORK.into_iter().filter_map(known));
            all.push(("GIT_ALLOW_PROTOCOL", "http:https:ssh".into()));
        } else {
            // Nobody listens on port 1; git knows no protocol of this name.
            let nowhere = OsStr::new("http://127.0.0.1:1");
            for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
                all.push((name, nowhere.to_owned()));
            }
            all.push(("GIT_ALLOW_PROTOCOL", "none".into()));
        }
        Ok(all)
    }
}

/// Helm's list of repositories, in the folder's `home`.
pub const REPOSITORIES: &str = "helm/repositories.yaml";

/// Where the workspace's files go. Blocking.
pub fn files(folder: &Folder, doing: &str) -> Result<PathBuf, StepError> {
    made(folder, FILES, doing)
}

fn made(folder: &Folder, name: &str, doing: &str) -> Result<PathBuf, StepError> {
    folder
        .dir(name)
        .map_err(|error| StepError::errored(doing).because(error))
}

/// The last of what a program said, with the workspace's paths in the place of ours.
fn words(said: &[u8], folder: &Folder) -> String {
    let said = String::from_utf8_lossy(said);
    let files = folder.path().join(FILES);
    let shown = |path: &Path| path.display().to_string();
    let plain = said
        .replace(&format!("{}/", shown(&files)), "")
        .replace(&shown(&files), ".")
        .replace(&shown(folder.path()), "");
    let lines: Vec<&str> = plain
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("WARNING"))
        .collect();
    let text = lines.join("; ");
    let skipped = text.chars().count().saturating_sub(SAID_MAX);
    match skipped {
        0 => text,
        _ => format!("… {}", text.chars().skip(skipped).collect::<String>()),
    }
}

/// A folder for one run. Blocking.
pub fn private_folder(root: &Path, doing: &str) -> Result<Folder, StepError> {
    let made = Folder::make(root).map_err(WorkspaceError::Folder);
    made.map_err(|error| {
        StepError::errored(doing)
            .because(error)
            .hint("Programs work on real files, in a folder beside the mirrors")
    })
}

/// The files that a program made in a directory of its folder; it has no reason to make links.
pub async fn rendered(dir: PathBuf, doing: &str) -> Result<Vec<(RepoPath, Vec<u8>)>, StepError> {
    let read = tokio::task::spawn_blocking(move || folder::read(&dir, LIMITS)).await;
    let made = read
        .map_err(|error| StepError::errored(doing).because(error))?
        .map_err(|error| StepError::errored(doing).because(error))?;
    match made.iter().find(|made| made.mode == Mode::Link) {
        Some(link) => Err(StepError::errored(format!(
            "{doing}: the program made a link, {}",
            link.path
        ))),
        None => Ok(made
            .into_iter()
            .map(|made| (made.path, made.bytes))
            .collect()),
    }
}
