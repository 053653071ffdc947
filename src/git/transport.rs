//! What is said to a remote: fetch, ls-remote, push; and what its answers mean.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::sync::OnceCell;

use super::{
    branch::BranchName,
    command::{Call, Git, GitError, Output, args},
    credentials::{Credential, Prepared, Surroundings},
    id::CommitId,
    tag::TagName,
    url::RepoUrl,
};

mod answer;
pub(super) mod ssh;

pub(super) use answer::{PushAnswer, RefRefusal};
use answer::{read_push, trouble_of};

/// The kind of a fault, which says whether trying again can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// No connection, or the server failed or was busy.
    Unreachable,
    /// The server does not accept our login, or we have none.
    Unauthorised,
    /// There is no such repository, or we may not know of it.
    NotFound,
    /// A remote of a kind that is not supported, such as SHA-256.
    Unsupported,
    /// The local mirror is damaged.
    Damaged,
    /// The git program itself: missing, too old, could not be run.
    Program,
    /// Anything else; the words say what.
    Other,
}

/// A remote could not be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{doing} {url} failed: {words}")]
pub struct RemoteError {
    /// `fetching main, env/prod from`.
    pub doing: String,
    /// Redacted.
    pub url: String,
    /// What kind of fault.
    pub trouble: Trouble,
    /// What git and the server said, redacted, a few lines at most.
    pub words: String,
    /// Set where git could not be run to its end.
    #[source]
    pub source: Option<GitError>,
}

/// A remote and how to log in to it.
#[derive(Debug)]
pub(super) struct Remote {
    pub git: Git,
    pub url: RepoUrl,
    credential: Credential,
    /// Whether any certificate will do.
    skips_tls: bool,
    /// A private directory for key files.
    keys: PathBuf,
    /// Connections to share, where [`Remote::shares`] turns out true.
    shared: Option<Arc<ssh::Shared>>,
    shares: OnceCell<bool>,
}

/// One push: this object to this ref, if the ref is where we believe it to be.
#[derive(Clone, Debug)]
pub(super) struct Push<'a> {
    /// In full.
    pub target: String,
    /// A commit, or a tag.
    pub object: &'a str,
    pub expected: Expected<'a>,
}

/// A tag on the remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteTag {
    /// The object that the ref is at: the tag's own, or the commit's where it is not annotated.
    pub at: CommitId,
    /// The commit.
    pub commit: CommitId,
}

/// What a push states about the ref before it.
#[derive(Clone, Debug)]
pub(super) enum Expected<'a> {
    At(&'a CommitId),
    Absent,
}

impl Remote {
    pub fn new(
        git: Git,
        url: RepoUrl,
        credential: Credential,
        keys: PathBuf,
        sharing: &ssh::Sharing,
    ) -> Self {
        let shared = sharing.scope(&credential.scope());
        Self {
            git,
            url,
            credential,
            skips_tls: false,
            keys,
            shared,
            shares: OnceCell::new(),
        }
    }

    /// The same, taking any certificate if `skips_tls`.
    pub fn skipping_tls_checks(self, skips_tls: bool) -> Self {
        Self { skips_tls, ..self }
    }

    /// The connections that a command may share; asked once whether they are ours to share.
    async fn shared(&self) -> Option<&ssh::Shared> {
        let shared = self.shared.as_deref()?;
        let shares = self
            .shares
            .get_or_init(|| ssh::may_share(&self.git, &self.url, &self.credential))
            .await;
        shares.then_some(shared)
    }

    /// Brings these branches to `refs/remotes/r/…`. One missing branch fails them all.
    pub async fn fetch(
        &self,
        repository: &Path,
        branches: &[BranchName],
        depth: Option<u32>,
    ) -> Result<Output, RemoteError> {
        let mut flags = vec![
            "--no-tags".to_owned(),
            "--no-write-fetch-head".to_owned(),
            "--no-prune".to_owned(),
            "--no-recurse-submodules".to_owned(),
            "--no-auto-maintenance".to_owned(),
            "--no-show-forced-updates".to_owned(),
        ];
        flags.extend(depth.map(|depth| format!("--depth={depth}")));
        let specs = branches
            .iter()
            .map(|b| format!("+{}:{}", b.full_ref(), local_ref(b)));
        self.ask("fetch", repository, flags, specs.collect()).await
    }

    /// Makes the known history of these branches longer by `commits`.
    pub async fn deepen(
        &self,
        repository: &Path,
        branch: &BranchName,
        commits: u32,
    ) -> Result<Output, RemoteError> {
        let flags = [
            "--no-tags",
            "--no-write-fetch-head",
            "--no-prune",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
        ];
        let mut flags: Vec<String> = flags.map(str::to_owned).into();
        flags.push(format!("--deepen={commits}"));
        let spec = format!("+{}:{}", branch.full_ref(), local_ref(branch));
        self.ask("fetch", repository, flags, vec![spec]).await
    }

    /// Brings one commit and its files, by full ref or by id, to no ref at all: whoever needs it pins it.
    pub async fn fetch_one(&self, repository: &Path, what: &str) -> Result<Output, RemoteError> {
        let flags = [
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--depth=1",
        ];
        let flags = flags.map(str::to_owned).into();
        self.ask("fetch", repository, flags, vec![what.to_owned()])
            .await
    }

    /// What a tag is at, and the commit that it is for, an annotated one's too; `None` where there is no such tag.
    pub async fn tag(
        &self,
        repository: &Path,
        tag: &TagName,
    ) -> Result<Option<RemoteTag>, RemoteError> {
        let (full, peeled) = (tag.full_ref(), format!("{}^{{}}", tag.full_ref()));
        let found = self
            .named(repository, Vec::new(), vec![full.clone(), peeled.clone()])
            .await?;
        Ok(found.get(&full).map(|at| RemoteTag {
            at: at.clone(),
            commit: found.get(&peeled).unwrap_or(at).clone(),
        }))
    }

