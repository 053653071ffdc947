use super::{edit::Edits, *};
use crate::git::objects::fixture::Repo;

fn path(text: &str) -> RepoPath {
    text.parse().unwrap()
}

#[test]
fn trees_are_the_ones_that_git_makes() {
    let repo = Repo::new();
    // `a.b`, `a/x`, `a0` show that a directory sorts as if it ended in a slash.
    let tree = repo.tree(&[
        ("a/x", "1"),
        ("a.b", "2"),
        ("a0", "3"),
        ("*run", "4"),
        ("@l", "a/x"),
        ("d/e/f", "5"),
    ]);
    assert_eq!(
        repo.show(tree.as_str()),
        [
            "100644 a.b=2",
            "100644 a/x=1",
            "100644 a0=3",
            "100644 d/e/f=5",
            "120000 l=a/x",
            "100755 run=4"
        ]
    );
    repo.git(&[
        "update-ref",
        "refs/heads/t",
        repo.commit(None, &tree, "m", 1).as_str(),
    ]);
    repo.git(&["fsck", "--strict", "--no-dangling"]);
    let listed: Vec<_> = repo
        .objects
        .entries(&tree)
        .unwrap()
        .iter()
        .map(|e| e.name().unwrap().to_owned())
        .collect();
    assert_eq!(listed, ["a.b", "a", "a0", "d", "l", "run"]);
}

#[test]
fn looking_up_says_what_is_in_the_way() {
    let repo = Repo::new();
    let tree = repo.tree(&[("a/b/c", "1"), ("f", "2")]);
    let find = |text: &str| repo.objects.find(&tree, &path(text)).unwrap();
    assert!(matches!(find("."), Found::Node(node) if node.is_tree()));
    assert!(matches!(find("a/b"), Found::Node(node) if node.is_tree()));
    assert!(matches!(find("a/b/c"), Found::Node(node) if node.mode() == Some(Mode::File)));
    assert_eq!(find("a/x/y"), Found::Absent);
    assert!(matches!(find("f/x/y"), Found::Blocked { depth: 1, .. }));
    assert!(matches!(find("a/b/c/d"), Found::Blocked { depth: 3, .. }));
}

#[test]
fn edits_share_what_they_do_not_touch_and_drop_empty_directories() {
    let repo = Repo::new();
    let tree = repo.tree(&[("a/b/c", "1"), ("a/d", "2"), ("e/f", "3")]);
    let mut edits = Edits::new();
    edits.put(&path("a/b/c"), None);
    edits.put(&path("none/at/all"), None);
    let after = repo.objects.edit(&tree, &edits).unwrap();
    assert_eq!(repo.show(after.as_str()), ["100644 a/d=2", "100644 e/f=3"]);
    assert_eq!(
        repo.objects.find(&after, &path("a/b")).unwrap(),
        Found::Absent
    );
    assert_eq!(
        repo.objects.find(&after, &path("e")).unwrap(),
        repo.objects.find(&tree, &path("e")).unwrap()
    );

    let mut all = Edits::new();
    for gone in ["a", "e"] {
        all.put(&path(gone), None);
    }
    assert_eq!(repo.objects.edit(&tree, &all).unwrap(), TreeId::empty());
    assert_eq!(repo.objects.edit(&tree, &Edits::new()).unwrap(), tree);
}

#[test]
fn a_file_is_no_directory_unless_it_is_replaced() {
    let repo = Repo::new();
    let tree = repo.tree(&[("f", "1"), ("d/x", "2")]);
    let node = Node::leaf(Mode::File, &repo.objects.write_blob(b"new").unwrap()).unwrap();
    let edit = |puts: &[(&str, Option<Node>)]| {
        let mut edits = Edits::new();
        for (at, node) in puts {
            edits.put(&path(at), *node);
        }
        repo.objects.edit(&tree, &edits)
    };
    assert!(
        matches!(edit(&[("f/x", Some(node))]), Err(ObjectsError::InTheWay { at }) if at == "f")
    );
    assert_eq!(
        edit(&[("f/x", None)]).unwrap(),
        tree,
        "there is nothing to remove below a file"
    );
    let replaced = edit(&[("d", Some(node))]).unwrap();
    assert_eq!(repo.show(replaced.as_str()), ["100644 d=new", "100644 f=1"]);
}

