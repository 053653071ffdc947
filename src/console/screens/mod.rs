//! What each screen shows between header and footer.

pub mod approvals;
pub mod freight;
pub mod promotion;
pub mod promotions;
pub mod request;
pub mod stages;
pub mod texts;

use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    clock::Clock,
    layout,
    message::{FeedState, Kind},
    sort,
    state::{Screen, State},
    text,
    widgets::{grid, page::Page, put},
};

/// Draws the screen on top.
pub fn draw(state: &State, clock: &Clock, buffer: &mut Buffer, area: Rect) {
    match state.screen() {
        Screen::List(Kind::Promotions) => promotions::draw(state, clock, buffer, area),
        Screen::List(Kind::Requests) => approvals::draw(state, clock, buffer, area),
        Screen::List(Kind::Stages) => stages::draw(state, clock, buffer, area),
        Screen::List(Kind::Freight) => freight::draw(state, clock, buffer, area),
        Screen::Promotion(open) => promotion::draw(state, open, clock, buffer, area),
        Screen::Request(open) => {
            request::page(state, open, clock, area.width).draw(buffer, area, open.scroll)
        }
        Screen::Log(scroll) => texts::log(state, clock, area.width).draw(buffer, area, *scroll),
        Screen::Errors(scroll) => {
            texts::errors(state, clock, area.width).draw(buffer, area, *scroll)
        }
        Screen::Help(scroll) => texts::help(state, area.width).draw(buffer, area, *scroll),
    }
}

/// How many lines the scrolled text of the screen on top has; none for a table.
pub fn text_lines(state: &State) -> usize {
    let clock = state.clock();
    let width = state.size.width;
    let page: Option<Page> = match state.screen() {
        Screen::List(_) => None,
        Screen::Promotion(open) => Some(promotion::page(state, open, &clock, width)),
        Screen::Request(open) => Some(request::page(state, open, &clock, width)),
        Screen::Log(_) => Some(texts::log(state, &clock, width)),
        Screen::Errors(_) => Some(texts::errors(state, &clock, width)),
        Screen::Help(_) => Some(texts::help(state, width)),
    };
    page.map_or(0, |page| page.len())
}

/// The rows of a table that are in the window.
fn window(state: &State, offset: usize, len: usize) -> std::ops::Range<usize> {
    offset..(offset + layout::page(state)).min(len)
}

/// Marks the column that the table is sorted by.
fn sorted(state: &State, kind: Kind, by: sort::Column, column: grid::Column) -> grid::Column {
    let sort = state.lenses.get(kind).sort;
    grid::Column {
        sorted: (sort.column == by).then_some(sort.reversed),
        ..column
    }
}

/// In an empty table: whether there is nothing, or nothing can be said.
fn draw_empty(
    state: &State,
    kind: Kind,
    buffer: &mut Buffer,
    area: Rect,
    total: usize,
    nothing: &str,
) {
    let lens = state.lenses.get(kind);
    let said = match state.feeds.get(kind) {
        FeedState::Loading => "loading".to_owned(),
        FeedState::Forbidden(why) => format!("you may not see these: {why}"),
        FeedState::Absent(why) => format!("the cluster does not have these: {why}"),
        FeedState::StaleSince { error, .. } if total == 0 => format!("no connection: {error}"),
        _ if total > 0 && !lens.filter.is_empty() => {
            format!("nothing has \"{}\"; esc clears the filter", lens.filter)
        }
        _ if total > 0 && state.project.is_some() => {
            format!("{nothing} in this Project; 0 shows all")
        }
        _ => nothing.to_owned(),
    };
    let theme = state.theme();
    let lines = text::wrap(
        &said,
        usize::from(area.width.saturating_sub(4)),
        theme.ascii,
    );
    for (line, y) in lines.iter().zip(area.y + 2..) {
        put(buffer, area, area.x + 3, y, line, theme.dim());
    }
}
