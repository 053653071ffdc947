//! Screens that are one text: help, errors, the executor's lines.

use ratatui::style::Style;

use super::super::{
    clock::Clock,
    commands::{Group, TABLE},
    state::State,
    text,
    theme::MARKS,
    widgets::page::Page,
};

/// Every key, from the table of commands, with why it does nothing now; then the signs.
pub fn help(state: &State, width: u16) -> Page {
    let theme = state.theme();
    let mut page = Page::new(width, theme);
    for (group, title) in Group::ALL {
        page.heading(title);
        for spec in TABLE.iter().filter(|spec| spec.group == group) {
            let lead = format!(
                "  {} {} ",
                text::fit(&spec.keys_text(), 16, theme.ascii),
                text::fit(spec.name, 13, theme.ascii)
            );
            let why_not = match group {
                Group::Act if state.context.readonly => Err("read-only".to_owned()),
                _ => Ok(()),
            };
            match why_not {
                Ok(()) => page.indented(&lead, spec.help, Style::new()),
                Err(why) => page.indented(&lead, &format!("{} ({why})", spec.help), theme.dim()),
            }
        }
        page.gap();
    }
    page.heading("Signs");
    for (mark, meaning) in MARKS {
        page.indented(
            &format!("  {} ", theme.sign(mark)),
            meaning,
            theme.mark(mark),
        );
    }
    page.gap();
    page.heading("Who you are");
    page.indented("  user    ", &state.context.person.name, Style::new());
    page.indented(
        "  groups  ",
        &state.context.person.groups.join(", "),
        Style::new(),
    );
    page
}

/// What went wrong, the newest last.
pub fn errors(state: &State, clock: &Clock, width: u16) -> Page {
    let theme = state.theme();
    let mut page = Page::new(width, theme);
    if state.troubles.is_empty() {
        page.text("nothing went wrong", theme.dim());
    }
    for trouble in &state.troubles {
        let lead = format!("{}  ", clock.time_of_day(trouble.at));
        page.indented(&lead, &trouble.text, theme.bad());
        if !trouble.hint.is_empty() {
            page.indented(&" ".repeat(text::width(&lead)), &trouble.hint, Style::new());
        }
    }
    page
}

/// What the executor in this process does, the newest last.
pub fn log(state: &State, clock: &Clock, width: u16) -> Page {
    let theme = state.theme();
    let mut page = Page::new(width, theme);
    if state.log.is_empty() {
        let said = if state.context.executing {
            "nothing yet"
        } else {
            "no promotions run in this process"
        };
        page.text(said, theme.dim());
    }
    for (at, line) in &state.log {
        page.indented(&format!("{}  ", clock.time_of_day(*at)), line, Style::new());
    }
    page
}
