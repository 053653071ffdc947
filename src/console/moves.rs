//! Moves the cursor of a table, or scrolls a text.

use super::{
    commands::Command,
    layout,
    message::Kind,
    screens,
    state::{Screen, Scroll, State},
};

/// Where a movement leads from `at`, among `count`, in a window of `page`.
fn target(command: Command, at: usize, count: usize, page: usize) -> usize {
    let last = count.saturating_sub(1);
    let half = (page / 2).max(1);
    match command {
        Command::Up => at.saturating_sub(1),
        Command::Down => at.saturating_add(1),
        Command::PageUp => at.saturating_sub(page),
        Command::PageDown => at.saturating_add(page),
        Command::HalfUp => at.saturating_sub(half),
        Command::HalfDown => at.saturating_add(half),
        Command::Top => 0,
        Command::Bottom => last,
        _ => at,
    }
    .min(last)
}

/// Moves by a command.
pub fn perform(state: &mut State, command: Command) {
    let page = layout::page(state);
    if let Screen::List(kind) = state.screen() {
        let kind = *kind;
        let tables = &mut state.tables;
        macro_rules! go {
            ($table:ident) => {{
                let place = target(command, tables.$table.at(), tables.$table.len(), page);
                tables.$table.go(place);
            }};
        }
        match kind {
            Kind::Promotions => go!(promotions),
            Kind::Stages => go!(stages),
            Kind::Freight => go!(freight),
            Kind::Requests => go!(requests),
        }
        return;
    }
    if let Screen::Promotion(open) = state.screen()
        && !open.reading
        && matches!(
            command,
            Command::Up | Command::Down | Command::Top | Command::Bottom
        )
    {
        let steps = layout::steps(state, &open.key);
        if let Some(open) = state.open_promotion() {
            open.step = target(command, open.step, steps, page);
            open.following = false;
            open.scroll = Scroll::default();
        }
        return;
    }
    let lines = screens::text_lines(state);
    let last = lines.saturating_sub(page);
    if let Some(scroll) = state.screen_mut().and_then(scroll) {
        let from = if scroll.follow {
            last
        } else {
            scroll.top.min(last)
        };
        scroll.top = target(command, from, last + 1, page);
        scroll.follow = scroll.top == last && scroll.follow || command == Command::Bottom;
    }
}

/// The scrolled text of a screen.
fn scroll(screen: &mut Screen) -> Option<&mut Scroll> {
    match screen {
        Screen::List(_) => None,
        Screen::Promotion(open) => Some(&mut open.scroll),
        Screen::Request(open) => Some(&mut open.scroll),
        Screen::Log(scroll) | Screen::Errors(scroll) | Screen::Help(scroll) => Some(scroll),
    }
}

/// Scrolls every table so far that its cursor is in the window.
pub fn fit(state: &mut State, page: usize) {
    match state.screen() {
        Screen::List(Kind::Promotions) => state.tables.promotions.fit(page),
        Screen::List(Kind::Stages) => state.tables.stages.fit(page),
        Screen::List(Kind::Freight) => state.tables.freight.fit(page),
        Screen::List(Kind::Requests) => state.tables.requests.fit(page),
        _ => {}
    }
}
