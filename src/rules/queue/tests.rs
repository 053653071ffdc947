use serde_json::{Value, json};

use super::*;

fn row(name: &str, phase: &str) -> PromotionRow {
    let promotion = json!({"metadata": {"name": name}, "spec": {"stage": "prod", "freight": "f"}, "status": {"phase": phase}});
    PromotionRow::of(&serde_json::from_value(promotion).unwrap())
}

fn rows(all: &[(&str, &str)]) -> Vec<PromotionRow> {
    all.iter().map(|(name, phase)| row(name, phase)).collect()
}

fn stage(status: Value) -> Stage {
    serde_json::from_value(json!({"metadata": {"name": "prod"}, "status": status})).unwrap()
}

#[test]
fn running_then_waiting_then_ended() {
    let mut all = rows(&[
        ("e", "Succeeded"),
        ("d", ""),
        ("c", "Running"),
        ("b", "Pending"),
        ("a", "Failed"),
        ("f", "Paused"),
    ]);
    all.sort_by(order);
    let names: Vec<&str> = all.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["c", "b", "d", "f", "e", "a"]);
}

#[test]
fn turns() {
    let current = |name: &str| json!({"currentPromotion": {"name": name}});
    let last = |name: &str| json!({"lastPromotion": {"name": name}});
    let both = json!({"currentPromotion": {"name": "b"}, "lastPromotion": {"name": "a"}});
    let record = |names: &[&str]| Turn::Record(names.iter().map(|name| (*name).into()).collect());
    let cases: Vec<(&str, Value, Vec<PromotionRow>, Turn)> = vec![
        ("nothing", json!({}), vec![], Turn::Idle),
        (
            "the oldest starts",
            json!({}),
            rows(&[("c", "Pending"), ("b", "Pending")]),
            Turn::Start("b".into()),
        ),
        (
            "one that nobody has marked Pending",
            json!({}),
            rows(&[("b", "")]),
            Turn::Start("b".into()),
        ),
        (
            "a running one goes on",
            json!({}),
            rows(&[("b", "Pending"), ("c", "Running")]),
            Turn::Start("c".into()),
        ),
        (
            "it is the current one",
            current("b"),
            rows(&[("b", "Running"), ("c", "Pending")]),
            Turn::Stay("b".into()),
        ),
        (
            "current, not started",
            current("b"),
            rows(&[("b", "Pending"), ("c", "Pending")]),
            Turn::Stay("b".into()),
        ),
        (
            "ended",
            both.clone(),
            rows(&[("b", "Succeeded"), ("c", "Pending")]),
            record(&["b"]),
        ),
        (
            "ended, with one that was aborted before its start",
            both.clone(),
            rows(&[("c", "Aborted"), ("b", "Failed")]),
            record(&["b", "c"]),
        ),
        (
            "aborted while it waited behind one that still waits",
            json!({}),
            rows(&[("b", "Pending"), ("c", "Aborted")]),
            Turn::Start("b".into()),
        ),
        (
            "ended, with one aborted behind one that still waits",
            both.clone(),
            rows(&[("b", "Succeeded"), ("c", "Pending"), ("d", "Aborted")]),
            record(&["b"]),
        ),
        (
            "current is gone",
            current("b"),
            rows(&[("c", "Pending")]),
            record(&[]),
        ),
        (
            "current is no longer first",
            current("c"),
            rows(&[("b", "Pending"), ("c", "Pending")]),
            record(&[]),
        ),
        (
            "ended without ever being current",
            last("a"),
            rows(&[("b", "Aborted")]),
            record(&["b"]),
        ),
        (
            "recorded already",
            last("b"),
            rows(&[("b", "Succeeded"), ("a", "Failed")]),
            Turn::Idle,
        ),
        (
            "a name before the last is never recorded",
            last("b"),
            rows(&[("a", "Succeeded"), ("c", "Pending")]),
            Turn::Start("c".into()),
        ),
    ];
    for (name, status, rows, expected) in cases {
        let rows: Vec<&PromotionRow> = rows.iter().collect();
        assert_eq!(turn(&stage(status), &rows), expected, "{name}");
    }
}

