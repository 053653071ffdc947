//! tar and untar.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use serde_json::json;
use tar::{Builder, EntryType, Header};

use super::bench::Bench;
use crate::{
    git::tree::Mode,
    steps::archive::{self, ArchiveError, Content, Limits},
};

/// An archive as somebody else may have made it; nothing is checked.
fn raw(entries: &[(&str, EntryType, &str)]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (name, kind, data) in entries {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o755);
        let size = if *kind == EntryType::Regular {
            data.len()
        } else {
            0
        };
        header.set_size(size as u64);
        if matches!(kind, EntryType::Symlink | EntryType::Link) {
            header.as_old_mut().linkname[..data.len()].copy_from_slice(data.as_bytes());
        }
        header.set_cksum();
        builder.append(&header, &data.as_bytes()[..size]).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const FILE: EntryType = EntryType::Regular;

fn source(bench: &mut Bench) {
    for path in [
        "in/a-b",
        "in/a/b",
        "in/skip.tmp",
        "in/build/x",
        "in/ü 🚢",
        "in/-rf",
        "in/two\nlines",
    ] {
        bench.put(path, path);
    }
    let long = format!("in/{}/{}", "d".repeat(120), "f".repeat(120));
    bench.put(&long, "long");
    bench.write("in/run", "#!", Some(Mode::Executable)).unwrap();
    bench.write("in/link", "a/b", Some(Mode::Link)).unwrap();
    bench
        .write("in/out", "../../etc", Some(Mode::Link))
        .unwrap();
}

#[test]
fn the_same_files_give_the_same_bytes_and_come_back_the_same() {
    for gzip in [true, false] {
        let mut bench = Bench::new();
        source(&mut bench);
        let config = json!({"inPath": "in", "outPath": "x/out.tar", "gzip": gzip, "ignore": "*.tmp\n/build/"});
        bench.run("tar", &config).unwrap();
        let state = bench.files.state.clone();
        bench.run("tar", &config).unwrap();
        assert_eq!(state, bench.files.state);
        let mut other = Bench::new();
        source(&mut other);
        other.run("tar", &config).unwrap();
        assert_eq!(state, other.files.state);

        let outcome = bench
            .run("untar", &json!({"inPath": "x/out.tar", "outPath": "back"}))
            .unwrap();
        assert!(
            outcome.message.contains("\"out\" (the link leads out)"),
            "{}",
            outcome.message
        );
        let back: Vec<String> = bench
            .all()
            .into_iter()
            .filter_map(|path| Some(path.strip_prefix("back/")?.to_owned()))
            .collect();
        let kept: Vec<String> = bench
            .all()
            .into_iter()
            .filter_map(|path| Some(path.strip_prefix("in/")?.to_owned()))
            .filter(|path| !["skip.tmp", "build/x", "out"].contains(&path.as_str()))
            .collect();
        assert_eq!(back, kept);
        assert_eq!(
            (bench.mode("back/run"), bench.mode("back/a-b")),
            (Mode::Executable, Mode::File)
        );
        assert_eq!(bench.get("back/link"), "in/a/b", "a link is a link");
    }
}

#[test]
fn names_are_in_the_order_of_a_walk_and_a_single_file_goes_by_its_own() {
    let mut bench = Bench::new();
    bench.put("in/a/b", "1");
    bench.put("in/a-b", "2");
    bench.put("in/old.tar", "3");
    for (config, names) in [
        (
            json!({"inPath": "in", "outPath": "in/old.tar", "gzip": false}),
            &["a/", "a/b", "a-b"][..],
        ),
        (
            json!({"inPath": "in/a/b", "outPath": "o.tar", "gzip": false}),
            &["b"],
        ),
        (
            json!({"inPath": "in", "outPath": "o.tar", "gzip": false, "ignore": "*"}),
            &[],
        ),
    ] {
        bench.run("tar", &config).unwrap();
        let path = config["outPath"].as_str().unwrap().parse().unwrap();
        let bytes = bench.workspace(|workspace| workspace.read(&path).unwrap().unwrap().bytes);
        let mut archive = tar::Archive::new(bytes.as_slice());
        let found: Vec<String> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let header = entry.header();
                assert_eq!(
                    (
                        header.uid().unwrap(),
                        header.gid().unwrap(),
                        header.mtime().unwrap()
                    ),
                    (0, 0, 315_532_800)
                );
                entry.path().unwrap().display().to_string()
            })
            .collect();
        assert_eq!(found, names);
    }
}

