use serde_json::json;

use super::{
    ledger::difference,
    limits::{MESSAGE_MAX, OUTPUT_MAX, check_output, message, without_nulls},
};

#[test]
fn a_merge_patch_of_the_difference_makes_the_new_of_the_old() {
    let pairs = [
        (json!({}), json!({"a": 1})),
        (
            json!({"a": 1, "b": {"c": [1, 2], "d": 2}}),
            json!({"b": {"c": [2], "e": "x"}}),
        ),
        (json!({"a": {"b": 1}}), json!({"a": "text"})),
        (json!({"a": "text"}), json!({"a": {"b": {"c": 1}}})),
    ];
    for (old, new) in pairs {
        let mut patched = old.clone();
        json_patch::merge(&mut patched, &difference(&old, &new).unwrap());
        assert_eq!(patched, new);
    }
    assert_eq!(difference(&json!({"a": [1]}), &json!({"a": [1]})), None);
}

/// C56
#[test]
fn long_messages_are_cut_between_characters_and_say_so() {
    let text = "ü".repeat(25 * 1024 + 1);
    let cut = message(&text);
    assert!(
        cut.len() <= MESSAGE_MAX && cut.len() > MESSAGE_MAX - 8,
        "{}",
        cut.len()
    );
    assert!(
        cut.starts_with("üü") && cut.ends_with(&format!("… (cut: {} bytes in all)", text.len())),
        "{cut}"
    );
    assert_eq!(message("short"), "short");
    let odd = format!("x{text}");
    assert!(message(&odd).len() <= MESSAGE_MAX);
}

#[test]
fn outputs_have_a_limit_each_and_together() {
    let large = json!({"a": "x".repeat(OUTPUT_MAX)});
    assert_eq!(check_output(&large, 0).unwrap_err().max, OUTPUT_MAX);
    let fair = json!({"a": "x".repeat(OUTPUT_MAX - 100)});
    check_output(&fair, 0).unwrap();
    let error = check_output(&fair, 420 * 1024).unwrap_err().to_string();
    assert!(
        error.contains("other steps") && error.contains("458752"),
        "{error}"
    );
}

#[test]
fn nulls_are_left_out_at_every_depth() {
    let value = json!({"a": null, "b": {"c": null, "d": [1, null, {"e": null}]}});
    assert_eq!(without_nulls(value), json!({"b": {"d": [1, {}]}}));
}
