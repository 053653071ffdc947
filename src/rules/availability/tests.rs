use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-08-21T12:00:00Z";

fn ask(sources: Value, status: Value) -> Result<(), String> {
    let stage: Stage = serde_json::from_value(json!({
        "metadata": {"name": "prod"},
        "spec": {"requestedFreight": [
            {"origin": {"kind": "Warehouse", "name": "other"}, "sources": {"direct": true}},
            {"origin": {"kind": "Warehouse", "name": "w"}, "sources": sources},
        ]}
    }))
    .unwrap();
    let freight: Freight = serde_json::from_value(
        json!({"origin": {"kind": "Warehouse", "name": "w"}, "status": status}),
    )
    .unwrap();
    available(&stage, &freight, NOW.parse().unwrap()).map_err(|why| why.to_string())
}

#[test]
fn the_one_rule() {
    let verified = |stages: &[&str]| -> Value {
        let map: serde_json::Map<String, Value> = stages
            .iter()
            .map(|stage| {
                (
                    (*stage).to_owned(),
                    json!({"verifiedAt": "2026-08-20T00:00:00Z"}),
                )
            })
            .collect();
        json!({"verifiedIn": map})
    };
    let two = json!({"stages": ["test", "uat"]});
    let both = json!({"stages": ["test", "uat"], "availabilityStrategy": "All"});
    let cases: Vec<(&str, Value, Value, Result<(), &str>)> = vec![
        ("direct", json!({"direct": true}), json!({}), Ok(())),
        (
            "no source",
            json!({}),
            json!({}),
            Err("the Stage names no source for this Freight"),
        ),
        (
            "approved",
            two.clone(),
            json!({"approvedFor": {"prod": {}}}),
            Ok(()),
        ),
        (
            "approved for another",
            two.clone(),
            json!({"approvedFor": {"uat": {}}}),
            Err("not verified in test or uat"),
        ),
        ("one of", two.clone(), verified(&["uat"]), Ok(())),
        (
            "none of",
            two.clone(),
            verified(&["elsewhere"]),
            Err("not verified in test or uat"),
        ),
        (
            "one of, named",
            json!({"stages": ["test"], "availabilityStrategy": "OneOf"}),
            verified(&["test"]),
            Ok(()),
        ),
        ("all", both.clone(), verified(&["test", "uat"]), Ok(())),
        (
            "all and elsewhere",
            both.clone(),
            verified(&["test", "uat", "more"]),
            Ok(()),
        ),
        (
            "all but one",
            both.clone(),
            verified(&["test"]),
            Err("not verified in uat"),
        ),
    ];
    for (name, sources, status, expected) in cases {
        assert_eq!(
            ask(sources, status),
            expected.map_err(str::to_owned),
            "{name}"
        );
    }
}

#[test]
fn soaking_counts_where_it_was_verified_only() {
    let soak = |strategy: &str| json!({"stages": ["test", "uat"], "requiredSoakTime": "1h", "availabilityStrategy": strategy});
    let cases: Vec<(&str, Value, Value, Result<(), &str>)> = vec![
        (
            "long ago",
            soak(""),
            json!({"verifiedIn": {"test": {"longestSoak": "1h0m0s"}}}),
            Ok(()),
        ),
        (
            "still there",
            soak(""),
            json!({"verifiedIn": {"test": {}}, "currentlyIn": {"test": {"since": "2026-08-21T11:00:00Z"}}}),
            Ok(()),
        ),
        (
            "not yet",
            soak(""),
            json!({"verifiedIn": {"test": {}}, "currentlyIn": {"test": {"since": "2026-08-21T11:30:00Z"}}}),
            Err("soaks 30m more in test"),
        ),
        (
            "the present stay starts anew",
            soak(""),
            json!({"verifiedIn": {"test": {"longestSoak": "59m"}}, "currentlyIn": {"test": {"since": "2026-08-21T11:50:00Z"}}}),
            Err("soaks 50m more in test"),
        ),
        (
            "left too early",
            soak(""),
            json!({"verifiedIn": {"test": {"longestSoak": "20m"}}}),
            Err("left test 40m before its soak time"),
        ),
        (
            "soaked unverified",
            soak(""),
            json!({"currentlyIn": {"test": {"since": "2026-08-01T00:00:00Z"}}}),
            Err("not verified in test or uat"),
        ),
        (
            "the shorter wait of one",
            soak("OneOf"),
            json!({"verifiedIn": {"test": {}, "uat": {}}, "currentlyIn":
                {"test": {"since": "2026-08-21T11:10:00Z"}, "uat": {"since": "2026-08-21T11:50:00Z"}}}),
            Err("soaks 10m more in test"),
        ),
        (
            "the longer wait of all",
            soak("All"),
            json!({"verifiedIn": {"test": {}, "uat": {}}, "currentlyIn":
                {"test": {"since": "2026-08-21T11:10:00Z"}, "uat": {"since": "2026-08-21T11:50:00Z"}}}),
            Err("soaks 50m more in uat"),
        ),
        (
            "soaked elsewhere",
            soak(""),
            json!({"verifiedIn": {"dev": {"longestSoak": "9h"}}}),
            Err("not verified in test or uat"),
        ),
        (
            "unreadable",
            json!({"stages": ["test"], "requiredSoakTime": "soon"}),
            json!({"verifiedIn": {"test": {}}}),
            Err("the Stage's soak time \"soon\" cannot be read"),
        ),
    ];
    for (name, sources, status, expected) in cases {
        assert_eq!(
            ask(sources, status),
            expected.map_err(str::to_owned),
            "{name}"
        );
    }
}

#[test]
fn a_wait_says_when_it_ends() {
    let sources: FreightSources =
        serde_json::from_value(json!({"stages": ["test"], "requiredSoakTime": "1h"})).unwrap();
    let status: FreightStatus = serde_json::from_value(
        json!({"verifiedIn": {"test": {}}, "currentlyIn": {"test": {"since": "2026-08-21T11:30:00Z"}}}),
    )
    .unwrap();
    let why = upstream(&sources, &status, NOW.parse().unwrap()).unwrap_err();
    assert_eq!(why.until(), Some("2026-08-21T12:30:00Z".parse().unwrap()));
}

#[test]
fn another_origin_is_refused_even_when_approved() {
    let stage: Stage = serde_json::from_value(
        json!({"metadata": {"name": "prod"}, "spec": {"requestedFreight": [
        {"origin": {"kind": "Warehouse", "name": "a"}, "sources": {"direct": true}}]}}),
    )
    .unwrap();
    let freight: Freight = serde_json::from_value(
        json!({"origin": {"kind": "Warehouse", "name": "b"}, "status": {"approvedFor": {"prod": {}}}}),
    )
    .unwrap();
    let why = available(&stage, &freight, NOW.parse().unwrap()).unwrap_err();
    assert_eq!(why.to_string(), "the Stage takes no Freight of Warehouse/b");
}
