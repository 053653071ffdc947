//! What the resource definitions of Kargo's kinds and of ours demand beyond types: one table, with
//! defaults and the few things about core kinds beside it.
//!
//! The Rust types read leniently, so their schemas require nothing; what is required is said here.

use super::rule::{
    Rule::{self, AtLeastOne, AtMost, Bytes, Filled, Form, Holds, Required, ToldApartBy, Words},
    is_duration, is_reason, is_variable,
};
use crate::local::kinds::Kind;
use crate::local::names;
use crate::local::object;
use crate::local::status::Cause;
use serde_json::{Map, Value};

const NAME: &str = "not the name of an object";
const DURATION: &str = "no duration such as 5m or 1h30m";
const TASKS: &[&str] = &["promotiontasks", "clusterpromotiontasks"];
const REQUESTED: &[&str] = &[
    "request",
    "requestUid",
    "stage",
    "decision",
    "digest",
    "user",
];

/// Rules for a place in objects of these kinds; without kinds, for every place that ends so: the same
/// parts are built into Promotions, Stages and the copies of one in the other.
///
/// A place is the path of its fields, with `[]` for the items of a list and `{}` for the values of a map.
const DEMANDS: &[(&[&str], &str, &[Rule])] = &[
    (
        &[
            "promotions",
            "stages",
            "warehouses",
            "approvalrequests",
            "approvals",
        ],
        "",
        &[Required(&["spec"])],
    ),
    (TASKS, "", &[Required(&["spec"])]),
    (&["freights"], "", &[Required(&["origin"])]),
    (
        &["promotions"],
        "spec",
        &[
            Required(&["stage", "steps"]),
            Form("stage", names::is_dns_subdomain, NAME),
            Form("freight", names::is_dns_subdomain, NAME),
            Form("target", names::is_dns_subdomain, NAME),
            Holds(
                |spec| has(spec, "freight") != has(spec, "origin"),
                "exactly one of freight and origin must be given",
            ),
            AtLeastOne("steps"),
        ],
    ),
    (
        &["promotions"],
        "spec.steps[]",
        &[Holds(
            is_plain,
            "a Promotion's step must have uses and no task",
        )],
    ),
    (TASKS, "spec", &[Required(&["steps"]), AtLeastOne("steps")]),
    (
        TASKS,
        "spec.steps[]",
        &[Holds(is_plain, "a task's step must have uses and no task")],
    ),
    (
        &["stages"],
        "spec",
        &[
            Required(&["requestedFreight"]),
            AtLeastOne("requestedFreight"),
        ],
    ),
    (
        &["stages"],
        "spec.requestedFreight[]",
        &[Required(&["origin", "sources"])],
    ),
    (
        &["stages"],
        "spec.requestedFreight[].sources",
        &[
            Form("requiredSoakTime", is_duration, DURATION),
            Words("availabilityStrategy", &["All", "OneOf", ""]),
        ],
    ),
    (
        &["stages"],
        "spec.requestedFreight[].sources.autoPromotionOptions",
        &[Words(
            "selectionPolicy",
            &["NewestFreight", "MatchUpstream"],
        )],
    ),
    (
        &["stages"],
        "spec.promotionTemplate",
        &[Required(&["spec"])],
    ),
    (
        &["stages"],
        "spec.promotionTemplate.spec",
        &[AtLeastOne("steps")],
    ),
    (
        &["stages"],
        "spec.promotionTemplate.spec.steps[]",
        &[
            Holds(
                |step| has(step, "uses") != has(step, "task"),
                "exactly one of uses and task must be given",
            ),
            Holds(
                |step| !has(step, "task") || !has(step, "continueOnError"),
                "a step with a task cannot set continueOnError",
            ),
            Holds(
                |step| !has(step, "task") || !has(step, "retry"),
                "a step with a task cannot set retry",
            ),
        ],
    ),
    (&["stages"], "spec.targets", &[Required(&["selectors"])]),
    (
        &["stages"],
        "spec.verification.analysisTemplates[]",
        &[
            Required(&["name"]),
            Words("kind", &["AnalysisTemplate", "ClusterAnalysisTemplate"]),
        ],
    ),
    (
        &["stages"],
        "spec.verification.args[]",
        &[Required(&["name", "value"])],
    ),
    (
        &["stages"],
        "status.promotionWindowStatus",
        &[Required(&["closed"])],
    ),
    (
        &["stages"],
        "status.currentPromotionRequest",
        &[Required(&["name"])],
    ),
    (
        &["stages"],
        "status.lastPromotionRequest",
        &[Required(&["name"])],
    ),
    (
        &["warehouses"],
        "spec",
        &[
            Required(&["interval", "subscriptions"]),
            AtLeastOne("subscriptions"),
            Form("interval", is_duration, DURATION),
            Words("freightCreationPolicy", &["Automatic", "Manual"]),
        ],
    ),
    (
        &["projectconfigs"],
        "spec.promotionPolicies[]",
        &[
            Holds(
                |policy| has(policy, "stage") != has(policy, "stageSelector"),
                "exactly one of stage and stageSelector must be given",
            ),
            Form("stage", names::is_dns_subdomain, NAME),
        ],
    ),
    (
        &["approvalrequests"],
        "spec",
        &[
            Required(&["stage", "step", "promotion"]),
            Filled(&["stage", "step"]),
        ],
    ),
    (
        &["approvals"],
        "spec",
        &[
            Required(REQUESTED),
            Filled(REQUESTED),
            Bytes("message", 4096),
            AtMost("groups", 16),
        ],
    ),
    (
        &[],
        "origin",
        &[Required(&["kind", "name"]), Words("kind", &["Warehouse"])],
    ),
    (
        &[],
        "artifacts[]",
        &[
            Required(&["subscriptionName", "version"]),
            Filled(&["artifactType", "subscriptionName", "version"]),
        ],
    ),
    (&[], "conditions", &[ToldApartBy("type")]),
    (
        &[],
        "conditions[]",
        &[
            Required(&["type", "status", "reason", "message", "lastTransitionTime"]),
            Filled(&["type"]),
            Words("status", &["True", "False", "Unknown"]),
            Form("reason", is_reason, "must be one CamelCase word"),
            Bytes("message", 32768),
        ],
    ),
    (&[], "freightCollection", &[Required(&["id"])]),
    (&[], "freightHistory[]", &[Required(&["id"])]),
    (
        &[],
        "analysisRun",
        &[Required(&["namespace", "name", "phase"])],
    ),
    (
        &[],
        "healthChecks[]",
        &[Required(&["uses"]), Filled(&["uses"])],
    ),
    (&[], "steps[]", &[Filled(&["uses"])]),
    (
        &[],
        "vars[]",
        &[
            Required(&["name"]),
            Form(
                "name",
                is_variable,
                "must be letters, digits and '_', not beginning with a digit",
            ),
        ],
    ),
    (
        &[],
        "task",
        &[
            Required(&["name"]),
            Form("name", names::is_dns_subdomain, NAME),
            Words("kind", &["PromotionTask", "ClusterPromotionTask"]),
        ],
    ),
    (&[], "currentPromotion", &[Required(&["name"])]),
    (&[], "lastPromotion", &[Required(&["name"])]),
    (
        &[],
        "autoPromotionHolds{}",
        &[Required(&["freightName", "origin"])],
    ),
    (
        &[],
        "effectiveAutoPromotionHolds{}",
        &[Required(&["freightName", "origin"])],
    ),
    (&[], "matchExpressions[]", &[Required(&["key", "operator"])]),
];

