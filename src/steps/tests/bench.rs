//! A workspace, mirrors and a promotion to run steps in. Shared with `tests/steps_peer.rs`.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use serde_json::Value;

use super::tw::{
    engine::{
        fetched::Fetched,
        step::{
            Around, Files, Found, Origin, Outcome, Person, Registry, Repositories, Revision,
            StepCx, StepError, run_whole,
        },
        workspace::{Kind, MirrorKey, MirrorPaths, Workspace, WorkspaceState},
    },
    git::{
        commit::{NewCommit, Person as GitPerson},
        id::{CommitId, TreeId},
        objects::Objects,
        path::RepoPath,
        tag::TagName,
        tree::{Mode, Node, edit::Edits},
    },
    kargo::artifact::FreightCollection,
    steps::{BuiltIn, registry},
};

pub struct Paths(PathBuf);

impl MirrorPaths for Paths {
    fn path(&self, key: &MirrorKey) -> Option<PathBuf> {
        Some(self.0.join(key.as_str())).filter(|path| path.exists())
    }

    fn scratch(&self) -> PathBuf {
        self.0.join("scratch.git")
    }
}

/// Remotes, by URL; each is its own mirror.
#[derive(Default)]
pub struct Remotes {
    branches: Mutex<BTreeMap<(String, String), CommitId>>,
    pub asked: Mutex<Vec<String>>,
}

#[async_trait]
impl Repositories for Remotes {
    async fn find(
        &self,
        origin: Origin<'_>,
        revisions: &[Revision],
    ) -> Result<Vec<Found>, StepError> {
        let url = origin.url;
        self.asked.lock().unwrap().push(url.to_owned());
        let branches = self.branches.lock().unwrap();
        let branch = |name: &str| branches.get(&(url.to_owned(), name.to_owned())).cloned();
        let found = |revision: &Revision| match revision {
            Revision::Default => (Some("main".parse().unwrap()), branch("main")),
            Revision::Branch { name, .. } => (Some(name.clone()), branch(name.as_str())),
            Revision::Commit(id) => (None, Some(id.clone())),
            Revision::Tag(name) => (None, branch(name)),
        };
        let mirror = mirror_name(url).parse::<MirrorKey>().unwrap();
        Ok(revisions
            .iter()
            .map(found)
            .map(|(branch, commit)| Found {
                mirror: mirror.clone(),
                branch,
                commit,
            })
            .collect())
    }

    async fn has_tag(&self, origin: Origin<'_>, tag: &TagName) -> Result<bool, StepError> {
        let there = self.branches.lock().unwrap();
        Ok(there.contains_key(&(origin.url.to_owned(), tag.to_string())))
    }
}

