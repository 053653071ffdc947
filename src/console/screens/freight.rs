//! The Freight as a list.

use ratatui::{buffer::Buffer, layout::Rect};

use crate::{kargo::StageName, rules::rows::FreightRow};

use super::{
    super::{
        clock::Clock,
        message::Kind,
        sort,
        state::State,
        text,
        widgets::grid::{self, Cell, Column, column},
    },
    draw_empty, sorted, window,
};

/// Draws the rows in the window.
pub fn draw(state: &State, clock: &Clock, buffer: &mut Buffer, area: Rect) {
    let (kind, table) = (Kind::Freight, &state.tables.freight);
    let wide = area.width >= 110;
    let mut columns = [
        sorted(
            state,
            kind,
            sort::Column::Freight,
            column("FREIGHT", if wide { 24 } else { 18 }),
        ),
        sorted(
            state,
            kind,
            sort::Column::Stage,
            column("WAREHOUSE", if wide { 24 } else { 14 }),
        ),
        column("CARRIES", 0),
        column("IN", if wide { 30 } else { 14 }),
        sorted(
            state,
            kind,
            sort::Column::Age,
            Column {
                right: true,
                ..column("AGE", 5)
            },
        ),
    ];
    let rows: Vec<Vec<Cell>> = window(state, table.offset(), table.len())
        .filter_map(|place| table.nth(place))
        .map(|row| cells(state, clock, row))
        .collect();
    let cursor = (!rows.is_empty()).then(|| table.at().saturating_sub(table.offset()));
    grid::snug(&mut columns, &rows);
    grid::draw(buffer, area, state.theme(), &columns, &rows, cursor);
    if rows.is_empty() {
        draw_empty(state, kind, buffer, area, table.total(), "no Freight");
    }
}

fn cells(state: &State, clock: &Clock, row: &FreightRow) -> Vec<Cell> {
    let theme = state.theme();
    let safe = |text: &str| match text {
        "" => Cell::plain("-"),
        text => Cell::plain(text::one_line(text, theme.ascii).into_owned()),
    };
    let stages: Vec<&str> = row
        .status
        .currently_in
        .keys()
        .map(StageName::as_str)
        .collect();
    let place = match state.project {
        Some(_) => row.origin.name.clone(),
        None => format!("{}/{}", row.project, row.origin.name),
    };
    vec![
        safe(state.tables.index.freight_text(&row.project, &row.name)),
        safe(&place),
        safe(&row.artifacts.join(", ")),
        safe(&stages.join(", ")),
        Cell::plain(clock.age_or_dash(row.created_at)),
    ]
}
