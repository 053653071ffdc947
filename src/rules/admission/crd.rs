//! Rules of Kargo's schemas that types do not express: lists that may not be empty, words out of a set, exactly one
//! of two. A cluster checks them before the validating webhooks.

use crate::kargo::{PromotionStep, artifact::Origin, step::Variable};

use super::{Denial, Request};

/// A letter or underscore, then word characters.
fn is_variable(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// `step-1`, `task-2`: given to steps that have none.
fn is_given_alias(text: &str) -> bool {
    let number = text
        .strip_prefix("step-")
        .or_else(|| text.strip_prefix("task-"));
    number.is_some_and(|number| {
        !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit())
    })
}

/// Decimal numbers, each with s, m or h.
fn is_duration(text: &str) -> bool {
    let parts: Vec<&str> = text.split_inclusive(['s', 'm', 'h']).collect();
    let is_number =
        |digits: &str| !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit());
    !parts.is_empty()
        && parts
            .iter()
            .all(|part| match part.strip_suffix(['s', 'm', 'h']) {
                None => false,
                Some(number) => match number.split_once('.') {
                    Some((whole, fraction)) => is_number(whole) && is_number(fraction),
                    None => is_number(number),
                },
            })
}

/// At least one, of which each has `uses` and no task.
pub fn plain_steps(
    request: &Request<'_>,
    field: &str,
    steps: &[PromotionStep],
) -> Result<(), Denial> {
    not_empty(request, field, steps.len())?;
    for (index, step) in steps.iter().enumerate() {
        if step.uses.is_empty() || step.task.is_some() {
            return Err(request.invalid(
                &format!("{field}[{index}]"),
                "step must have uses set and must not reference a task",
            ));
        }
        variables(request, &format!("{field}[{index}].vars"), &step.vars)?;
    }
    Ok(())
}

/// At least one, of which each has either `uses` or a task, and little beside a task.
pub fn template_steps(
    request: &Request<'_>,
    field: &str,
    steps: &[PromotionStep],
) -> Result<(), Denial> {
    not_empty(request, field, steps.len())?;
    for (index, step) in steps.iter().enumerate() {
        let field = format!("{field}[{index}]");
        if step.uses.is_empty() == step.task.is_none() {
            return Err(request.invalid(&field, "step must have exactly one of uses or task set"));
        }
        variables(request, &format!("{field}.vars"), &step.vars)?;
        if step.task.is_none() {
            continue;
        }
        for (set, what) in [
            (step.continue_on_error, "continueOnError"),
            (step.retry.is_some(), "retry"),
            (!step.condition.is_empty(), "if"),
            (step.config.is_some(), "config"),
        ] {
            if set {
                return Err(request.invalid(
                    &format!("{field}.{what}"),
                    "a step referencing a task cannot set this",
                ));
            }
        }
    }
    Ok(())
}

/// No alias twice, none of the form that is given to steps without one.
pub fn aliases(request: &Request<'_>, field: &str, steps: &[PromotionStep]) -> Result<(), Denial> {
    let mut seen = std::collections::BTreeMap::new();
    for (index, alias) in steps
        .iter()
        .map(|step| step.alias.as_str().trim())
        .enumerate()
    {
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

/// Names that expressions can use.
pub fn variables(request: &Request<'_>, field: &str, vars: &[Variable]) -> Result<(), Denial> {
    match vars.iter().position(|var| !is_variable(&var.name)) {
        Some(index) => Err(request.invalid(
            &format!("{field}[{index}].name"),
            "must be a letter or _, then letters, digits or _",
        )),
        None => Ok(()),
    }
}

/// An origin is a Warehouse with a name.
pub fn origin(request: &Request<'_>, field: &str, origin: &Origin) -> Result<(), Denial> {
    if origin.kind != "Warehouse" {
        return Err(request.invalid(
            &format!("{field}.kind"),
            format!("{:?} must be \"Warehouse\"", origin.kind),
        ));
    }
    if origin.name.is_empty() {
        return Err(request.invalid(&format!("{field}.name"), "Required value"));
    }
    Ok(())
}

/// Digits with s, m or h, in the few forms that Kargo's schemas take.
pub fn duration(request: &Request<'_>, field: &str, text: &str) -> Result<(), Denial> {
    if is_duration(text) {
        Ok(())
    } else {
        Err(request.invalid(
            field,
            format!("{text:?} is no duration such as 5m or 1h30m"),
        ))
    }
}

/// One of these words.
pub fn word(request: &Request<'_>, field: &str, text: &str, words: &[&str]) -> Result<(), Denial> {
    if words.contains(&text) {
        return Ok(());
    }
    Err(request.invalid(
        field,
        format!("{text:?} must be one of {}", words.join(", ")),
    ))
}

/// At least one.
pub fn not_empty(request: &Request<'_>, field: &str, count: usize) -> Result<(), Denial> {
    if count > 0 {
        Ok(())
    } else {
        Err(request.invalid(field, "should have at least 1 item"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (text, expected) in [
            ("5m", true),
            ("1h30m", true),
            ("1.5s", true),
            ("", false),
            ("5", false),
            ("1.s", false),
            (".5s", false),
            ("1d", false),
            ("-1s", false),
            ("5ms", false),
        ] {
            assert_eq!(is_duration(text), expected, "{text}");
        }
        for (text, expected) in [
            ("a", true),
            ("_1", true),
            ("1a", false),
            ("", false),
            ("a-b", false),
            ("ä", false),
        ] {
            assert_eq!(is_variable(text), expected, "{text}");
        }
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
