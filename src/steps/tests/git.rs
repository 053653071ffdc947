//! git-clone, git-clear, git-commit.

use serde_json::{Value, json};

use super::bench::Bench;
use crate::{engine::step::Ending, git::tree::Mode};

const A: &str = "https://example.com/a.git";
const B: &str = "https://example.com/b.git";

fn cloned() -> (Bench, String) {
    let mut bench = Bench::new();
    let head = bench.branch(
        A,
        "main",
        &[
            ("values.yaml", "tag: v1\n", Mode::File),
            ("dir/x", "1", Mode::Executable),
        ],
    );
    bench
        .run(
            "git-clone",
            &json!({"repoURL": A, "checkout": [{"path": "./src", "as": "config"}]}),
        )
        .unwrap();
    (bench, head.to_string())
}

#[test]
fn clone_mounts_and_outputs_each_checkout_by_alias_or_path() {
    let mut bench = Bench::new();
    let (main, env) = (
        bench.branch(A, "main", &[("a", "1", Mode::File)]),
        bench.branch(A, "env/x", &[("b", "2", Mode::File)]),
    );
    let tag = bench.branch(A, "v1", &[("c", "3", Mode::File)]);
    let outcome = bench
        .run(
            "git-clone",
            &json!({"repoURL": A, "blobless": true, "checkout": [
                {"path": "./src", "as": "s", "branch": "", "commit": null, "sparse": ["x"]},
                {"path": "./env", "branch": "env/x", "as": ""},
                {"path": "tag", "tag": "v1"},
                {"path": "commit", "commit": main.as_str()},
                {"path": "new", "branch": "fresh", "create": true},
            ]}),
        )
        .unwrap();
    let commits = json!({"s": main.as_str(), "./env": env.as_str(), "tag": tag.as_str(), "commit": main.as_str()});
    assert_eq!(Value::Object(outcome.output), json!({ "commits": commits }));
    assert_eq!(bench.all(), ["commit/a", "env/b", "src/a", "tag/c"]);
    for words in [
        &format!("main at {}", main.short()),
        "env/x at",
        "fresh is new",
        "sparse",
        "blobless",
    ] {
        assert!(
            outcome.message.contains(words),
            "{:?} lacks {words:?}",
            outcome.message
        );
    }
    let fresh = bench
        .files
        .state
        .mounts
        .iter()
        .find(|mount| mount.path.to_string() == "new")
        .unwrap();
    assert!(
        fresh.create && fresh.base.is_none(),
        "C44: the first push makes it"
    );
}

/// C43.
#[test]
fn two_clones_stand_side_by_side_and_never_on_one_path() {
    let (mut bench, _) = cloned();
    bench.branch(B, "main", &[("b", "2", Mode::File)]);
    bench.run("git-clone", &json!({"repoURL": B, "checkout": [{"path": "./src2"}, {"path": "./out", "branch": "main"}]})).unwrap();
    assert_eq!(
        bench.all(),
        ["out/b", "src/dir/x", "src/values.yaml", "src2/b"]
    );
    let asked = bench.remotes.asked.lock().unwrap().len();
    for taken in ["src", "./src/", "src/dir", "src/new"] {
        let said = bench.refused(
            "git-clone",
            &json!({"repoURL": B, "checkout": [{"path": taken}]}),
        );
        assert!(said.contains("src") && said.contains(A), "{said}");
    }
    assert_eq!(
        bench.remotes.asked.lock().unwrap().len(),
        asked,
        "refused before anything is fetched"
    );
    bench.put("loose/file", "x");
    let said = bench.refused(
        "git-clone",
        &json!({"repoURL": B, "checkout": [{"path": "loose"}]}),
    );
    assert!(said.contains("loose"), "{said}");
    let problems = bench.check(
        "git-clone",
        &json!({"repoURL": B, "checkout": [{"path": "x"}, {"path": "./x/"}]}),
    );
    assert!(problems[0].contains("checkout.1.path"), "{problems:?}");
}

