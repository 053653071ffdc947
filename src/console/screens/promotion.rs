//! One Promotion: its steps, and below them the whole of the step under the cursor, or of the change.

use ratatui::{buffer::Buffer, layout::Rect, style::Style};
use serde_json::Value;

use crate::kargo::{Promotion, PromotionStep, Timestamp, promotion::StepMetadata};

use super::{
    super::{
        clock::Clock,
        layout,
        message::Detail,
        state::{OpenPromotion, State},
        subject, text,
        theme::Mark,
        verdict,
        widgets::{diff, page::Page, put},
    },
    promotions, request,
};

/// Draws title, steps and text.
pub fn draw(state: &State, open: &OpenPromotion, clock: &Clock, buffer: &mut Buffer, area: Rect) {
    let parts = layout::promotion(area, layout::steps(state, &open.key));
    let detail = state.detail.of(&open.key);
    let theme = state.theme();
    title(state, open, clock, buffer, parts.title);
    if let Some(detail) = detail {
        steps(state, open, detail, clock, buffer, parts.steps);
    } else {
        let said = match &state.detail.error {
            Some(error) => text::one_line(error, theme.ascii).into_owned(),
            None => "loading".to_owned(),
        };
        put(
            buffer,
            parts.steps,
            parts.steps.x + 1,
            parts.steps.y,
            &said,
            theme.dim(),
        );
    }
    let label = match (detail, open.whole) {
        (_, true) => "the whole change".to_owned(),
        (Some(detail), false) => match detail.promotion.spec.steps.get(open.step) {
            Some(step) => format!("{} {}", open.step + 1, step.alias),
            None => "no steps".to_owned(),
        },
        (None, false) => String::new(),
    };
    let label = text::one_line(&label, theme.ascii).into_owned();
    rule(state, open.reading, &label, buffer, parts.rule);
    page(state, open, clock, area.width).draw(buffer, parts.text, open.scroll);
}

fn rule(state: &State, reading: bool, label: &str, buffer: &mut Buffer, area: Rect) {
    let theme = state.theme();
    put(
        buffer,
        area,
        area.x,
        area.y,
        &theme.line().repeat(usize::from(area.width)),
        theme.dim(),
    );
    let style = if reading {
        theme.cursor()
    } else {
        theme.strong()
    };
    if !label.is_empty() {
        let shown = text::cut(
            label,
            usize::from(area.width.saturating_sub(8)),
            theme.ascii,
        )
        .into_owned();
        put(
            buffer,
            area,
            area.x + 3,
            area.y,
            &format!(" {shown} "),
            style,
        );
    }
}

fn title(state: &State, open: &OpenPromotion, clock: &Clock, buffer: &mut Buffer, area: Rect) {
    let theme = state.theme();
    let Some(row) = subject::of_key(state, &open.key) else {
        let name = text::one_line(&open.key.name, theme.ascii).into_owned();
        put(buffer, area, area.x + 1, area.y, &name, theme.strong());
        return;
    };
    let (mark, word) = promotions::state_of(state, &row);
    let since = match (row.phase.is_terminal(), row.finished_at) {
        (true, Some(end)) => format!(" {} ago", clock.age(end)),
        _ => row
            .started_at
            .map(|start| format!(" for {}", clock.age(start)))
            .unwrap_or_default(),
    };
    let gone = if state.tables.promotions.get(&open.key).is_none()
        && state.tables.promotions.total() > 0
    {
        " (deleted)"
    } else {
        ""
    };
    let right = text::one_line(
        &format!("{} {word}{since}{gone}", theme.sign(mark)),
        theme.ascii,
    )
    .into_owned();
    let room = usize::from(area.width).saturating_sub(text::width(&right) + 4);
    let freight = state.tables.index.freight_text(&row.project, &row.freight);
    let change = verdict::freight_change(state, &row).unwrap_or_default();
    let left = format!("{}/{}  {freight}  {change}", row.project, row.stage);
    let left = text::cut(&text::one_line(&left, theme.ascii), room, theme.ascii).into_owned();
    put(buffer, area, area.x + 1, area.y, &left, theme.strong());
    let x = area
        .right()
        .saturating_sub(u16::try_from(text::width(&right)).unwrap_or_default() + 1);
    put(buffer, area, x, area.y, &right, theme.mark(mark));
}

fn steps(
    state: &State,
    open: &OpenPromotion,
    detail: &Detail,
    clock: &Clock,
    buffer: &mut Buffer,
    area: Rect,
) {
    let theme = state.theme();
    let promotion = &detail.promotion;
    let height = usize::from(area.height);
    let all = &promotion.spec.steps;
    if all.is_empty() {
        put(
            buffer,
            area,
            area.x + 1,
            area.y,
            "it has no steps",
            theme.dim(),
        );
        return;
    }
    let top = (open.step + 1)
        .saturating_sub(height)
        .min(all.len().saturating_sub(height));
    for (index, y) in (top..all.len()).take(height).zip(area.y..) {
        let Some(step) = all.get(index) else { break };
        let line = Rect {
            y,
            height: 1,
            ..area
        };
        step_line(state, detail, index, step, clock, buffer, line);
        if index == open.step && !open.reading {
            buffer.set_style(line, theme.cursor());
        } else if index == open.step {
            put(buffer, line, line.x, y, ">", theme.strong());
        }
    }
}

