//! Hiding passwords and tokens in text that leaves this folder.

use std::{borrow::Cow, sync::LazyLock};

use regex::{Captures, Regex};

/// What stands where a secret stood.
pub(super) const HIDDEN: &str = "***";

/// The user info of an address: `scheme://` up to the last `@` before the path.
static USER_INFO: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?i)\b([a-z][a-z0-9+.-]*)://([^\s/'"<>]*)@"#).ok());

/// Hides user info in every address of a text. An SSH user stays: it is no secret, and its
/// absence would confuse.
pub(super) fn addresses(text: &str) -> String {
    let Some(pattern) = USER_INFO.as_ref() else {
        return HIDDEN.to_owned();
    };
    let shown = pattern.replace_all(text, |found: &Captures<'_>| {
        let part = |n: usize| found.get(n).map_or("", |m| m.as_str());
        let (scheme, user_info) = (part(1), part(2));
        match user_info.split_once(':') {
            None if scheme.eq_ignore_ascii_case("ssh") => format!("{scheme}://{user_info}@"),
            Some((user, _)) if scheme.eq_ignore_ascii_case("ssh") => {
                format!("{scheme}://{user}:{HIDDEN}@")
            }
            _ => format!("{scheme}://{HIDDEN}@"),
        }
    });
    shown.into_owned()
}

/// Hides these secrets wherever they stand, then user info in addresses.
pub(super) fn secrets(text: &str, secrets: &[String]) -> String {
    let mut shown = Cow::Borrowed(text);
    // Two letters would blank half of any sentence, and protect nothing.
    for secret in secrets.iter().filter(|s| s.len() > 2) {
        if shown.contains(secret.as_str()) {
            shown = Cow::Owned(shown.replace(secret.as_str(), HIDDEN));
        }
    }
    addresses(&shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_vanish_from_sentences() {
        let text = "fatal: unable to access 'https://u:p@ss@h/x': s3cret refused; see https://docs.example/x@y";
        let shown = secrets(text, &["s3cret".to_owned()]);
        assert_eq!(
            shown,
            "fatal: unable to access 'https://***@h/x': *** refused; see https://docs.example/x@y"
        );
    }
}