/// C44.
#[test]
fn an_absent_branch_fails_by_name_unless_it_may_be_made() {
    let mut bench = Bench::new();
    bench.branch(A, "main", &[]);
    let said = bench.refused(
        "git-clone",
        &json!({"repoURL": A, "checkout": [{"path": "x", "branch": "env/x"}]}),
    );
    assert!(
        said.contains("env/x") && said.contains(A) && said.contains("create: true"),
        "{said}"
    );
}

#[test]
fn what_a_clone_does_not_do_is_said() {
    let mut bench = Bench::new();
    let config = |extra: Value| {
        let mut config = json!({"repoURL": A, "checkout": [{"path": "x"}]});
        config
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        config
    };
    let problems = bench.check("git-clone", &config(json!({"recurseSubmodules": true})));
    assert!(
        problems.len() == 1 && problems[0].starts_with("recurseSubmodules"),
        "{problems:?}"
    );
    for fine in [
        json!({"recurseSubmodules": false}),
        json!({"insecureSkipTLSVerify": true}),
    ] {
        assert_eq!(
            bench.check("git-clone", &config(fine)),
            Vec::<String>::new()
        );
    }
    let author = json!({"author": {"name": "Tony", "email": "t@example.com", "signingKey": "k"}});
    assert!(
        bench
            .refused("git-clone", &config(author))
            .contains("signingKey")
    );
    for (field, value) in [("commit", "abc"), ("branch", "a..b")] {
        let said = bench.refused(
            "git-clone",
            &json!({"repoURL": A, "checkout": [{"path": "x", field: value}]}),
        );
        assert!(
            said.contains(&format!("checkout.0.{field}")) && said.contains(value),
            "{said}"
        );
    }
}

#[test]
fn commit_is_by_the_step_at_its_start_and_carries_its_mark() {
    let (mut bench, head) = cloned();
    bench.around.alias = "commit".into();
    bench
        .run(
            "yaml-update",
            &json!({"path": "src/values.yaml", "updates": [{"key": "tag", "value": "v2"}]}),
        )
        .unwrap();
    let outcome = bench
        .run(
            "git-commit",
            &json!({"path": "./src", "message": "Bump\n\nto v2"}),
        )
        .unwrap();
    let id = outcome.output["commit"].as_str().unwrap().parse().unwrap();
    let commit = bench.objects(A).commit(&id).unwrap();
    assert_eq!(
        commit
            .parents
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        [head]
    );
    assert_eq!(commit.message.trim_end(), "Bump\n\nto v2");
    assert_eq!(commit.author_time, bench.around.started_at.as_second());
    let header = commit.header.unwrap();
    assert_eq!(
        (header.promotion_uid.as_str(), header.step.as_str()),
        ("uid-1", "commit")
    );
    assert_eq!(bench.files.state.mounts[0].commits, [id]);

    let author = json!({"name": "Tony", "email": "t@example.com"});
    bench.put("src/new", "x");
    let second = bench
        .run(
            "git-commit",
            &json!({"path": "src", "message": "m", "author": author}),
        )
        .unwrap();
    assert_eq!(second.ending, Ending::Succeeded);
    assert_eq!(bench.files.state.mounts[0].commits.len(), 2);
    let bytes = std::process::Command::new("git")
        .args([
            "cat-file",
            "commit",
            second.output["commit"].as_str().unwrap(),
        ])
        .current_dir(
            crate::engine::workspace::MirrorPaths::path(
                bench.paths.as_ref(),
                &bench.files.state.mounts[0].mirror,
            )
            .unwrap(),
        )
        .output()
        .unwrap();
    let text = String::from_utf8(bytes.stdout).unwrap();
    assert!(
        text.contains("author Tony <t@example.com>")
            && text.contains("committer Tony <t@example.com>"),
        "{text}"
    );
}

