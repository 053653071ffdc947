use serde_json::json;

use super::*;
use crate::kargo::{Phase, Promotion, Stage};

#[test]
fn every_kind_has_a_schema_with_its_top_level_fields() {
    for kind in KINDS {
        let schema = (kind.schema)().to_value();
        assert!(
            schema["properties"]["metadata"].is_object(),
            "{}: {schema}",
            kind.kind
        );
        assert!(
            !schema.to_string().contains("$ref"),
            "{}: schemas are inline",
            kind.kind
        );
    }
}

#[test]
fn odd_objects_are_read() {
    let stage: Stage =
        serde_json::from_value(json!({"metadata": {"name": "s"}, "spec": null, "status": null}))
            .unwrap();
    assert!(stage.is_control_flow());
    let promotion: Promotion = serde_json::from_value(json!({
        "metadata": {"name": "p"}, "spec": {"stage": "s", "steps": null, "new": 1},
        "status": {"phase": "Paused", "stepExecutionMetadata": null, "startedAt": "not a time", "other": {}}
    }))
    .unwrap();
    assert_eq!(promotion.status.phase, Phase::Unknown("Paused".into()));
    assert_eq!(promotion.status.started_at, None);
}