    /// The tags of the remote that are named so, or match the pattern.
    pub async fn tags(
        &self,
        repository: &Path,
        patterns: Vec<String>,
    ) -> Result<BTreeSet<String>, RemoteError> {
        let found = self
            .named(repository, vec!["--tags".to_owned()], patterns)
            .await?;
        Ok(found.into_keys().collect())
    }

    /// The refs of the remote that are named so, or match the pattern.
    pub async fn refs(
        &self,
        repository: &Path,
        patterns: Vec<String>,
    ) -> Result<BTreeMap<String, CommitId>, RemoteError> {
        self.named(repository, vec!["--heads".to_owned()], patterns)
            .await
    }

    async fn named(
        &self,
        repository: &Path,
        flags: Vec<String>,
        patterns: Vec<String>,
    ) -> Result<BTreeMap<String, CommitId>, RemoteError> {
        let said = self
            .checked("ls-remote", repository, flags, patterns)
            .await?;
        let pairs = said.stdout.lines().filter_map(|line| line.split_once('\t'));
        Ok(pairs
            .filter_map(|(id, name)| Some((name.to_owned(), id.parse().ok()?)))
            .collect())
    }

    /// The branch that the remote's HEAD names; `None` where it names none.
    pub async fn head_branch(&self, repository: &Path) -> Result<Option<BranchName>, RemoteError> {
        let said = self
            .checked(
                "ls-remote",
                repository,
                vec!["--symref".to_owned()],
                vec!["HEAD".to_owned()],
            )
            .await?;
        let mut targets = said
            .stdout
            .lines()
            .filter_map(|line| line.strip_prefix("ref: ")?.strip_suffix("\tHEAD"));
        Ok(targets.find_map(|full| full.strip_prefix("refs/heads/")?.parse().ok()))
    }

    /// Pushes once. An `Err` here and a push without an answer for our ref are different things
    /// only to people: in both, nobody knows whether it landed.
    pub async fn push(
        &self,
        repository: &Path,
        push: &Push<'_>,
    ) -> Result<PushAnswer, RemoteError> {
        let target = &push.target;
        let expected = match push.expected {
            Expected::At(id) => id.as_str(),
            Expected::Absent => "",
        };
        let flags = vec![
            "--porcelain".to_owned(),
            "--no-verify".to_owned(),
            "--no-signed".to_owned(),
            "--no-recurse-submodules".to_owned(),
            format!("--force-with-lease={target}:{expected}"),
        ];
        let said = self
            .ask(
                "push",
                repository,
                flags,
                vec![format!("{}:{target}", push.object)],
            )
            .await?;
        match read_push(&said, target) {
            Some(answer) => Ok(answer),
            None => Err(self.failed("pushing to", &said)),
        }
    }

    /// `ask`, where an exit code other than 0 is an error.
    async fn checked(
        &self,
        verb: &str,
        repository: &Path,
        flags: Vec<String>,
        rest: Vec<String>,
    ) -> Result<Output, RemoteError> {
        let said = self.ask(verb, repository, flags, rest).await?;
        if said.success {
            Ok(said)
        } else {
            Err(self.failed("reading the branches of", &said))
        }
    }

    async fn ask(
        &self,
        verb: &str,
        repository: &Path,
        flags: Vec<String>,
        rest: Vec<String>,
    ) -> Result<Output, RemoteError> {
        let (address, url_login) = self.url.for_command();
        let shared = self.shared().await;
        // Closed only with the program: without a place in it the command simply goes.
        let _session = match shared {
            Some(shared) => shared.sessions.acquire().await.ok(),
            None => None,
        };
        let options = shared.map(ssh::Shared::options);
        let home = self.git.env("HOME").map(PathBuf::from);
        let around = Surroundings {
            sharing: options.as_deref(),
            keys: &self.keys,
            home,
        };
        let mut login = Prepared::new(&self.credential, url_login, &around).map_err(|why| {
            self.program(
                verb,
                &GitError::Io {
                    verb: verb.to_owned(),
                    source: why.into(),
                },
            )
        })?;
        if self.skips_tls {
            login.config.push("http.sslVerify=false".to_owned());
        }
        let middle = ["--".to_owned(), address];
        let args = args(flags.into_iter().chain(middle).chain(rest));
        let call = Call {
            verb,
            args,
            repository: Some(repository),
            login,
            deadline: None,
        };
        let said = self.git.run(call).await;
        if let (Err(GitError::TimedOut { .. }), Some(shared)) = (&said, shared) {
            shared.forget();
        }
        said.map_err(|why| self.program(verb, &why))
    }

    fn program(&self, verb: &str, why: &GitError) -> RemoteError {
        let trouble = if matches!(why, GitError::TimedOut { .. }) {
            Trouble::Unreachable
        } else {
            Trouble::Program
        };
        RemoteError {
            doing: format!("git {verb} with"),
            url: self.url.to_string(),
            trouble,
            words: why.to_string(),
            source: Some(why.clone()),
        }
    }

    /// A command that ended, but not well.
    pub fn failed(&self, doing: &str, said: &Output) -> RemoteError {
        RemoteError {
            doing: doing.to_owned(),
            url: self.url.to_string(),
            trouble: trouble_of(&said.stderr),
            words: answer::words(&said.stderr),
            source: None,
        }
    }
}

/// Where the mirror keeps the remote's branch.
pub(super) fn local_ref(branch: &BranchName) -> String {
    format!("refs/remotes/r/{branch}")
}
