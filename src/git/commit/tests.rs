use super::*;
use crate::git::objects::fixture::{Repo, key, person};

fn made(repo: &Repo, message: &str, name: &str) -> Result<CommitId, CommitError> {
    let author = Person {
        name: name.into(),
        email: "a@b".into(),
    };
    repo.objects.make_commit(&NewCommit {
        parent: None,
        tree: &repo.tree(&[("a", "1")]),
        message,
        author: &author,
        author_time: 1_700_000_000,
        committer: &author,
        header: Some(&key()),
    })
}

#[test]
fn git_accepts_and_shows_the_commits() {
    let repo = Repo::new();
    let base = repo.root(&[("a", "1")]);
    let head = repo.commit(
        Some(&base),
        &repo.tree(&[("a", "2")]),
        "Set image\n\nBecause ü.",
        1_700_000_000,
    );
    repo.git(&["update-ref", "refs/heads/main", head.as_str()]);
    repo.git(&["fsck", "--strict"]);
    let log = repo.git(&["log", "--format=%H|%an|%ae|%at|%cn|%ct|%B", "main"]);
    assert!(
        log.starts_with(&format!(
            "{head}|Ann|ann@example.com|1700000000|Ann|1700000000|Set image\n\nBecause ü.\n"
        )),
        "{log}"
    );
    assert!(
        repo.git(&["cat-file", "commit", "main"])
            .contains("\ntidewaiter 7c1a commit\n\n")
    );
}

#[test]
fn the_header_says_whose_it_is() {
    let repo = Repo::new();
    assert_eq!(
        repo.objects.header_of(&repo.root(&[])).unwrap(),
        Some(key())
    );
    let tree = repo.tree(&[("a", "1")]);
    let others = |bytes: String| -> CommitId {
        typed(
            Kind::Commit,
            repo.objects.write(Kind::Commit, bytes.as_bytes()).unwrap(),
        )
        .unwrap()
    };
    let who = "Bob <b@c> 5 +0200";
    let plain = others(format!(
        "tree {tree}\nauthor {who}\ncommitter {who}\n\ntidewaiter 7c1a commit\n\nx\n"
    ));
    assert_eq!(
        repo.objects.header_of(&plain).unwrap(),
        None,
        "a message is no header"
    );
    let signed = others(format!(
        "tree {tree}\nparent {plain}\nauthor {who}\ncommitter {who}\ngpgsig -----BEGIN\n tidewaiter a b\n -----END\n\nx"
    ));
    let commit = repo.objects.commit(&signed).unwrap();
    assert_eq!(
        (commit.header, commit.message.as_str(), commit.author_time),
        (None, "x", 5)
    );
    assert_eq!(commit.parents, [plain]);
    let empty = others(format!("tree {tree}\nauthor {who}\ncommitter {who}\n"));
    assert_eq!(repo.objects.commit(&empty).unwrap().message, "");
    let broken = others("tree x\n".into());
    assert!(repo.objects.commit(&broken).unwrap_err().is_absent());
}

#[test]
fn a_commit_is_never_older_than_its_parent() {
    let repo = Repo::new();
    let tree = repo.tree(&[("a", "1")]);
    let late = repo.commit(None, &tree, "late", 2_000);
    let early = repo
        .objects
        .commit(&repo.commit(Some(&late), &tree, "early", 1_000))
        .unwrap();
    assert_eq!((early.author_time, early.committer_time), (1_000, 2_000));
    let now = repo
        .objects
        .commit(&repo.commit(Some(&late), &tree, "now", 3_000))
        .unwrap();
    assert_eq!((now.author_time, now.committer_time), (3_000, 3_000));
}

#[test]
fn making_again_keeps_all_but_parent_tree_and_date() {
    let repo = Repo::new();
    let first = repo.commit(None, &repo.tree(&[("a", "1")]), "m\n\n\n\nn", 1_000);
    let tip = repo.commit(None, &repo.tree(&[("b", "1")]), "tip", 5_000);
    let tree = repo.tree(&[("a", "1"), ("b", "1")]);
    let again = repo
        .objects
        .make_again(&repo.objects.commit(&first).unwrap(), Some(&tip), &tree)
        .unwrap();
    let (old, new) = (
        repo.objects.commit(&first).unwrap(),
        repo.objects.commit(&again).unwrap(),
    );
    assert_eq!((new.parents, new.tree), (vec![tip], tree));
    assert_eq!(
        (new.message, new.author_line, new.header),
        (old.message, old.author_line, Some(key()))
    );
    assert_eq!(new.committer_time, 5_000);
    repo.git(&["fsck", "--strict"]);
}

#[test]
fn messages_are_cleaned_as_git_does() {
    let repo = Repo::new();
    for message in [
        "one",
        "\n\n one  \n\n\n\ntwo\t\n\n",
        "# kept\nx",
        "a\r\nb\r\n",
        "a\n \n\u{20}\nb",
    ] {
        let ours = repo
            .objects
            .commit(&made(&repo, message, "Ann").unwrap())
            .unwrap()
            .message;
        let file = repo.dir.path().join("message");
        std::fs::write(&file, message).unwrap();
        let tree = repo.tree(&[("a", "1")]);
        repo.git(&["symbolic-ref", "HEAD", "refs/heads/x"]);
        let work = repo.dir.path().join("work");
        std::fs::create_dir_all(&work).unwrap();
        let run = |args: &[&str]| {
            let mut all = vec!["-c", "user.name=A", "-c", "user.email=a@b", "--work-tree"];
            let work = work.to_str().unwrap();
            all.push(work);
            all.extend(args);
            repo.git(&all)
        };
        run(&["read-tree", tree.as_str()]);
        run(&[
            "commit",
            "-q",
            "--allow-empty",
            "-F",
            file.to_str().unwrap(),
        ]);
        let theirs = repo.git(&["log", "-1", "--format=%B", "x"]);
        assert_eq!(format!("{ours}\n"), theirs, "{message:?}");
    }
    for message in ["", " \n\t\n"] {
        assert!(
            matches!(made(&repo, message, "Ann"), Err(CommitError::EmptyMessage)),
            "{message:?}"
        );
    }
}

#[test]
fn names_cannot_smuggle_headers() {
    let repo = Repo::new();
    let id = made(&repo, "m", "  Eve <x>\ncommitter Root, ").unwrap();
    let raw = repo.git(&["cat-file", "commit", id.as_str()]);
    assert!(
        raw.contains("author Eve xcommitter Root <a@b> 1700000000 +0000\ncommitter Eve"),
        "{raw}"
    );
    repo.git(&["update-ref", "refs/heads/main", id.as_str()]);
    repo.git(&["fsck", "--strict"]);
    for name in ["", " . ", "<>"] {
        assert!(
            matches!(
                made(&repo, "m", name),
                Err(CommitError::UnusableName { .. })
            ),
            "{name:?}"
        );
    }
    let author = person();
    for (uid, step) in [("a\nb", "s"), ("", "s"), ("u", "a b")] {
        let header = HeaderKey {
            promotion_uid: uid.into(),
            step: step.into(),
        };
        let new = NewCommit {
            parent: None,
            tree: &TreeId::empty(),
            message: "m",
            author: &author,
            author_time: 1,
            committer: &author,
            header: Some(&header),
        };
        assert!(
            matches!(
                repo.objects.make_commit(&new),
                Err(CommitError::UnusableHeader { .. })
            ),
            "{header:?}"
        );
    }
}
