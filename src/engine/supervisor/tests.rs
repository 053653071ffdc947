use serde_json::json;

use crate::{
    engine::fixture::{FREIGHT, World, write_and_push},
    kargo::{Phase, StepStatus},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_is_cloned_changed_committed_and_pushed() {
    let world = World::new();
    let remote = world.repository("config", &[("README", "hello\n")]);
    world.stage("test", &write_and_push(&remote, "test/tag", "${{ imageFrom('registry.example/web').Tag }}\n"));
    let name = world.promote("test", 1);

    let summary = world.run().await;

    let promotion = world.promotion(&name);
    assert_eq!(promotion.status.phase, Phase::Succeeded, "{:#?}", world.steps(&name));
    assert_eq!(world.show("config", "main", "test/tag"), "2.3.1");
    assert_eq!(world.log("config", "main"), ["test/tag by test", "by hand"]);
    assert_eq!(summary.phases.get("Succeeded"), Some(&1));
    assert_eq!(summary.waiting, []);

    let status = &promotion.status;
    assert!(status.started_at.is_some() && status.finished_at.is_some());
    assert_eq!(status.current_step, 3);
    assert!(status.step_execution_metadata.iter().all(|step| step.status == Some(StepStatus::Succeeded)));
    let head = world.git(std::path::Path::new(&remote), &["rev-parse", "main"]);
    assert_eq!(status.state.as_ref().unwrap()["push"]["commit"], json!(head));
    assert_eq!(status.state.as_ref().unwrap()["push"]["branch"], json!("main"));

    let stage = world.the_stage("test");
    assert!(stage.status.current_promotion.is_none());
    let last = stage.status.last_promotion.as_ref().unwrap();
    assert_eq!(last.name, *name.as_str());
    assert!(last.status.as_ref().unwrap().state.as_ref().unwrap().get("tidewaiter.dev").is_none());
    assert_eq!(stage.status.freight_history[0].items["Warehouse/web"].name, *FREIGHT);
    assert_eq!(stage.status.freight_summary, FREIGHT);
    let freight = world.port.look(crate::engine::port::Kind::Freight, "shop", FREIGHT).unwrap();
    assert!(freight["status"]["currentlyIn"]["test"]["since"].is_string());
    assert!(freight["status"]["verifiedIn"]["test"]["verifiedAt"].is_string());
}
