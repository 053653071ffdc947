//! How dialogs look: a frame in the middle, with the object's name on it.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    widgets::{Clear, Widget},
};

use super::{
    super::{
        clock::Clock,
        state::{Scroll, State},
        text,
        theme::Theme,
        verdict,
        widgets::{buttons, page::Page, put},
    },
    Dialog, answer,
    confirm::Confirm,
    promote::{Choice, Promote},
    quit::{CHOICES, Quit},
};

/// Draws the open dialog.
pub fn draw(state: &State, dialog: &Dialog, clock: &Clock, buffer: &mut Buffer, area: Rect) {
    match dialog {
        Dialog::Answer(dialog) => answer::draw::draw(state, dialog, clock, buffer, area),
        Dialog::Confirm(dialog) => confirm(state, dialog, buffer, area),
        Dialog::Promote(dialog) => promote(state, dialog, buffer, area),
        Dialog::Quit(dialog) => quit(state, *dialog, buffer, area),
    }
}

/// Clears a place in the middle for `height` lines within a frame; gives the room inside.
pub(super) fn frame(
    theme: Theme,
    title: &str,
    height: u16,
    buffer: &mut Buffer,
    area: Rect,
) -> Rect {
    let width = area.width.min(100).saturating_sub(4);
    let height = (height + 2).min(area.height);
    let outer = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    Clear.render(outer, buffer);
    let (line, side, corners) = if theme.ascii {
        ("-", "|", ["+", "+", "+", "+"])
    } else {
        ("─", "│", ["╭", "╮", "╰", "╯"])
    };
    let across = line.repeat(usize::from(width.saturating_sub(2)));
    let [top_left, top_right, bottom_left, bottom_right] = corners;
    put(
        buffer,
        outer,
        outer.x,
        outer.y,
        &format!("{top_left}{across}{top_right}"),
        theme.dim(),
    );
    put(
        buffer,
        outer,
        outer.x,
        outer.bottom() - 1,
        &format!("{bottom_left}{across}{bottom_right}"),
        theme.dim(),
    );
    for y in outer.y + 1..outer.bottom().saturating_sub(1) {
        put(buffer, outer, outer.x, y, side, theme.dim());
        put(buffer, outer, outer.right() - 1, y, side, theme.dim());
    }
    let shown = text::one_line(title, theme.ascii).into_owned();
    let shown = text::cut(&shown, usize::from(width.saturating_sub(6)), theme.ascii).into_owned();
    put(
        buffer,
        outer,
        outer.x + 2,
        outer.y,
        &format!(" {shown} "),
        theme.strong(),
    );
    Rect {
        x: outer.x + 1,
        y: outer.y + 1,
        width: outer.width.saturating_sub(2),
        height: outer.height.saturating_sub(2),
    }
}

/// The lowest line of a dialog.
pub(super) fn last_line(inside: Rect) -> Rect {
    Rect {
        y: inside.bottom().saturating_sub(1),
        height: 1.min(inside.height),
        ..inside
    }
}

fn confirm(state: &State, dialog: &Confirm, buffer: &mut Buffer, area: Rect) {
    let theme = state.theme();
    let mut page = Page::new(area.width.min(100).saturating_sub(6), theme);
    for line in &dialog.lines {
        page.text(line, Style::new());
    }
    let lines = u16::try_from(page.len()).unwrap_or(u16::MAX);
    let inside = frame(theme, &dialog.title, lines.saturating_add(2), buffer, area);
    let room = Rect {
        height: inside.height.saturating_sub(2),
        ..inside
    };
    page.draw(
        buffer,
        room,
        Scroll {
            top: dialog.scroll,
            follow: false,
        },
    );
    buttons::draw(
        buffer,
        last_line(inside),
        theme,
        &["Cancel", dialog.verb],
        Some(usize::from(dialog.yes)),
    );
}

fn quit(state: &State, dialog: Quit, buffer: &mut Buffer, area: Rect) {
    let theme = state.theme();
    let inside = frame(theme, "Promotions run in this process", 6, buffer, area);
    let choices = std::iter::once(("Cancel", "stay here"))
        .chain(CHOICES.iter().map(|(_, name, means)| (*name, *means)));
    for ((index, (name, means)), y) in choices.enumerate().zip(inside.y + 1..inside.bottom()) {
        let line = Rect {
            y,
            height: 1,
            ..inside
        };
        let lead = if index == dialog.at { ">" } else { " " };
        put(
            buffer,
            line,
            line.x + 1,
            y,
            &format!("{lead} {name:<10} {means}"),
            Style::new(),
        );
        if index == dialog.at {
            buffer.set_style(line, theme.cursor());
        }
    }
}

