//! A remote repository, our side of it, and members that write one file each.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tidewaiter::git::{
    branch::BranchName,
    command::{Git, GitSettings},
    counters::{CounterSnapshot, Counters},
    credentials::Credential,
    id::CommitId,
    land::{HeaderKey, LandBudget, LandRequest, Member, NotPlaced, Placed},
    mirror::{Mirror, Mirrors},
    url::RepoUrl,
};

pub fn branch(name: &str) -> BranchName {
    name.parse().unwrap()
}

/// A directory with a bare remote in it, a home, and mirrors.
pub struct World {
    pub dir: tempfile::TempDir,
    pub mirrors: Mirrors,
    pub git: Git,
}

fn child_env(dir: &Path) -> Vec<(String, String)> {
    let home = dir.join("home").display().to_string();
    [
        ("HOME", home.as_str()),
        ("XDG_CONFIG_HOME", home.as_str()),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_AUTHOR_NAME", "t"),
        ("GIT_AUTHOR_EMAIL", "t@example.org"),
        ("GIT_COMMITTER_NAME", "t"),
        ("GIT_COMMITTER_EMAIL", "t@example.org"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

fn git_program<'a>(
    dir: &Path,
    program: &Path,
    extra: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Git {
    let extra = extra
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let env = child_env(dir)
        .into_iter()
        .chain(extra)
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let settings = GitSettings {
        program: program.to_owned(),
        env,
        deadline: Duration::from_secs(60),
        history_limit: 100_000,
    };
    Git::new(settings, Counters::default())
}

impl World {
    /// `main` has two commits.
    pub fn new() -> Self {
        let world = Self::empty();
        world.outside("main", "README", "one", None);
        world.outside("main", "README", "two", None);
        world
    }

    pub fn empty() -> Self {
        Self::with_program("git")
    }

    /// Our git is a script around the real one; `$1…` are its arguments, `$0` lies in the world.
    pub fn with_wrapper(before: &str) -> Self {
        let world = Self::with_program("./git-wrapper");
        let path = world.dir.path().join("git-wrapper");
        script(
            &path,
            &format!("dir=$(dirname \"$0\")\n{before}\nexec git \"$@\""),
        );
        world.outside("main", "README", "one", None);
        world
    }

    fn with_program(program: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("home")).unwrap();
        let program = if program == "git" {
            PathBuf::from(program)
        } else {
            dir.path().join(program)
        };
        let git = git_program(dir.path(), &program, []);
        let mirrors = Mirrors::open(&dir.path().join("mirrors"), git.clone()).unwrap();
        let world = Self { dir, mirrors, git };
        world.run(&["init", "-q", "--bare", "-b", "main", &world.remote()]);
        world
    }

    /// A new run, with more in the environment of every git.
    pub fn restart_with<'a>(&mut self, extra: impl IntoIterator<Item = (&'a str, &'a str)>) {
        self.git = git_program(self.dir.path(), Path::new("git"), extra);
        self.mirrors =
            Mirrors::open(&self.dir.path().join("more-mirrors"), self.git.clone()).unwrap();
    }

    pub fn remote(&self) -> String {
        self.dir.path().join("remote.git").display().to_string()
    }

    pub fn url(&self) -> RepoUrl {
        self.remote().parse().unwrap()
    }

    pub async fn mirror(&self) -> Arc<Mirror> {
        self.mirrors
            .mirror(&self.url(), &Credential::User)
            .await
            .unwrap()
    }

    pub fn counts(&self) -> CounterSnapshot {
        self.git.counters().snapshot()
    }

    /// The real git, not counted, in the remote.
    pub fn run(&self, args: &[&str]) -> String {
        run_git(self.dir.path(), Path::new(&self.remote()), args)
    }

    /// Somebody else commits straight into the remote.
    pub fn outside(
        &self,
        branch: &str,
        file: &str,
        text: &str,
        mark: Option<&HeaderKey>,
    ) -> CommitId {
        let repository = git2::Repository::open_bare(self.remote()).unwrap();
        let name = format!("refs/heads/{branch}");
        let tip = repository
            .refname_to_id(&name)
            .ok()
            .map(|id| id.to_string().parse().unwrap());
        let (commit, _) = commit_file(&repository, tip.as_ref(), file, text, text, mark);
        repository
            .reference(
                &name,
                git2::Oid::from_str(commit.as_str()).unwrap(),
                true,
                "",
            )
            .unwrap();
        commit
    }

    /// The commit that the remote's branch is at.
    pub fn remote_tip(&self, branch: &str) -> Option<CommitId> {
        let repository = git2::Repository::open_bare(self.remote()).unwrap();
        repository
            .refname_to_id(&format!("refs/heads/{branch}"))
            .ok()
            .map(|id| id.to_string().parse().unwrap())
    }

    pub fn files(&self, branch: &str) -> Vec<String> {
        self.run(&["ls-tree", "-r", "--name-only", branch])
            .lines()
            .map(str::to_owned)
            .collect()
    }

    pub fn is_on(&self, commit: &CommitId, branch: &str) -> bool {
        self.run(&[
            "branch",
            "--contains",
            commit.as_str(),
            "--format",
            "%(refname:short)",
        ])
        .lines()
        .any(|line| line == branch)
    }

    pub fn hook(&self, name: &str, script: &str) {
        let path = Path::new(&self.remote()).join("hooks").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        self::script(&path, script);
    }
}

/// An executable script. Copied by a child: a file that this process wrote may be open in a child
/// forked by another test that moment, and cannot be run until then.
pub fn script(path: &Path, text: &str) {
    let draft = path.with_extension("draft");
    fs::write(&draft, format!("#!/bin/sh\n{text}\n")).unwrap();
    assert!(
        Command::new("cp")
            .arg(&draft)
            .arg(path)
            .status()
            .unwrap()
            .success()
    );
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

pub fn run_git(dir: &Path, cwd: &Path, args: &[&str]) -> String {
    let cwd = if cwd.is_dir() { cwd } else { dir };
    let output = Command::new("git")
        .args(args)
        .current_dir(cwd)
        .envs(child_env(dir))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A commit that sets one file on top of `tip`; `false`: the tip has the file so already.
pub fn commit_file(
    repository: &git2::Repository,
    tip: Option<&CommitId>,
    file: &str,
    text: &str,
    message: &str,
    mark: Option<&HeaderKey>,
) -> (CommitId, bool) {
    let parent = tip.map(|id| {
        repository
            .find_commit(git2::Oid::from_str(id.as_str()).unwrap())
            .unwrap()
    });
    let tree = parent.as_ref().map(|commit| commit.tree().unwrap());
    let mut builder = repository.treebuilder(tree.as_ref()).unwrap();
    builder
        .insert(file, repository.blob(text.as_bytes()).unwrap(), 0o100_644)
        .unwrap();
    let changed = builder.write().unwrap();
    let same = tree.is_some_and(|tree| tree.id() == changed);
    let changed = repository.find_tree(changed).unwrap();
    let person =
        git2::Signature::new("t", "t@example.org", &git2::Time::new(1_700_000_000, 0)).unwrap();
    let parents: Vec<_> = parent.iter().collect();
    let buffer = repository
        .commit_create_buffer(&person, &person, message, &changed, &parents)
        .unwrap();
    let mut text = buffer.as_str().unwrap().to_owned();
    if let Some(mark) = mark {
        text = text.replacen(
            "\n\n",
            &format!("\ntidewaiter {} {}\n\n", mark.promotion_uid, mark.step),
            1,
        );
    }
    let id = repository
        .odb()
        .unwrap()
        .write(git2::ObjectType::Commit, text.as_bytes())
        .unwrap();
    (id.to_string().parse().unwrap(), !same)
}

type Before = Arc<dyn Fn(u32) + Send + Sync>;

/// Writes one file onto any tip.
pub struct Writer {
    pub mirror: Arc<Mirror>,
    pub file: String,
    pub message: String,
    pub header: HeaderKey,
    /// Called with the number of the call, before placing: a stage for others.
    pub before: Option<Before>,
    pub calls: AtomicU32,
    /// A conflict, where this file is on the tip.
    pub conflicts_with: Option<String>,
}

pub fn header(uid: &str) -> HeaderKey {
    HeaderKey {
        promotion_uid: uid.to_owned(),
        step: "commit".to_owned(),
    }
}

pub fn writer(mirror: &Arc<Mirror>, file: &str) -> Writer {
    Writer {
        mirror: Arc::clone(mirror),
        file: file.to_owned(),
        message: format!("Write {file}"),
        header: header(&format!("uid-{file}")),
        before: None,
        calls: AtomicU32::new(0),
        conflicts_with: None,
    }
}

#[async_trait]
impl Member for Writer {
    async fn place(&self, tip: Option<&CommitId>, _round: u32) -> Result<Placed, NotPlaced> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        if let Some(before) = self.before.clone() {
            // It may block.
            tokio::task::spawn_blocking(move || before(call))
                .await
                .unwrap();
        }
        let repository = git2::Repository::open_bare(self.mirror.path()).unwrap();
        if let Some(file) = &self.conflicts_with {
            let tree = repository
                .find_commit(git2::Oid::from_str(tip.unwrap().as_str()).unwrap())
                .unwrap()
                .tree()
                .unwrap();
            if tree.get_name(file).is_some() {
                let message = format!("{file} was changed by both");
                return Err(NotPlaced::Conflict {
                    paths: vec![file.clone()],
                    message,
                });
            }
        }
        let (commit, changed) = commit_file(
            &repository,
            tip,
            &self.file,
            &self.file,
            &self.message,
            Some(&self.header),
        );
        Ok(if changed {
            Placed::Commits {
                commits: vec![commit],
                replayed: call > 0,
            }
        } else {
            Placed::NoOp
        })
    }
}

pub fn request(writer: Writer, to: &str) -> LandRequest {
    LandRequest {
        mirror: Arc::clone(&writer.mirror),
        branch: branch(to),
        create: false,
        header: writer.header.clone(),
        budget: LandBudget {
            max_attempts: 20,
            time: Duration::from_secs(60),
        },
        member: Arc::new(writer),
        progress: None,
    }
}

/// An error with everything below it, as logs show it.
pub fn whole(error: &dyn std::error::Error) -> String {
    let mut text = format!("{error} / {error:?}");
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
