use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU32, Ordering},
};

use serde_json::{Map, Value, json};

use super::{Kept, folder};
use crate::{
    engine::{
        fixture::{World, write_and_push},
        step::{Class, Outcome, Step, StepCx, StepError},
    },
    git::objects::Objects,
    kargo::{Phase, StepKind},
};

/// Brings what is outside into `./src/got.txt`, and counts how often it went outside.
#[derive(Clone, Default)]
struct Bring {
    outside: Arc<Mutex<String>>,
    went: Arc<AtomicU32>,
}

#[async_trait::async_trait]
impl Step for Bring {
    fn kind(&self) -> StepKind {
        "bring".into()
    }
    fn class(&self) -> Class {
        Class::Fetch
    }
    fn check(&self, _: &Value) -> Vec<String> {
        Vec::new()
    }
    async fn run(&self, cx: StepCx<'_>, _: &Value) -> Result<Outcome, StepError> {
        let kept = match cx.fetched.get("it").await? {
            Some(kept) => kept,
            None => {
                self.went.fetch_add(1, Ordering::SeqCst);
                let text = self.outside.lock().unwrap().clone();
                let make = move |objects: &Objects| {
                    Ok(Kept::Blob(objects.write_blob(text.as_bytes()).unwrap()))
                };
                cx.fetched.put("it", make).await?
            }
        };
        let store = cx.fetched.store().to_owned();
        cx.files
            .edit(move |workspace| {
                let Kept::Blob(id) = &kept else { panic!() };
                let bytes = Objects::open(&store).unwrap().read_blob(id).unwrap();
                workspace
                    .write(&"src/got.txt".parse().unwrap(), &bytes, None)
                    .unwrap();
                Ok(())
            })
            .await?;
        Ok(Outcome::succeeded(Map::new()))
    }
}

fn world() -> (World, Bring, String) {
    let mut world = World::new();
    let bring = Bring::default();
    *bring.outside.lock().unwrap() = "first".into();
    world.registry = world.registry.clone().with(bring.clone());
    let remote = world.repository("config", &[("tags.yaml", "a: old\nb: old\n")]);
    let mut steps = write_and_push(&remote, "tags", "");
    steps[1] = json!({"uses": "yaml-update", "as": "update", "config": {
        "path": "./src/tags.yaml", "updates": [{"key": "a", "value": "2.3.1"}]}});
    steps
        .as_array_mut()
        .unwrap()
        .insert(1, json!({"uses": "bring", "as": "bring"}));
    world.stage("test", &steps);
    let name = world.promote("test", 1);
    (world, bring, name)
}

