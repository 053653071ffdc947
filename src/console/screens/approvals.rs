//! The inbox: what gates ask, the oldest first.

use ratatui::{buffer::Buffer, layout::Rect};

use crate::{kargo::approval::RequestPhase, rules::rows::RequestRow};

use super::{
    super::{
        clock::Clock,
        message::Kind,
        sort,
        state::State,
        text,
        theme::Mark,
        verdict,
        widgets::{
            diff,
            grid::{self, Cell, Column, column},
        },
    },
    draw_empty,
    promotions::stage_text,
    sorted, window,
};

/// Draws the rows in the window.
pub fn draw(state: &State, clock: &Clock, buffer: &mut Buffer, area: Rect) {
    let (kind, table) = (Kind::Requests, &state.tables.requests);
    let wide = area.width >= 110;
    let mut columns = vec![
        sorted(state, kind, sort::Column::Phase, column("  STATE", 10)),
        sorted(
            state,
            kind,
            sort::Column::Stage,
            column("STAGE", if wide { 24 } else { 14 }),
        ),
        column("GATE", if wide { 16 } else { 8 }),
        column("CHANGE", 14),
        column("YOU", 0),
        column("ANSWERS", if wide { 28 } else { 11 }),
    ];
    if wide {
        columns.push(sorted(
            state,
            kind,
            sort::Column::Creator,
            column("CREATOR", 16),
        ));
    }
    columns.push(sorted(
        state,
        kind,
        sort::Column::Age,
        Column {
            right: true,
            ..column("AGE", 5)
        },
    ));
    let rows: Vec<Vec<Cell>> = window(state, table.offset(), table.len())
        .filter_map(|place| table.nth(place))
        .map(|row| cells(state, clock, row, wide))
        .collect();
    let cursor = (!rows.is_empty()).then(|| table.at().saturating_sub(table.offset()));
    grid::snug(&mut columns, &rows);
    grid::draw(buffer, area, state.theme(), &columns, &rows, cursor);
    if rows.is_empty() {
        draw_empty(
            state,
            kind,
            buffer,
            area,
            table.total(),
            "no gate asks anything",
        );
    }
}

/// The sign and the word of a request's state.
pub fn state_of(phase: RequestPhase) -> (Mark, &'static str) {
    match phase {
        RequestPhase::Open => (Mark::Waiting, "Open"),
        RequestPhase::Approved => (Mark::Succeeded, "Approved"),
        RequestPhase::Rejected => (Mark::Failed, "Rejected"),
        RequestPhase::Expired => (Mark::Aborted, "Expired"),
        RequestPhase::Withdrawn => (Mark::Skipped, "Withdrawn"),
    }
}

/// `1 of 2: ann`.
pub fn answers(row: &RequestRow) -> String {
    let names: Vec<&str> = row
        .responses
        .iter()
        .map(|response| response.user.as_str())
        .collect();
    let approved = row
        .responses
        .iter()
        .filter(|response| response.action == "approve")
        .count();
    let count = format!("{approved} of {}", row.min_approvals.max(1));
    if names.is_empty() {
        count
    } else {
        format!("{count}: {}", names.join(", "))
    }
}

fn cells(state: &State, clock: &Clock, row: &RequestRow, wide: bool) -> Vec<Cell> {
    let theme = state.theme();
    let safe = |text: &str| Cell::plain(text::one_line(text, theme.ascii).into_owned());
    let (mark, word) = state_of(row.phase);
    let you = match (row.phase, verdict::you(state, row)) {
        (RequestPhase::Open, Ok(may)) => Cell::styled(may, theme.warn()),
        (RequestPhase::Open, Err(why)) => safe(&why),
        _ => Cell::plain("-"),
    };
    let mut cells = vec![
        Cell::styled(format!("{} {word}", theme.sign(mark)), theme.mark(mark)),
        Cell::plain(stage_text(state, &row.project, &row.stage)),
        safe(row.step.as_str()),
        Cell::plain(diff::summary(
            theme,
            row.files,
            row.added.into(),
            row.removed.into(),
        )),
        you,
        safe(&answers(row)),
    ];
    if wide {
        cells.push(safe(&row.creator));
    }
    cells.push(Cell::plain(clock.age_or_dash(row.created_at)));
    cells
}
