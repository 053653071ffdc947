//! The one table of what can be done: keys, footer, help and palette are read from it.

use super::{keymap::Chord, sort::Column, state::Place};

/// Something a person can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Command {
    Open,
    Back,
    Approve,
    Reject,
    Retry,
    Abort,
    Promote,
    Refresh,
    Verify,
    Diff,
    Copy,
    Filter,
    Palette,
    Help,
    Promotions,
    Approvals,
    Stages,
    Freight,
    Log,
    Errors,
    AllProjects,
    Project,
    Utc,
    Up,
    Down,
    PageUp,
    PageDown,
    HalfUp,
    HalfDown,
    Top,
    Bottom,
    Focus,
    Sort(Column),
    Redraw,
    Suspend,
    Quit,
}

/// What the help puts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Changes the cluster.
    Act,
    /// Shows something.
    See,
    /// Moves about.
    Move,
    /// Sorts the table.
    Sort,
    /// Concerns the program.
    Program,
}

impl Group {
    /// In the order of the help.
    pub const ALL: [(Self, &str); 5] = [
        (Self::Act, "Act"),
        (Self::See, "See"),
        (Self::Move, "Move"),
        (Self::Sort, "Sort (again: the other way)"),
        (Self::Program, "Program"),
    ];
}

/// One line of the table.
#[derive(Debug)]
pub struct Spec {
    /// What it does.
    pub command: Command,
    /// Its name in the palette.
    pub name: &'static str,
    /// Keys, as [`Chord::parse`] reads them.
    pub keys: &'static [&'static str],
    /// A few words for the footer; empty keeps it out.
    pub brief: &'static str,
    /// A line for help and palette.
    pub help: &'static str,
    /// What it belongs with.
    pub group: Group,
    /// Where it can be asked for; nothing is everywhere.
    pub places: &'static [Place],
}

impl Spec {
    /// Whether it can be asked for there.
    pub fn is_on(&self, place: Place) -> bool {
        self.places.is_empty() || self.places.contains(&place)
    }

    /// The keys as a person reads them.
    pub fn keys_text(&self) -> String {
        self.keys.join(" ")
    }
}

use Group::{Act, Move, Program, See, Sort};
use Place as P;

const LISTS: &[Place] = &[P::Promotions, P::Approvals, P::Stages, P::Freight];
const OPENABLE: &[Place] = &[
    P::Promotions,
    P::Approvals,
    P::Request,
    P::Stages,
    P::Freight,
];
const PROMOTION: &[Place] = &[P::Promotions, P::Promotion];
const GATE: &[Place] = &[P::Promotions, P::Promotion, P::Approvals, P::Request];
const STAGED: &[Place] = &[P::Promotions, P::Promotion, P::Stages];
const PROMOTABLE: &[Place] = &[P::Promotions, P::Promotion, P::Stages, P::Freight];
const OBJECTS: &[Place] = &[
    P::Promotions,
    P::Promotion,
    P::Approvals,
    P::Request,
    P::Stages,
    P::Freight,
    P::Errors,
];

macro_rules! table {
    ($($command:expr, $name:literal, [$($key:literal),*], $brief:literal, $help:literal, $group:expr, $places:expr;)+) => {
        &[$(Spec {
            command: $command,
            name: $name,
            keys: &[$($key),*],
            brief: $brief,
            help: $help,
            group: $group,
            places: $places,
        }),+]
    };
}