fn mirror_name(url: &str) -> String {
    url.replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

pub struct Bench {
    dir: tempfile::TempDir,
    pub paths: Arc<Paths>,
    pub files: Files,
    pub around: Around,
    pub fetched: Fetched,
    pub remotes: Remotes,
    pub steps: BuiltIn,
}

impl Bench {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let paths = Arc::new(Paths(dir.path().to_owned()));
        let around = Around {
            project: "shop".into(),
            stage: "prod".into(),
            promotion: "prod.01.abc".into(),
            uid: "uid-1".into(),
            alias: "step-1".into(),
            started_at: "2026-01-02T03:04:05Z".parse().unwrap(),
            freight: FreightCollection::default(),
            author: Person {
                name: "Kargo".into(),
                email: "no-reply@kargo.io".into(),
            },
        };
        let files = Files::new(WorkspaceState::default(), paths.clone());
        let store = dir.path().join("fetched");
        let fetched = Fetched::new(store, "uid-1", around.alias.clone(), Arc::default(), None);
        Self {
            dir,
            paths,
            files,
            around,
            fetched,
            remotes: Remotes::default(),
            steps: registry(),
        }
    }

    /// Runs a step as the runner does: what the check refuses is not run.
    pub fn run(&mut self, uses: &str, config: &Value) -> Result<Outcome, StepError> {
        let step = self.steps.find(&uses.into()).unwrap();
        let problems = step.check(config);
        assert!(problems.is_empty(), "{uses}: {problems:?}");
        let cx = StepCx {
            around: &self.around,
            files: &mut self.files,
            repositories: &self.remotes,
            fetched: &self.fetched,
            earlier: None,
            port: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(run_whole(&*step, cx, config))
    }

    pub fn check(&self, uses: &str, config: &Value) -> Vec<String> {
        self.steps.find(&uses.into()).unwrap().check(config)
    }

    /// The error of a step, as its message shows it.
    pub fn refused(&mut self, uses: &str, config: &Value) -> String {
        let before = self.files.state.clone();
        let error = self
            .run(uses, config)
            .expect_err("the step should not have worked");
        assert_eq!(
            before, self.files.state,
            "a step that fails changes nothing"
        );
        error.sentence()
    }

    pub fn workspace<T>(&mut self, work: impl FnOnce(&mut Workspace) -> T) -> T {
        let mut workspace = Workspace::open(self.files.state.clone(), self.paths.as_ref()).unwrap();
        let result = work(&mut workspace);
        self.files.state = workspace.into_state();
        result
    }

    pub fn write(
        &mut self,
        at: &str,
        bytes: impl AsRef<[u8]>,
        mode: Option<Mode>,
    ) -> Result<(), String> {
        let path = RepoPath::parse(at).map_err(|error| error.to_string())?;
        self.workspace(|workspace| workspace.write(&path, bytes.as_ref(), mode))
            .map_err(|error| error.to_string())
    }

    pub fn put(&mut self, at: &str, text: &str) {
        self.write(at, text, None).unwrap();
    }

    pub fn get(&mut self, at: &str) -> String {
        let file =
            self.workspace(|workspace| workspace.read(&RepoPath::parse(at).unwrap()).unwrap());
        String::from_utf8(file.unwrap_or_else(|| panic!("no {at}")).bytes).unwrap()
    }

    pub fn mode(&mut self, at: &str) -> Mode {
        self.workspace(|workspace| workspace.read(&RepoPath::parse(at).unwrap()).unwrap())
            .unwrap()
            .mode
    }

    pub fn exists(&mut self, at: &str) -> bool {
        let Ok(path) = RepoPath::parse(at) else {
            return false;
        };
        self.workspace(|workspace| workspace.kind(&path).unwrap_or(Kind::Absent)) != Kind::Absent
    }

    /// All files, in order.
    pub fn all(&mut self) -> Vec<String> {
        self.workspace(|workspace| workspace.walk(&RepoPath::root()).unwrap())
            .into_iter()
            .map(|walked| walked.path.to_string())
            .collect()
    }

    pub fn objects(&self, url: &str) -> Objects {
        Objects::open_or_create(&self.dir.path().join(mirror_name(url))).unwrap()
    }

    /// A branch of a remote with one commit of these files.
    pub fn branch(&self, url: &str, name: &str, files: &[(&str, &str, Mode)]) -> CommitId {
        let objects = self.objects(url);
        let mut edits = Edits::new();
        for (path, text, mode) in files {
            let blob = objects.write_blob(text.as_bytes()).unwrap();
            edits.put(
                &path.parse().unwrap(),
                Some(Node::leaf(*mode, &blob).unwrap()),
            );
        }
        let tree = objects.edit(&TreeId::empty(), &edits).unwrap();
        let someone = GitPerson {
            name: "Ann".into(),
            email: "ann@example.com".into(),
        };
        let commit = objects
            .make_commit(&NewCommit {
                parent: None,
                tree: &tree,
                message: "start",
                author: &someone,
                author_time: 1_000,
                committer: &someone,
                header: None,
            })
            .unwrap();
        self.remotes
            .branches
            .lock()
            .unwrap()
            .insert((url.to_owned(), name.to_owned()), commit.clone());
        commit
    }
}
