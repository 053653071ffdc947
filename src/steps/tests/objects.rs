//! set-metadata and set-freight-alias: what they write, and that they write it once.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::{
    engine::{
        fixture::{FREIGHT, PROJECT, World, echo},
        port::{Kind, Part, PortError},
    },
    kargo::Phase,
};

const OTHER: &str = "f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2";

fn metadata(updates: Value) -> Value {
    json!({"uses": "set-metadata", "as": "meta", "config": {"updates": updates}})
}

fn alias(name: &str, alias: &str) -> Value {
    json!({"uses": "set-freight-alias", "as": "alias", "config": {"name": name, "alias": alias}})
}

fn world() -> World {
    let mut world = World::new();
    world.registry = world.registry.clone().with(echo());
    world.stage("other", &json!([{"uses": "echo"}]));
    world
}

async fn run(world: &World, steps: Value) -> (Phase, String) {
    world.stage("test", &steps);
    let name = world.promote("test", 1);
    world.run().await;
    (
        world.promotion(&name).status.phase,
        world.steps(&name).join("; "),
    )
}

fn stored(world: &World, kind: Kind, name: &str) -> Value {
    world.port.look(kind, PROJECT, name).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_is_set_and_seen_by_later_steps() {
    let world = world();
    let mut before = stored(&world, Kind::Stage, "other");
    before["status"]["metadata"] = json!({"kept": true, "replaced": {"a": 1, "b": 2}});
    world.port.put(Kind::Stage, before);
    let steps = json!([
        metadata(json!([
            {"kind": "Stage", "name": "other", "values": {"replaced": {"a": "${{ 40 + 2 }}"}, "none": null}},
            {"kind": "Freight", "name": "${{ ctx.targetFreight.name }}", "values": {"tested": "yes"}},
            {"kind": "Stage", "name": "other", "values": {"late": [1, 2]}},
        ])),
        {"uses": "echo", "as": "see", "config": {"echo":
            "${{ stageMetadata('other').replaced.a }} ${{ freightMetadata(ctx.targetFreight.name).tested }} ${{ stageMetadata('other')['kept'] }}"}},
    ]);
    let (phase, said) = run(&world, steps).await;
    assert_eq!(phase, Phase::Succeeded, "{said}");
    assert_eq!(
        stored(&world, Kind::Stage, "other")["status"]["metadata"],
        json!({"kept": true, "replaced": {"a": 42}, "late": [1, 2]})
    );
    let name = world
        .port
        .look(
            Kind::Promotion,
            PROJECT,
            "test.01jzzzzzzzzzzzzzzzzzzz0001.f1f1f1f",
        )
        .unwrap();
    assert_eq!(name["status"]["state"]["see"]["echo"], "42 yes true");
    assert!(said.contains("Stage other, Freight f1f1"), "{said}");
}

/// The Stage that the promotion runs in has its book kept meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn the_own_stage_keeps_its_metadata() {
    let world = world();
    let own = json!([{"kind": "Stage", "name": "${{ ctx.stage }}", "values": {"last": "${{ ctx.promotion }}"}}]);
    let (phase, said) = run(&world, json!([metadata(own)])).await;
    assert_eq!(phase, Phase::Succeeded, "{said}");
    let stage = world.the_stage("test");
    assert!(stage.status.last_promotion.is_some());
    assert_eq!(
        stage.status.metadata["last"],
        "test.01jzzzzzzzzzzzzzzzzzzz0001.f1f1f1f"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_name_changes_nothing() {
    let world = world();
    let steps = json!([metadata(json!([
        {"kind": "Stage", "name": "other", "values": {"a": 1}},
        {"kind": "Freight", "name": "none", "values": {"a": 1}},
    ]))]);
    let (phase, said) = run(&world, steps).await;
    assert_eq!(phase, Phase::Errored, "{said}");
    assert!(said.contains("Freight shop/none does not exist"), "{said}");
    assert!(
        stored(&world, Kind::Stage, "other")
            .pointer("/status/metadata")
            .is_none()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_races_are_met_by_looking_again_and_refusals_name_the_permission() {
    let conflict = |key: &crate::engine::port::Key| PortError::Conflict { key: key.clone() };
    let denied = |_: &crate::engine::port::Key| PortError::Forbidden {
        doing: "changing".into(),
        said: "no".into(),
    };
    let update = json!([{"kind": "Freight", "name": FREIGHT, "values": {"a": 1}}]);
    // The keeper's own writes are not answered so: it writes after the promotion.
    let world_with = |answers: Vec<(Kind, Part, crate::engine::port::fake::Answer)>| {
        let world = world();
        *world.port.answers.lock().unwrap() = answers;
        world
    };
    let lost = world_with(vec![(Kind::Freight, Part::Status, conflict); 3]);
    let (phase, said) = run(&lost, json!([metadata(update.clone())])).await;
    assert_eq!(phase, Phase::Succeeded, "{said}");
    assert_eq!(
        stored(&lost, Kind::Freight, FREIGHT)["status"]["metadata"],
        json!({"a": 1})
    );

    let refused = world_with(vec![(Kind::Freight, Part::Status, denied)]);
    let (phase, said) = run(&refused, json!([metadata(update)])).await;
    assert_eq!(phase, Phase::Errored);
    assert!(
        said.contains("The executor's account needs patch on freights/status of kargo.akuity.io in namespace shop"),
        "{said}"
    );

    let refused = world_with(vec![(Kind::Freight, Part::Main, denied)]);
    let (phase, said) = run(&refused, json!([alias(FREIGHT, "x")])).await;
    assert_eq!(phase, Phase::Errored);
    assert!(
        said.contains("needs patch on freights of kargo.akuity.io"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alias_is_given_where_no_other_freight_has_it() {
    let world = world();
    let (phase, said) = run(&world, json!([alias(FREIGHT, "stable")])).await;
    assert_eq!(phase, Phase::Succeeded, "{said}");
    assert!(said.contains("calm-otter → stable"), "{said}");
    let freight = stored(&world, Kind::Freight, FREIGHT);
    assert_eq!(freight["alias"], "stable");
    assert_eq!(
        freight["metadata"]["labels"]["kargo.akuity.io/alias"],
        "stable"
    );

    let world = self::world();
    world.freight(OTHER, "2.4.0");
    // Both are called calm-otter by the fixture.
    let (phase, said) = run(&world, json!([alias(OTHER, "calm-otter")])).await;
    assert_eq!(phase, Phase::Failed);
    assert!(
        said.contains(&format!("Freight {FREIGHT} has it")),
        "{said}"
    );

    let world = self::world();
    let (phase, said) = run(&world, json!([alias("none", "x")])).await;
    assert_eq!(phase, Phase::Failed);
    assert!(said.contains("Freight shop/none does not exist"), "{said}");
}

/// Killed at every boundary, the objects are written once each.
#[tokio::test(flavor = "multi_thread")]
async fn killed_anywhere_each_object_is_written_once() {
    let steps = json!([
        metadata(json!([
            {"kind": "Stage", "name": "other", "values": {"by": "${{ ctx.promotion }}"}},
            {"kind": "Freight", "name": FREIGHT, "values": {"tested": true}},
        ])),
        alias(FREIGHT, "stable"),
    ]);
    let mut at = 0;
    loop {
        let mut world = world();
        world.stage("test", &steps);
        let name = world.promote("test", 1);
        let crashed: Arc<Mutex<(u32, Option<String>)>> = Arc::default();
        let seen = Arc::clone(&crashed);
        world.crash = Some(Arc::new(move |boundary| {
            let mut seen = seen.lock().unwrap();
            seen.0 += 1;
            let dies = seen.0 == at + 1;
            if dies {
                seen.1 = Some(boundary.to_owned());
            }
            dies
        }));
        world.run().await;
        let Some(boundary) = crashed.lock().unwrap().1.clone() else {
            assert!(at > 8, "there are more boundaries than {at}");
            return;
        };
        world.crash = None;
        world.holder = "second".into();
        world.run().await;
        assert_eq!(
            world.promotion(&name).status.phase,
            Phase::Succeeded,
            "{boundary}: {:?}",
            world.steps(&name)
        );
        let patches = world.port.patches.lock().unwrap().clone();
        let written = |kind, path: &str| {
            let of = |(key, patch): &&(crate::engine::port::Key, Value)| {
                key.kind == kind && patch.pointer(path).is_some()
            };
            patches.iter().filter(of).count()
        };
        let counts = [
            written(Kind::Stage, "/status/metadata"),
            written(Kind::Freight, "/status/metadata"),
            written(Kind::Freight, "/alias"),
        ];
        assert_eq!(counts, [1, 1, 1], "{boundary}");
        at += 1;
    }
}
