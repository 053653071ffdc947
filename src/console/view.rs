//! The state as a picture: header, screen, rule, footer, and what lies over them. A pure function.

use ratatui::{
    buffer::Buffer,
    layout::{Rect, Size},
    style::Style,
};

use crate::kargo::Timestamp;

use super::{
    clock::Clock,
    commands::{Group, TABLE},
    dialogs,
    layout::{self, MIN},
    message::FeedState,
    prompt::{self, Prompt},
    screens,
    state::{State, Tone},
    text, verdict,
    widgets::put,
};

/// Said in the header where promotions run in this process.
const EXECUTING: &str = "executing";

/// Draws everything; gives the moment from which on the picture is out of date, if time alone makes it so.
pub fn view(state: &State, buffer: &mut Buffer) -> Option<Timestamp> {
    let area = buffer.area;
    let clock = state.clock();
    let Some(parts) = layout::parts(Size {
        width: area.width,
        height: area.height,
    }) else {
        let said = format!("too small: {}x{} needed", MIN.width, MIN.height);
        if area.height > 0 {
            put(buffer, area, area.x, area.y, &said, Style::new());
        }
        return None;
    };
    header(state, &clock, buffer, parts.header);
    screens::draw(state, &clock, buffer, parts.body);
    rule(state, &clock, buffer, parts.rule);
    footer(state, buffer, parts.footer);
    if let Some(Prompt::Palette { text, at }) = &state.prompt {
        palette(state, text, *at, buffer, parts.body);
    }
    if let Some(dialog) = &state.dialog {
        dialogs::draw::draw(state, dialog, &clock, buffer, area);
    }
    let flash = state.flash.as_ref().and_then(|flash| flash.until);
    clock.next_change().into_iter().chain(flash).min()
}

/// Where we are, how good the news is, and what needs somebody.
fn header(state: &State, clock: &Clock, buffer: &mut Buffer, area: Rect) {
    let theme = state.theme();
    let project = state
        .project
        .as_ref()
        .map_or("all projects", |project| project.as_str());
    let place = text::one_line(&state.context.place, theme.ascii).into_owned();
    let mut right: Vec<(String, Style)> = Vec::new();
    let waiting = verdict::waiting_for_me(state, clock);
    if waiting > 0 {
        right.push((
            format!(
                "{waiting} {} for you",
                if waiting == 1 { "waits" } else { "wait" }
            ),
            theme.warn(),
        ));
    }
    let failed = state.tables.promotions.tally();
    if failed > 0 {
        right.push((format!("{failed} failed"), theme.bad()));
    }
    if state.context.executing {
        right.push((EXECUTING.to_owned(), theme.good()));
    }
    if state.context.readonly {
        right.push(("read-only".to_owned(), theme.warn()));
    }
    right.push((count(state), Style::new()));
    let taken = |right: &[(String, Style)]| -> usize {
        right.iter().map(|(text, _)| text::width(text) + 2).sum()
    };
    let (feed, style) = feed(state, clock);
    let scope = text::one_line(&format!(" / {project}"), theme.ascii).into_owned();
    // Where room is short, what is least missed goes first: that it executes, then our own name.
    let least = text::width(&end_of(&place, 0, theme.ascii)) + text::width(&scope) + 2;
    let needed = least + 3 + text::width(&feed).min(9) + 2;
    let width = usize::from(area.width);
    let own = "tidewaiter";
    if own.len() + needed + taken(&right) > width {
        right.retain(|(text, _)| text != EXECUTING);
    }
    let mut x = area.x;
    if own.len() + needed + taken(&right) <= width {
        x = put(buffer, area, x + 1, area.y, own, theme.strong());
    }
    let taken = taken(&right);
    let room = usize::from(area.right().saturating_sub(x)).saturating_sub(taken + 1);
    // Where this is may not be guessed, and how old the news is neither: a long error gives way, then a long path.
    let feed = text::cut(&feed, room.saturating_sub(least + 3).max(9), theme.ascii).into_owned();
    let room = room.saturating_sub(text::width(&feed) + 3);
    let place = end_of(
        &place,
        room.saturating_sub(text::width(&scope) + 2),
        theme.ascii,
    );
    let lead = if x == area.x { " " } else { "  " };
    let here = text::cut(&format!("{lead}{place}{scope}"), room, theme.ascii).into_owned();
    let x = put(buffer, area, x, area.y, &here, Style::new());
    put(buffer, area, x + 3, area.y, &feed, style);
    let mut x = area
        .right()
        .saturating_sub(u16::try_from(taken).unwrap_or_default());
    for (text, style) in right {
        x = put(buffer, area, x + 1, area.y, &text, style) + 1;
    }
}

