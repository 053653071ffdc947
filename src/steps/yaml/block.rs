//! Text of several lines in the place of a `|` block, indented as that was.

use std::ops::Range;

use super::place::Text;

/// The two parts of a block, between which a comment may stand.
pub(super) struct Lines {
    pub(super) header: &'static str,
    /// From the line break behind the header to the last line, without its break.
    pub(super) body: String,
}

/// `value` as a block like the one at `old`, whose header line is `header`; none where that cannot hold it surely, and
/// quotes are better.
pub(super) fn write(
    text: &Text<'_>,
    header: &str,
    old: Range<usize>,
    value: &str,
) -> Option<Lines> {
    let indicators = header.split_whitespace().next()?;
    let kept_simple =
        ["|", "|-"].contains(&indicators) && text.from(old.end).starts_with(['\n', '\r']);
    let (content, header) = match value.strip_suffix('\n') {
        Some(content) => (content, "|"),
        None => (value, "|-"),
    };
    // What block text cannot say, or only with an indentation number or `+`.
    let fits = content.contains('\n')
        && !content.ends_with('\n')
        && !content.starts_with([' ', '\n'])
        && content.chars().all(|c| {
            c == '\n' || (!c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}'))
        })
        && content
            .split('\n')
            .all(|line| line.is_empty() || line.trim() == line.trim_start());
    let first = text
        .slice(text.line_end(old.start), old.end)
        .lines()
        .find(|line| !line.trim().is_empty())?;
    let indent: String = first.chars().take_while(|c| *c == ' ').collect();
    if !kept_simple || !fits || indent.is_empty() {
        return None;
    }
    let newline = text.newline();
    let line = |line: &str| {
        if line.is_empty() {
            newline.to_owned()
        } else {
            format!("{newline}{indent}{line}")
        }
    };
    Some(Lines {
        header,
        body: content.split('\n').map(line).collect(),
    })
}