fn has(object: &Map<String, Value>, field: &str) -> bool {
    object.contains_key(field)
}

fn is_plain(step: &Map<String, Value>) -> bool {
    has(step, "uses") && !has(step, "task")
}

/// Checks what is at one place of an object of a kind.
pub(super) fn check_place(
    kind: &Kind,
    place: &str,
    path: &str,
    value: &Value,
    causes: &mut Vec<Cause>,
) {
    let is_here = |kinds: &[&str], wanted: &str| {
        if kinds.is_empty() {
            let before = place.strip_suffix(wanted);
            before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
        } else {
            place == wanted && kinds.contains(&kind.plural)
        }
    };
    let here = DEMANDS
        .iter()
        .filter(|(kinds, wanted, _)| is_here(kinds, wanted));
    for rule in here.flat_map(|(_, _, rules)| *rules) {
        rule.check(value, path, causes);
    }
}

/// Fills in what the definition has a default for.
pub(super) fn fill_defaults(kind: &Kind, object: &mut Value) {
    match (kind.group, kind.plural) {
        (_, "warehouses") => {
            fill(object.get_mut("spec"), "interval", "5m0s");
            fill(object.get_mut("spec"), "freightCreationPolicy", "Automatic");
        }
        ("", "secrets") => fill(Some(object), "type", "Opaque"),
        _ => {}
    }
}

fn fill(object: Option<&mut Value>, field: &str, value: &str) {
    if let Some(Value::Object(map)) = object {
        map.entry(field).or_insert_with(|| Value::from(value));
    }
}

/// What takes more than one place of an object, or the object that it replaces, to say.
pub(super) fn check_whole(
    kind: &Kind,
    object: &Value,
    old: Option<&Value>,
    causes: &mut Vec<Cause>,
) {
    match (kind.group, kind.plural) {
        (_, "approvalrequests" | "approvals") => same_spec(object, old, causes),
        ("", "events") => event(object, causes),
        _ => {}
    }
}

fn same_spec(object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    if old.is_some_and(|old| old.get("spec") != object.get("spec")) {
        causes.push(Cause::invalid("spec", "\"object\": spec is immutable"));
    }
}

/// An Event lies in the namespace of its object, or in `default` for cluster-scoped ones.
fn event(object: &Value, causes: &mut Vec<Cause>) {
    let own = object::meta(object, "namespace").unwrap_or("");
    let involved = object
        .pointer("/involvedObject/namespace")
        .and_then(Value::as_str)
        .unwrap_or("");
    let fits = if involved.is_empty() {
        own == "default"
    } else {
        own == involved
    };
    if !fits {
        causes.push(Cause::invalid(
            "involvedObject.namespace",
            format!("{involved:?}: does not match event.namespace"),
        ));
    }
}
