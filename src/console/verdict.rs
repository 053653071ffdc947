//! What the rules say of the rows here: why something waits, and whether this person may do something about it.

use crate::{
    kargo::{
        ProjectName, PromotionStep,
        approval::{Decision, RequestPhase},
    },
    rules::{
        approval::{self, Reason},
        freight_diff,
        permissions::{self, Action, Actor},
        rows::{FreightRow, PromotionRow, RequestRow, StageRow},
        who::Directory,
        why,
    },
};

use super::{
    clock::Clock,
    commands::{Command, Group, spec},
    state::{Place, State},
    subject,
};

/// How long after its making a Promotion that nobody saw gets another reason: the rule's own limit and one second.
const UNSEEN: std::time::Duration = std::time::Duration::from_secs(10);

/// Why a Promotion is where it is, in a few words; tells the clock when these words change.
pub fn why(state: &State, row: &PromotionRow, clock: &Clock) -> String {
    let tables = &state.tables;
    let stage = tables
        .index
        .stage(&row.project, &row.stage)
        .and_then(|key| tables.stages.get(key));
    let queue: Vec<&PromotionRow> = if row.phase.is_terminal() {
        Vec::new()
    } else {
        let keys = tables.index.queue(&row.project, &row.stage);
        keys.filter_map(|key| tables.promotions.get(key)).collect()
    };
    let asked = open_requests(state, row);
    if let Some(deadline) = asked.first().and_then(|request| request.deadline) {
        clock.counts_down(deadline);
    }
    if let Some(created) = row
        .created_at
        .filter(|_| row.phase == crate::kargo::Phase::New)
    {
        clock.due_after(created.plus(UNSEEN));
    }
    let words = why::why(row, stage, &queue, asked.first().copied(), state.now);
    if state.theme().ascii {
        words.replace('…', "...")
    } else {
        words
    }
}

/// What a Promotion asks now, oldest first.
pub fn open_requests<'s>(state: &'s State, row: &PromotionRow) -> Vec<&'s RequestRow> {
    let tables = &state.tables;
    let rows: Vec<&RequestRow> = tables
        .index
        .requests_of(&row.uid)
        .filter_map(|key| tables.requests.get(key))
        .collect();
    permissions::open_requests(row, &rows)
}

/// Whether a running Promotion is at a step that waits for somebody or something outside.
pub fn waits(state: &State, row: &PromotionRow) -> bool {
    !open_requests(state, row).is_empty()
        || row
            .step
            .as_ref()
            .is_some_and(|step| is_wait(step.kind.as_str()))
}

/// Whether a step that runs waits for somebody or something outside.
pub fn step_waits(step: &PromotionStep) -> bool {
    is_wait(step.uses.as_str())
}

fn is_wait(kind: &str) -> bool {
    matches!(kind, "wait-for-approval" | "git-wait-for-pr")
}

/// Asks the rules as this person, with what is known of the Project's people and of what the cluster refuses.
fn as_actor<T>(state: &State, project: &ProjectName, ask: impl FnOnce(&Actor<'_>) -> T) -> T {
    let unknown;
    let directory = match state.directories.get(project) {
        Some(directory) => directory,
        None => {
            unknown = Directory {
                project: project.clone(),
                ..Directory::default()
            };
            &unknown
        }
    };
    let nothing = Default::default();
    ask(&Actor {
        person: &state.context.person,
        directory,
        read_only: state.context.readonly,
        refused: state.refused.get(project).unwrap_or(&nothing),
        now: state.now,
    })
}

/// Whether this person may say that, as far as the question itself goes.
fn judge(state: &State, row: &RequestRow, decision: Decision) -> Result<(), Reason> {
    as_actor(state, &row.project, |actor| {
        approval::may_answer(row, actor.person, decision, actor.directory, actor.now)
    })
}

/// Whether this person may say that, else why not.
pub fn may_say(state: &State, row: &RequestRow, decision: Decision) -> Result<(), String> {
    if state.context.readonly {
        return Err("read-only".to_owned());
    }
    let action = match decision {
        Decision::Approve => Action::Approve,
        Decision::Reject => Action::Reject,
    };
    if let Some(reason) = state
        .refused
        .get(&row.project)
        .and_then(|refused| refused.get(&action))
    {
        return Err(reason.clone());
    }
    judge(state, row, decision).map_err(|reason| reason.to_string())
}

/// Whether this person may approve, else why not.
pub fn may_answer(state: &State, row: &RequestRow) -> Result<(), String> {
    may_say(state, row, Decision::Approve)
}

/// The same in a word or two, for a column.
pub fn you(state: &State, row: &RequestRow) -> Result<&'static str, String> {
    match judge(state, row, Decision::Approve) {
        Ok(()) => may_answer(state, row).map(|()| "may answer"),
        Err(Reason::Ineligible(_)) => Err("not you".to_owned()),
        Err(Reason::Creator) => Err("you made it".to_owned()),
        Err(Reason::Answered) => Err("you have".to_owned()),
        Err(reason) => Err(reason.to_string()),
    }
}