/// A place within `room`, cut in its middle: of a path its end tells most, and its last part is never given up.
fn end_of(place: &str, room: usize, ascii: bool) -> String {
    let Some(start) = place.find('/').filter(|_| text::width(place) > room) else {
        return place.to_owned();
    };
    let (lead, path) = place.split_at(start);
    let mark = if ascii { ".." } else { "…" };
    let mut shown = place.to_owned();
    for (at, _) in path.match_indices('/') {
        let end = path.get(at..).unwrap_or_default();
        if end.len() == 1 {
            break;
        }
        shown = format!("{lead}{mark}{end}");
        if text::width(&shown) <= room {
            break;
        }
    }
    shown
}

/// How many rows, or how many of how many.
fn count(state: &State) -> String {
    let tables = &state.tables;
    let (shown, total) = match state.place().kind() {
        super::message::Kind::Promotions => (tables.promotions.len(), tables.promotions.total()),
        super::message::Kind::Stages => (tables.stages.len(), tables.stages.total()),
        super::message::Kind::Freight => (tables.freight.len(), tables.freight.total()),
        super::message::Kind::Requests => (tables.requests.len(), tables.requests.total()),
    };
    if shown == total {
        total.to_string()
    } else {
        format!("{shown} of {total}")
    }
}

fn feed(state: &State, clock: &Clock) -> (String, Style) {
    let theme = state.theme();
    match state.feeds.get(state.place().kind()) {
        FeedState::Loading => ("loading".to_owned(), theme.dim()),
        FeedState::Live => (format!("{} live", theme.live()), theme.good()),
        FeedState::StaleSince { since, error } => {
            let error = text::one_line(error, theme.ascii);
            (
                format!("! stale since {}: {error}", clock.age(*since)),
                theme.warn(),
            )
        }
        FeedState::Forbidden(_) => ("! forbidden".to_owned(), theme.bad()),
        FeedState::Absent(_) => ("absent".to_owned(), theme.dim()),
    }
}

/// The line above the footer: what is typed, what happened, what is under way, or a rule.
fn rule(state: &State, _clock: &Clock, buffer: &mut Buffer, area: Rect) {
    let theme = state.theme();
    let put_line = |buffer: &mut Buffer, line: &str, style: Style| {
        let line = text::one_line(line, theme.ascii).into_owned();
        let line = text::cut(
            &line,
            usize::from(area.width.saturating_sub(2)),
            theme.ascii,
        )
        .into_owned();
        put(buffer, area, area.x + 1, area.y, &line, style)
    };
    let typed = |buffer: &mut Buffer, sign: &str, content: &str| {
        // The end of a long line is what is being typed.
        let room = usize::from(area.width.saturating_sub(4));
        let mut skip = 0;
        while text::width(content.get(skip..).unwrap_or_default()) > room {
            skip += content
                .get(skip..)
                .and_then(|rest| rest.chars().next())
                .map_or(1, char::len_utf8);
        }
        let line = format!("{sign}{}", content.get(skip..).unwrap_or_default());
        let x = put_line(buffer, &line, theme.strong());
        put(buffer, area, x, area.y, " ", theme.cursor());
    };
    let lens = state.lenses.get(state.place().kind());
    match (&state.prompt, &state.flash) {
        (Some(Prompt::Filter { .. }), _) => typed(buffer, "/", &lens.filter),
        (Some(Prompt::Palette { text, .. }), _) => typed(buffer, ":", text),
        (None, Some(flash)) => {
            let (sign, style) = match flash.tone {
                Tone::Note => ("", Style::new()),
                Tone::Good => (theme.sign(super::theme::Mark::Succeeded), theme.good()),
                Tone::Bad => (theme.sign(super::theme::Mark::Failed), theme.bad()),
            };
            put_line(buffer, format!("{sign} {}", flash.text).trim_start(), style);
        }
        (None, None) => {
            put(
                buffer,
                area,
                area.x,
                area.y,
                &theme.line().repeat(usize::from(area.width)),
                theme.dim(),
            );
            let pending = state
                .pending
                .values()
                .next_back()
                .map(|pending| format!(" {} ", pending.text));
            let filter = (prompt::filters(state.place()) && !lens.filter.is_empty())
                .then(|| format!(" /{} ", lens.filter));
            if let Some(said) = pending.or(filter) {
                let said = text::one_line(&said, theme.ascii).into_owned();
                let room = usize::from(area.width.saturating_sub(4));
                put(
                    buffer,
                    area,
                    area.x + 2,
                    area.y,
                    &text::cut(&said, room, theme.ascii),
                    theme.strong(),
                );
            }
        }
    }
}

