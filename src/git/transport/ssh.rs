//! One SSH connection for many git commands, per credential scope: with one per host, a login that
//! the server refuses would come in through another's connection.

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::sync::Semaphore;

use crate::git::{
    command::Git,
    credentials::{Credential, CredentialScope},
    mirror::locked,
    url::RepoUrl,
};

/// Servers allow ten sessions on a connection by default.
const SESSIONS: usize = 8;
/// How long a connection outlives its last command, in seconds.
const PERSIST: u32 = 60;
/// The length of a socket's path, the closing NUL included.
const SOCKET_PATH: usize = 108;
/// A slash and `%C`, and what ssh appends while it makes the socket.
const SOCKET_NAME: usize = 41 + 17;

/// The control directories of this process, removed with it.
#[derive(Debug)]
pub struct Sharing {
    base: Option<tempfile::TempDir>,
    scopes: Mutex<HashMap<CredentialScope, Arc<Shared>>>,
}

/// The connections of one credential scope.
#[derive(Debug)]
pub struct Shared {
    directory: PathBuf,
    /// One for each session that may be open.
    pub sessions: Semaphore,
}

impl Sharing {
    /// Where there is no room for a short path, nothing is shared.
    pub fn new() -> Self {
        let parents = [
            std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from),
            Some(PathBuf::from("/tmp")),
        ];
        let base = parents.into_iter().flatten().find_map(|parent| {
            use std::os::unix::fs::PermissionsExt;
            let mut builder = tempfile::Builder::new();
            builder
                .prefix("tw-")
                .permissions(fs::Permissions::from_mode(0o700));
            builder
                .tempdir_in(parent)
                .ok()
                .filter(|dir| fits(&dir.path().join("9999")))
        });
        Self {
            base,
            scopes: Mutex::default(),
        }
    }

    /// The directory for this scope, made at the first call.
    pub fn scope(&self, scope: &CredentialScope) -> Option<Arc<Shared>> {
        let base = self.base.as_ref()?;
        let mut scopes = locked(&self.scopes);
        if let Some(shared) = scopes.get(scope) {
            return Some(Arc::clone(shared));
        }
        let directory = base.path().join(scopes.len().to_string());
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&directory)
            .ok()
            .filter(|()| fits(&directory))?;
        let shared = Arc::new(Shared {
            directory,
            sessions: Semaphore::new(SESSIONS),
        });
        scopes.insert(scope.clone(), Arc::clone(&shared));
        Some(shared)
    }
}

fn fits(directory: &Path) -> bool {
    directory.as_os_str().len() + SOCKET_NAME < SOCKET_PATH
}

impl Shared {
    /// For ssh's command line.
    pub fn options(&self) -> String {
        let path = self.directory.display().to_string().replace('\'', r"'\''");
        format!("-o ControlMaster=auto -o 'ControlPath={path}/%C' -o ControlPersist={PERSIST}")
    }

    /// Leaves connections that hang to themselves: the next command makes a new one.
    pub fn forget(&self) {
        for socket in fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten()
        {
            // One that is gone already is what was wanted.
            let _gone = fs::remove_file(socket.path());
        }
    }
}

/// Whether connections to this address are ours to share: not where the user has a way of their
/// own, and only with OpenSSH. A Secret's are always ours.
pub async fn may_share(git: &Git, url: &RepoUrl, credential: &Credential) -> bool {
    let Some(destination) = url.ssh_destination() else {
        return false;
    };
    let is_user = matches!(credential, Credential::User);
    let has = |name: &str| git.env(name).is_some();
    if is_user
        && (has("GIT_SSH_COMMAND") || has("GIT_SSH") || git.user_config("core.sshCommand").await)
    {
        return false;
    }
    let wait = Duration::from_secs(5);
    let version = git.run_other("ssh", &["-V".to_owned()], wait).await;
    if !version.is_some_and(|said| said.stderr.starts_with("OpenSSH")) {
        return false;
    }
    if !is_user {
        return true;
    }
    let mut asked = vec!["-G".to_owned()];
    asked.extend(
        destination
            .port
            .into_iter()
            .flat_map(|port| ["-p".to_owned(), port]),
    );
    asked.push(destination.login);
    match git.run_other("ssh", &asked, wait).await {
        Some(said) => !said.stdout.lines().any(has_control_path),
        None => false,
    }
}

fn has_control_path(line: &str) -> bool {
    line.to_ascii_lowercase()
        .strip_prefix("controlpath ")
        .is_some_and(|path| path.trim() != "none")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_has_a_short_private_directory_of_its_own() {
        use std::os::unix::fs::PermissionsExt;
        let sharing = Sharing::new();
        let scope = |scope: &str| {
            let login = crate::git::credentials::Login::SshKey(String::new());
            sharing
                .scope(
                    &Credential::Secret {
                        scope: scope.to_owned(),
                        login,
                    }
                    .scope(),
                )
                .unwrap()
        };
        let (a, b) = (scope("a@1"), scope("b@1"));
        assert_ne!(a.directory, b.directory);
        assert_eq!(a.directory, scope("a@1").directory);
        assert_eq!(
            fs::metadata(&a.directory).unwrap().permissions().mode() & 0o777,
            0o700
        );
        assert!(!fits(Path::new(&format!("/{}", "x".repeat(60)))));
    }

    #[test]
    fn the_users_own_control_path_is_seen() {
        assert!(has_control_path("controlpath /home/u/.ssh/cm-%C"));
        assert!(!has_control_path("controlpath none") && !has_control_path("controlmaster false"));
    }
}
