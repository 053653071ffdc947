//! What this program writes, against Kargo's own schemas: valid, with nothing that a server would prune; and every
//! field of theirs has its place in our types.
//!
//! The schemas are test data beside the repository; where they are absent, these tests say so and pass.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

#[path = "kargo_schema/example.rs"]
mod example;
#[path = "kargo_schema/structural.rs"]
mod structural;
#[path = "kargo_schema/written.rs"]
mod written;

use std::path::PathBuf;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tidewaiter::kargo::{
    ClusterPromotionTask, Freight, Project, ProjectConfig, Promotion, PromotionTask, Stage,
    Warehouse, schema::KINDS,
};

/// Parts that our types carry as they were read, without knowing their fields: we never make them.
const CARRIED: &[(&str, &str)] = &[
    ("ProjectConfig", "spec.freightLinks"),
    ("ProjectConfig", "spec.promotionPolicies[].autoRollback"),
    ("ProjectConfig", "spec.promotionWindows"),
    ("ProjectConfig", "spec.stageLinks"),
    ("ProjectConfig", "spec.webhookReceivers"),
    ("ProjectConfig", "status.webhookReceivers"),
    ("Warehouse", "status.discoveredArtifacts"),
];

/// The schema of one kind, by its plural.
fn kargo_schema(plural: &str) -> Option<Value> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/kargo-crds");
    let file = folder.join(format!("kargo.akuity.io_{plural}.yaml"));
    let Ok(text) = std::fs::read_to_string(&file) else {
        eprintln!("skipped: {} is not there", file.display());
        return None;
    };
    let definition: Value = serde_saphyr::from_str(&text).unwrap();
    let versions = definition["spec"]["versions"].as_array().unwrap();
    assert_eq!(versions.len(), 1, "{plural}: one version only");
    Some(versions[0]["schema"]["openAPIV3Schema"].clone())
}

fn ours(kind: &str) -> Value {
    let kind = KINDS.iter().find(|one| one.kind == kind).unwrap();
    (kind.schema)().to_value()
}

/// The kinds that are Kargo's.
fn kargo_kinds() -> Vec<(&'static str, &'static str)> {
    KINDS
        .iter()
        .filter(|kind| kind.group == "kargo.akuity.io")
        .map(|kind| (kind.kind, kind.plural))
        .collect()
}

#[test]
fn every_field_of_theirs_has_its_place() {
    for (kind, plural) in kargo_kinds() {
        let Some(theirs) = kargo_schema(plural) else {
            return;
        };
        assert_eq!(structural::absent(&theirs, &ours(kind)), [""; 0], "{kind}");
    }
}

#[test]
fn no_field_of_ours_would_be_pruned() {
    for (kind, plural) in kargo_kinds() {
        let Some(theirs) = kargo_schema(plural) else {
            return;
        };
        let absent = structural::absent(&ours(kind), &theirs);
        let carried = CARRIED
            .iter()
            .filter(|one| one.0 == kind)
            .map(|(_, path)| *path);
        let expected: Vec<String> = carried
            .map(|path| format!("{path}: anything against a type"))
            .collect();
        assert_eq!(absent, expected, "{kind}");
    }
}

/// Reads `object` as our type and writes it again.
fn through<T: Serialize + DeserializeOwned>(object: &Value) -> Value {
    let typed: T = serde_json::from_value(object.clone())
        .unwrap_or_else(|error| panic!("{error}: {object:#}"));
    serde_json::to_value(typed).unwrap()
}

fn through_ours(kind: &str, object: &Value) -> Value {
    match kind {
        "Project" => through::<Project>(object),
        "ProjectConfig" => through::<ProjectConfig>(object),
        "Warehouse" => through::<Warehouse>(object),
        "Freight" => through::<Freight>(object),
        "Stage" => through::<Stage>(object),
        "Promotion" => through::<Promotion>(object),
        "PromotionTask" => through::<PromotionTask>(object),
        "ClusterPromotionTask" => through::<ClusterPromotionTask>(object),
        other => panic!("a new kind needs its line here: {other}"),
    }
}

/// An object with every field of the schema comes back from our types as it went in.
#[test]
fn a_full_object_survives_reading_and_writing() {
    for (kind, plural) in kargo_kinds() {
        let Some(theirs) = kargo_schema(plural) else {
            return;
        };
        let mut full = example::full(&theirs, "");
        full["apiVersion"] = "kargo.akuity.io/v1alpha1".into();
        full["kind"] = kind.into();
        full["metadata"] = serde_json::json!({"name": "a"});
        assert_eq!(
            structural::problems(&theirs, &full),
            [""; 0],
            "{kind}: the example itself"
        );
        let written = through_ours(kind, &full);
        assert_eq!(structural::differences(&full, &written), [""; 0], "{kind}");
        assert_eq!(structural::problems(&theirs, &written), [""; 0], "{kind}");
    }
}

/// What the parts of this program put together with as little as they may know.
#[test]
fn what_we_write_is_valid() {
    for (plural, name, object) in written::all() {
        let Some(theirs) = kargo_schema(plural) else {
            return;
        };
        assert_eq!(
            structural::problems(&theirs, &object),
            [""; 0],
            "{plural}, {name}: {object:#}"
        );
    }
}

/// The checks above would be worth nothing if they let everything pass.
#[test]
fn the_checks_find_what_is_wrong() {
    let Some(schema) = kargo_schema("promotions") else {
        return;
    };
    for (pointer, value, expected) in written::wrong() {
        let (_, _, mut object) = written::all()
            .into_iter()
            .find(|(plural, name, _)| (*plural, *name) == ("promotions", "full"))
            .unwrap();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        object
            .pointer_mut(parent)
            .unwrap_or_else(|| panic!("{pointer}"))[key] = value;
        let problems = structural::problems(&schema, &object);
        assert!(
            problems.iter().any(|problem| problem.contains(expected)),
            "{pointer}: {problems:?}"
        );
    }
}
