//! The words of an error that was met with a secret in hand, without anything that may be of the secret.
//!
//! The secret itself can be found in a message and taken out; what an expression had made of it (`upper(...)`, a part)
//! cannot. So only words stay that stand in the expression, or that messages are made of.

use std::collections::BTreeSet;

use super::error::EvalError;
use super::template::HIDDEN;

/// What messages about types, names and nil are made of.
const WORDS: &str = "a all an and any array arguments argument as at be before beyond bool by call callable cannot \
    came character comparable condition compared did does element empty end ended error expected expression failed \
    fetch field finished float64 for from function get got has here in index input int integer interface invalid is \
    it json key length list literal long map many match mean message method mismatched missing must name nil no \
    non not number object of on one operation operator or out output parse parsing position promotion range \
    read regexp result skipped slice small step string succeeded such than that the there time to too type \
    types undefined unexpected unknown use used you value valid values var was while with without wrong \
    Duration Time date duration found";

pub(super) fn error(why: EvalError, source: &str) -> EvalError {
    EvalError {
        message: message(&why.message, source),
        ..why
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric())
}

fn message(text: &str, source: &str) -> String {
    let known: BTreeSet<&str> = words(WORDS).chain(words(source)).collect();
    let mut shown = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let end = if letter.is_alphanumeric() {
            rest.find(|letter: char| !letter.is_alphanumeric())
        } else {
            Some(letter.len_utf8())
        };
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        // Punctuation tells of a secret's form only.
        if !letter.is_alphanumeric() || known.contains(word) {
            shown.push_str(word);
        } else {
            shown.push_str(HIDDEN);
        }
        rest = after;
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
            ("invalid date unter22", "invalid date ***"),
            (
                r#"parsing time "HUN\"TER": 7"#,
                r#"parsing time "***\"***": ***"#,
            ),
            (
                "out of range: 4 (array length is 5)",
                "out of range: *** (array length is 5)",
            ),
            (
                "outputs.psh is nil; did you mean push?",
                "outputs.psh is nil; did you mean ***?",
            ),
            ("é¤", "***¤"),
        ] {
            assert_eq!(message(text, "outputs.psh.x + l[5]"), want);
        }
    }
}
