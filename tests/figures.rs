//! Many promotions at once onto one branch: all succeed, with few pushes, fetches and commands.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod support;

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
