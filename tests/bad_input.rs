//! Bad input gets an error that says what, which object, why and what to do; odd but right input works.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod support;

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::Value;
use support::{World, project, set_key, stage, until};

/// A world whose stage `s` has these steps, one promotion run to its end; the promotion.
fn run_steps(world: &World, steps: &str) -> Value {
    world.apply(&(project("p") + &stage("p", "s", steps)));
    let freight = world.freight("p", "1.2.3");
    let name = world.promote("p", "s", &freight);
    world.until_idle();
    world.promotion(&name)
}

#[track_caller]
fn ends(promotion: &Value, phase: &str, words: &[&str]) {
    let status = &promotion["status"];
    assert_eq!(status["phase"], phase, "{status:#}");
    let message = status["message"].as_str().unwrap_or_default();
    for word in words {
        assert!(message.contains(word), "{word:?} is not in {message:?}");
    }
}

#[test]
fn a_repository_that_does_not_exist() {
    let world = World::new();
    let promotion = run_steps(
        &world,
        &set_key(&world.path().join("nowhere.git"), "a.yaml", "tag"),
    );
    ends(&promotion, "Errored", &["nowhere.git"]);
}

#[test]
fn a_branch_that_does_not_exist() {
    let world = World::new();
    let repository = world.repository("r", &[("a.yaml", "tag: x\n")]);
    let steps = set_key(&repository, "a.yaml", "tag").replace("branch: main", "branch: env/x");
    ends(&run_steps(&world, &steps), "Errored", &["env/x"]);
    assert_eq!(
        world.git(&repository, &["for-each-ref", "--format=%(refname)"]),
        "refs/heads/main"
    );
}

#[test]
fn a_branch_deleted_between_clone_and_push() {
    let world = World::new();
    let repository = world.repository("r", &[("a.yaml", "tag: x\n")]);
    world.git(&repository, &["branch", "env", "main"]);
    let steps = set_key(&repository, "a.yaml", "tag").replace("branch: main", "branch: env");
    let (head, push) = steps.split_at(steps.find("- uses: git-push").unwrap());
    let steps = format!("{head}- uses: wait-for-approval\n  as: gate\n  config: {{}}\n{push}");
    world.apply(&(project("p") + &stage("p", "s", &steps)));
    let freight = world.freight("p", "1.2.3");
    let name = world.promote("p", "s", &freight);
    world.until_idle();
    world.git(&repository, &["branch", "-D", "env"]);
    world.run(&["approve", &name]).exits(0);
    world.until_idle();
    ends(
        &world.promotion(&name),
        "Failed",
        &["env", "does not exist"],
    );
    assert_eq!(
        world.git(&repository, &["for-each-ref", "--format=%(refname)"]),
        "refs/heads/main"
    );
}