fn lose(world: &World) {
    std::fs::remove_dir_all(world.mirrors()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_fetched_before_a_crash_is_used_after_it_and_goes_with_the_promotion() {
    for boundary in ["bring:fetched", "bring:done", "update:ended"] {
        let (mut world, bring, name) = world();
        world.crash = Some(Arc::new(move |at| at == boundary));
        world.run().await;
        assert!(
            world
                .mirrors()
                .join("fetched")
                .read_dir()
                .unwrap()
                .next()
                .is_some()
        );
        *bring.outside.lock().unwrap() = "second".into();
        world.crash = None;
        world.run().await;
        let status = world.promotion(&name).status;
        assert_eq!(status.phase, Phase::Succeeded, "{:?}", world.steps(&name));
        assert_eq!(bring.went.load(Ordering::SeqCst), 1, "{boundary}");
        assert_eq!(world.show("config", "main", "got.txt"), "first");
        assert!(
            world
                .mirrors()
                .join("fetched")
                .read_dir()
                .unwrap()
                .next()
                .is_none()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_goes_outside_for_nothing_that_is_here() {
    let (world, bring, name) = world();
    let world = Arc::new(world);
    let at = Arc::downgrade(&world);
    let outside = Arc::clone(&bring.outside);
    let mut settings = world.settings();
    settings.crash = Some(Arc::new(move |boundary| {
        if boundary == "commit:ended" {
            *outside.lock().unwrap() = "second".into();
            at.upgrade()
                .unwrap()
                .change("config", &[("tags.yaml", "a: old\nb: new\n")]);
        }
        false
    }));
    let tools = world.tools_with(settings);
    world.run_with(tools).await;
    let status = world.promotion(&name).status;
    assert_eq!(status.phase, Phase::Succeeded, "{:?}", world.steps(&name));
    let journal = &status.state.as_ref().unwrap()["tidewaiter.dev"];
    assert_eq!(journal["replayCount"], 1, "{journal:#}");
    assert_eq!(bring.went.load(Ordering::SeqCst), 1);
    assert_eq!(world.show("config", "main", "got.txt"), "first");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_lost_is_fetched_again_and_has_to_be_the_same() {
    for (boundary, second, phase, says) in [
        ("bring:fetched", "first", Phase::Succeeded, ""),
        (
            "bring:fetched",
            "second",
            Phase::Failed,
            "a different change",
        ),
        ("update:ended", "first", Phase::Succeeded, ""),
        (
            "update:ended",
            "second",
            Phase::Errored,
            "a different change",
        ),
    ] {
        let (mut world, bring, name) = world();
        world.crash = Some(Arc::new(move |at| at == boundary));
        world.run().await;
        lose(&world);
        *bring.outside.lock().unwrap() = second.into();
        world.crash = None;
        world.run().await;
        let status = world.promotion(&name).status;
        assert_eq!(status.phase, phase, "{boundary} {:?}", world.steps(&name));
        assert!(status.message.contains(says), "{}", status.message);
        assert_eq!(bring.went.load(Ordering::SeqCst), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_says_nothing_in_the_journal_and_another_name_is_other_content() {
    let dir = tempfile::tempdir().unwrap();
    let fetched = super::Fetched::new(
        dir.path().join("store"),
        "uid",
        "step".into(),
        Arc::default(),
        None,
    );
    let text = |text: &'static str| {
        move |objects: &Objects| Ok(Kept::Blob(objects.write_blob(text.as_bytes()).unwrap()))
    };
    assert_eq!(fetched.get("https://h/?token=t0p").await.unwrap(), None);
    let one = fetched
        .put("https://h/?token=t0p", text("1"))
        .await
        .unwrap();
    let two = fetched.put("https://h/2", text("2")).await.unwrap();
    assert_ne!(one, two);
    assert_eq!(
        fetched.get("https://h/?token=t0p").await.unwrap(),
        Some(one)
    );
    let mut journal = crate::engine::journal::Journal::default();
    fetched.book.write(&mut journal);
    let written = serde_json::to_string(&journal).unwrap();
    assert!(
        written.contains("blob ") && !written.contains("t0p"),
        "{written}"
    );
    let again = super::Book::default();
    again.read(&serde_json::from_str(&written).unwrap());
    assert_eq!(again.entries().len(), 1);
    assert_eq!(again.entries()["step"].len(), 2);
}

#[test]
fn a_directory_comes_out_as_it_went_in() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    std::fs::create_dir_all(from.join("charts/a")).unwrap();
    std::fs::create_dir_all(&to).unwrap();
    std::fs::write(from.join("charts/a/Chart.yaml"), "name: a\n").unwrap();
    std::fs::write(from.join("run.sh"), "#!/bin/sh\n").unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(from.join("run.sh"), mode).unwrap();
    std::os::unix::fs::symlink("charts/a", from.join("link")).unwrap();
    let objects = Objects::open_or_create(&dir.path().join("store")).unwrap();
    let tree = folder::take_in(&objects, &from).unwrap();
    // What is in the way is replaced, a link not followed.
    std::os::unix::fs::symlink("/nowhere/at/all", to.join("run.sh")).unwrap();
    folder::put_out(&objects, &tree, &to).unwrap();
    assert_eq!(
        std::fs::read_to_string(to.join("link/Chart.yaml")).unwrap(),
        "name: a\n"
    );
    let mode = to.join("run.sh").symlink_metadata().unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o755);
    assert_eq!(folder::take_in(&objects, &to).unwrap(), tree);
}
