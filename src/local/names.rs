//! What names, labels, annotations and finalizers may look like.

use super::kinds::NameRule;
use super::status::Cause;
use serde_json::{Map, Value};

/// All annotations of an object together, keys and values.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

fn is_label_char(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

/// Lower-case letters, digits and inner dashes, at most 63.
pub(crate) fn is_dns_label(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(is_label_char)
        && text.ends_with(is_label_char)
        && text.chars().all(|c| is_label_char(c) || c == '-')
}

/// Dotted parts that each begin and end with a letter or digit, at most 253 in all.
pub(crate) fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253
        && text.split('.').all(|part| {
            part.starts_with(is_label_char)
                && part.ends_with(is_label_char)
                && part.chars().all(|c| is_label_char(c) || c == '-')
        })
}

/// The name part of a label key, or a label value that is not empty.
fn is_qualified(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// `[prefix/]name`, as keys of labels and annotations are.
pub(crate) fn is_qualified_key(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_qualified(name),
        None => is_qualified(text),
    }
}

pub(crate) fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_qualified(text)
}

/// Whether a name fits the rule of its kind.
pub(crate) fn fits(rule: NameRule, name: &str) -> bool {
    match rule {
        NameRule::Label => is_dns_label(name),
        NameRule::Subdomain => is_dns_subdomain(name),
    }
}

/// Everything wrong with the metadata of an object whose shape is right.
pub(crate) fn check_metadata(rule: NameRule, object: &Value, causes: &mut Vec<Cause>) {
    let empty = Map::new();
    let metadata = object
        .get("metadata")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    let name = metadata.get("name").and_then(Value::as_str).unwrap_or("");
    if !fits(rule, name) {
        causes.push(Cause::invalid(
            "metadata.name",
            format!("{name:?}: must be lower-case letters, digits, '-' (and '.' between parts), beginning and ending with a letter or digit"),
        ));
    }
    check_labels(metadata, causes);
    check_annotations(metadata, causes);
    check_finalizers(metadata, causes);
    check_owners(metadata, causes);
}

fn strings<'a>(
    metadata: &'a Map<String, Value>,
    field: &str,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    metadata
        .get(field)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value.as_str().unwrap_or("")))
}

fn check_labels(metadata: &Map<String, Value>, causes: &mut Vec<Cause>) {
    for (key, value) in strings(metadata, "labels") {
        if !is_qualified_key(key) {
            causes.push(Cause::invalid(
                "metadata.labels",
                format!("{key:?}: not a label key"),
            ));
        }
        if !is_label_value(value) {
            causes.push(Cause::invalid(
                "metadata.labels",
                format!("{value:?}: must be at most 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"),
            ));
        }
    }
}

fn check_annotations(metadata: &Map<String, Value>, causes: &mut Vec<Cause>) {
    let mut size = 0;
    for (key, value) in strings(metadata, "annotations") {
        size += key.len() + value.len();
        // Kubernetes accepts upper case in the prefix of an annotation, unlike in a label's.
        if !is_qualified_key(&key.to_ascii_lowercase()) {
            causes.push(Cause::invalid(
                "metadata.annotations",
                format!("{key:?}: not an annotation key"),
            ));
        }
    }
    if size > ANNOTATIONS_LIMIT {
        causes.push(Cause::too_long(
            "metadata.annotations",
            format!("may not be more than {ANNOTATIONS_LIMIT} bytes"),
        ));
    }
}

fn check_finalizers(metadata: &Map<String, Value>, causes: &mut Vec<Cause>) {
    let finalizers = metadata.get("finalizers").and_then(Value::as_array);
    for finalizer in finalizers.into_iter().flatten() {
        let text = finalizer.as_str().unwrap_or("");
        if !is_qualified_key(text) {
            causes.push(Cause::invalid(
                "metadata.finalizers",
                format!("{text:?}: not a qualified name"),
            ));
        }
    }
}

fn check_owners(metadata: &Map<String, Value>, causes: &mut Vec<Cause>) {
    let owners = metadata.get("ownerReferences").and_then(Value::as_array);
    let mut controllers = 0;
    for owner in owners.into_iter().flatten() {
        for field in ["apiVersion", "kind", "name", "uid"] {
            if owner
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or("")
                .is_empty()
            {
                causes.push(Cause::required(format!("metadata.ownerReferences.{field}")));
            }
        }
        if owner.get("controller").and_then(Value::as_bool) == Some(true) {
            controllers += 1;
        }
    }
    if controllers > 1 {
        causes.push(Cause::invalid(
            "metadata.ownerReferences",
            "only one reference can have controller set to true",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (text, subdomain, label) in [
            ("a", true, true),
            ("prod-eu", true, true),
            ("prod.01j.abc", true, false),
            ("-a", false, false),
            ("a-", false, false),
            ("a..b", false, false),
            ("a.-b", false, false),
            ("A", false, false),
            ("", false, false),
            ("a/b", false, false),
        ] {
            assert_eq!(is_dns_subdomain(text), subdomain, "{text:?}");
            assert_eq!(is_dns_label(text), label, "{text:?}");
        }
        assert!(is_dns_label(&"a".repeat(63)) && !is_dns_label(&"a".repeat(64)));
        assert!(is_dns_subdomain(&"a".repeat(253)) && !is_dns_subdomain(&"a".repeat(254)));
    }

    #[test]
    fn label_keys_and_values() {
        assert!(is_qualified_key("kargo.akuity.io/stage") && is_qualified_key("x_Y.z"));
        assert!(!is_qualified_key("a/b/c") && !is_qualified_key("/b") && !is_qualified_key(""));
        assert!(is_label_value("") && is_label_value(&"v".repeat(63)));
        assert!(!is_label_value(&"v".repeat(64)) && !is_label_value("a b"));
    }
}