/// How many requests wait for this person; tells the clock when one no longer does.
pub fn waiting_for_me(state: &State, clock: &Clock) -> usize {
    let scope = |row: &&RequestRow| {
        state
            .project
            .as_ref()
            .is_none_or(|project| *project == row.project)
    };
    let mut count = 0;
    for row in state
        .tables
        .requests
        .all()
        .filter(scope)
        .filter(|row| row.phase == RequestPhase::Open)
    {
        if let Some(deadline) = row.deadline {
            clock.due_after(deadline);
        }
        count += usize::from(may_answer(state, row).is_ok());
    }
    count
}

/// Whether Freight may be promoted to the Stage now, else why not.
pub fn availability(state: &State, stage: &StageRow, freight: &FreightRow) -> Result<(), String> {
    as_actor(state, &stage.project, |actor| {
        permissions::on_freight(Action::Promote, freight, stage, actor)
    })
}

/// Whether a command can be done here and now, else why not.
pub fn available(state: &State, command: Command) -> Result<(), String> {
    let Some(spec) = spec(command) else {
        return Err("there is no such command".to_owned());
    };
    if !spec.is_on(state.place()) {
        return Err("not on this screen".to_owned());
    }
    if spec.group == Group::Act && state.context.readonly {
        return Err("read-only".to_owned());
    }
    match command {
        Command::Approve => may_say(state, &subject::request(state)?, Decision::Approve),
        Command::Reject => may_say(state, &subject::request(state)?, Decision::Reject),
        Command::Retry => on_promotion(state, Action::Retry),
        Command::Abort => on_promotion(state, Action::Abort),
        Command::Refresh => on_promotion(state, Action::Refresh),
        Command::Verify => {
            let row = stage_row(state)?;
            as_actor(state, &row.project, |actor| {
                permissions::on_stage(Action::Verify, row, actor)
            })
        }
        Command::Promote if state.tables.stages.total() == 0 => {
            Err("no Stages are known".to_owned())
        }
        // A Stage that is not known here leaves the choice among the others.
        Command::Promote => match stage_row(state) {
            Ok(row) => as_actor(state, &row.project, |actor| {
                permissions::on_stage(Action::Promote, row, actor)
            }),
            Err(_) => Ok(()),
        },
        Command::Open if nothing_to_open(state) => Err("there is nothing".to_owned()),
        Command::Copy if subject::text(state).is_none() => {
            Err("there is nothing to copy".to_owned())
        }
        _ => Ok(()),
    }
}

fn on_promotion(state: &State, action: Action) -> Result<(), String> {
    let row = subject::promotion(state).ok_or_else(|| "no Promotion is chosen".to_owned())?;
    as_actor(state, &row.project, |actor| {
        permissions::on_promotion(action, &row, &[], actor)
    })
}

fn stage_row(state: &State) -> Result<&StageRow, String> {
    let (project, name) = subject::stage(state).ok_or_else(|| "no Stage is chosen".to_owned())?;
    let key = state.tables.index.stage(&project, &name);
    key.and_then(|key| state.tables.stages.get(key))
        .ok_or_else(|| format!("there is no Stage {name}"))
}

fn nothing_to_open(state: &State) -> bool {
    match state.place() {
        Place::Approvals => state.tables.requests.current().is_none(),
        Place::Stages => state.tables.stages.current().is_none(),
        Place::Freight => state.tables.freight.current().is_none(),
        Place::Request => subject::request(state).is_err(),
        _ => state.tables.promotions.current().is_none(),
    }
}

/// What a Promotion's Freight changes of what is in its Stage, while it can still be told.
pub fn freight_change(state: &State, row: &PromotionRow) -> Option<String> {
    let tables = &state.tables;
    let stage = tables
        .stages
        .get(tables.index.stage(&row.project, &row.stage)?)?;
    let freight = tables
        .freight
        .get(tables.index.freight_key(&row.project, &row.freight)?)?;
    if stage.freight.contains(&row.freight) {
        return Some(freight.artifacts.join(", "));
    }
    Some(differs(state, stage, freight).join(", "))
}

/// What Freight would change of what is in the Stage, one line each.
pub fn differs(state: &State, stage: &StageRow, freight: &FreightRow) -> Vec<String> {
    let tables = &state.tables;
    let there = stage
        .freight
        .iter()
        .filter_map(|name| {
            tables
                .freight
                .get(tables.index.freight_key(&stage.project, name)?)
        })
        .find(|row| row.origin == freight.origin);
    let Some(there) = there else {
        return freight.artifacts.clone();
    };
    let differences = freight_diff::between(Some(&there.reference), &freight.reference);
    if differences.is_empty() {
        return vec!["the same as what is there".to_owned()];
    }
    differences
        .iter()
        .map(|difference| match state.theme().ascii {
            true => difference.to_string().replace('→', state.theme().arrow()),
            false => difference.to_string(),
        })
        .collect()
}
