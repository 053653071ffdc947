//! The one place that changes the state: a message in, effects out.

use crossterm::event::Event;
use ratatui::layout::Size;

use super::{
    act,
    commands::{self, Command},
    dialogs::{self, Dialog, confirm::Confirm},
    feed,
    keymap::Chord,
    layout,
    message::{ActionId, Detail, Effect, Leave, Message},
    moves,
    prompt::{self, Prompt},
    state::{Screen, State, Tone},
    watch,
};

/// Takes in one message. The state's `now` and `size` are set by the caller beforehand.
pub fn update(state: &mut State, message: Message) -> Vec<Effect> {
    let mut effects = match message {
        Message::Input(event) => input(state, &event),
        Message::Tick => Vec::new(),
        Message::Feed(event) => {
            feed::apply(state, event);
            Vec::new()
        }
        Message::Detail(detail) => {
            arrived(state, detail);
            Vec::new()
        }
        Message::DetailFailed { uid, error } => {
            state.detail.failed(&uid, error);
            Vec::new()
        }
        Message::Request(request) => {
            state.request.arrived(&request.uid(), request);
            Vec::new()
        }
        Message::RequestFailed { uid, error } => {
            state.request.failed(&uid, error);
            Vec::new()
        }
        Message::Done { id, text } => {
            state.pending.remove(&id);
            state.note(Tone::Good, text);
            Vec::new()
        }
        Message::Failed { id, text, hint } => {
            state.pending.remove(&id);
            state.trouble(text, hint);
            Vec::new()
        }
        Message::TemplateDiffers { id, differences } => {
            template_differs(state, id, &differences);
            Vec::new()
        }
        Message::Directory(directory) => {
            state
                .directories
                .insert(directory.project.clone(), directory);
            Vec::new()
        }
        Message::Refused { project, refused } => {
            state.refused.insert(project, refused);
            Vec::new()
        }
        Message::Trouble(text) => {
            state.trouble(text, "");
            Vec::new()
        }
        Message::Happening(line) => {
            state.happened(line);
            Vec::new()
        }
        // The loop ends with these; what runs here is handed over, as without a console.
        Message::Signal(_) => vec![Effect::Quit(Leave::HandOver)],
    };
    if state
        .flash
        .as_ref()
        .and_then(|flash| flash.until)
        .is_some_and(|until| until <= state.now)
    {
        state.flash = None;
    }
    let page = layout::page(state);
    moves::fit(state, page);
    effects.extend(watch::follow(state));
    effects
}

/// The open Promotion came, for the first time or changed.
fn arrived(state: &mut State, detail: Box<Detail>) {
    let uid = detail.promotion.uid();
    let Some(open) = state.open_promotion().filter(|open| open.key.uid == uid) else {
        return;
    };
    let status = &detail.promotion.status;
    let steps = detail.promotion.spec.steps.len();
    if open.following {
        let bad = status.step_execution_metadata.iter().position(|entry| {
            !entry.continue_on_error
                && entry
                    .status
                    .as_ref()
                    .is_some_and(|status| status.severity() >= 3)
        });
        let current = usize::try_from(status.current_step).unwrap_or_default();
        open.step = if status.phase.is_terminal() {
            bad.unwrap_or(current)
        } else {
            current
        };
    }
    open.step = open.step.min(steps.saturating_sub(1));
    state.detail.arrived(&uid, detail);
}

/// A retry was held back: asks again, now with the difference.
fn template_differs(state: &mut State, id: ActionId, differences: &[String]) {
    let Some(promotion) = state.pending.remove(&id).and_then(|pending| pending.retry) else {
        return;
    };
    if state.dialog.is_none() && state.prompt.is_none() {
        state.dialog = Some(Confirm::retry_otherwise(promotion, differences));
    } else {
        // Whoever types is not interrupted by a question that could take the keys meant for something else.
        state.trouble(
            format!(
                "{} was not retried: the Stage's template is no longer what it was made from",
                promotion.name
            ),
            "retry again to see the difference",
        );
    }
}