#[test]
fn tar_says_what_is_wrong() {
    let mut bench = Bench::new();
    bench.put("in/a", "1");
    let said = bench.refused("tar", &json!({"inPath": "no", "outPath": "x"}));
    assert!(said.contains("no does not exist"), "{said}");
    let said = bench.refused("tar", &json!({"inPath": "in", "outPath": "in"}));
    assert!(said.contains("is a directory"), "{said}");
    let said = bench.refused(
        "tar",
        &json!({"inPath": "in", "outPath": "x", "ignore": "[z-a]"}),
    );
    assert!(said.contains("line 1"), "{said}");
}

#[test]
fn entries_that_lead_out_are_left_out_and_said() {
    let names = [
        "ok/x",
        "./dot",
        "/abs",
        "../up",
        "a/../../up",
        "b\\c",
        "a/.git/config",
        ".GIT/x",
        "a/./b",
    ];
    let mut entries: Vec<(&str, EntryType, &str)> =
        names.iter().map(|name| (*name, FILE, "1")).collect();
    entries.extend([
        ("l-abs", EntryType::Symlink, "/etc/passwd"),
        ("l-up", EntryType::Symlink, "../x"),
        ("l-ok", EntryType::Symlink, "ok/x"),
        ("hard", EntryType::Link, "/etc/passwd"),
        ("null", EntryType::Char, ""),
        ("pipe", EntryType::Fifo, ""),
        ("dir/", EntryType::Directory, ""),
    ]);
    let unpacked = archive::read(&raw(&entries), 0, Limits::default()).unwrap();
    let kept: Vec<String> = unpacked.entries.keys().map(ToString::to_string).collect();
    assert_eq!(kept, ["dir", "dot", "l-ok", "ok/x"]);
    assert_eq!(unpacked.left_out.len(), entries.len() - kept.len());
    let mut bench = Bench::new();
    bench.write("a.tgz", gz(&raw(&entries)), None).unwrap();
    let outcome = bench
        .run("untar", &json!({"inPath": "a.tgz", "outPath": "o"}))
        .unwrap();
    assert!(
        outcome.message.contains("\"/abs\"") && outcome.message.contains("and 7 more"),
        "{}",
        outcome.message
    );
    assert_eq!(bench.all(), ["a.tgz", "o/dot", "o/l-ok", "o/ok/x"]);
}

#[test]
fn what_is_below_a_link_or_a_file_of_the_archive_is_refused() {
    for kind in [EntryType::Symlink, FILE] {
        let bytes = raw(&[("a", kind, "b"), ("b/x", FILE, ""), ("a/y", FILE, "1")]);
        let said = archive::read(&bytes, 0, Limits::default()).unwrap_err();
        assert!(matches!(said, ArchiveError::Blocked { .. }), "{said}");
    }
    let bytes = raw(&[("a", FILE, "1"), ("a", FILE, "2")]);
    let unpacked = archive::read(&bytes, 0, Limits::default()).unwrap();
    assert!(
        matches!(unpacked.entries.values().next(), Some(Content::File { bytes, .. }) if bytes == b"2")
    );
}