/// See the module. The footer keeps this order and leaves out from its end what does not fit.
pub const TABLE: &[Spec] = table! {
    Command::Open, "open", ["enter"], "open", "open it; a Stage or Freight: its Promotions; a request: its Promotion", See, OPENABLE;
    Command::Approve, "approve", ["a"], "approve", "say yes to the change that a gate asks about", Act, GATE;
    Command::Reject, "reject", ["n"], "reject", "say no: the gate and its Promotion fail", Act, GATE;
    Command::Retry, "retry", ["R"], "retry", "promote the same Freight to the same Stage again", Act, PROMOTION;
    Command::Abort, "abort", ["x"], "abort", "end a Promotion where it is", Act, PROMOTION;
    Command::Promote, "promote", ["p"], "promote", "promote Freight to a Stage", Act, PROMOTABLE;
    Command::Diff, "diff", ["D"], "diff", "the step's change, or the whole change", See, &[P::Promotion];
    Command::Focus, "focus", ["tab", "shift-tab"], "", "go between the steps and the text below", Move, &[P::Promotion];
    Command::Filter, "filter", ["/"], "filter", "show only rows that have this text", See, LISTS;
    Command::Palette, "palette", [":"], "command", "type a command or a Project", See, &[];
    Command::Help, "help", ["?"], "help", "every key and sign", See, &[];
    Command::Back, "back", ["esc"], "", "dismiss, clear the filter, go back", Move, &[];
    Command::Refresh, "refresh", ["r"], "", "have the executor look again at once", Act, PROMOTION;
    Command::Verify, "verify", ["v"], "", "verify the Freight that is in the Stage again", Act, STAGED;
    Command::Copy, "copy", ["c", "y"], "", "copy the name, the message or the change", See, OBJECTS;
    Command::Promotions, "promotions", ["1"], "", "all Promotions", See, &[];
    Command::Approvals, "approvals", ["2"], "", "the inbox: what gates ask, oldest first", See, &[];
    Command::Stages, "stages", ["3"], "", "the Stages", See, &[];
    Command::Freight, "freight", ["4"], "", "the Freight", See, &[];
    Command::Log, "log", ["5"], "", "what the executor in this process does", See, &[];
    Command::Errors, "errors", ["6", "e"], "", "what went wrong since the start", See, &[];
    Command::AllProjects, "all", ["0"], "", "all Projects", See, &[];
    Command::Project, "project", [], "", "one Project: `project NAME`", See, &[];
    Command::Utc, "utc", ["Z"], "", "times in UTC, or in your zone", See, &[];
    Command::Up, "up", ["up", "k"], "", "one up", Move, &[];
    Command::Down, "down", ["down", "j"], "", "one down", Move, &[];
    Command::PageUp, "page-up", ["pgup", "ctrl-b"], "", "one page up", Move, &[];
    Command::PageDown, "page-down", ["pgdn", "ctrl-f", "space"], "", "one page down", Move, &[];
    Command::HalfUp, "half-up", ["ctrl-u"], "", "half a page up", Move, &[];
    Command::HalfDown, "half-down", ["ctrl-d"], "", "half a page down", Move, &[];
    Command::Top, "top", ["home", "g"], "", "to the first", Move, &[];
    Command::Bottom, "bottom", ["end", "G"], "", "to the last", Move, &[];
    Command::Sort(Column::Age), "sort-age", ["A"], "", "by age", Sort, LISTS;
    Command::Sort(Column::Name), "sort-name", ["N"], "", "by name", Sort, LISTS;
    Command::Sort(Column::Phase), "sort-phase", ["P"], "", "by phase or state", Sort, LISTS;
    Command::Sort(Column::Stage), "sort-stage", ["S"], "", "by Project and Stage", Sort, LISTS;
    Command::Sort(Column::Freight), "sort-freight", ["F"], "", "by Freight", Sort, LISTS;
    Command::Sort(Column::Creator), "sort-creator", ["C"], "", "by who made it", Sort, LISTS;
    Command::Sort(Column::Duration), "sort-duration", ["T"], "", "by how long it took", Sort, LISTS;
    Command::Redraw, "redraw", ["ctrl-l"], "", "draw the window anew", Program, &[];
    Command::Suspend, "suspend", ["ctrl-z"], "", "back to the shell; `fg` returns", Program, &[];
    Command::Quit, "quit", ["ctrl-c", "q"], "quit", "leave", Program, &[];
};

/// What a key asks for there.
pub fn pressed(chord: Chord, place: Place) -> Option<&'static Spec> {
    TABLE
        .iter()
        .find(|spec| spec.is_on(place) && spec.keys.iter().any(|key| chord.is(key)))
}

/// The line of a command.
pub fn spec(command: Command) -> Option<&'static Spec> {
    TABLE.iter().find(|spec| spec.command == command)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_key_reads_and_no_place_has_it_twice() {
        for place in Place::ALL {
            let mut seen = BTreeSet::new();
            for spec in TABLE.iter().filter(|spec| spec.is_on(place)) {
                for key in spec.keys {
                    assert!(Chord::parse(key).is_some(), "{key}");
                    assert!(seen.insert(*key), "{key} twice on {place:?}");
                }
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = TABLE.iter().map(|spec| spec.name).collect();
        assert_eq!(names.len(), TABLE.len());
    }
}