fn hook(repository: &Path, script: &str) {
    let path = repository.join("hooks/pre-receive");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_protected_branch() {
    let world = World::new();
    let repository = world.repository("r", &[("a.yaml", "tag: x\n")]);
    hook(
        &repository,
        "echo 'main takes pull requests only' >&2; exit 1",
    );
    let promotion = run_steps(&world, &set_key(&repository, "a.yaml", "tag"));
    ends(&promotion, "Errored", &["main", "pull requests only"]);
    assert_eq!(world.commits(&repository), 1);
}

#[test]
fn promoting_to_a_stage_without_steps_and_freight_of_a_foreign_origin() {
    let world = World::new();
    let flow = "apiVersion: kargo.akuity.io/v1alpha1\nkind: Stage\nmetadata: {name: flow, namespace: p}\nspec:\n  requestedFreight: [{origin: {kind: Warehouse, name: w}, sources: {direct: true}}]\n---\n";
    let other = stage("p", "other", "- uses: fail\n").replace("name: w}", "name: v}");
    world.apply(&(project("p") + flow + &other));
    let freight = world.freight("p", "1.2.3");
    let ran = world
        .run(&[
            "promote",
            "-n",
            "p",
            "--stage",
            "flow",
            "--freight",
            &freight,
        ])
        .exits(1);
    assert!(
        ran.stderr.contains("flow") && ran.stderr.contains("steps"),
        "{}",
        ran.stderr
    );
    let ran = world
        .run(&[
            "promote",
            "-n",
            "p",
            "--stage",
            "other",
            "--freight",
            &freight,
        ])
        .exits(1);
    assert!(ran.stderr.contains("not available"), "{}", ran.stderr);
    assert!(
        world.get(&["promotions"])["items"]
            .as_array()
            .unwrap()
            .is_empty()
    );

    // What a control-flow Stage sees counts as verified there.
    world.until_idle();
    let freight = world.get(&["freight", &freight]);
    assert!(
        freight["status"]["verifiedIn"]["flow"].is_object(),
        "{freight:#}"
    );
}

#[test]
fn yaml_that_is_not_yaml() {
    let world = World::new();
    let text = "tag: [x\n";
    let repository = world.repository("r", &[("a.yaml", text)]);
    let promotion = run_steps(&world, &set_key(&repository, "a.yaml", "tag"));
    let phase = promotion["status"]["phase"].as_str().unwrap().to_owned();
    assert_ne!(phase, "Succeeded");
    ends(&promotion, &phase, &["a.yaml"]);
    assert_eq!(world.show(&repository, "a.yaml"), text.trim_end());
}

#[test]
fn an_output_of_two_megabytes() {
    let world = World::new();
    let steps = "- uses: compose-output\n  as: small\n  config: {kept: yes}\n- uses: compose-output\n  as: big\n  config:\n    a: ${{ repeat('0123456789abcdef', 32768) }}\n    b: ${{ repeat('0123456789abcdef', 32768) }}\n    c: ${{ repeat('0123456789abcdef', 32768) }}\n    d: ${{ repeat('0123456789abcdef', 32768) }}\n";
    let promotion = run_steps(&world, steps);
    ends(&promotion, "Failed", &["2097", "at most 65536"]);
    assert_eq!(promotion["status"]["state"]["small"]["kept"], true);
    assert!(promotion["status"]["state"]["big"].is_null());
}

#[test]
fn an_unknown_step_kind_names_the_ones_there_are_and_later_steps_go_on() {
    let world = World::new();
    let steps = "- uses: git-clown\n  as: typo\n- uses: compose-output\n  as: after\n  if: ${{ always() }}\n  config: {ran: true}\n";
    let promotion = run_steps(&world, steps);
    ends(&promotion, "Errored", &["git-clown", "git-clone"]);
    assert_eq!(promotion["status"]["state"]["after"]["ran"], true);
}

#[test]
fn an_unknown_field_and_a_wrong_type_are_named() {
    let world = World::new();
    let promotion = run_steps(
        &world,
        "- uses: file-write\n  as: w\n  config: {path: a, contents: x, contnets: y}\n",
    );
    let phase = promotion["status"]["phase"].as_str().unwrap().to_owned();
    assert_ne!(phase, "Succeeded");
    ends(&promotion, &phase, &["contnets"]);
}

#[test]
fn git_that_is_missing_or_too_old() {
    for (script, words) in [
        (None, ["git", "not found"]),
        (
            Some("#!/bin/sh\necho git version 2.20.1\n"),
            ["2.20.1", "2.39"],
        ),
    ] {
        let world = World::new();
        let bin = world.path().join("bin");
        fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink("/usr/bin/id", bin.join("id")).unwrap();
        if let Some(script) = script {
            fs::write(bin.join("git"), script).unwrap();
            fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
        }
        world.apply(&(project("p") + &stage("p", "s", "- uses: fail\n")));
        let output = world
            .command(&["run", "--until-idle"])
            .env("PATH", format!("{}:", bin.display()))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for word in words {
            assert!(said.contains(word), "{word:?} is not in {said:?}");
        }
    }
}

#[test]
fn a_damaged_mirror_is_made_anew() {
    let world = World::new();
    let repository = world.repository("r", &[("a.yaml", "tag: x\n"), ("b.yaml", "tag: x\n")]);
    world.apply(
        &(project("p")
            + &stage("p", "a", &set_key(&repository, "a.yaml", "tag"))
            + &stage("p", "b", &set_key(&repository, "b.yaml", "tag"))),
    );
    let freight = world.freight("p", "1.2.3");
    world.promote("p", "a", &freight);
    world.until_idle();
    for entry in fs::read_dir(world.cluster().join("mirrors")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "git") && !path.ends_with("scratch.git") {
            fs::remove_dir_all(path.join("objects")).unwrap();
            fs::write(path.join("HEAD"), "garbage").unwrap();
        }
    }
    let name = world.promote("p", "b", &freight);
    world.until_idle();
    ends(&world.promotion(&name), "Succeeded", &[]);
    assert_eq!(world.commits(&repository), 3);
}

#[test]
fn one_stage_name_in_two_projects_and_an_empty_remote() {
    let world = World::new();
    let repository = world.repository("r", &[]);
    let steps = |file: &str| {
        format!(
            "- uses: git-clone\n  config: {{repoURL: {}, checkout: [{{branch: main, create: true, path: ./src}}]}}\n- uses: file-write\n  config: {{path: ./src/{file}, contents: hello}}\n- uses: git-commit\n  config: {{path: ./src, message: add {file}}}\n- uses: git-push\n  config: {{path: ./src}}\n",
            repository.display()
        )
    };
    for (name, file) in [("p", "one"), ("q", "two")] {
        world.apply(&(project(name) + &stage(name, "s", &steps(file))));
        let freight = world.freight(name, "1.2.3");
        world.promote(name, "s", &freight);
    }
    let counts = world.until_idle();
    assert_eq!(counts["promotions"]["Succeeded"], 2, "{counts}");
    assert_eq!(
        (
            world.show(&repository, "one"),
            world.show(&repository, "two")
        ),
        ("hello".into(), "hello".into())
    );
}