#[test]
fn the_directory_is_replaced_and_what_is_stripped_or_ignored_stays_away() {
    let entries = [
        ("top/", EntryType::Directory, ""),
        ("top/a.log", FILE, ""),
        ("top/build/x", FILE, ""),
        ("top/sub/y", FILE, "y"),
        ("loose", FILE, ""),
    ];
    let mut bench = Bench::new();
    bench.write("a.tar", raw(&entries), None).unwrap();
    bench.put("o/old", "1");
    bench.run("untar", &json!({"inPath": "a.tar", "outPath": "o", "stripComponents": 1.0, "ignore": "*.log\nbuild/"})).unwrap();
    assert_eq!(bench.all(), ["a.tar", "o/sub/y"]);
    let url = "https://example.com/a.git";
    bench.branch(url, "main", &[("f", "1", Mode::File)]);
    bench
        .run(
            "git-clone",
            &json!({"repoURL": url, "checkout": [{"path": "c/src"}]}),
        )
        .unwrap();
    let said = bench.refused("untar", &json!({"inPath": "a.tar", "outPath": "c"}));
    assert!(said.contains("the checkout c/src is in it"), "{said}");
    bench
        .run(
            "untar",
            &json!({"inPath": "a.tar", "outPath": "c/src", "stripComponents": 2}),
        )
        .unwrap();
    assert_eq!(bench.all(), ["a.tar", "c/src/x", "c/src/y", "o/sub/y"]);
    let said = bench.refused("untar", &json!({"inPath": "a.tar", "outPath": "o/sub/y"}));
    assert!(said.contains("not a directory"), "{said}");
}

#[test]
fn bombs_are_refused_before_they_are_kept() {
    let limits = Limits {
        file: 100,
        total: 250,
        entries: 4,
        ratio: 20,
    };
    let big = "x".repeat(101);
    let refused = |bytes: &[u8]| archive::read(bytes, 0, limits).unwrap_err();
    assert!(matches!(
        refused(&raw(&[("a", FILE, &big)])),
        ArchiveError::LargeFile { .. }
    ));
    let part = ("a", FILE, &big[..90]);
    assert!(matches!(
        refused(&raw(&[part, part, part])),
        ArchiveError::Large(250)
    ));
    assert!(matches!(
        refused(&raw(&[("a", FILE, ""); 5])),
        ArchiveError::Many(4)
    ));
    let zeros = gz(&vec![0; 8 << 20]);
    let said = archive::read(
        &[gz(&raw(&[("a", FILE, "1")])), zeros.clone()].concat(),
        0,
        limits,
    );
    assert!(said.is_ok(), "what comes after the end is not read");
    // A name of eight megabytes, which has to be read before its entry is known.
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::GNULongName);
    header.set_size(8 << 20);
    header.set_cksum();
    let long = [
        header.as_bytes().as_slice(),
        &vec![b'a'; 8 << 20],
        &raw(&[("a", FILE, "")]),
    ]
    .concat();
    let wide = Limits {
        entries: 10_000,
        ..limits
    };
    let said = archive::read(&gz(&long), 0, wide).unwrap_err();
    assert!(matches!(said, ArchiveError::Bomb(20)), "{said}");
    assert!(matches!(refused(&long), ArchiveError::Large(250)));
    // A size that the header only claims.
    let mut header = Header::new_gnu();
    header.set_path("a").unwrap();
    header.set_size(90);
    header.set_cksum();
    assert!(matches!(
        refused(header.as_bytes()),
        ArchiveError::Damaged(_)
    ));
}

#[test]
fn other_formats_are_told_by_content() {
    for (bytes, words) in [
        (&b""[..], "is empty"),
        (b"BZh91AY", "bzip2"),
        (b"\xfd7zXZ\0\0", "xz"),
        (b"\x28\xb5\x2f\xfd..", "zstd"),
        (b"PK\x03\x04", "zip"),
        (b"no archive at all", "damaged"),
        (b"\x1f\x8bgarbage", "damaged"),
        (&raw(&[("a", FILE, "1")])[..400], "damaged"),
        (&gz(&raw(&[("a", FILE, &"1".repeat(600))]))[..60], "damaged"),
    ] {
        let mut bench = Bench::new();
        bench.write("a.tar.gz", bytes, None).unwrap();
        let said = bench.refused("untar", &json!({"inPath": "a.tar.gz", "outPath": "o"}));
        assert!(
            said.contains("failed to extract tar file a.tar.gz") && said.contains(words),
            "{words}: {said}"
        );
    }
    let said = Bench::new().refused("untar", &json!({"inPath": "a.tar.gz", "outPath": "o"}));
    assert!(said.contains("no such file"), "{said}");
}
