//! Go's pattern syntax (RE2) as the `regex` crate writes it.
//!
//! The two agree but for a few points: Go's `\d`, `\w`, `\s` and `\b` mean ASCII only, `\Q...\E` quotes,
//! and inside `[...]` Go knows neither nested classes nor set operators.

use std::cell::RefCell;
use std::collections::HashMap;
use std::iter::Peekable;
use std::str::Chars;

use regex::Regex;

/// Go's own limit on repetitions.
const MOST_REPEATS: u32 = 1_000;
/// Compiled patterns that a thread keeps: compiling costs far more than anything else here.
const KEPT: usize = 64;

thread_local! {
    static COMPILED: RefCell<HashMap<String, Regex>> = RefCell::default();
}

/// A pattern ready to be matched. `Err` is the message.
pub(in super::super) fn compile(pattern: &str) -> Result<Regex, String> {
    let known = COMPILED.with_borrow(|compiled| compiled.get(pattern).cloned());
    if let Some(regex) = known {
        return Ok(regex);
    }
    let told = |reason: &str| format!("error parsing regexp: {reason}: `{pattern}`");
    let translated = translate(pattern).map_err(|reason| told(&reason))?;
    let regex = Regex::new(&translated).map_err(|why| {
        let text = why.to_string();
        let last = text.lines().last().unwrap_or_default();
        told(last.strip_prefix("error: ").unwrap_or(last))
    })?;
    COMPILED.with_borrow_mut(|compiled| {
        if compiled.len() >= KEPT {
            compiled.clear();
        }
        compiled.insert(pattern.to_owned(), regex.clone());
    });
    Ok(regex)
}

