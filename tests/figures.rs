//! Many promotions at once onto one branch: all succeed, with few pushes, fetches and commands.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod large;
mod support;

use std::path::Path;

use support::{World, project, set_key, stage};

const STAGES: usize = 50;

fn at_most(counts: &serde_json::Value, name: &str, limit: u64) {
    let number = counts["git"][name].as_u64().unwrap();
    assert!(
        number <= limit,
        "{number} {name}, at most {limit} are allowed: {counts}"
    );
}

#[test]
fn fifty_stages_push_a_file_each_to_one_branch() {
    let world = World::new();
    let names: Vec<(String, String)> = (0..STAGES)
        .map(|n| {
            (
                format!("apps/a{n:02}/values.yaml"),
                format!("tag: old   # of {n}\nother: {n}\n"),
            )
        })
        .collect();
    let files: Vec<(&str, &str)> = names
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let repository = world.repository("mono", &files);
    let mut objects = project("p");
    for (n, (path, _)) in names.iter().enumerate() {
        objects.push_str(&stage(
            "p",
            &format!("s{n:02}"),
            &set_key(&repository, path, "tag"),
        ));
    }
    world.apply(&objects);
    let freight = world.freight("p", "1.2.3");
    for n in 0..STAGES {
        world.promote("p", &format!("s{n:02}"), &freight);
    }
    let counts = world.until_idle();
    assert_eq!(counts["promotions"]["Succeeded"], STAGES, "{counts}");
    assert_eq!(world.commits(&repository), 1 + STAGES);
    for (n, (path, _)) in names.iter().enumerate() {
        assert_eq!(
            world.show(&repository, path),
            format!("tag: 1.2.3   # of {n}\nother: {n}")
        );
    }
    at_most(&counts, "pushes", 10);
    at_most(&counts, "fetches", 10);
    at_most(&counts, "commands", 30);
    assert_eq!(counts["git"]["commitsLanded"], STAGES);
}

#[test]
fn fifty_stages_set_a_key_each_of_one_file() {
    let world = World::new();
    let text: String = (0..STAGES)
        .map(|n| format!("k{n:02}: old   # of {n}\n"))
        .collect();
    let repository = world.repository("mono", &[("versions.yaml", &text)]);
    let mut objects = project("p");
    for n in 0..STAGES {
        objects.push_str(&stage(
            "p",
            &format!("s{n:02}"),
            &set_key(&repository, "versions.yaml", &format!("k{n:02}")),
        ));
    }
    world.apply(&objects);
    let freight = world.freight("p", "1.2.3");
    for n in 0..STAGES {
        world.promote("p", &format!("s{n:02}"), &freight);
    }
    let counts = world.until_idle();
    assert_eq!(counts["promotions"]["Succeeded"], STAGES, "{counts}");
    assert_eq!(world.commits(&repository), 1 + STAGES);
    let expected: Vec<String> = (0..STAGES)
        .map(|n| format!("k{n:02}: 1.2.3   # of {n}"))
        .collect();
    assert_eq!(
        world.show(&repository, "versions.yaml"),
        expected.join("\n")
    );
    at_most(&counts, "pushes", 10);
    at_most(&counts, "replays", 100);
}

/// Files below the mirrors' folder that a checkout would have made.
fn checked_out(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let of_a_tree = name == "index" || name == ".git" || name == "worktrees";
        if of_a_tree || name.ends_with(".yaml") {
            found.push(path.display().to_string());
        }
        if path.is_dir() {
            checked_out(&path, found);
        }
    }
}

#[test]
fn a_promotion_on_a_large_repository_makes_no_checkout() {
    let world = World::new();
    let repository = large::repository(&world, "mono", 5_000, 200);
    let file = large::file(4_321);
    let steps = set_key(&repository, &file, "image.tag");
    world.apply(&(project("p") + &stage("p", "s", &steps)));
    let mut counted = Vec::new();
    for tag in ["1.2.3", "1.2.4"] {
        let freight = world.freight("p", tag);
        let name = world.promote("p", "s", &freight);
        let counts = world.until_idle();
        let promotion = world.promotion(&name);
        assert_eq!(promotion["status"]["phase"], "Succeeded", "{promotion:#}");
        assert_eq!(
            world.show(&repository, &file),
            format!("image:\n  name: app4321\n  tag: {tag}   # of 4321\nreplicas: 3")
        );
        counted.push(counts);
    }
    let [first, second] = &counted[..] else {
        panic!("{counted:?}")
    };
    for counts in [first, second] {
        at_most(counts, "fetches", 1);
        at_most(counts, "pushes", 1);
        at_most(counts, "replays", 0);
    }
    // The version, the fetch, the push; the first one also begins the mirror.
    at_most(first, "commands", 4);
    at_most(second, "commands", 3);
    assert_eq!(world.commits(&repository), 202);
    let mirrors = world.cluster().join("mirrors");
    let mut found = Vec::new();
    checked_out(&mirrors, &mut found);
    assert_eq!(found, Vec::<String>::new(), "there is a working tree");
    // The first fetch is shallow: the history stays where it is.
    let shallow = std::fs::read_dir(&mirrors)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().join("shallow").exists());
    assert_eq!(shallow.count(), 1);
}
