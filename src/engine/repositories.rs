//! Where steps get their commits from: mirrors, opened with the Project's credentials.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use super::{
    journal::FoundRecord,
    port::{Kind, PortError, Texts},
    step::{Found, Origin, Repositories, Revision, StepError},
    tools::Tools,
    workspace::MirrorKey,
};
use crate::{
    git::{
        branch::BranchName,
        credentials::{Credential, Login},
        id::CommitId,
        mirror::{FetchError, Mirror},
        objects::Objects,
        tag::TagName,
        transport::Trouble,
        url::RepoUrl,
    },
    kargo::{ProjectName, meta},
};

/// The repositories as one Project may reach them. Remembers what it found, for the journal.
pub struct Remotes {
    tools: Arc<Tools>,
    project: ProjectName,
    found: Mutex<Vec<FoundRecord>>,
}

impl Remotes {
    /// Those of `project`.
    pub fn new(tools: &Arc<Tools>, project: &ProjectName) -> Self {
        Self {
            tools: Arc::clone(tools),
            project: project.clone(),
            found: Mutex::default(),
        }
    }

    /// What was found since this was last asked.
    pub fn take_found(&self) -> Vec<FoundRecord> {
        std::mem::take(&mut self.found.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The mirror of a repository, and the name that journals have for it.
    pub async fn open(&self, origin: Origin<'_>) -> Result<(Arc<Mirror>, MirrorKey), StepError> {
        let parsed: RepoUrl = origin
            .url
            .parse()
            .map_err(|error| StepError::config("the repository's address").because(error))?;
        let credential = self.credential(&parsed).await?;
        let mirrors = &self.tools.mirrors;
        let mirror = mirrors
            .mirror_by(&parsed, &credential, origin.skips_tls)
            .await;
        let mirror = mirror.map_err(|error| {
            StepError::errored(format!("cannot open the mirror of {parsed}")).because(error)
        })?;
        let key = self.tools.remember(&mirror);
        Ok((mirror, key))
    }

    /// The first Secret with credentials for the address, by name; the user's own where there is none.
    async fn credential(&self, url: &RepoUrl) -> Result<Credential, StepError> {
        let secrets = match self
            .tools
            .port
            .list(Kind::Secret, Some(&self.project))
            .await
        {
            Ok(secrets) => secrets,
            // A cluster that keeps no Secrets.
            Err(PortError::Gone { .. }) => Vec::new(),
            Err(error) if error.is_transient() => {
                return Err(
                    StepError::transient(format!("cannot look for credentials for {url}"))
                        .because(error),
                );
            }
            Err(error) => {
                return Err(
                    StepError::errored(format!("cannot look for credentials for {url}"))
                        .because(error),
                );
            }
        };
        let mut secrets: Vec<(String, Texts)> = secrets
            .iter()
            .map(|value| {
                (
                    value
                        .pointer("/metadata/name")
                        .and_then(|n| n.as_str())
                        .unwrap_or_default()
                        .to_owned(),
                    Texts::of_secret(value),
                )
            })
            .filter(|(_, texts)| {
                texts
                    .labels
                    .get(meta::CRED_TYPE)
                    .is_some_and(|kind| kind == "git")
            })
            .collect();
        secrets.sort_by(|a, b| a.0.cmp(&b.0));
        let fitting = secrets.into_iter().find(|(_, texts)| fits(texts, url));
        Ok(fitting
            .and_then(|(_, texts)| credential_of(&texts))
            .unwrap_or(Credential::User))
    }

    async fn branch(
        &self,
        mirror: &Arc<Mirror>,
        revision: &Revision,
    ) -> Result<Option<BranchName>, StepError> {
        match revision {
            Revision::Default => mirror
                .default_branch()
                .await
                .map(Some)
                .map_err(|error| fetch_error(mirror, error)),
            Revision::Branch { name, .. } => Ok(Some(name.clone())),
            Revision::Commit(_) | Revision::Tag(_) => Ok(None),
        }
    }
}

/// Whether a Secret's address is this one: equal, or matched where it says that it is a pattern.
fn fits(texts: &Texts, url: &RepoUrl) -> bool {
    let Some(own) = texts.data.get("repoURL") else {
        return false;
    };
    if texts
        .data
        .get("repoURLIsRegex")
        .is_some_and(|text| text == "true")
    {
        let plain = url.normalised();
        return regex::Regex::new(own)
            .is_ok_and(|pattern| pattern.is_match(&plain) || pattern.is_match(&url.to_string()));
    }
    own.parse::<RepoUrl>()
        .is_ok_and(|own| own.normalised() == url.normalised())
}

fn credential_of(texts: &Texts) -> Option<Credential> {
    let text = |key: &str| texts.data.get(key).cloned();
    let login = match (text("sshPrivateKey"), text("username"), text("password")) {
        (Some(key), ..) => Login::SshKey(key),
        (None, username, Some(password)) => Login::Password {
            username: username.unwrap_or_default(),
            password,
        },
        (None, ..) => return None,
    };
    Some(Credential::Secret {
        scope: texts.version.clone(),
        login,
    })
}

/// A failed fetch in the words of a step.
pub fn fetch_error(mirror: &Mirror, error: FetchError) -> StepError {
    let doing = format!("cannot fetch from {}", mirror.url());
    let transient = matches!(&error, FetchError::Remote(remote) if matches!(remote.trouble, Trouble::Unreachable | Trouble::Other));
    if transient {
        StepError::transient(doing).because(error)
    } else {
        StepError::errored(doing).because(error)
    }
}

#[async_trait]
impl Repositories for Remotes {
    async fn find(
        &self,
        origin: Origin<'_>,
        revisions: &[Revision],
    ) -> Result<Vec<Found>, StepError> {
        let (mirror, key) = self.open(origin).await?;
        let mut branches = Vec::new();
        for revision in revisions {
            branches.push(self.branch(&mirror, revision).await?);
        }
        let wanted: Vec<BranchName> = branches.iter().flatten().cloned().collect();
        let tips = mirror
            .fetch(&wanted)
            .await
            .map_err(|error| fetch_error(&mirror, error))?;
        let mut found = Vec::new();
        for (revision, branch) in revisions.iter().zip(branches) {
            let commit = match (revision, &branch) {
                (_, Some(branch)) => tips.get(branch).commit().cloned(),
                (Revision::Commit(id), None) => Some(commit(&mirror, id).await?),
                (Revision::Tag(tag), None) => Some(tagged(&mirror, tag).await?),
                (_, None) => None,
            };
            let may_be_absent = matches!(revision, Revision::Branch { create: true, .. });
            if let (None, Some(branch), false) = (&commit, &branch, may_be_absent) {
                return Err(StepError::errored(format!(
                    "there is no branch {branch} in {}",
                    mirror.url()
                ))
                .hint("Set `create: true` to begin an empty one"));
            }
            found.push(Found {
                mirror: key.clone(),
                branch,
                commit,
            });
        }
        let records = found.iter().map(|found| FoundRecord {
            mirror: found.mirror.clone(),
            branch: found.branch.clone(),
            commit: found.commit.clone(),
        });
        self.found
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(records);
        Ok(found)
    }

    async fn has_tag(&self, origin: Origin<'_>, tag: &TagName) -> Result<bool, StepError> {
        let (mirror, _) = self.open(origin).await?;
        let found = mirror.remote_tag(tag).await;
        let found = found.map_err(|error| fetch_error(&mirror, error.into()))?;
        Ok(found.is_some())
    }
}

/// A commit by id, brought here.
async fn commit(mirror: &Arc<Mirror>, id: &CommitId) -> Result<CommitId, StepError> {
    match mirror.fetch_commit(id).await {
        Ok(()) => Ok(id.clone()),
        Err(error) => Err(fetch_error(mirror, error).hint(
            "A server may give out by id only what a branch or tag is at: check out that one",
        )),
    }
}

/// The commit of a tag, brought here.
async fn tagged(mirror: &Arc<Mirror>, tag: &str) -> Result<CommitId, StepError> {
    // A pattern is no tag.
    let tag: TagName = tag
        .parse()
        .map_err(|error| StepError::config("cannot check out a tag").because(error))?;
    let found = mirror.fetch_tag(&tag).await;
    let found = found.map_err(|error| fetch_error(mirror, error))?;
    found.ok_or_else(|| StepError::errored(format!("there is no tag {tag} in {}", mirror.url())))
}

/// Whether the mirror has the object.
pub async fn has(mirror: &Arc<Mirror>, id: &CommitId) -> bool {
    let (path, id) = (mirror.path().to_owned(), id.clone());
    let look = move || Objects::open(&path).is_ok_and(|objects| objects.contains(id.as_str()));
    tokio::task::spawn_blocking(look).await.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(pairs: &[(&str, &str)]) -> Texts {
        let data = pairs
            .iter()
            .map(|(key, text)| ((*key).to_owned(), (*text).to_owned()))
            .collect();
        Texts {
            version: "u@1".into(),
            data,
            ..Texts::default()
        }
    }

    #[test]
    fn a_secret_fits_by_address_or_by_pattern() {
        let url: RepoUrl = "https://h.example/o/r.git".parse().unwrap();
        let cases: &[(&[(&str, &str)], bool)] = &[
            (&[("repoURL", "https://h.example/o/r")], true),
            (&[("repoURL", "https://h.example/o/r/")], true),
            (&[("repoURL", "https://h.example/o")], false),
            (
                &[
                    ("repoURL", "^https://h.example/o/.*$"),
                    ("repoURLIsRegex", "true"),
                ],
                true,
            ),
            (
                &[
                    ("repoURL", "^https://h.example/x/.*$"),
                    ("repoURLIsRegex", "true"),
                ],
                false,
            ),
            (&[("repoURL", "("), ("repoURLIsRegex", "true")], false),
            (&[("username", "u")], false),
        ];
        for (pairs, fit) in cases {
            assert_eq!(fits(&texts(pairs), &url), *fit, "{pairs:?}");
        }
    }

    #[test]
    fn a_secret_is_a_password_or_a_key_or_nothing() {
        let login = |pairs: &[(&str, &str)]| match credential_of(&texts(pairs)) {
            Some(Credential::Secret { scope, login }) => {
                assert_eq!(scope, "u@1");
                Some(login)
            }
            _ => None,
        };
        assert!(
            matches!(login(&[("username", "u"), ("password", "p")]), Some(Login::Password { username, .. }) if username == "u")
        );
        assert!(matches!(
            login(&[("sshPrivateKey", "k"), ("password", "p")]),
            Some(Login::SshKey(_))
        ));
        assert!(login(&[("username", "u")]).is_none());
    }
}
