//! Rules for the steps of templates and tasks that Kargo's webhooks check and its schemas do not.

use std::collections::BTreeMap;

use crate::kargo::PromotionStep;

use super::{Denial, Request};

/// `step-1`, `task-2`: given to steps that have none.
fn is_given_alias(text: &str) -> bool {
    let number = text
        .strip_prefix("step-")
        .or_else(|| text.strip_prefix("task-"));
    number.is_some_and(|number| {
        !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit())
    })
}

/// Beside a task there is neither a condition nor a configuration.
pub fn bare_tasks(
    request: &Request<'_>,
    field: &str,
    steps: &[PromotionStep],
) -> Result<(), Denial> {
    for (index, step) in steps.iter().enumerate() {
        for (set, what) in [
            (!step.condition.is_empty(), "if"),
            (step.config.is_some(), "config"),
        ] {
            if step.task.is_some() && set {
                return Err(request.invalid(
                    &format!("{field}[{index}].{what}"),
                    "a step referencing a task cannot set this",
                ));
            }
        }
    }
    Ok(())
}

/// No alias twice, none of the form that is given to steps without one.
pub fn aliases(request: &Request<'_>, field: &str, steps: &[PromotionStep]) -> Result<(), Denial> {
    let mut seen = BTreeMap::new();
    for (index, step) in steps.iter().enumerate() {
        let alias = step.alias.as_str().trim();
        let field = format!("{field}[{index}].as");
        if alias.is_empty() {
            continue;
        }
        if is_given_alias(alias) {
            return Err(request.invalid(&field, format!("step alias {alias:?} is reserved")));
        }
        if let Some(first) = seen.insert(alias, index) {
            return Err(request.invalid(
                &field,
                format!("step alias {alias:?} is also used by step {first}"),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_aliases() {
        for (text, expected) in [
            ("step-1", true),
            ("task-20", true),
            ("step-", false),
            ("step-1a", false),
            ("my-step-1", false),
            ("step", false),
        ] {
            assert_eq!(is_given_alias(text), expected, "{text}");
        }
    }
}
