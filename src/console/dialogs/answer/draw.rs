//! How the answer's dialog looks: the change itself takes all the room that the comment and the buttons leave.

use ratatui::{buffer::Buffer, layout::Rect, style::Style, widgets::Widget};

use super::{
    super::{
        super::{
            clock::Clock,
            message::{FileCount, Key},
            state::{Scroll, State},
            text, verdict,
            widgets::{buttons, diff, page::Page, put},
        },
        draw::{frame, last_line},
    },
    AnswerDialog, Focus,
};

/// Most lines of the comment that are shown at once.
const COMMENT_LINES: usize = 4;

/// Lines below the change: what the comment is called, the comment, the buttons.
fn below(dialog: &AnswerDialog) -> u16 {
    let comment = dialog.comment.lines().len().clamp(2, COMMENT_LINES);
    u16::try_from(comment).unwrap_or(2) + 2
}

/// Lines of the change that a window of that height shows at once.
fn room(dialog: &AnswerDialog, height: u16) -> usize {
    usize::from(height.saturating_sub(2 + below(dialog)))
}

/// How far the change can be scrolled, and how many lines are seen at once.
pub fn reach(state: &State, dialog: &AnswerDialog) -> (usize, usize) {
    let page = page(state, dialog, &state.clock(), state.size.width);
    let room = room(dialog, state.size.height);
    (page.len().saturating_sub(room), room)
}

/// What is answered: which gate, what of, and every line that will be pushed.
fn page(state: &State, dialog: &AnswerDialog, clock: &Clock, width: u16) -> Page {
    let theme = state.theme();
    let row = &dialog.row;
    let mut page = Page::new(width.min(100).saturating_sub(6), theme);
    page.text(
        &format!("{} of {}/{}", row.step, row.project, row.promotion),
        Style::new(),
    );
    let promotion = Key {
        project: row.project.clone(),
        name: row.promotion.to_string(),
        uid: row.promotion_uid.clone(),
    };
    if let Some(promotion) = state.tables.promotions.get(&promotion) {
        let name = state
            .tables
            .index
            .freight_text(&promotion.project, &promotion.freight);
        let change = verdict::freight_change(state, promotion).unwrap_or_default();
        page.text(&format!("Freight {name}  {change}"), Style::new());
    }
    if let Some(left) = row.deadline.and_then(|deadline| clock.left(deadline)) {
        page.text(&format!("{left} left"), theme.dim());
    }
    let digest: String = row.digest.chars().take(19).collect();
    let counts = diff::summary(theme, row.files, row.added.into(), row.removed.into());
    page.text(&format!("{counts}   digest {digest}"), theme.strong());
    match (dialog.change(state), &state.request.error) {
        (Some(change), _) => {
            let files: Vec<FileCount> = change.files.iter().map(FileCount::from).collect();
            diff::files(&mut page, &files);
            for base in &change.bases {
                page.text(
                    &format!("to {} of {}", base.branch, base.repo_url),
                    theme.dim(),
                );
            }
            diff::lines(&mut page, &change.diff);
        }
        (None, Some(error)) => page.text(error, theme.bad()),
        (None, None) => page.text("loading the change", theme.dim()),
    }
    page
}

/// Draws it over everything.
pub fn draw(state: &State, dialog: &AnswerDialog, clock: &Clock, buffer: &mut Buffer, area: Rect) {
    let theme = state.theme();
    let row = &dialog.row;
    let page = page(state, dialog, clock, area.width);
    let below = below(dialog);
    let lines = u16::try_from(page.len()).unwrap_or(u16::MAX);
    let title = format!("{} {}/{}?", dialog.verb(), row.project, row.stage);
    let inside = frame(theme, &title, lines.saturating_add(below), buffer, area);
    let top = Rect {
        height: inside.height.saturating_sub(below),
        ..inside
    };
    let scroll = Scroll {
        top: dialog.scroll,
        follow: false,
    };
    page.draw(buffer, top, scroll);
    comment(
        state,
        dialog,
        buffer,
        Rect {
            y: top.bottom(),
            height: inside.height.saturating_sub(top.height + 1),
            ..inside
        },
    );
    let at = match dialog.focus {
        Focus::Cancel => Some(0),
        Focus::Answer => Some(1),
        Focus::Comment => None,
    };
    let labels: &[&str] = if dialog.closed(state).is_none() {
        &["Cancel", dialog.verb()]
    } else {
        &["Cancel"]
    };
    buttons::draw(buffer, last_line(inside), theme, labels, at);
}

/// The comment, or why there can be none any more.
fn comment(state: &State, dialog: &AnswerDialog, buffer: &mut Buffer, area: Rect) {
    let theme = state.theme();
    let width = usize::from(area.width.saturating_sub(2));
    if let Some(why) = dialog.closed(state) {
        for (line, y) in text::wrap(&why, width, theme.ascii)
            .iter()
            .zip(area.y..area.bottom())
        {
            put(buffer, area, area.x + 1, y, line, theme.bad());
        }
        return;
    }
    let (label, style) = match (&dialog.error, dialog.focus) {
        (Some(error), _) => (error.as_str(), theme.bad()),
        (None, Focus::Comment) => ("> comment", theme.strong()),
        (None, _) => ("  comment", theme.dim()),
    };
    put(buffer, area, area.x, area.y, label, style);
    let field = Rect {
        x: area.x + 2,
        y: area.y + 1,
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(1),
    };
    if field.height > 0 && field.width > 0 {
        let mut shown = dialog.comment.clone();
        shown.set_cursor_line_style(Style::new());
        shown.set_cursor_style(if dialog.focus == Focus::Comment {
            theme.cursor()
        } else {
            Style::new()
        });
        (&shown).render(field, buffer);
    }
}
