//! PromotionTasks and ClusterPromotionTasks with the real binary on a local cluster.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod support;

use std::fs;

use serde_json::json;
use support::{Ran, World, project, stage};

const API: &str = "apiVersion: kargo.akuity.io/v1alpha1\n";

/// Sets one key of a file in a repository; the branch has a default, the key has none.
const BUMP: &str = r#"kind: PromotionTask
metadata: {name: bump, namespace: p}
spec:
  vars:
  - name: repo
  - name: key
  - {name: branch, value: main}
  - {name: file, value: values.yaml}
  - {name: dir, value: ./src}
  steps:
  - uses: git-clone
    as: clone
    config:
      repoURL: ${{ vars.repo }}
      checkout: [{branch: "${{ vars.branch }}", path: "${{ vars.dir }}"}]
  - uses: yaml-update
    as: update
    vars: [{name: path, value: "${{ vars.dir }}/${{ vars.file }}"}]
    config:
      path: ${{ vars.path }}
      updates: [{key: "${{ vars.key }}", value: "${{ quote(imageFrom('example.com/app').Tag) }}"}]
  - uses: git-commit
    config: {path: "${{ vars.dir }}", message: "${{ ctx.meta.step.alias }}: ${{ task.outputs.update.commitMessage }}"}
  - uses: git-push
    as: push
    if: ${{ status('step-3') == 'Succeeded' }}
    config: {path: "${{ vars.dir }}"}
  - uses: compose-output
    as: out
    config: {commit: "${{ task.outputs.push.commit }}", key: "${{ vars.key }}"}
---
"#;

const NOTE: &str = r#"kind: ClusterPromotionTask
metadata: {name: note}
spec:
  vars: [{name: text}]
  steps:
  - uses: compose-output
    config: {text: "${{ vars.text }} in ${{ ctx.project }}"}
  - uses: compose-output
    as: more
    config: {long: "${{ task.outputs['step-1'].text }}!"}
---
"#;

fn world() -> World {
    let world = World::new();
    world.apply(&(project("p") + API + BUMP + API + NOTE));
    world
}

fn refused(world: &World, text: &str) -> Ran {
    let file = world.path().join("refused.yaml");
    fs::write(&file, text).unwrap();
    let ran = world.run(&["apply", "-f", &file.display().to_string()]);
    assert_ne!(ran.code, Some(0), "{}", ran.stdout);
    ran
}

#[test]
fn tasks_are_put_in_place_with_their_own_names_and_values() {
    let world = world();
    let repository = world.repository("mono", &[("values.yaml", "one: a\ntwo: b\n")]);
    let repo = repository.display();
    world.apply(&stage(
        "p",
        "s",
        &format!(
            r#"- task: {{name: bump}}
  as: first
  vars: [{{name: repo, value: "{repo}"}}, {{name: key, value: one}}]
- task: {{name: bump, kind: PromotionTask}}
  as: second
  vars: [{{name: repo, value: "{repo}"}}, {{name: key, value: two}}, {{name: dir, value: ./other}}]
- task: {{name: note, kind: ClusterPromotionTask}}
  vars: [{{name: text, value: "${{{{ outputs.second.key }}}}"}}]
- uses: compose-output
  as: sum
  config:
    first: ${{{{ outputs.first.commit }}}}
    second: ${{{{ outputs.second.commit }}}}
    inner: ${{{{ outputs['second::push'].commit }}}}
    note: ${{{{ outputs['task-3'].long }}}}
"#
        ),
    ));
    let freight = world.freight("p", "1.2.3");
    let name = world.promote("p", "s", &freight);
    world.until_idle();
    let promotion = world.promotion(&name);
    assert_eq!(promotion["status"]["phase"], "Succeeded", "{promotion:#}");
    let aliases: Vec<&str> = promotion["spec"]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["as"].as_str().unwrap())
        .collect();
    assert_eq!(
        aliases,
        [
            "first::clone",
            "first::update",
            "first::step-3",
            "first::push",
            "first::out",
            "second::clone",
            "second::update",
            "second::step-3",
            "second::push",
            "second::out",
            "task-3::step-1",
            "task-3::more",
            "sum",
        ]
    );
    let state = &promotion["status"]["state"];
    let tip = world.git(&repository, &["rev-parse", "main"]);
    let before = world.git(&repository, &["rev-parse", "main~1"]);
    assert_eq!(
        state["sum"],
        json!({"first": before, "second": tip, "inner": tip, "note": "two in p!"})
    );
    assert_eq!(state["first"], json!({"commit": before, "key": "one"}));
    assert_eq!(state["first::out"], state["first"]);
    assert_eq!(
        world.show(&repository, "values.yaml"),
        "one: 1.2.3\ntwo: 1.2.3"
    );
    let subject = world.git(&repository, &["log", "-1", "--format=%s"]);
    assert!(subject.starts_with("second::step-3: "), "{subject}");
    let shown = world
        .run(&["describe", "promotion", "-n", "p", &name])
        .exits(0)
        .stdout;
    for alias in aliases {
        assert!(shown.contains(alias), "{alias}: {shown}");
    }
}

