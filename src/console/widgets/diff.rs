//! A change: the files with their counts, then the lines; `+` and `-` stay, colour only helps.

use ratatui::style::Style;

use super::{
    super::{
        message::{FileCount, FileDiff},
        text,
        theme::Theme,
    },
    page::Page,
};

/// `3 files +4 −2`.
pub fn summary(theme: Theme, files: usize, added: u64, removed: u64) -> String {
    let noun = if files == 1 { "file" } else { "files" };
    format!("{files} {noun} +{added} {}{removed}", theme.minus())
}

/// The summary of a change.
pub fn summary_of(theme: Theme, files: &[FileCount]) -> String {
    let sum = |count: fn(&FileCount) -> u32| files.iter().map(|file| u64::from(count(file))).sum();
    summary(
        theme,
        files.len(),
        sum(|file| file.added),
        sum(|file| file.removed),
    )
}

/// Adds the files and the lines of a change to a page.
pub fn add(page: &mut Page, change: &FileDiff) {
    files(page, &change.files);
    if !change.diff.is_empty() {
        page.gap();
        lines(page, &change.diff);
    }
}

/// Adds the files of a change, one a line.
pub fn files(page: &mut Page, files: &[FileCount]) {
    let theme = page.theme();
    for file in files {
        let path = text::one_line(&file.path, theme.ascii);
        page.text(
            &format!("{path}  +{} {}{}", file.added, theme.minus(), file.removed),
            Style::new(),
        );
    }
}

/// Adds the lines of a unified diff.
pub fn lines(page: &mut Page, diff: &str) {
    let theme = page.theme();
    let mut in_hunk = false;
    for line in diff.lines() {
        in_hunk = match line {
            line if line.starts_with("@@") => true,
            line if line.starts_with("diff ") => false,
            _ => in_hunk,
        };
        let style = match (in_hunk, line.as_bytes().first()) {
            (true, Some(b'+')) => theme.good(),
            (true, Some(b'-')) => theme.bad(),
            (true, Some(b'@')) => theme.dim(),
            (false, _) => theme.strong(),
            _ => Style::new(),
        };
        page.text(line, style);
    }
}
