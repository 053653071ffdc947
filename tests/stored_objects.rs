//! Everything that a whole story leaves in the store is valid by Kargo's own schemas.
//!
//! The schemas are test data beside the repository; where they are absent, this test says so and passes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs,
    dead_code
)]

#[path = "kargo_schema/structural.rs"]
mod structural;
mod support;

use std::{fs, path::Path, process::Command};

use serde_json::Value;
use support::{World, until};

fn schema(plural: &str) -> Option<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/kargo-crds");
    let file = folder.join(format!("kargo.akuity.io_{plural}.yaml"));
    let Ok(text) = fs::read_to_string(&file) else {
        eprintln!("skipped: {} is not there", file.display());
        return None;
    };
    let definition: Value = serde_saphyr::from_str(&text).unwrap();
    Some(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone())
}

#[test]
fn what_the_demo_leaves_in_the_store_is_valid() {
    let world = World::new();
    let demo = world.path().join("demo");
    let status = Command::new(env!("CARGO_BIN_EXE_tidewaiter"))
        .args(["demo", "--plain", "--dir"])
        .arg(&demo)
        .env("HOME", world.path())
        .output()
        .unwrap()
        .status;
    assert!(status.success());
    fs::rename(demo.join("cluster"), world.cluster()).unwrap();
    let _owner = world.start(&["get", "projects", "-w"]);
    until("the socket", || {
        world.cluster().join("api.sock").exists().then_some(())
    });
    let mut checked = 0;
    for plural in [
        "projects",
        "projectconfigs",
        "warehouses",
        "freights",
        "stages",
        "promotions",
        "promotiontasks",
    ] {
        let Some(schema) = schema(plural) else { return };
        let list = support::read(&world, &format!("/apis/kargo.akuity.io/v1alpha1/{plural}"));
        for object in list["items"].as_array().unwrap() {
            let name = object["metadata"]["name"].as_str().unwrap();
            assert_eq!(
                structural::problems(&schema, object),
                [""; 0],
                "{plural} {name}"
            );
            checked += 1;
        }
    }
    assert!(checked > 15, "only {checked} objects were there");
}
