//! kube's own machinery on this server.

use crate::driver::{CONFIG_MAPS, Driver, PATIENCE, PROMOTIONS, config_map, promotion};
use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::watcher::{self, Event, watcher};
use kube::runtime::{WatchStreamExt as _, predicates, reflector};
use serde_json::json;
use tidewaiter::kargo::Promotion;

/// Events in a form that can be compared.
fn told<S>(stream: S) -> impl Stream<Item = String> + Unpin
where
    S: Stream<Item = Result<Event<ConfigMap>, watcher::Error>> + Send + 'static,
{
    let name = |object: ConfigMap| object.metadata.name.unwrap();
    stream
        .map(move |event| match event {
            Ok(Event::Init) => "init".to_owned(),
            Ok(Event::InitApply(object)) => format!("has {}", name(object)),
            Ok(Event::InitDone) => "done".to_owned(),
            Ok(Event::Apply(object)) => format!("apply {}", name(object)),
            Ok(Event::Delete(object)) => format!("delete {}", name(object)),
            Err(error) => format!("error {error}"),
        })
        .boxed()
}

async fn next(stream: &mut (impl Stream<Item = String> + Unpin)) -> String {
    tokio::time::timeout(PATIENCE, stream.next())
        .await
        .unwrap()
        .unwrap()
}

#[tokio::test]
async fn a_watcher_relists_after_410() {
    for config in [
        watcher::Config::default(),
        watcher::Config::default().streaming_lists(),
    ] {
        let driver = Driver::new().await;
        driver.create(CONFIG_MAPS, config_map("a")).await;
        let api: Api<ConfigMap> = Api::namespaced(driver.client.clone(), "shop");
        // A server whose watches time out at once, so that the watcher has to start again.
        let mut events = told(watcher(api, config.timeout(1)));
        for expected in ["init", "has a", "done"] {
            assert_eq!(next(&mut events).await, expected);
        }
        driver.create(CONFIG_MAPS, config_map("b")).await;
        assert_eq!(next(&mut events).await, "apply b");
        // Not polled while the history goes on without it.
        for name in ["c", "d"] {
            driver.create(CONFIG_MAPS, config_map(name)).await;
        }
        driver.delete(&format!("{CONFIG_MAPS}/a")).await;
        driver.cluster.compact_history();
        assert!(
            next(&mut events).await.starts_with("error"),
            "the 410 is told"
        );
        for expected in ["init", "has b", "has c", "has d", "done"] {
            assert_eq!(next(&mut events).await, expected);
        }
        driver.delete(&format!("{CONFIG_MAPS}/b")).await;
        assert_eq!(next(&mut events).await, "delete b");
    }
}

#[tokio::test]
async fn a_watcher_pages_and_goes_on_after_timeouts() {
    let driver = Driver::new().await;
    for index in 0..7 {
        driver
            .create(CONFIG_MAPS, config_map(&format!("c{index}")))
            .await;
    }
    let api: Api<ConfigMap> = Api::namespaced(driver.client.clone(), "shop");
    let mut events = told(watcher(
        api,
        watcher::Config::default().page_size(3).timeout(1),
    ));
    assert_eq!(next(&mut events).await, "init");
    for index in 0..7 {
        assert_eq!(next(&mut events).await, format!("has c{index}"));
    }
    assert_eq!(next(&mut events).await, "done");
    // The watch asked for one second: what comes later reaches its successor.
    let after_timeout = async {
        tokio::time::sleep(std::time::Duration::from_millis(1300)).await;
        driver.create(CONFIG_MAPS, config_map("late")).await;
    };
    let ((), event) = tokio::join!(after_timeout, next(&mut events));
    assert_eq!(event, "apply late");
}

#[tokio::test]
async fn a_reflector_holds_typed_promotions() {
    let driver = Driver::new().await;
    let api: Api<Promotion> = Api::namespaced(driver.client.clone(), "shop");
    let (reader, writer) = reflector::store();
    let stream = watcher(api.clone(), watcher::Config::default().labels("stage=prod"))
        .reflect(writer)
        .applied_objects()
        .predicate_filter(predicates::resource_version, Default::default());
    let mut stream = Box::pin(stream);
    let made: Promotion = serde_json::from_value(promotion("p")).unwrap();
    let made = api.create(&PostParams::default(), &made).await.unwrap();
    let first = tokio::time::timeout(PATIENCE, stream.next())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!(first, made);

    let patch = json!({"metadata": {"resourceVersion": made.metadata.resource_version}, "status": {"phase": "Pending"}});
    api.patch_status("p", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .unwrap();
    let second = tokio::time::timeout(PATIENCE, stream.next())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!(second.status.phase.to_string(), "Pending");
    assert_eq!(reader.state().len(), 1);
    let conflict = api
        .patch_status("p", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .unwrap_err();
    assert!(
        matches!(&conflict, kube::Error::Api(status) if status.is_conflict()),
        "{conflict}"
    );
    let deleted = api.delete("p", &DeleteParams::background()).await.unwrap();
    assert!(deleted.right().unwrap().is_success());
    assert!(driver.get(&format!("{PROMOTIONS}/p")).await.0 == 404);
}
