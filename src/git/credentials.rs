//! Whose credentials a git command uses, and how they reach it: by environment or a private
//! file, never by argument.

use std::{
    ffi::OsString,
    fmt,
    io::{self, Write},
    path::Path,
};

use super::url::UrlLogin;

/// Whose credentials: mirrors and batches are shared within one scope only.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CredentialScope(String);

impl CredentialScope {
    /// The scope's text: empty for the user's own credentials.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A credential for a remote.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// Whatever the user's own git would use: helpers, agents, ssh config. Nothing is touched.
    User,
    /// What a Secret holds; the user's own helpers and keys stay out of it.
    Secret {
        /// The Secret's `uid@resourceVersion`.
        scope: String,
        /// How it opens the remote.
        login: Login,
    },
}

/// The two kinds of login that a Secret can hold.
#[derive(Clone, PartialEq, Eq)]
pub enum Login {
    /// For http(s).
    Password {
        /// The user; hosts that take tokens accept nearly any.
        username: String,
        /// The password or token.
        password: String,
    },
    /// For SSH: a private key in OpenSSH's text form, without a passphrase.
    SshKey(String),
}

impl Credential {
    /// What this credential may share a mirror and a push with.
    pub fn scope(&self) -> CredentialScope {
        match self {
            Self::User => CredentialScope(String::new()),
            Self::Secret { scope, .. } => CredentialScope(scope.clone()),
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.write_str("User"),
            Self::Secret { scope, .. } => write!(f, "Secret({scope})"),
        }
    }
}

/// A credential made ready for one command; the key file lives as long as this does.
#[derive(Default)]
pub(super) struct Prepared {
    /// `-c` values for git.
    pub config: Vec<String>,
    /// Set on the child; `None` removes.
    pub env: Vec<(&'static str, Option<OsString>)>,
    /// Texts to hide in whatever the command prints.
    pub secrets: Vec<String>,
    _key: Option<tempfile::NamedTempFile>,
}

/// The helper reads the environment of the git that runs it; `store` and `erase` do nothing.
const HELPER: &str = "credential.helper=!f() { test \"$1\" = get && \
    printf 'username=%s\\npassword=%s\\n' \"$TIDEWAITER_GIT_USERNAME\" \"$TIDEWAITER_GIT_PASSWORD\"; }; f";

impl Prepared {
    /// Makes `credential` ready; the user's own gives way to a login in the address itself.
    /// `sharing`: options for ssh, where connections are shared. `keys`: a directory that only the
    /// owner may read.
    pub fn new(
        credential: &Credential,
        url_login: Option<UrlLogin>,
        sharing: Option<&str>,
        keys: &Path,
    ) -> io::Result<Self> {
        let mut prepared = Self::default();
        match (credential, url_login) {
            (Credential::User, None) => {
                if let Some(options) = sharing {
                    prepared.ssh(format!("ssh {options}"));
                }
            }
            (Credential::Secret { login: Login::Password { username, password }, .. }, _) => {
                prepared.password(username, password);
            }
            (Credential::Secret { login: Login::SshKey(key), .. }, _) => prepared.ssh_key(key, sharing, keys)?,
            (Credential::User, Some(login)) => prepared.password(&login.username, &login.password),
        }
        Ok(prepared)
    }

    fn password(&mut self, username: &str, password: &str) {
        // Emptied first: otherwise the user's helper answers, and is given our token to store.
        for clear in ["credential.helper=", "core.askPass=", "http.extraHeader="] {
            self.config.push(clear.to_owned());
        }
        self.config.push(HELPER.to_owned());
        self.env.push(("TIDEWAITER_GIT_USERNAME", Some(username.into())));
        self.env.push(("TIDEWAITER_GIT_PASSWORD", Some(password.into())));
        self.env.push(("GIT_ASKPASS", None));
        self.secrets.push(password.to_owned());
    }

    fn ssh_key(&mut self, key: &str, sharing: Option<&str>, keys: &Path) -> io::Result<()> {
        std::fs::create_dir_all(keys)?;
        let mut file = tempfile::Builder::new().prefix("key-").tempfile_in(keys)?;
        file.write_all(key.trim_end().as_bytes())?;
        // ssh refuses a key without its last line break.
        file.write_all(b"\n")?;
        file.flush()?;
        let path = file.path().display().to_string().replace('\'', r"'\''");
        // Never by a connection that the user's own configuration shares: that is another login.
        let sharing = sharing.unwrap_or("-o ControlMaster=no -o ControlPath=none");
        self.ssh(format!(
            "ssh -i '{path}' -o IdentitiesOnly=yes -o IdentityAgent=none -o BatchMode=yes \
             -o StrictHostKeyChecking=accept-new {sharing}"
        ));
        self.env.push(("SSH_AUTH_SOCK", None));
        self._key = Some(file);
        Ok(())
    }

    fn ssh(&mut self, command: String) {
        self.env.push(("GIT_SSH_COMMAND", Some(command.into())));
        self.env.push(("GIT_SSH_VARIANT", Some("ssh".into())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(login: Login) -> Credential {
        Credential::Secret { scope: "u@1".to_owned(), login }
    }

    #[test]
    fn a_password_goes_by_environment_and_shuts_out_the_users_helpers() {
        let dir = tempfile::tempdir().unwrap();
        let login = Login::Password { username: "u".into(), password: "s3cret".into() };
        let prepared = Prepared::new(&secret(login), None, None, dir.path()).unwrap();
        assert_eq!(prepared.config.first().unwrap(), "credential.helper=");
        assert!(!prepared.config.iter().any(|c| c.contains("s3cret")));
        assert!(prepared.env.contains(&("TIDEWAITER_GIT_PASSWORD", Some("s3cret".into()))));
    }

    #[test]
    fn a_key_is_a_private_file_that_goes_with_the_command() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let prepared = Prepared::new(&secret(Login::SshKey("KEY".into())), None, None, dir.path()).unwrap();
        let files = || std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path()).collect::<Vec<_>>();
        let path = files().remove(0);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "KEY\n");
        drop(prepared);
        assert!(files().is_empty());
    }

    #[test]
    fn the_users_own_credential_touches_nothing() {
        let prepared = Prepared::new(&Credential::User, None, None, Path::new("/nonexistent")).unwrap();
        assert!(prepared.config.is_empty() && prepared.env.is_empty());
        assert_eq!(format!("{:?}", secret(Login::SshKey("KEY".into()))), "Secret(u@1)");
    }
}