fn input(state: &mut State, event: &Event) -> Vec<Effect> {
    match event {
        Event::Resize(width, height) => {
            state.size = Size {
                width: *width,
                height: *height,
            };
            return Vec::new();
        }
        Event::Key(_) | Event::Paste(_) => {}
        _ => return Vec::new(),
    }
    let chord = match event {
        Event::Key(key) => Chord::of(key),
        _ => None,
    };
    let command = chord
        .and_then(|chord| commands::pressed(chord, state.place()))
        .map(|spec| spec.command);
    if let Some(command @ (Command::Suspend | Command::Redraw)) = command {
        return act::perform(state, command);
    }
    if state.dialog.is_some() {
        return dialogs::input(state, event);
    }
    if state.prompt.is_some() {
        return typed(state, event);
    }
    command.map_or_else(Vec::new, |command| act::perform(state, command))
}

/// A key or a paste for the line that is being typed.
fn typed(state: &mut State, event: &Event) -> Vec<Effect> {
    let Some(mut prompt) = state.prompt.take() else {
        return Vec::new();
    };
    let chord = match event {
        Event::Key(key) => Chord::of(key),
        _ => None,
    };
    let closes = chord.is_some_and(|chord| chord.is("esc") || chord.is("ctrl-c"));
    let enters = chord.is_some_and(|chord| chord.is("enter"));
    match &mut prompt {
        Prompt::Filter { before } => {
            let kind = state.place().kind();
            let mut text = state.lenses.get(kind).filter.clone();
            if closes {
                text = std::mem::take(before);
            } else if let Event::Paste(paste) = event {
                text.push_str(paste.lines().next().unwrap_or_default());
            } else if let Some(chord) = chord {
                prompt::edit(&mut text, chord);
            }
            set_filter(state, text);
        }
        Prompt::Palette { text, at } => {
            if enters {
                return choose(state, text, *at);
            }
            match (event, chord) {
                (Event::Paste(paste), _) => text.push_str(paste.lines().next().unwrap_or_default()),
                (_, Some(chord)) if chord.is("down") || chord.is("tab") => {
                    let last = prompt::offers(state, text).len().saturating_sub(1);
                    *at = (*at + 1).min(last);
                }
                (_, Some(chord)) if chord.is("up") || chord.is("shift-tab") => {
                    *at = at.saturating_sub(1)
                }
                (_, Some(chord)) if prompt::edit(text, chord) => *at = 0,
                _ => {}
            }
        }
    }
    if !closes && !enters {
        state.prompt = Some(prompt);
    }
    Vec::new()
}

fn choose(state: &mut State, text: &str, at: usize) -> Vec<Effect> {
    let named = text
        .trim()
        .strip_prefix("project ")
        .or_else(|| text.trim().strip_prefix("ns "));
    match prompt::offers(state, text).into_iter().nth(at) {
        Some(offer) => match offer.project {
            Some(project) => act::scope(state, Some(project)),
            None => return act::perform(state, offer.command),
        },
        None => match named.map(str::trim).filter(|name| !name.is_empty()) {
            Some(project) => act::scope(state, Some(project.into())),
            None => state.note(Tone::Bad, format!("there is no command {text}")),
        },
    }
    Vec::new()
}

/// Narrows the table on the screen.
pub fn set_filter(state: &mut State, text: String) {
    let kind = state.place().kind();
    if state.lenses.get(kind).filter == text {
        return;
    }
    let lens = state.lenses.get_mut(kind);
    lens.low = text.to_lowercase();
    lens.filter = text;
    feed::reshape(state, kind);
}

/// What leaves the console, with the question first where promotions run here.
pub fn quit(state: &mut State) -> Vec<Effect> {
    if state.context.executing {
        state.dialog = Some(Dialog::Quit(dialogs::quit::Quit::default()));
        return Vec::new();
    }
    vec![Effect::Quit(Leave::Finish)]
}

/// One screen back, or less: the flash, then the filter, then the screen.
pub fn back(state: &mut State) -> Vec<Effect> {
    if state
        .flash
        .take()
        .is_some_and(|flash| flash.until.is_none())
    {
        return Vec::new();
    }
    if let Screen::Promotion(open) = state.screen()
        && open.reading
    {
        if let Some(open) = state.open_promotion() {
            open.reading = false;
        }
        return Vec::new();
    }
    if prompt::filters(state.place()) && !state.lenses.get(state.place().kind()).filter.is_empty() {
        set_filter(state, String::new());
        return Vec::new();
    }
    state.pop();
    Vec::new()
}
