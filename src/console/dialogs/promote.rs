//! Promote: a Stage, then Freight, then a last look at what differs from what is there.

use crate::rules::rows::{FreightRow, StageRow};

use super::{
    super::{
        keymap::Chord,
        message::{Action, Effect, Row},
        state::{Pending, Place, State},
        subject, verdict,
    },
    Dialog, Turn, moved,
};

/// How far the choice is.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Choice {
    Stage,
    Freight {
        stage: Box<StageRow>,
    },
    Sure {
        stage: Box<StageRow>,
        freight: Box<FreightRow>,
        yes: bool,
    },
}

/// See the module.
#[derive(Debug)]
pub struct Promote {
    /// How far the choice is.
    pub choice: Choice,
    /// Text that narrows the list.
    pub filter: String,
    /// The cursor in the narrowed list.
    pub at: usize,
    /// Freight that was under the cursor where it opened: the list begins on it.
    wanted: Option<FreightRow>,
}

impl Promote {
    /// Opens it with what is under the cursor already chosen.
    pub fn open(state: &mut State) {
        let stage = subject::stage(state).and_then(|(project, name)| {
            state
                .tables
                .stages
                .all()
                .find(|row| row.project == project && row.name == name)
                .cloned()
        });
        let wanted = match state.place() {
            Place::Freight => state.tables.freight.current().cloned(),
            _ => None,
        };
        let choice = match stage {
            Some(stage) => Choice::Freight {
                stage: Box::new(stage),
            },
            None => Choice::Stage,
        };
        state.dialog = Some(Dialog::Promote(Box::new(Self {
            choice,
            filter: String::new(),
            at: 0,
            wanted,
        })));
    }

    /// The Stages to choose from, by name; those that take no Promotions are left out.
    pub fn stages<'a>(&self, state: &'a State) -> Vec<&'a StageRow> {
        let low = self.filter.to_lowercase();
        let project = self
            .wanted
            .as_ref()
            .map(|freight| &freight.project)
            .or(state.project.as_ref());
        let mut rows: Vec<&StageRow> = state
            .tables
            .stages
            .all()
            .filter(|row| {
                !row.control_flow && project.is_none_or(|project| row.project == *project)
            })
            .filter(|row| {
                format!("{}/{}", row.project, row.name)
                    .to_lowercase()
                    .contains(&low)
            })
            .collect();
        rows.sort_by(|a, b| (&a.project, &a.name).cmp(&(&b.project, &b.name)));
        rows
    }

    /// The Freight that `stage` takes, the newest first.
    pub fn freight<'a>(&self, state: &'a State, stage: &StageRow) -> Vec<&'a FreightRow> {
        let low = self.filter.to_lowercase();
        let mut rows: Vec<&FreightRow> = state
            .tables
            .freight
            .all()
            .filter(|row| row.project == stage.project)
            .filter(|row| {
                stage
                    .requests
                    .iter()
                    .any(|request| request.origin == row.origin)
            })
            .filter(|row| {
                row.alias.as_str().contains(&low)
                    || row.name.as_str().contains(&low)
                    || row
                        .artifacts
                        .iter()
                        .any(|artifact| artifact.to_lowercase().contains(&low))
            })
            .collect();
        rows.sort_by(|a, b| {
            b.created_at
                .cmp(&a.created_at)
                .then_with(|| a.name.cmp(&b.name))
        });
        rows
    }

    pub(super) fn input(mut self: Box<Self>, state: &mut State, chord: Option<Chord>) -> Turn {
        let Some(chord) = chord else {
            return Turn::Stay(Dialog::Promote(self));
        };
        if chord.is("esc") || chord.is("ctrl-c") {
            return Turn::Close(Vec::new());
        }
        let enter = chord.is("enter");
        match std::mem::replace(&mut self.choice, Choice::Stage) {
            Choice::Sure {
                stage,
                freight,
                yes,
            } => return self.sure(state, stage, freight, yes, chord),
            Choice::Stage if enter => {
                if let Some(stage) = self.stages(state).get(self.at).copied().cloned() {
                    self.chose_stage(state, stage);
                }
            }
            Choice::Freight { stage } if enter => {
                let freight = self.freight(state, &stage).get(self.at).copied().cloned();
                self.choice = match freight {
                    Some(freight) => Choice::Sure {
                        stage,
                        freight: Box::new(freight),
                        yes: false,
                    },
                    None => Choice::Freight { stage },
                };
            }
            choice => {
                let count = match &choice {
                    Choice::Freight { stage } => self.freight(state, stage).len(),
                    _ => self.stages(state).len(),
                };
                self.choice = choice;
                self.edit(chord, count);
            }
        }
        Turn::Stay(Dialog::Promote(self))
    }

    fn chose_stage(&mut self, state: &State, stage: StageRow) {
        self.filter.clear();
        let wanted = self.wanted.as_ref().map(Row::key);
        self.at = self
            .freight(state, &stage)
            .iter()
            .position(|row| Some(row.key()) == wanted)
            .unwrap_or_default();
        self.choice = Choice::Freight {
            stage: Box::new(stage),
        };
    }

    fn edit(&mut self, chord: Chord, count: usize) {
        if chord.is("down") || chord.is("tab") {
            self.at = (self.at + 1).min(count.saturating_sub(1));
        } else if chord.is("up") || chord.is("shift-tab") {
            self.at = self.at.saturating_sub(1);
        } else if chord.is("backspace") {
            self.filter.pop();
            self.at = 0;
        } else if let Some(c) = chord.typed() {
            self.filter.push(c);
            self.at = 0;
        }
    }

    fn sure(
        mut self: Box<Self>,
        state: &mut State,
        stage: Box<StageRow>,
        freight: Box<FreightRow>,
        yes: bool,
        chord: Chord,
    ) -> Turn {
        if chord.is("enter") && !yes || chord.is("q") {
            return Turn::Close(Vec::new());
        }
        let available = verdict::availability(state, &stage, &freight).is_ok();
        if chord.is("enter") && available {
            let name = state
                .tables
                .index
                .freight_text(&stage.project, &freight.name);
            let text = format!("promoting {name} to {}/{}", stage.project, stage.name);
            let id = state.begin(Pending { text, retry: None });
            let action = Action::Promote {
                project: stage.project,
                stage: stage.name,
                freight: freight.name,
            };
            return Turn::Close(vec![Effect::Act { id, action }]);
        }
        let yes = available && moved(usize::from(yes), 2, chord) == 1;
        self.choice = Choice::Sure {
            stage,
            freight,
            yes,
        };
        Turn::Stay(Dialog::Promote(self))
    }
}
