//! The words of an error that was met with a secret in hand, without the values that they quote.
//!
//! The secret itself can be found in a message and taken out; what an expression had made of it (`upper(...)`, a part)
//! cannot. So everything quoted goes, and every number of more than a few digits.

use super::error::EvalError;
use super::template::HIDDEN;

/// Longer runs of digits are hidden.
const DIGITS_SHOWN: usize = 3;

pub(super) fn error(why: EvalError) -> EvalError {
    EvalError {
        message: message(&why.message),
        ..why
    }
}

fn message(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(['"', '`']) {
        let (before, quoted) = rest.split_at(start);
        shown.push_str(&without_numbers(before));
        let quote = if quoted.starts_with('"') { '"' } else { '`' };
        shown.push(quote);
        shown.push_str(HIDDEN);
        shown.push(quote);
        rest = after_quote(quoted, quote);
    }
    shown.push_str(&without_numbers(rest));
    shown
}

/// What follows the quoted text at the beginning; nothing where it does not end.
fn after_quote(quoted: &str, quote: char) -> &str {
    let mut escaped = false;
    for (at, letter) in quoted.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if letter == '\\' && quote == '"' {
            escaped = true;
        } else if letter == quote {
            return quoted.get(at + 1..).unwrap_or_default();
        }
    }
    ""
}

fn without_numbers(text: &str) -> String {
    let mut shown = String::new();
    let mut digits = String::new();
    for letter in text.chars().map(Some).chain([None]) {
        match letter {
            Some(digit) if digit.is_ascii_digit() => digits.push(digit),
            other => {
                if digits.len() > DIGITS_SHOWN {
                    shown.push_str(HIDDEN);
                } else {
                    shown.push_str(&digits);
                }
                digits.clear();
                shown.extend(other);
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::message;

    #[test]
    fn values_go_and_words_stay() {
        for (text, want) in [
            ("cannot fetch x from string", "cannot fetch x from string"),
            (
                r#"parsing time "HUN\"TER": bad"#,
                r#"parsing time "***": bad"#,
            ),
            ("missing ]: `[hunter`", "missing ]: `***`"),
            (r#"never "closed"#, r#"never "***""#),
            (
                "out of range: 123456 (length is 3)",
                "out of range: *** (length is 3)",
            ),
        ] {
            assert_eq!(message(text), want);
        }
    }
}