/// The keys that do something now, as many as there is room for.
fn footer(state: &State, buffer: &mut Buffer, area: Rect) {
    let theme = state.theme();
    let place = state.place();
    let mut hints: Vec<(&str, &str)> = Vec::new();
    if let Some(dialog) = &state.dialog {
        hints.extend(dialog.hints());
    } else if state.prompt.is_some() {
        hints.extend([("enter", "take"), ("esc", "cancel")]);
    } else {
        if state.depth() > 1 {
            hints.push(("esc", "back"));
        }
        hints.extend(
            TABLE
                .iter()
                .filter(|spec| !spec.brief.is_empty() && spec.is_on(place))
                .filter(|spec| !(spec.group == Group::Act && state.context.readonly))
                .filter(|spec| verdict::available(state, spec.command).is_ok())
                .filter_map(|spec| Some((*spec.keys.first()?, spec.brief))),
        );
    }
    let mut x = area.x + 1;
    for (key, brief) in hints {
        let needed = u16::try_from(text::width(key) + 1 + text::width(brief)).unwrap_or(u16::MAX);
        if x.saturating_add(needed) > area.right() {
            break;
        }
        x = put(buffer, area, x, area.y, key, theme.key());
        x = put(buffer, area, x + 1, area.y, brief, Style::new()) + 2;
    }
}

/// What the palette offers, above the line that is typed.
fn palette(state: &State, typed: &str, at: usize, buffer: &mut Buffer, area: Rect) {
    let theme = state.theme();
    let offers = prompt::offers(state, typed);
    let height = u16::try_from(offers.len())
        .unwrap_or(u16::MAX)
        .min(area.height.min(12));
    let area = Rect {
        y: area.bottom() - height,
        height,
        ..area
    };
    let first = (at + 1).saturating_sub(usize::from(height));
    for ((index, offer), y) in offers
        .iter()
        .enumerate()
        .skip(first)
        .zip(area.y..area.bottom())
    {
        let line = Rect {
            y,
            height: 1,
            ..area
        };
        let why = offer
            .why_not
            .as_ref()
            .map(|why| format!(" ({why})"))
            .unwrap_or_default();
        let said = format!(
            " {} {} {}{why}",
            text::fit(&offer.text, 20, theme.ascii),
            text::fit(&offer.keys, 12, theme.ascii),
            offer.help
        );
        let said = text::one_line(&said, theme.ascii).into_owned();
        let style = if offer.why_not.is_some() {
            theme.dim()
        } else {
            Style::new()
        };
        put(
            buffer,
            line,
            line.x,
            y,
            &text::fit(&said, usize::from(line.width), theme.ascii),
            style,
        );
        if index == at {
            buffer.set_style(line, theme.cursor());
        }
    }
}
