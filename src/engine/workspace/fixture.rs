//! A workspace over repositories in a temporary folder.

use std::{collections::HashMap, path::PathBuf};

use super::{
    Checkout, CommitOutcome, CommitRequest, MirrorKey, MirrorPaths, Workspace, WorkspaceError,
    WorkspaceState,
};
use crate::git::{
    id::CommitId,
    objects::fixture::{Files, Repo, key, person},
    path::RepoPath,
};

pub(super) struct Bench {
    pub repos: HashMap<String, Repo>,
    pub dir: tempfile::TempDir,
}

impl MirrorPaths for Bench {
    fn path(&self, key: &MirrorKey) -> Option<PathBuf> {
        self.repos.get(key.as_str()).map(Repo::path)
    }

    fn scratch(&self) -> PathBuf {
        self.dir.path().join("scratch.git")
    }
}

pub(super) fn path(text: &str) -> RepoPath {
    text.parse().unwrap()
}

impl Bench {
    /// A repository for each name.
    pub fn new(names: &[&str]) -> Self {
        let repos = names
            .iter()
            .map(|name| ((*name).to_owned(), Repo::new()))
            .collect();
        Self {
            repos,
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub fn repo(&self, name: &str) -> &Repo {
        &self.repos[name]
    }

    pub fn empty(&self) -> Workspace {
        Workspace::open(WorkspaceState::default(), self).unwrap()
    }

    pub fn mount(
        &self,
        workspace: &mut Workspace,
        name: &str,
        at: &str,
        base: Option<CommitId>,
    ) -> Result<(), WorkspaceError> {
        let checkout = Checkout {
            path: path(at),
            repo_url: format!("https://example.com/{name}.git"),
            skips_tls: false,
            mirror: name.parse().unwrap(),
            branch: Some("main".parse().unwrap()),
            create: base.is_none(),
            author: None,
            base,
        };
        workspace.mount(checkout, self)
    }

    /// A workspace with `files` of the first repository, committed, at `src`.
    pub fn with(&self, name: &str, files: Files<'_>) -> Workspace {
        let mut workspace = self.empty();
        self.mount(
            &mut workspace,
            name,
            "src",
            Some(self.repo(name).root(files)),
        )
        .unwrap();
        workspace
    }

    /// The state goes through JSON and the repositories are opened anew, as between two steps.
    pub fn reopened(&self, workspace: Workspace) -> Workspace {
        let text = serde_json::to_string(&workspace.into_state()).unwrap();
        Workspace::open(serde_json::from_str(&text).unwrap(), self).unwrap()
    }
}

pub(super) fn commit(workspace: &mut Workspace, at: &str) -> Result<CommitOutcome, WorkspaceError> {
    let (author, header) = (person(), key());
    let request = CommitRequest {
        message: "change",
        author: &author,
        when: 1_000,
        header: Some(&header),
    };
    workspace.commit(&path(at), &request)
}

pub(super) fn made(workspace: &mut Workspace, at: &str) -> CommitId {
    match commit(workspace, at).unwrap() {
        CommitOutcome::Made { id, .. } => id,
        other => panic!("{other:?}"),
    }
}

/// Every file as `mode path=content`.
pub(super) fn files(workspace: &mut Workspace) -> Vec<String> {
    let walked = workspace.walk(&RepoPath::root()).unwrap();
    let line = |w: &super::Walked| {
        let content = w
            .blob
            .as_ref()
            .map(|id| workspace.blob(&w.path, id).unwrap())
            .unwrap_or_default();
        format!(
            "{} {}={}",
            w.mode,
            w.path,
            String::from_utf8_lossy(&content)
        )
    };
    walked.iter().map(line).collect()
}

/// What was recorded for the first checkout: `r`ead, `l`ooked at, `w`ritten, `b`ulk.
pub(super) fn recorded(workspace: &Workspace) -> Vec<String> {
    let access = &workspace.state().mounts[0].access;
    let reads = access.reads().map(|path| format!("r {path}"));
    let looks = access.looks().map(|path| format!("l {path}"));
    let writes = access.writes().map(|path| format!("w {path}"));
    let bulk = access.bulk().map(|(path, _)| format!("b {path}"));
    reads.chain(looks).chain(writes).chain(bulk).collect()
}

/// A file's content, if it is there.
pub(super) fn text(workspace: &mut Workspace, at: &str) -> Option<String> {
    workspace
        .read(&path(at))
        .unwrap()
        .map(|file| String::from_utf8(file.bytes).unwrap())
}