#[test]
fn odd_modes_and_names_survive() {
    let repo = Repo::new();
    let id = repo.objects.write_blob(b"x").unwrap();
    let entry = |bits: u32, name: &[u8]| Entry {
        name: name.to_vec(),
        node: Node {
            bits,
            oid: oid(Kind::Blob, id.as_str()).unwrap(),
        },
    };
    let entries = vec![
        entry(0o100_664, b"old"),
        entry(0o100_644, b"\xff\xfe"),
        entry(0o160_000, b"sub"),
    ];
    let tree = Objects::tree_typed(repo.objects.write_entries(entries).unwrap()).unwrap();
    let after = repo.edited(&tree, &[("new", "y")]);
    let raw = repo.git(&["ls-tree", "-z", after.as_str()]);
    assert!(raw.contains("160000 commit"), "{raw:?}");
    let Found::Node(old) = repo.objects.find(&after, &path("old")).unwrap() else {
        panic!()
    };
    assert_eq!(format!("{old:?}").split(' ').next(), Some("100664"));
    assert_eq!(old.mode(), Some(Mode::File));
    assert_eq!(old.with_mode(Mode::File), old);
    let names: Vec<_> = repo
        .objects
        .entries(&after)
        .unwrap()
        .into_iter()
        .map(|e| e.name)
        .collect();
    assert!(names.contains(&b"\xff\xfe".to_vec()), "{names:?}");
}

#[test]
fn differences_are_named_file_by_file() {
    let repo = Repo::new();
    let old = repo.tree(&[
        ("same/x", "1"),
        ("mode", "2"),
        ("gone/a", "3"),
        ("gone/b", "4"),
        ("f", "5"),
        ("d/x", "6"),
    ]);
    let new = repo.tree(&[
        ("same/x", "1"),
        ("*mode", "2"),
        ("new/a/b", "7"),
        ("f/y", "8"),
        ("d", "9"),
    ]);
    let seen: Vec<_> = repo
        .objects
        .changes(&old, &new)
        .unwrap()
        .iter()
        .map(|change| {
            let kind = |node: Option<Node>| match node {
                None => '-',
                Some(node) if node.is_tree() => 'd',
                Some(_) => 'f',
            };
            format!("{}{} {}", kind(change.old), kind(change.new), change.path())
        })
        .collect();
    assert_eq!(
        seen,
        [
            "df d",
            "fd f",
            "f- gone/a",
            "f- gone/b",
            "ff mode",
            "-f new/a/b"
        ]
    );
    assert_eq!(repo.objects.changes(&old, &old).unwrap(), []);
}

#[test]
fn a_damaged_tree_is_absent() {
    let repo = Repo::new();
    for bytes in [
        &b"100644 a"[..],
        b"100644 a\0short",
        b"xx a\0aaaaaaaaaaaaaaaaaaaa",
        b"100644 \0aaaaaaaaaaaaaaaaaaaa",
    ] {
        let id = repo.objects.write(Kind::Tree, bytes).unwrap();
        assert!(
            repo.objects.entries_at(id).unwrap_err().is_absent(),
            "{bytes:?}"
        );
    }
}

#[test]
fn carrying_brings_everything_over() {
    let (from, to) = (Repo::new(), Repo::new());
    let tree = from.tree(&[("a/b", "1"), ("c", "2")]);
    to.objects
        .carry(&from.objects, Node::tree(&tree).unwrap())
        .unwrap();
    assert_eq!(to.show(tree.as_str()), ["100644 a/b=1", "100644 c=2"]);
}

#[test]
fn bottomless_trees_are_refused_and_not_entered_for_ever() {
    let repo = Repo::new();
    let mut tree = repo.tree(&[("f", "1")]);
    for _ in 0..2100 {
        let entry = Entry {
            name: b"d".to_vec(),
            node: Node::tree(&tree).unwrap(),
        };
        tree = Objects::tree_typed(repo.objects.write_entries(vec![entry]).unwrap()).unwrap();
    }
    // As much stack as a thread of the pool has.
    let path = repo.path();
    let job = std::thread::Builder::new().stack_size(2 << 20);
    let seen = job.spawn(move || {
        Objects::open(&path)
            .unwrap()
            .changes(&TreeId::empty(), &tree)
            .map(|c| c.len())
    });
    assert!(seen.unwrap().join().unwrap().unwrap_err().is_absent());
}