#[test]
fn verification_gates_the_next() {
    let with = |verification: Value, health: Value| {
        stage(json!({
            "freightHistory": [{"id": "x", "verificationHistory": verification}, {"id": "y", "verificationHistory": [{"phase": "Running"}]}],
            "health": health
        }))
    };
    let phase = |phase: &str| json!([{"phase": phase}, {"phase": "Running"}]);
    let health = |status: &str| json!({"status": status});
    for (verification, health, expected) in [
        (phase("Successful"), Value::Null, None),
        (phase("Failed"), health("Healthy"), None),
        (phase("Running"), health("Unhealthy"), Some(Gate::Verifying)),
        (phase("Pending"), Value::Null, Some(Gate::Verifying)),
        (json!([{}]), Value::Null, Some(Gate::Verifying)),
        (json!([]), Value::Null, Some(Gate::NotVerified)),
        (json!([]), health("Healthy"), Some(Gate::NotVerified)),
        (json!([]), health("Unhealthy"), None),
        (json!([]), health("Unknown"), None),
        (json!([]), health("Progressing"), None),
    ] {
        let stage = with(verification.clone(), health.clone());
        assert_eq!(gate(&stage), expected, "{verification} {health}");
        let row = row("b", "Pending");
        let turn = turn(&stage, &[&row]);
        match expected {
            None => assert_eq!(turn, Turn::Start("b".into())),
            Some(gate) => assert_eq!(turn, Turn::Wait("b".into(), gate)),
        }
    }
    assert_eq!(gate(&stage(json!({}))), None, "nothing is there yet");
}

/// Plays random events against a keeper that follows [`turn`].
#[test]
fn one_at_a_time_and_everything_is_recorded_once_in_order() {
    for seed in 0..300_u64 {
        let mut dice = Dice(seed);
        let mut rows: Vec<PromotionRow> = Vec::new();
        let mut stage = stage(json!({}));
        let mut recorded: Vec<PromotionName> = Vec::new();
        for step in 0..60 {
            match dice.roll(4) {
                0 => rows.push(row(&format!("p{step:03}"), "")),
                1 => end(&mut rows, &mut dice, &stage),
                _ => {}
            }
            play(&mut stage, &mut rows, &mut recorded);
            let running = rows
                .iter()
                .filter(|row| row.phase == Phase::Running)
                .count();
            assert!(running <= 1, "seed {seed}: {running} at once");
        }
        while rows.iter().any(|row| !row.phase.is_terminal())
            || stage.status.current_promotion.is_some()
        {
            end(&mut rows, &mut dice, &stage);
            play(&mut stage, &mut rows, &mut recorded);
        }
        let mut sorted = recorded.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(recorded, sorted, "seed {seed}: once each, in order");
        let last = recorded.last();
        let lost: Vec<_> = rows
            .iter()
            .filter(|row| last.is_some_and(|last| row.name > *last))
            .collect();
        assert!(lost.is_empty(), "seed {seed}: {lost:?}");
    }
}

/// A small generator of numbers, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Ends the running Promotion, or has a person abort a waiting one.
fn end(rows: &mut [PromotionRow], dice: &mut Dice, stage: &Stage) {
    let current = stage
        .status
        .current_promotion
        .as_ref()
        .map(|reference| reference.name.clone());
    let outcome = [
        Phase::Succeeded,
        Phase::Failed,
        Phase::Errored,
        Phase::Aborted,
    ][dice.roll(4) as usize]
        .clone();
    let waiting = dice.roll(5) == 0;
    let chosen = rows.iter_mut().rfind(|row| {
        !row.phase.is_terminal()
            && if waiting {
                Some(&row.name) != current.as_ref()
            } else {
                Some(&row.name) == current.as_ref()
            }
    });
    if let Some(row) = chosen {
        row.phase = if waiting { Phase::Aborted } else { outcome };
    }
}

fn play(stage: &mut Stage, rows: &mut [PromotionRow], recorded: &mut Vec<PromotionName>) {
    let views: Vec<&PromotionRow> = rows.iter().collect();
    let reference = |name: &PromotionName| {
        Some(crate::kargo::stage::PromotionReference {
            name: name.clone(),
            ..Default::default()
        })
    };
    match turn(stage, &views) {
        Turn::Start(name) => {
            stage.status.current_promotion = reference(&name);
            rows.iter_mut()
                .filter(|row| row.name == name)
                .for_each(|row| row.phase = Phase::Running);
        }
        Turn::Record(names) => {
            stage.status.current_promotion = None;
            if let Some(last) = names.last() {
                stage.status.last_promotion = reference(last);
            }
            recorded.extend(names);
        }
        Turn::Idle | Turn::Stay(_) => {}
        Turn::Wait(..) => panic!("nothing is verified here"),
    }
}
