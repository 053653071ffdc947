//! Events go by themselves after a while, as they do in a cluster.

use super::{Due, kind_id};
use crate::local::object;
use crate::local::store::Objects;
use crate::local::user::UserInfo;
use jiff::Timestamp;
use serde_json::Value;
use std::time::Duration;

/// Deletions of Events that nothing was added to for longer than `age`.
pub(super) fn due(objects: &Objects, now: Timestamp, age: Duration) -> Vec<Due> {
    let Some(id) = kind_id("events") else {
        return Vec::new();
    };
    let Ok(oldest) = now.checked_sub(age) else {
        return Vec::new();
    };
    objects
        .range(id, None)
        .filter(|(_, stored)| last_seen(&stored.value()).is_some_and(|seen| seen < oldest))
        .map(|(key, stored)| {
            let user = UserInfo::service_account("kube-system", "generic-garbage-collector");
            Due::delete(key.clone(), &stored.uid, user)
        })
        .collect()
}

/// The newest of an Event's times.
fn last_seen(event: &Value) -> Option<Timestamp> {
    let times = [
        object::meta(event, "creationTimestamp"),
        event.get("lastTimestamp").and_then(Value::as_str),
        event.get("eventTime").and_then(Value::as_str),
        event
            .pointer("/series/lastObservedTime")
            .and_then(Value::as_str),
    ];
    times
        .into_iter()
        .flatten()
        .filter_map(|text| text.parse().ok())
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::object::Key;
    use crate::local::store::Stored;
    use serde_json::json;
    use std::sync::Arc;

    #[test]
    fn events_live_as_long_as_they_are_added_to() {
        let mut objects = Objects::default();
        let id = kind_id("events").unwrap();
        for (name, created, last) in [
            ("old", "2026-01-01T08:00:00Z", json!(null)),
            (
                "repeated",
                "2026-01-01T08:00:00Z",
                json!("2026-01-01T11:30:00Z"),
            ),
            ("new", "2026-01-01T11:59:00Z", json!(null)),
        ] {
            let event = json!({"metadata": {"name": name, "creationTimestamp": created}, "lastTimestamp": last});
            objects.set(
                &Key::new(id, "shop", name),
                Some(Arc::new(Stored::new(&event))),
            );
        }
        let now = "2026-01-01T12:00:00Z".parse().unwrap();
        let names: Vec<String> = due(&objects, now, Duration::from_secs(3600))
            .into_iter()
            .map(|due| due.key.name)
            .collect();
        assert_eq!(names, ["old"]);
    }
}
