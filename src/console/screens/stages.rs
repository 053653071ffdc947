//! The Stages as a list.

use ratatui::{buffer::Buffer, layout::Rect};

use crate::{kargo::HealthState, rules::rows::StageRow};

use super::{
    super::{
        clock::Clock,
        message::Kind,
        sort,
        state::State,
        text,
        widgets::grid::{self, Cell, Column, column},
    },
    draw_empty,
    promotions::stage_text,
    sorted, window,
};

/// Draws the rows in the window.
pub fn draw(state: &State, clock: &Clock, buffer: &mut Buffer, area: Rect) {
    let (kind, table) = (Kind::Stages, &state.tables.stages);
    let wide = area.width >= 110;
    let mut columns = [
        sorted(
            state,
            kind,
            sort::Column::Stage,
            column("STAGE", if wide { 30 } else { 18 }),
        ),
        sorted(
            state,
            kind,
            sort::Column::Freight,
            column("FREIGHT", if wide { 24 } else { 16 }),
        ),
        sorted(state, kind, sort::Column::Phase, column("HEALTH", 11)),
        column("AUTO", 4),
        column("SHARD", if wide { 16 } else { 8 }),
        column("NOW", 0),
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
        draw_empty(state, kind, buffer, area, table.total(), "no Stages");
    }
}

fn cells(state: &State, clock: &Clock, row: &StageRow) -> Vec<Cell> {
    let theme = state.theme();
    let safe = |text: &str| match text {
        "" => Cell::plain("-"),
        text => Cell::plain(text::one_line(text, theme.ascii).into_owned()),
    };
    let freight: Vec<&str> = row
        .freight
        .iter()
        .map(|name| state.tables.index.freight_text(&row.project, name))
        .collect();
    let now = match &row.current_promotion {
        Some(promotion) => format!("promotes {promotion}"),
        None if row.control_flow => "passes Freight on".to_owned(),
        None if row.verifying => "verifies".to_owned(),
        // What a healthy Stage says of itself is of no interest here.
        None if row.health == HealthState::Healthy.as_str() => String::new(),
        None => row.ready_message.clone(),
    };
    let auto = match (row.control_flow, row.auto_promotion) {
        (true, _) => "-",
        (false, true) => "yes",
        (false, false) => "no",
    };
    vec![
        Cell::plain(stage_text(state, &row.project, &row.name)),
        safe(&freight.join(" + ")),
        safe(&row.health),
        Cell::plain(auto),
        safe(&row.shard),
        safe(&now),
        Cell::plain(clock.age_or_dash(row.created_at)),
    ]
}
