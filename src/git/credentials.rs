//! Whose credentials a git command uses, and how they reach it: by environment or a private
//! file, never by argument.

use std::{
    ffi::OsString,
    fmt,
    io::{self, Write},
    path::{Path, PathBuf},
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

/// What is around a command, for making its credential ready.
pub(super) struct Surroundings<'a> {
    /// Options for ssh, where connections are shared.
    pub sharing: Option<&'a str>,
    /// A directory that only the owner may read.
    pub keys: &'a Path,
    /// The home that the command would have.
    pub home: Option<PathBuf>,
}

/// No configuration of the user's: it may name other keys, which ssh would offer as well.
const PRIVATE_SSH: &str =
    "ssh -F none -o BatchMode=yes -o IdentitiesOnly=yes -o IdentityAgent=none";

impl Prepared {
    /// Makes `credential` ready; the user's own gives way to a login in the address itself.
    pub fn new(
        credential: &Credential,
        url_login: Option<UrlLogin>,
        around: &Surroundings<'_>,
    ) -> io::Result<Self> {
        let mut prepared = Self::default();
        match (credential, url_login) {
            (Credential::User, None) => {
                if let Some(options) = around.sharing {
                    prepared.ssh(format!("ssh {options}"));
                }
            }
            (Credential::User, Some(login)) => {
                prepared.password(&login.username, &login.password, around)
            }
            (Credential::Secret { login, .. }, _) => match login {
                Login::Password { username, password } => {
                    prepared.password(username, password, around);
                    // Should the address be SSH: not by the user's keys.
                    prepared.ssh(format!("{PRIVATE_SSH} -o IdentityFile=none"));
                }
                Login::SshKey(key) => {
                    // Should the address be http: not by the user's passwords.
                    prepared.shut_out_passwords(around);
                    prepared.ssh_key(key, around)?;
                }
            },
        }
        Ok(prepared)
    }

    fn password(&mut self, username: &str, password: &str, around: &Surroundings<'_>) {
        self.shut_out_passwords(around);
        self.config.push(HELPER.to_owned());
        self.env
            .push(("TIDEWAITER_GIT_USERNAME", Some(username.into())));
        self.env
            .push(("TIDEWAITER_GIT_PASSWORD", Some(password.into())));
        self.secrets.push(password.to_owned());
    }

    /// Otherwise the user's helper answers, and is given our token to store.
    fn shut_out_passwords(&mut self, around: &Surroundings<'_>) {
        self.config.extend(
            ["credential.helper=", "core.askPass=", "http.extraHeader="].map(str::to_owned),
        );
        self.env.push(("GIT_ASKPASS", None));
        self.env.push(("SSH_ASKPASS", Some("false".into())));
        // libcurl sends what `.netrc` says before the server asks and git answers.
        if let Some(home) = around
            .home
            .as_deref()
            .filter(|home| home.join(".netrc").exists())
        {
            self.env.push(("HOME", Some(around.keys.into())));
            let config = home.join(".gitconfig");
            if config.exists() {
                self.env.push(("GIT_CONFIG_GLOBAL", Some(config.into())));
            }
        }
    }

    fn ssh_key(&mut self, key: &str, around: &Surroundings<'_>) -> io::Result<()> {
        std::fs::create_dir_all(around.keys)?;
        let mut file = tempfile::Builder::new()
            .prefix("key-")
            .tempfile_in(around.keys)?;
        file.write_all(key.trim_end().as_bytes())?;
        // ssh refuses a key without its last line break.
        file.write_all(b"\n")?;
        file.flush()?;
        let path = file.path().display().to_string().replace('\'', r"'\''");
        let sharing = around.sharing.unwrap_or_default();
        self.ssh(format!(
            "{PRIVATE_SSH} -i '{path}' -o StrictHostKeyChecking=accept-new {sharing}"
        ));
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
        Credential::Secret {
            scope: "u@1".to_owned(),
            login,
        }
    }

    fn around(keys: &Path) -> Surroundings<'_> {
        Surroundings {
            sharing: None,
            keys,
            home: None,
        }
    }

    fn env<'a>(prepared: &'a Prepared, name: &str) -> Option<&'a OsString> {
        prepared
            .env
            .iter()
            .find(|(set, _)| *set == name)?
            .1
            .as_ref()
    }

    #[test]
    fn a_netrc_does_not_answer_for_a_secret() {
        let home = tempfile::tempdir().unwrap();
        let keys = home.path().join("keys");
        let around = || Surroundings {
            home: Some(home.path().to_owned()),
            ..around(&keys)
        };
        let login = || Login::Password {
            username: "u".into(),
            password: "p".into(),
        };
        let prepare = || Prepared::new(&secret(login()), None, &around()).unwrap();
        assert_eq!(env(&prepare(), "HOME"), None);
        std::fs::write(home.path().join(".netrc"), "").unwrap();
        std::fs::write(home.path().join(".gitconfig"), "").unwrap();
        let prepared = prepare();
        assert_eq!(env(&prepared, "HOME"), Some(&keys.clone().into()));
        assert_eq!(
            env(&prepared, "GIT_CONFIG_GLOBAL"),
            Some(&home.path().join(".gitconfig").into())
        );
    }

    #[test]
    fn a_secret_of_the_wrong_kind_does_not_fall_back_on_the_user() {
        let dir = tempfile::tempdir().unwrap();
        let login = Login::Password {
            username: "u".into(),
            password: "p".into(),
        };
        let password = Prepared::new(&secret(login), None, &around(dir.path())).unwrap();
        let ssh = env(&password, "GIT_SSH_COMMAND").unwrap().to_str().unwrap();
        assert!(
            ssh.contains("-F none") && ssh.contains("IdentityFile=none"),
            "{ssh}"
        );
        let key = Prepared::new(
            &secret(Login::SshKey("KEY".into())),
            None,
            &around(dir.path()),
        )
        .unwrap();
        assert!(key.config.contains(&"credential.helper=".to_owned()));
        assert!(!key.config.contains(&HELPER.to_owned()));
    }

    #[test]
    fn a_password_goes_by_environment_and_shuts_out_the_users_helpers() {
        let dir = tempfile::tempdir().unwrap();
        let login = Login::Password {
            username: "u".into(),
            password: "s3cret".into(),
        };
        let prepared = Prepared::new(&secret(login), None, &around(dir.path())).unwrap();
        assert_eq!(prepared.config.first().unwrap(), "credential.helper=");
        assert!(!prepared.config.iter().any(|c| c.contains("s3cret")));
        assert!(
            prepared
                .env
                .contains(&("TIDEWAITER_GIT_PASSWORD", Some("s3cret".into())))
        );
    }

    #[test]
    fn a_key_is_a_private_file_that_goes_with_the_command() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let prepared = Prepared::new(
            &secret(Login::SshKey("KEY".into())),
            None,
            &around(dir.path()),
        )
        .unwrap();
        let files = || {
            std::fs::read_dir(dir.path())
                .unwrap()
                .map(|e| e.unwrap().path())
                .collect::<Vec<_>>()
        };
        let path = files().remove(0);
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "KEY\n");
        drop(prepared);
        assert!(files().is_empty());
    }

    #[test]
    fn the_users_own_credential_touches_nothing() {
        let prepared =
            Prepared::new(&Credential::User, None, &around(Path::new("/nonexistent"))).unwrap();
        assert!(prepared.config.is_empty() && prepared.env.is_empty());
        assert_eq!(
            format!("{:?}", secret(Login::SshKey("KEY".into()))),
            "Secret(u@1)"
        );
    }
}
