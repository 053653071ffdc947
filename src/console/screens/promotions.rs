//! The table of Promotions.

use ratatui::{buffer::Buffer, layout::Rect};

use crate::{
    kargo::{Phase, ProjectName, StageName},
    rules::rows::PromotionRow,
};

use super::{
    super::{
        clock::Clock,
        message::Kind,
        sort,
        state::State,
        text,
        theme::Mark,
        verdict,
        widgets::grid::{self, Cell, Column, column},
    },
    draw_empty, sorted, window,
};

/// The columns that a window of that width has room for.
fn columns(state: &State, width: u16) -> Vec<(Field, Column)> {
    let kind = Kind::Promotions;
    let wide = |from: u16, usual: u16, more: u16| if width >= from { more } else { usual };
    let stage = column("STAGE", wide(110, 16, 28));
    let freight = column("FREIGHT", wide(110, 13, 20));
    let mut columns = vec![
        (
            Field::Phase,
            sorted(state, kind, sort::Column::Phase, column("  PHASE", 11)),
        ),
        (
            Field::Stage,
            sorted(state, kind, sort::Column::Stage, stage),
        ),
    ];
    if width >= 70 {
        columns.push((
            Field::Freight,
            sorted(state, kind, sort::Column::Freight, freight),
        ));
    }
    if width >= 56 {
        columns.push((Field::Step, column("STEP", wide(110, 15, 24))));
    }
    columns.push((Field::Why, column("WHY", 0)));
    if width >= 150 {
        columns.push((
            Field::Name,
            sorted(state, kind, sort::Column::Name, column("NAME", 28)),
        ));
    }
    if width >= 110 {
        columns.push((
            Field::Creator,
            sorted(state, kind, sort::Column::Creator, column("CREATOR", 16)),
        ));
    }
    if width >= 130 {
        let took = Column {
            right: true,
            ..column("TOOK", 6)
        };
        columns.push((
            Field::Took,
            sorted(state, kind, sort::Column::Duration, took),
        ));
    }
    let age = Column {
        right: true,
        ..column("AGE", 5)
    };
    columns.push((Field::Age, sorted(state, kind, sort::Column::Age, age)));
    columns
}

#[derive(Clone, Copy)]
enum Field {
    Phase,
    Stage,
    Freight,
    Step,
    Why,
    Name,
    Creator,
    Took,
    Age,
}

/// Draws the rows in the window.
pub fn draw(state: &State, clock: &Clock, buffer: &mut Buffer, area: Rect) {
    let table = &state.tables.promotions;
    let columns = columns(state, area.width);
    let shown = window(state, table.offset(), table.len());
    let rows: Vec<Vec<Cell>> = shown
        .filter_map(|place| table.nth(place))
        .map(|row| {
            columns
                .iter()
                .map(|(field, _)| cell(state, clock, row, *field))
                .collect()
        })
        .collect();
    let mut plain: Vec<Column> = columns.into_iter().map(|(_, column)| column).collect();
    let cursor = (!rows.is_empty()).then(|| table.at().saturating_sub(table.offset()));
    grid::snug(&mut plain, &rows);
    grid::draw(buffer, area, state.theme(), &plain, &rows, cursor);
    if rows.is_empty() {
        draw_empty(
            state,
            Kind::Promotions,
            buffer,
            area,
            table.total(),
            "no Promotions",
        );
    }
}

/// The state of a Promotion as one sign and one word: waiting for somebody is told from running.
pub fn state_of(state: &State, row: &PromotionRow) -> (Mark, String) {
    if row.aborting {
        return (Mark::Running, "Aborting".to_owned());
    }
    match &row.phase {
        Phase::Running if verdict::waits(state, row) => (Mark::Waiting, "Waiting".to_owned()),
        Phase::Running if row.step.as_ref().is_some_and(|step| step.error_count > 0) => {
            (Mark::Retrying, "Running".to_owned())
        }
        Phase::New => (Mark::New, "New".to_owned()),
        phase => (Mark::of_phase(phase), phase.to_string()),
    }
}

/// `project/stage`, or the Stage alone where one Project is shown.
pub fn stage_text(state: &State, project: &ProjectName, stage: &StageName) -> String {
    let text = match state.project {
        Some(_) => stage.to_string(),
        None => format!("{project}/{stage}"),
    };
    text::one_line(&text, state.theme().ascii).into_owned()
}

fn cell(state: &State, clock: &Clock, row: &PromotionRow, field: Field) -> Cell {
    let theme = state.theme();
    let safe = |text: &str| match text {
        "" => "-".to_owned(),
        text => text::one_line(text, theme.ascii).into_owned(),
    };
    match field {
        Field::Phase => {
            let (mark, word) = state_of(state, row);
            Cell::styled(
                format!("{} {}", theme.sign(mark), safe(&word)),
                theme.mark(mark),
            )
        }
        Field::Stage => Cell::plain(stage_text(state, &row.project, &row.stage)),
        Field::Freight => Cell::plain(safe(
            state.tables.index.freight_text(&row.project, &row.freight),
        )),
        Field::Step => Cell::plain(safe(&step_text(row))),
        Field::Why => {
            Cell::plain(text::one_line(&verdict::why(state, row, clock), theme.ascii).into_owned())
        }
        Field::Name => Cell::plain(safe(row.name.as_str())),
        Field::Creator => Cell::plain(safe(&row.creator)),
        Field::Took => Cell::plain(row.started_at.map_or_else(
            || "-".to_owned(),
            |start| clock.took(start, row.finished_at),
        )),
        Field::Age => Cell::plain(clock.age_or_dash(row.created_at)),
    }
}

/// `4/6 gate`: the step it is at, never beyond the last; `6/6` after a good end, nothing before the start.
fn step_text(row: &PromotionRow) -> String {
    match (&row.step, &row.phase) {
        (_, Phase::Succeeded) => format!("{0}/{0}", row.steps),
        (Some(step), _) => format!(
            "{}/{} {}",
            step.number.min(row.steps),
            row.steps,
            step.alias
        ),
        (None, _) if row.steps == 0 && row.phase == Phase::Running => "0/0".to_owned(),
        (None, _) => String::new(),
    }
}