/// C40, C41: with a message made of a step that changed nothing.
#[test]
fn nothing_to_commit_is_skipped_with_the_head_as_output() {
    let (mut bench, head) = cloned();
    let update = bench
        .run(
            "yaml-update",
            &json!({"path": "src/values.yaml", "updates": [{"key": "tag", "value": "v1"}]}),
        )
        .unwrap();
    let message = update.output["commitMessage"].clone();
    let outcome = bench
        .run("git-commit", &json!({"path": "src", "message": message}))
        .unwrap();
    assert_eq!(
        (outcome.ending, outcome.output["commit"].as_str().unwrap()),
        (Ending::Skipped, head.as_str())
    );
    assert_eq!(outcome.message, "nothing to commit");
}

#[test]
fn the_same_run_makes_the_same_commit() {
    let ids: Vec<String> = (0..2)
        .map(|_| {
            let (mut bench, _) = cloned();
            bench.put("src/new", "x");
            let outcome = bench
                .run("git-commit", &json!({"path": "src", "message": "m"}))
                .unwrap();
            outcome.output["commit"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(ids[0], ids[1]);
}

#[test]
fn clear_takes_all_files_of_the_checkout_and_nothing_else() {
    let (mut bench, _) = cloned();
    bench.put("loose", "x");
    bench.run("git-clear", &json!({"path": "src"})).unwrap();
    assert_eq!(bench.all(), ["loose"]);
    for (uses, config) in [
        ("git-clear", json!({"path": "loose"})),
        ("git-commit", json!({"path": ".", "message": "m"})),
    ] {
        let said = bench.refused(uses, &config);
        assert!(said.contains("checkout"), "{said}");
    }
}

#[test]
fn a_message_of_blanks_is_refused() {
    let (mut bench, _) = cloned();
    bench.put("src/new", "x");
    let said = bench.refused("git-commit", &json!({"path": "src", "message": " \n"}));
    assert!(
        said.contains("src") && said.contains("message is empty"),
        "{said}"
    );
}

#[test]
fn a_tag_names_the_head_and_is_made_once() {
    let (mut bench, head) = cloned();
    let tag = |name: &str| json!({"path": "./src", "tag": name, "message": "m"});
    let made = bench.run("git-tag", &tag("v1")).unwrap();
    assert_eq!(Value::Object(made.output), json!({"commit": head}));
    let id = bench.files.state.mounts[0]
        .tags
        .values()
        .next()
        .unwrap()
        .id
        .clone();
    let pinned = bench.files.state.pinned();
    assert!(pinned.iter().any(|pin| pin.id == id.as_str()), "{pinned:?}");

    let said = bench.refused("git-tag", &tag("v1"));
    assert!(
        said.contains("has a tag v1 already") && said.contains("force"),
        "{said}"
    );
    bench.put("src/values.yaml", "tag: v2\n");
    bench
        .run("git-commit", &json!({"path": "src", "message": "m"}))
        .unwrap();
    let mut again = tag("v1");
    again["force"] = json!(true);
    let moved = bench.run("git-tag", &again).unwrap();
    assert_ne!(moved.output["commit"], head);

    let said = bench.refused(
        "git-tag",
        &json!({"path": "./src/dir", "tag": "v2", "message": "m"}),
    );
    assert!(said.contains("checkout"), "{said}");
    // Known to the remote.
    bench.branch(A, "v9", &[]);
    let said = bench.refused("git-tag", &tag("v9"));
    assert!(said.contains(A) && said.contains("v9"), "{said}");
    bench
        .run("git-clone", &json!({"repoURL": A, "checkout": [{"path": "new", "branch": "fresh", "create": true}]}))
        .unwrap();
    let said = bench.refused(
        "git-tag",
        &json!({"path": "new", "tag": "v2", "message": "m"}),
    );
    assert!(said.contains("has no commits"), "{said}");
    for bad in ["-d", "a..b", "a b", "x.lock"] {
        let problems = bench.check("git-tag", &tag(bad));
        assert!(
            problems.iter().any(|problem| problem.contains(bad)),
            "{problems:?}"
        );
    }
}