/// `✔ 2 update    yaml-update    2ms   apps/prod/values.yaml  +1 −1`
fn step_line(
    state: &State,
    detail: &Detail,
    index: usize,
    step: &PromotionStep,
    clock: &Clock,
    buffer: &mut Buffer,
    area: Rect,
) {
    let theme = state.theme();
    let entry = detail.promotion.step_metadata(&step.alias);
    let mark = mark_of(&detail.promotion, step, entry);
    // As wide as the longest, within what the window has to spare.
    let longest = |of: fn(&PromotionStep) -> &str| {
        detail
            .promotion
            .spec
            .steps
            .iter()
            .map(|step| text::width(of(step)))
            .max()
            .unwrap_or_default()
    };
    let most = usize::from(area.width / 5);
    let alias = (longest(|step| step.alias.as_str()) + 3).clamp(12, most.max(12));
    let kind = longest(|step| step.uses.as_str()).clamp(12, most.max(17));
    let mut said = entry.map(|entry| entry.message.clone()).unwrap_or_default();
    if said.is_empty()
        && let Some(change) = detail
            .changes
            .iter()
            .find(|change| change.alias == step.alias)
    {
        said = match change.change.files.as_slice() {
            [file] => format!(
                "{}  +{} {}{}",
                file.path,
                file.added,
                theme.minus(),
                file.removed
            ),
            files => diff::summary_of(theme, files),
        };
    }
    if let Some(errors) = entry
        .map(|entry| entry.error_count)
        .filter(|errors| *errors > 0)
    {
        said = format!("attempt {}; {said}", errors + 1);
    }
    let took = entry
        .and_then(|entry| {
            entry
                .started_at
                .map(|start| clock.took(start, entry.finished_at))
        })
        .unwrap_or_default();
    let fit = |content: &str, room: usize| {
        text::fit(&text::one_line(content, theme.ascii), room, theme.ascii)
    };
    let name = format!("{} {}", index + 1, step.alias);
    let x = put(
        buffer,
        area,
        area.x + 1,
        area.y,
        theme.sign(mark),
        theme.mark(mark),
    );
    let lead = format!(
        " {} {} {took:>5}   ",
        fit(&name, alias),
        fit(step.uses.as_str(), kind)
    );
    let x = put(buffer, area, x, area.y, &lead, Style::new());
    let room = usize::from(area.right().saturating_sub(x));
    put(
        buffer,
        area,
        x,
        area.y,
        &text::cut(&text::one_line(&said, theme.ascii), room, theme.ascii),
        Style::new(),
    );
}

fn mark_of(promotion: &Promotion, step: &PromotionStep, entry: Option<&StepMetadata>) -> Mark {
    let mark = Mark::of_step(
        entry.and_then(|entry| entry.status.as_ref()),
        entry.map(|entry| entry.error_count).unwrap_or_default(),
    );
    // A promotion that has ended leaves no step running, whatever its record says.
    match mark {
        Mark::Running if promotion.status.phase.is_terminal() => Mark::Aborted,
        Mark::Running if verdict::step_waits(step) => Mark::Waiting,
        mark => mark,
    }
}

/// The text below the steps.
pub fn page(state: &State, open: &OpenPromotion, clock: &Clock, width: u16) -> Page {
    let theme = state.theme();
    let mut page = Page::new(width, theme);
    let Some(detail) = state.detail.of(&open.key) else {
        return page;
    };
    let asked = state
        .request
        .value
        .as_deref()
        .filter(|request| request.spec.promotion.uid == open.key.uid);
    if open.whole {
        match (&detail.whole, asked) {
            (Some(whole), _) => diff::add(&mut page, whole),
            (None, Some(request)) => request::add(&mut page, state, request, clock),
            (None, None) => page.text("the whole change is not known here", theme.dim()),
        }
        return page;
    }
    let promotion = &detail.promotion;
    let Some(step) = promotion.spec.steps.get(open.step) else {
        page.text(&promotion.status.message, Style::new());
        return page;
    };
    let entry = promotion.step_metadata(&step.alias);
    if let Some(entry) = entry {
        if !entry.message.is_empty() {
            page.text(&entry.message, Style::new());
        }
        times(&mut page, entry, clock);
    } else {
        page.text("not reached", theme.dim());
    }
    if !promotion.status.message.is_empty() && promotion.status.phase.is_terminal() {
        page.indented("promotion  ", &promotion.status.message, Style::new());
    }
    if !step.condition.is_empty() {
        page.indented("if         ", &step.condition, theme.dim());
    }
    if let Some(request) = asked.filter(|request| request.spec.step == step.alias) {
        page.gap();
        request::add(&mut page, state, request, clock);
    }
    if let Some(change) = detail
        .changes
        .iter()
        .find(|change| change.alias == step.alias)
    {
        page.gap();
        page.heading("What it changed");
        diff::add(&mut page, &change.change);
    }
    if let Some(output) = promotion
        .status
        .state
        .as_ref()
        .and_then(|state| state.get(step.alias.as_str()))
    {
        page.gap();
        page.heading("Output");
        page.text(&pretty(output), Style::new());
    }
    if let Some(config) = &step.config {
        page.gap();
        page.heading("Configuration, as the template has it");
        page.text(&pretty(config), theme.dim());
    }
    page
}

fn times(page: &mut Page, entry: &StepMetadata, clock: &Clock) {
    let dim = page.theme().dim();
    let time = |moment: Option<Timestamp>| moment.map(|moment| clock.time(moment));
    let line = match (time(entry.started_at), time(entry.finished_at)) {
        (Some(start), Some(end)) => format!("from {start} to {end}"),
        (Some(start), None) => format!("since {start}"),
        _ => return,
    };
    page.text(&line, dim);
    if entry.error_count > 0 {
        page.text(&format!("{} errors in a row", entry.error_count), dim);
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}