/// The same pattern for `regex`; what Go would refuse is refused here or left for `regex` to refuse.
fn translate(pattern: &str) -> Result<String, String> {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut chars = pattern.chars().peekable();
    let mut repeated = false;
    while let Some(c) = chars.next() {
        let before = std::mem::take(&mut repeated);
        match c {
            '\\' => escape(&mut chars, &mut out, false)?,
            '[' => class(&mut chars, &mut out)?,
            '(' => group(&mut chars, &mut out)?,
            '{' => match counts(chars.clone()) {
                Some(counts) if counts.iter().any(|count| *count > MOST_REPEATS) => {
                    return Err("invalid repeat count".to_owned());
                }
                Some(_) if before => return Err("invalid nested repetition operator".to_owned()),
                Some(_) => {
                    out.push('{');
                    while let Some(c) = chars.next_if(|c| *c != '}') {
                        out.push(c);
                    }
                    chars.next();
                    out.push('}');
                    lazy(&mut chars, &mut out);
                    repeated = true;
                }
                None => out.push_str("\\{"),
            },
            '}' => out.push_str("\\}"),
            '*' | '+' | '?' => {
                if before {
                    return Err("invalid nested repetition operator".to_owned());
                }
                out.push(c);
                lazy(&mut chars, &mut out);
                repeated = true;
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

fn lazy(chars: &mut Peekable<Chars<'_>>, out: &mut String) {
    if chars.next_if_eq(&'?').is_some() {
        out.push('?');
    }
}

/// What follows `{` if that makes it a repetition; in Go it is a plain character otherwise.
fn counts(rest: Peekable<Chars<'_>>) -> Option<Vec<u32>> {
    let all: String = rest.take(24).collect();
    let (body, _) = all.split_once('}')?;
    let (least, most) = body.split_once(',').unwrap_or((body, ""));
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    if least.is_empty() || !digits(least) || !digits(most) {
        return None;
    }
    let read = |text: &str| text.parse().unwrap_or(u32::MAX);
    let mut counts = vec![read(least)];
    if !most.is_empty() {
        counts.push(read(most));
    }
    Some(counts)
}

/// After `(`: flags that only `regex` knows are refused.
fn group(chars: &mut Peekable<Chars<'_>>, out: &mut String) -> Result<(), String> {
    out.push('(');
    if chars.next_if_eq(&'?').is_none() {
        return Ok(());
    }
    out.push('?');
    while let Some(c) = chars.next_if(|c| c.is_ascii_alphabetic() || *c == '-') {
        match c {
            'x' | 'u' | 'R' => return Err("invalid or unsupported Perl syntax".to_owned()),
            // A named group: the name follows.
            'P' => {
                out.push(c);
                break;
            }
            c => out.push(c),
        }
    }
    Ok(())
}

fn escape(chars: &mut Peekable<Chars<'_>>, out: &mut String, in_class: bool) -> Result<(), String> {
    let Some(c) = chars.next() else {
        return Err("trailing backslash at end of expression".to_owned());
    };
    match c {
        'd' => out.push_str("[0-9]"),
        'D' => out.push_str("[^0-9]"),
        'w' => out.push_str("[0-9A-Za-z_]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        's' => out.push_str("[\\t\\n\\f\\r ]"),
        'S' => out.push_str("[^\\t\\n\\f\\r ]"),
        'b' if !in_class => out.push_str("(?-u:\\b)"),
        'B' if !in_class => out.push_str("(?-u:\\B)"),
        'Q' if !in_class => quoted(chars, out),
        'p' | 'P' => property(c, chars, out),
        'a' | 'f' | 't' | 'n' | 'r' | 'v' | 'x' => {
            out.push('\\');
            out.push(c);
            if c == 'x' && chars.next_if_eq(&'{').is_some() {
                out.push('{');
                for c in chars.by_ref() {
                    out.push(c);
                    if c == '}' {
                        break;
                    }
                }
            }
        }
        'A' | 'z' if !in_class => {
            out.push('\\');
            out.push(c);
        }
        '0' => octal(0, chars, out),
        '1'..='7' if chars.peek().is_some_and(|next| matches!(next, '0'..='7')) => {
            octal(c.to_digit(8).unwrap_or(0), chars, out);
        }
        c if c.is_ascii_alphanumeric() || !c.is_ascii() => {
            return Err("invalid escape sequence".to_owned());
        }
        // Only what `regex` reads as itself behind a backslash.
        c => out.push_str(&regex::escape(&c.to_string())),
    }
    Ok(())
}

/// Up to three digits; the first ones have been read.
fn octal(first: u32, chars: &mut Peekable<Chars<'_>>, out: &mut String) {
    let mut code = first;
    for _ in 0..2 {
        match chars.peek().and_then(|c| c.to_digit(8)) {
            Some(digit) => {
                code = code * 8 + digit;
                chars.next();
            }
            None => break,
        }
    }
    out.push_str(&format!("\\x{{{code:x}}}"));
}

/// `\pL`, `\p{Greek}`; `\p{^Greek}` is `\P{Greek}`.
fn property(letter: char, chars: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.push('\\');
    if chars.next_if_eq(&'{').is_none() {
        out.push(letter);
        out.extend(chars.next());
        return;
    }
    let negated = chars.next_if_eq(&'^').is_some();
    out.push(match (letter, negated) {
        ('p', true) => 'P',
        ('P', true) => 'p',
        (letter, _) => letter,
    });
    out.push('{');
    for c in chars.by_ref() {
        out.push(c);
        if c == '}' {
            return;
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
fn class(chars: &mut Peekable<Chars<'_>>, out: &mut String) -> Result<(), String> {
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
                return Ok(());
            }
            '\\' => escape(chars, out, true)?,
            '[' if chars.peek() == Some(&':') => named_class(chars, out),
            '[' | '&' | '~' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    Err("missing closing ]".to_owned())
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
    use super::compile;

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
            let regex = compile(pattern).unwrap();
            assert_eq!(regex.is_match(text), matches, "{pattern} on {text}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for pattern in [
            "a**", "a{1001}", "(?x)a b", r"\u0061", r"\1", r"\Z", "(?=a)", "[", "(", "a{2,1}",
            r"a\",
        ] {
            let message = compile(pattern).unwrap_err();
            assert!(message.starts_with("error parsing regexp: "), "{message}");
        }
    }
}
