//! The line that is typed above the footer: a filter, or a command of the palette.

use nucleo_matcher::{
    Config, Matcher, Utf32Str,
    pattern::{CaseMatching, Normalization, Pattern},
};

use crate::kargo::ProjectName;

use super::{
    commands::{Command, Group, TABLE},
    keymap::Chord,
    state::{Place, State},
    verdict,
};

/// What is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// A filter for the table, in force as it is typed.
    Filter {
        /// What the filter was before.
        before: String,
    },
    /// A command.
    Palette {
        /// What has been typed.
        text: String,
        /// The cursor in the suggestions.
        at: usize,
    },
}

/// Something that the palette offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// What is put in when it is taken.
    pub text: String,
    /// Its keys.
    pub keys: String,
    /// What it does.
    pub help: String,
    /// What is done.
    pub command: Command,
    /// The Project, for those that name one.
    pub project: Option<ProjectName>,
    /// Why it cannot be done here and now.
    pub why_not: Option<String>,
}

/// What the palette offers for `text`, the best first. What cannot be done now says why; in read-only mode what
/// changes the cluster is not offered.
pub fn offers(state: &State, text: &str) -> Vec<Offer> {
    let place = state.place();
    let mut all: Vec<Offer> = TABLE
        .iter()
        .filter(|spec| spec.is_on(place) && !is_noise(spec.group, spec.command))
        .filter(|spec| !(state.context.readonly && spec.group == Group::Act))
        .map(|spec| Offer {
            text: spec.name.to_owned(),
            keys: spec.keys_text(),
            help: spec.help.to_owned(),
            command: spec.command,
            project: None,
            why_not: verdict::available(state, spec.command).err(),
        })
        .collect();
    all.extend(
        state
            .tables
            .index
            .projects()
            .into_iter()
            .map(|project| Offer {
                text: format!("project {project}"),
                keys: String::new(),
                help: "only this Project".to_owned(),
                command: Command::Project,
                project: Some(project.clone()),
                why_not: None,
            }),
    );
    if text.is_empty() {
        return all;
    }
    // A whole name is that command, however well others match.
    let mut matcher = Matcher::new(Config::DEFAULT);
    let pattern = Pattern::parse(text, CaseMatching::Ignore, Normalization::Smart);
    let mut buffer = Vec::new();
    let mut scored: Vec<(u32, Offer)> = all
        .into_iter()
        .filter_map(|offer| {
            let exact = if offer.text == text.trim() { 10_000 } else { 0 };
            let score = pattern.score(Utf32Str::new(&offer.text, &mut buffer), &mut matcher)?;
            Some((score + exact, offer))
        })
        .collect();
    scored.sort_by(|(a, left), (b, right)| {
        b.cmp(a)
            .then_with(|| left.text.len().cmp(&right.text.len()))
    });
    scored.into_iter().map(|(_, offer)| offer).collect()
}

/// Movement is for keys; `project` without a name does nothing.
fn is_noise(group: Group, command: Command) -> bool {
    group == Group::Move || matches!(command, Command::Project | Command::Palette | Command::Open)
}

/// Edits a typed line. Says whether the key was for it.
pub fn edit(text: &mut String, chord: Chord) -> bool {
    if chord.is("backspace") {
        text.pop();
    } else if chord.is("ctrl-u") {
        text.clear();
    } else if chord.is("ctrl-w") {
        let kept = text.trim_end().rfind(' ').map_or(0, |space| space + 1);
        text.truncate(kept);
    } else if let Some(c) = chord.typed() {
        text.push(c);
    } else {
        return false;
    }
    true
}

/// Whether the table of a place can be filtered.
pub fn filters(place: Place) -> bool {
    matches!(
        place,
        Place::Promotions | Place::Approvals | Place::Stages | Place::Freight
    )
}