#[test]
fn values_come_from_the_step_the_promotion_or_the_task() {
    let world = world();
    let with_vars = |name: &str, stage_vars: &str, step_vars: &str| {
        let text = stage(
            "p",
            name,
            &format!(
                "- task: {{name: note, kind: ClusterPromotionTask}}\n  as: noted\n  vars: [{step_vars}]\n"
            ),
        );
        text.replace(
            "  requestedFreight:",
            &format!("  vars: [{stage_vars}]\n  requestedFreight:"),
        )
    };
    let freight = world.freight("p", "1.2.3");
    let outcome = |name: &str, stage_vars: &str, step_vars: &str| {
        world.apply(&with_vars(name, stage_vars, step_vars));
        let promotion = world.promote("p", name, &freight);
        world.until_idle();
        world.promotion(&promotion)["status"]["state"]["noted"]["text"].clone()
    };
    assert_eq!(outcome("a", "", "{name: text, value: step}"), "step in p");
    assert_eq!(outcome("b", "{name: text, value: stage}", ""), "stage in p");
    let both = outcome(
        "c",
        "{name: text, value: stage}",
        "{name: text, value: step}",
    );
    assert_eq!(both, "step in p");

    // A required value that nobody gives.
    world.apply(&with_vars("d", "", "{name: text}"));
    let ran = world.run(&["promote", "-n", "p", "--stage", "d", "--freight", &freight]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr
            .contains("missing value for variable \"text\" of task \"note\""),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_task_that_is_not_there_is_named() {
    let world = world();
    let freight = world.freight("p", "1.2.3");
    for (name, task, said) in [
        ("a", "{name: gone}", "PromotionTask \"gone\" not found"),
        (
            "b",
            "{name: gone, kind: ClusterPromotionTask}",
            "ClusterPromotionTask \"gone\" not found",
        ),
        // Each kind has names of its own.
        ("c", "{name: note}", "PromotionTask \"note\" not found"),
    ] {
        world.apply(&stage("p", name, &format!("- task: {task}\n")));
        let ran = world.run(&["promote", "-n", "p", "--stage", name, "--freight", &freight]);
        assert_eq!(ran.code, Some(4), "{ran:?}");
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    assert!(
        world.get(&["promotions", "-A"])["items"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

/// What Kargo's webhooks and schemas refuse in Stages and tasks.
#[test]
fn templates_that_cannot_be_are_refused_when_they_are_applied() {
    let world = world();
    let fail = "uses: fail, config: {message: no}";
    let cases = [
        (
            format!("- {{as: a, {fail}}}\n- {{as: a, {fail}}}\n"),
            "step alias \"a\" is also used by step 0",
        ),
        (
            format!("- {{as: step-1, {fail}}}\n"),
            "step alias \"step-1\" is reserved",
        ),
        (
            format!("- {{as: task-2, {fail}}}\n"),
            "step alias \"task-2\" is reserved",
        ),
        (
            "- {task: {name: bump}, if: 'true'}\n".to_owned(),
            "a step referencing a task cannot set this",
        ),
        (
            "- {task: {name: bump}, config: {a: 1}}\n".to_owned(),
            "a step referencing a task cannot set this",
        ),
        (
            "- {task: {name: bump}, continueOnError: true}\n".to_owned(),
            "task",
        ),
        (
            "- {task: {name: bump}, retry: {errorThreshold: 2}}\n".to_owned(),
            "task",
        ),
        ("- {task: {name: bump}, uses: fail}\n".to_owned(), "task"),
        ("- {as: x}\n".to_owned(), "task"),
    ];
    for (steps, said) in cases {
        let ran = refused(&world, &stage("p", "bad", &steps));
        assert!(ran.stderr.contains(said), "{steps}: {}", ran.stderr);
    }
    let task = |kind: &str, place: &str, steps: &str| {
        format!("{API}kind: {kind}\nmetadata: {{name: bad{place}}}\nspec:\n  steps:\n{steps}")
    };
    for (kind, place) in [
        ("PromotionTask", ", namespace: p"),
        ("ClusterPromotionTask", ""),
    ] {
        for (steps, said) in [
            (
                format!("  - {{as: a, {fail}}}\n  - {{as: a, {fail}}}\n"),
                "is also used by step 0",
            ),
            (format!("  - {{as: step-9, {fail}}}\n"), "is reserved"),
            ("  - {task: {name: bump}}\n".to_owned(), "task"),
            ("  []\n".to_owned(), "steps"),
        ] {
            let ran = refused(&world, &task(kind, place, &steps));
            assert!(ran.stderr.contains(said), "{kind} {steps}: {}", ran.stderr);
        }
    }
}