fn promote(state: &State, dialog: &Promote, buffer: &mut Buffer, area: Rect) {
    let theme = state.theme();
    let (title, rows, count): (String, Vec<(String, Style)>, usize) = match &dialog.choice {
        Choice::Stage => {
            let rows = dialog.stages(state);
            let lines = rows
                .iter()
                .map(|row| (format!("{}/{}", row.project, row.name), Style::new()));
            (
                "Promote to which Stage?".to_owned(),
                lines.collect(),
                rows.len(),
            )
        }
        Choice::Freight { stage } => {
            let rows = dialog.freight(state, stage);
            let lines = rows.iter().map(|row| {
                let name = state.tables.index.freight_text(&row.project, &row.name);
                let (style, why) = match verdict::availability(state, stage, row) {
                    Ok(()) if stage.freight.contains(&row.name) => {
                        (theme.dim(), "is there now".to_owned())
                    }
                    Ok(()) => (Style::new(), String::new()),
                    Err(why) => (theme.dim(), why),
                };
                let name = text::fit(&text::one_line(name, theme.ascii), 18, theme.ascii);
                let carries = text::fit(
                    &text::one_line(&row.artifacts.join(", "), theme.ascii),
                    24,
                    theme.ascii,
                );
                (format!("{name} {carries} {why}"), style)
            });
            (
                format!("Promote which Freight to {}/{}?", stage.project, stage.name),
                lines.collect(),
                rows.len(),
            )
        }
        Choice::Sure {
            stage,
            freight,
            yes,
        } => return sure(state, stage, freight, *yes, buffer, area),
    };
    let height = area.height.saturating_sub(6).min(16);
    let inside = frame(theme, &title, height, buffer, area);
    put(
        buffer,
        inside,
        inside.x + 1,
        inside.y,
        &format!("/{}", text::one_line(&dialog.filter, theme.ascii)),
        theme.strong(),
    );
    let visible = usize::from(inside.height.saturating_sub(2));
    let first = (dialog.at + 1).saturating_sub(visible);
    for ((index, (line, style)), y) in rows
        .iter()
        .enumerate()
        .skip(first)
        .zip(inside.y + 1..inside.bottom() - 1)
    {
        let place = Rect {
            y,
            height: 1,
            ..inside
        };
        let lead = if index == dialog.at { ">" } else { " " };
        let room = usize::from(inside.width.saturating_sub(4));
        let shown = text::cut(&text::one_line(line, theme.ascii), room, theme.ascii).into_owned();
        put(
            buffer,
            place,
            place.x + 1,
            y,
            &format!("{lead} {shown}"),
            *style,
        );
        if index == dialog.at {
            buffer.set_style(place, theme.cursor());
        }
    }
    let said = if count == 0 {
        "nothing to choose from".to_owned()
    } else {
        format!("{count}")
    };
    put(
        buffer,
        inside,
        inside.x + 1,
        last_line(inside).y,
        &said,
        theme.dim(),
    );
}

fn sure(
    state: &State,
    stage: &crate::rules::rows::StageRow,
    freight: &crate::rules::rows::FreightRow,
    yes: bool,
    buffer: &mut Buffer,
    area: Rect,
) {
    let theme = state.theme();
    let mut page = Page::new(area.width.min(100).saturating_sub(6), theme);
    let name = state
        .tables
        .index
        .freight_text(&freight.project, &freight.name);
    page.text(&format!("Freight {name} ({})", freight.name), Style::new());
    for line in verdict::differs(state, stage, freight) {
        page.text(&line, theme.strong());
    }
    let unavailable = verdict::availability(state, stage, freight).err();
    if let Some(why) = &unavailable {
        page.text(&format!("not available: {why}"), theme.bad());
    }
    if let Some(current) = &stage.current_promotion {
        page.text(
            &format!("It will wait behind {current}, which is under way."),
            theme.warn(),
        );
    }
    if stage.auto_promotion {
        page.text(
            "The Stage promotes by itself: it may go on to newer Freight.",
            theme.dim(),
        );
    }
    let lines = u16::try_from(page.len()).unwrap_or(u16::MAX);
    let title = format!("Promote to {}/{}?", stage.project, stage.name);
    let inside = frame(theme, &title, lines.saturating_add(2), buffer, area);
    page.draw(
        buffer,
        Rect {
            height: inside.height.saturating_sub(2),
            ..inside
        },
        Scroll::default(),
    );
    buttons::draw(
        buffer,
        last_line(inside),
        theme,
        if unavailable.is_none() {
            &["Cancel", "Promote"]
        } else {
            &["Cancel"]
        },
        Some(usize::from(yes && unavailable.is_none())),
    );
}
