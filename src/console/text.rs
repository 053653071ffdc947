//! Text from the cluster made safe to draw: control codes visible, widths counted, cuts marked.
//!
//! What is copied is the source text; only what is drawn goes through here.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Columns between tab stops in text of many lines.
const TAB: usize = 4;

/// Marks that change the direction or the joining of what follows: they could make a name look like another.
fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{061C}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}'
        | '\u{FEFF}' | '\u{2028}' | '\u{2029}')
}

fn push_visible(out: &mut String, c: char, ascii: bool) {
    match c {
        '\0'..='\u{1F}' if ascii => {
            out.push('^');
            out.push(char::from_u32(c as u32 + 0x40).unwrap_or('?'));
        }
        '\0'..='\u{1F}' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('?')),
        '\u{7F}' if ascii => out.push_str("^?"),
        '\u{7F}' => out.push('\u{2421}'),
        c if c.is_control() || is_deceptive(c) => out.push_str(&format!("<{:02X}>", c as u32)),
        c => out.push(c),
    }
}

/// `text` on one line: a tab or line break is a space, other control codes are shown as signs.
pub fn one_line(text: &str, ascii: bool) -> Cow<'_, str> {
    if !text.chars().any(|c| c.is_control() || is_deceptive(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' | '\n' => out.push(' '),
            c => push_visible(&mut out, c, ascii),
        }
    }
    Cow::Owned(out)
}

/// One line of text with tabs set out to stops, other control codes as signs.
fn expanded(line: &str, ascii: bool) -> String {
    let mut out = String::with_capacity(line.len());
    let mut column = 0;
    for c in line.chars() {
        let before = out.len();
        if c == '\t' {
            let spaces = TAB - column % TAB;
            out.extend(std::iter::repeat_n(' ', spaces));
        } else {
            push_visible(&mut out, c, ascii);
        }
        column += out.get(before..).map_or(0, UnicodeWidthStr::width);
    }
    out
}

/// Columns that `text` takes.
pub fn width(text: &str) -> usize {
    text.graphemes(true).map(UnicodeWidthStr::width).sum()
}

/// `text` within `room` columns, with a mark at the end where something was cut.
pub fn cut<'a>(text: &'a str, room: usize, ascii: bool) -> Cow<'a, str> {
    if text.len() <= room && text.is_ascii() || width(text) <= room {
        return Cow::Borrowed(text);
    }
    let mark = if ascii { ">" } else { "…" };
    let Some(left) = room.checked_sub(1) else {
        return Cow::Borrowed("");
    };
    let mut taken = 0;
    let mut end = 0;
    for (start, grapheme) in text.grapheme_indices(true) {
        let next = taken + UnicodeWidthStr::width(grapheme);
        if next > left {
            break;
        }
        taken = next;
        end = start + grapheme.len();
    }
    Cow::Owned(format!("{}{mark}", text.get(..end).unwrap_or_default()))
}

/// `text` within exactly `room` columns: cut, or filled up with spaces.
pub fn fit(text: &str, room: usize, ascii: bool) -> String {
    let mut out = cut(text, room, ascii).into_owned();
    let missing = room.saturating_sub(width(&out));
    out.extend(std::iter::repeat_n(' ', missing));
    out
}

/// `text` of any number of lines as drawn lines of at most `room` columns: broken at spaces where there are some,
/// within words where there are none; nothing is left out.
pub fn wrap(text: &str, room: usize, ascii: bool) -> Vec<String> {
    let room = room.max(1);
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.len() <= room && line.bytes().all(|byte| (0x20..0x7F).contains(&byte)) {
            lines.push(line.to_owned());
            continue;
        }
        wrap_line(&expanded(line, ascii), room, &mut lines);
    }
    lines
}

fn wrap_line(line: &str, room: usize, lines: &mut Vec<String>) {
    let (mut current, mut used) = (String::new(), 0);
    for word in line.split_word_bounds() {
        let wide = width(word);
        if used + wide > room && used > 0 && wide <= room && !word.trim().is_empty() {
            lines.push(std::mem::take(&mut current));
            used = 0;
        }
        for grapheme in word.graphemes(true) {
            let wide = UnicodeWidthStr::width(grapheme);
            if used + wide > room {
                lines.push(std::mem::take(&mut current));
                used = 0;
            }
            current.push_str(grapheme);
            used += wide;
        }
    }
    lines.push(current);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_codes_are_shown_and_brackets_stay_c77() {
        let source = "[red]x[0] [YELLOW] a[]b \u{1b}[31m\u{7}\ta\r\u{1b}]8;;http://x\u{1b}\\";
        assert_eq!(
            one_line(source, false),
            "[red]x[0] [YELLOW] a[]b ␛[31m␇ a␍␛]8;;http://x␛\\"
        );
        assert_eq!(one_line("\u{1b}[31m\u{7f}", true), "^[[31m^?");
        assert_eq!(one_line("a\u{202E}b\u{9b}", false), "a<202E>b<9B>");
        assert!(matches!(one_line("plain é 漢", false), Cow::Borrowed(_)));
    }

    #[test]
    fn cuts_count_columns_and_leave_a_mark() {
        assert_eq!(cut("abcdef", 4, false), "abc…");
        assert_eq!(cut("abcdef", 4, true), "abc>");
        assert_eq!(cut("漢字漢字", 5, false), "漢字…");
        assert_eq!(fit("漢字漢字", 6, false), "漢字… ");
        assert_eq!(cut("abc", 0, false), "");
        assert_eq!(fit("👩‍💻x", 4, false), "👩‍💻x ");
    }

    #[test]
    fn a_long_word_is_wrapped_to_its_end() {
        let long = "x".repeat(32 * 1024);
        let lines = wrap(&long, 80, false);
        assert_eq!(lines.concat(), long);
        assert!(lines.iter().all(|line| line.len() <= 80));
        assert_eq!(wrap("one two three", 8, false), ["one two ", "three"]);
        assert_eq!(
            wrap("a\tb\r\n\n漢字", 3, false),
            ["a  ", " b", "", "漢", "字"]
        );
    }
}