#[test]
fn three_hundred_steps() {
    let world = World::new();
    let steps: String = (0..300)
        .map(|n| format!("- uses: compose-output\n  as: s{n}\n  config: {{n: {n}}}\n"))
        .collect();
    let promotion = run_steps(&world, &steps);
    ends(&promotion, "Succeeded", &[]);
    assert_eq!(promotion["status"]["state"]["s299"]["n"], 299);
}

#[test]
fn a_stage_deleted_while_its_promotion_waits() {
    let world = World::new();
    let gate = "- uses: wait-for-approval\n  as: gate\n  config: {}\n";
    world.apply(
        &(project("p")
            + &stage("p", "s", gate)
            + &stage("p", "t", "- uses: compose-output\n  config: {a: 1}\n")),
    );
    let freight = world.freight("p", "1.2.3");
    let executor = world.start(&["run"]);
    world.promote("p", "s", &freight);
    until("the gate", || {
        world.get(&["requests"])["items"]
            .as_array()
            .filter(|r| !r.is_empty())
            .map(|_| ())
    });
    support::delete(&world, "p", "stages", "s");
    until("the stage's end", || {
        world.get(&["stages"])["items"]
            .as_array()
            .filter(|s| s.len() == 1)
            .map(|_| ())
    });
    until("the promotion's end", || {
        world.get(&["promotions"])["items"]
            .as_array()
            .filter(|p| p.is_empty())
            .map(|_| ())
    });
    // The executor goes on with others.
    let name = world.promote("p", "t", &freight);
    until("the other promotion", || {
        (world.promotion(&name)["status"]["phase"] == "Succeeded").then_some(())
    });
    drop(executor);
}

#[test]
fn nonsense_on_the_command_line_changes_nothing_and_says_why() {
    let world = World::new();
    let promotion = run_steps(
        &world,
        "- uses: wait-for-approval\n  as: gate\n  config: {}\n",
    );
    let name = promotion["metadata"]["name"].as_str().unwrap();
    let long = "x".repeat(4097);
    let table: &[(&[&str], i32, &str)] = &[
        // An empty name is not the only promotion that there is.
        (&["abort", ""], 2, "PROMOTION"),
        (&["approve", ""], 2, "PROMOTION"),
        (&["describe", "promotion", ""], 2, "NAME"),
        (&["get", "promotions", ""], 2, "NAME"),
        (&["promote", "--stage", "", "--origin", "w"], 2, "--stage"),
        (&["get", "stages", "-n", ""], 2, "lower-case"),
        (&["get", "stages", "-n", "a/../b"], 2, "lower-case"),
        (&["abort", "p/x"], 4, "\"p/x\""),
        (&["abort", "x\u{1b}[31m"], 4, "x\\u{1b}[31m"),
        (&["approve", name, "-m", &long], 2, "4097 bytes"),
        (
            &["approve", name, "--step", "other"],
            4,
            "\"other\" asks nothing",
        ),
        (&["get", "stages", "-o", "nonsense"], 2, "wide"),
        (&["get", "freight", "nope"], 4, "hint: See what there is"),
        (&["apply", "-f", "/nowhere.yaml"], 4, "/nowhere.yaml"),
    ];
    for (args, code, word) in table {
        let ran = world.run(args).exits(*code);
        assert!(ran.stderr.contains(word), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(world.promotion(name)["status"]["phase"], "Running");
    assert_eq!(world.get(&["approvals"])["items"], serde_json::json!([]));
}

#[test]
fn a_place_that_is_no_local_cluster_is_named_with_the_reason() {
    let world = World::new();
    let file = world.path().join("file");
    fs::write(&file, "x").unwrap();
    let place = file.display().to_string();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_tidewaiter"))
        .env("HOME", world.path().join("home"))
        .args(["--local", &place, "get", "stages"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(
        said.contains(&place) && said.contains("(os error") && said.contains("--local"),
        "{said}"
    );
}

#[test]
fn a_password_in_an_address_is_told_to_nobody() {
    let world = World::new();
    let steps = set_key(
        Path::new("http://u:s3cret@127.0.0.1:9/o/r"),
        "a.yaml",
        "tag",
    );
    // A server that is away is tried again for minutes, unless the step has a limit of its own.
    let steps = steps.replacen("  as: clone\n", "  as: clone\n  retry: {timeout: 2s}\n", 1);
    world.apply(&(project("p") + &stage("p", "s", &steps)));
    let freight = world.freight("p", "1.2.3");
    let name = world.promote("p", "s", &freight);
    let mut command = world.command(&["run", "--until-idle"]);
    let output = command.env("TIDEWAITER_LOG", "trace").output().unwrap();
    let ran = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let promotion = world.promotion(&name);
    ends(&promotion, "Errored", &["127.0.0.1:9"]);
    let told = world.run(&["describe", "promotion", &name]).exits(0).stdout;
    let table = world
        .run(&["get", "promotions", "-o", "wide"])
        .exits(0)
        .stdout;
    for text in [&ran, &told, &table, &promotion["status"].to_string()] {
        assert!(!text.contains("s3cret"), "{text}");
    }
}
