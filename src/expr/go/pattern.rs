//! Go's pattern syntax (RE2) as the `regex` crate writes it.
//!
//! The two agree but for a few points: Go's `\d`, `\w`, `\s` and `\b` mean ASCII only, `\Q...\E` quotes,
//! and inside `[...]` Go knows neither nested classes nor set operators.

use std::iter::Peekable;
use std::str::Chars;

/// The same pattern for `regex`; what Go would refuse stays for `regex` to refuse.
pub(in super::super) fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => escape(&mut chars, &mut out, false),
            '[' => class(&mut chars, &mut out),
            '{' if !repeats(chars.clone()) => out.push_str("\\{"),
            c => out.push(c),
        }
    }
    out
}

/// Whether what follows `{` makes it a repetition; in Go it is a plain character otherwise.
fn repeats(rest: Peekable<Chars<'_>>) -> bool {
    let body: String = rest.take_while(|c| *c != '}').take(12).collect();
    let (least, most) = body.split_once(',').unwrap_or((&body, ""));
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    !least.is_empty() && digits(least) && digits(most)
}

fn escape(chars: &mut Peekable<Chars<'_>>, out: &mut String, in_class: bool) {
    let Some(c) = chars.next() else {
        out.push('\\');
        return;
    };
    match c {
        'd' => out.push_str("[0-9]"),
        'D' => out.push_str("[^0-9]"),
        'w' => out.push_str("[0-9A-Za-z_]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        's' => out.push_str("[\\t\\n\\f\\r ]"),
        'S' => out.push_str("[^\\t\\n\\f\\r ]"),
        'b' if !in_class => out.push_str("(?-u:\\b)"),
        'Q' if !in_class => quoted(chars, out),
        c => {
            out.push('\\');
            out.push(c);
        }
    }
}

fn quoted(chars: &mut Peekable<Chars<'_>>, out: &mut String) {
    let mut text = String::new();
    while let Some(c) = chars.next() {
        if c == '\\' && chars.next_if_eq(&'E').is_some() {
            break;
        }
        text.push(c);
    }
    out.push_str(&regex::escape(&text));
}

/// What follows `[`, up to its end.
fn class(chars: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.push('[');
    if chars.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    // A bracket that comes first is a member.
    if chars.next_if_eq(&']').is_some() {
        out.push_str("\\]");
    }
    while let Some(c) = chars.next() {
        match c {
            ']' => {
                out.push(']');
                return;
            }
            '\\' => escape(chars, out, true),
            '[' if chars.peek() == Some(&':') => named_class(chars, out),
            '[' | '&' | '~' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
}

/// `[:alpha:]` and the like are the same in both.
fn named_class(chars: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.push('[');
    for c in chars.by_ref() {
        out.push(c);
        if c == ']' {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::translate;

    #[test]
    fn go_patterns_mean_what_they_mean_in_go() {
        for (pattern, text, matches) in [
            (r"^\d+$", "42", true),
            (r"^\d+$", "٤٢", false),
            (r"^\w+$", "é", false),
            (r"^[\w-]+$", "a-b_1", true),
            (r"^[^\d]+$", "ab", true),
            (r"^\S\s\S$", "a b", true),
            (r"\bfoo\b", "a foo b", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b\E$", "axb", false),
            ("^[[a]$", "[", true),
            ("^[]a]$", "]", true),
            ("^[a&&b]$", "&", true),
            ("^[[:alpha:]]+$", "abc", true),
            (r"^v\d+\.\d+$", "v1.2", true),
            (r"(?i)^ÄB$", "äb", true),
            ("^a{2}{$", "aa{", true),
            (r#"^{"a":1}$"#, r#"{"a":1}"#, true),
        ] {
            let regex = regex::Regex::new(&translate(pattern)).unwrap();
            assert_eq!(regex.is_match(text), matches, "{pattern} on {text}");
        }
    }
}
