//! A bare repository in a temporary folder for tests, with the real git beside ours to judge what was made.

use std::{path::PathBuf, process::Command};

use super::Objects;
use crate::git::{
    commit::{HeaderKey, NewCommit, Person},
    id::{CommitId, TreeId},
    tree::{Mode, Node, edit::Edits},
};

pub(crate) struct Repo {
    pub dir: tempfile::TempDir,
    pub objects: Objects,
}

/// `path` as a file, `*path` as an executable, `@path` as a link, with its content.
pub(crate) type Files<'a> = &'a [(&'a str, &'a str)];

pub(crate) fn person() -> Person {
    Person {
        name: "Ann".into(),
        email: "ann@example.com".into(),
    }
}

pub(crate) fn key() -> HeaderKey {
    HeaderKey {
        promotion_uid: "7c1a".into(),
        step: "commit".into(),
    }
}

fn node(objects: &Objects, path: &str, content: &str) -> (String, Node) {
    let (mode, path) = match path.split_at(1) {
        ("*", path) => (Mode::Executable, path),
        ("@", path) => (Mode::Link, path),
        _ => (Mode::File, path),
    };
    let id = objects.write_blob(content.as_bytes()).unwrap();
    (path.to_owned(), Node::leaf(mode, &id).unwrap())
}

impl Repo {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let objects = Objects::open_or_create(&dir.path().join("r.git")).unwrap();
        Self { dir, objects }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("r.git")
    }

    /// Runs git in the repository; its standard output.
    pub fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.dir.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("LC_ALL", "C")
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            output.status.success(),
            "git {args:?}: {}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
        text(&output.stdout)
    }

    pub fn edited(&self, root: &TreeId, files: Files<'_>) -> TreeId {
        let mut edits = Edits::new();
        for (path, content) in files {
            let (path, node) = node(&self.objects, path, content);
            edits.put(&path.parse().unwrap(), Some(node));
        }
        self.objects.edit(root, &edits).unwrap()
    }

    pub fn tree(&self, files: Files<'_>) -> TreeId {
        self.edited(&TreeId::empty(), files)
    }

    pub fn commit(
        &self,
        parent: Option<&CommitId>,
        tree: &TreeId,
        message: &str,
        time: i64,
    ) -> CommitId {
        let author = person();
        let header = key();
        let new = NewCommit {
            parent,
            tree,
            message,
            author: &author,
            author_time: time,
            committer: &author,
            header: Some(&header),
        };
        self.objects.make_commit(&new).unwrap()
    }

    /// A commit with just these files and no parent.
    pub fn root(&self, files: Files<'_>) -> CommitId {
        self.commit(None, &self.tree(files), "base", 100)
    }

    /// What git finds in a tree or commit: `mode path=content` per file.
    pub fn show(&self, of: &str) -> Vec<String> {
        let listed = self.git(&["ls-tree", "-r", "-z", of]);
        let line = |line: &str| {
            let (meta, path) = line.split_once('\t').unwrap();
            let meta: Vec<&str> = meta.split(' ').collect();
            let content = if meta[1] == "blob" {
                self.git(&["cat-file", "blob", meta[2]])
            } else {
                meta[2].into()
            };
            format!("{} {path}={content}", meta[0])
        };
        listed.split_terminator('\0').map(line).collect()
    }
}
