//! Does what a command says.

use crate::kargo::{ProjectName, approval::RequestPhase};

use super::{
    commands::Command,
    dialogs::{answer::AnswerDialog, confirm::Confirm, promote::Promote},
    feed,
    message::{Action, Effect, Key, Kind, Row},
    moves,
    prompt::Prompt,
    sort::{Column, Sort},
    state::{OpenPromotion, OpenRequest, Pending, Place, Screen, Scroll, State, Tone},
    subject, update, verdict,
};

/// Does it, or says why not.
pub fn perform(state: &mut State, command: Command) -> Vec<Effect> {
    if let Err(why) = verdict::available(state, command) {
        let name = super::commands::spec(command).map_or("this", |spec| spec.name);
        state.note(Tone::Bad, format!("cannot {name}: {why}"));
        return Vec::new();
    }
    match command {
        Command::Open => open(state),
        Command::Back => return update::back(state),
        Command::Quit => return update::quit(state),
        Command::Approve => AnswerDialog::open(state, true),
        Command::Reject => AnswerDialog::open(state, false),
        Command::Retry => Confirm::retry(state),
        Command::Abort => Confirm::abort(state),
        Command::Promote => Promote::open(state),
        Command::Refresh => return refresh(state),
        Command::Verify => return verify(state),
        Command::Copy => {
            let Some(text) = subject::text(state) else {
                return Vec::new();
            };
            state.note(Tone::Note, format!("copied {} bytes", text.len()));
            return vec![Effect::Copy(text)];
        }
        Command::Diff => {
            if let Some(open) = state.open_promotion() {
                open.whole = !open.whole;
                open.scroll = Scroll::default();
            }
        }
        Command::Focus => {
            if let Some(open) = state.open_promotion() {
                open.reading = !open.reading;
            }
        }
        Command::Filter => {
            let before = state.lenses.get(state.place().kind()).filter.clone();
            state.prompt = Some(Prompt::Filter { before });
        }
        Command::Palette => {
            state.prompt = Some(Prompt::Palette {
                text: String::new(),
                at: 0,
            })
        }
        Command::Help => over(state, Place::Help),
        Command::Log => over(state, Place::Log),
        Command::Errors => over(state, Place::Errors),
        Command::Promotions => state.replace(Screen::List(Kind::Promotions)),
        Command::Approvals => {
            state.replace(Screen::List(Kind::Requests));
            // Open questions come first: whoever comes here wants to answer one, not to see what was answered.
            let table = &mut state.tables.requests;
            if table
                .current()
                .is_none_or(|row| row.phase != RequestPhase::Open)
            {
                table.go(0);
            }
        }
        Command::Stages => state.replace(Screen::List(Kind::Stages)),
        Command::Freight => state.replace(Screen::List(Kind::Freight)),
        Command::AllProjects => scope(state, None),
        Command::Project => {}
        Command::Utc => state.utc = !state.utc,
        Command::Sort(column) => sort(state, column),
        Command::Redraw => state.redraw_all = true,
        Command::Suspend => state.suspend = true,
        Command::Up
        | Command::Down
        | Command::PageUp
        | Command::PageDown
        | Command::HalfUp
        | Command::HalfDown
        | Command::Top
        | Command::Bottom => moves::perform(state, command),
    }
    Vec::new()
}

/// Shows one Project, or all.
pub fn scope(state: &mut State, project: Option<ProjectName>) {
    state.project = project;
    feed::reshape_all(state);
}

/// Lays a text over the screen, or takes it away again.
fn over(state: &mut State, place: Place) {
    if state.place() == place {
        state.pop();
        return;
    }
    let scroll = Scroll {
        top: 0,
        follow: place != Place::Help,
    };
    state.push(match place {
        Place::Log => Screen::Log(scroll),
        Place::Errors => Screen::Errors(scroll),
        _ => Screen::Help(scroll),
    });
}

fn open(state: &mut State) {
    let tables = &state.tables;
    match state.screen() {
        Screen::List(Kind::Requests) => {
            if let Some(key) = tables.requests.current().map(Row::key) {
                state.push(Screen::Request(Box::new(OpenRequest {
                    key,
                    scroll: Scroll::default(),
                })));
            }
        }
        Screen::List(Kind::Stages) => {
            if let Some(row) = tables.stages.current() {
                promotions_of(state, format!("{}/{}", row.project, row.name));
            }
        }
        Screen::List(Kind::Freight) => {
            if let Some(row) = tables.freight.current() {
                promotions_of(
                    state,
                    tables
                        .index
                        .freight_text(&row.project, &row.name)
                        .to_owned(),
                );
            }
        }
        Screen::Request(_) => {
            if let Ok(row) = subject::request(state) {
                let name = row.promotion.to_string();
                open_promotion(
                    state,
                    Key {
                        project: row.project,
                        name,
                        uid: row.promotion_uid,
                    },
                );
            }
        }
        _ => {
            if let Some(key) = tables.promotions.current().map(Row::key) {
                open_promotion(state, key);
            }
        }
    }
}

/// Goes to the Promotions that have this text.
fn promotions_of(state: &mut State, text: String) {
    state.replace(Screen::List(Kind::Promotions));
    update::set_filter(state, text);
}

fn open_promotion(state: &mut State, key: Key) {
    state.push(Screen::Promotion(Box::new(OpenPromotion {
        key,
        step: 0,
        following: true,
        reading: false,
        whole: false,
        scroll: Scroll::default(),
    })));
}

fn refresh(state: &mut State) -> Vec<Effect> {
    let Some(row) = subject::promotion(state) else {
        return Vec::new();
    };
    let id = state.begin(Pending {
        text: format!("refreshing {}", row.name),
        retry: None,
    });
    vec![Effect::Act {
        id,
        action: Action::Refresh {
            promotion: row.key(),
        },
    }]
}

fn verify(state: &mut State) -> Vec<Effect> {
    let Some((project, stage)) = subject::stage(state) else {
        return Vec::new();
    };
    let id = state.begin(Pending {
        text: format!("verifying {project}/{stage}"),
        retry: None,
    });
    vec![Effect::Act {
        id,
        action: Action::Verify { project, stage },
    }]
}

fn sort(state: &mut State, column: Column) {
    let kind = state.place().kind();
    let sort = &mut state.lenses.get_mut(kind).sort;
    *sort = if sort.column == column {
        Sort {
            column,
            reversed: !sort.reversed,
        }
    } else {
        Sort::by(column)
    };
    feed::reshape(state, kind);
}
