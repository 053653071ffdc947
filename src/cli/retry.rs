//! `retry`: a new Promotion of the same Freight, if the Stage's template still is what was run.

use super::{
    Done, Exit, Failure,
    args::{Global, Retry},
    output, permitted, session, wait,
};
use crate::{
    cluster::{
        act,
        find::{self, Scope},
        template,
    },
    kargo::{Promotion, Stage},
    rules::permissions::Action,
};

/// Runs the verb.
pub async fn run(global: &Global, args: &Retry) -> Done {
    let connection = session::connect(global).await?;
    let client = &connection.client;
    let old = permitted::promotion(global, &connection, &args.promotion, Action::Retry).await?;
    let (project, name) = (old.project(), old.promotion_name());
    let stage = find::stage(client, &Scope::Project(project.clone()), &old.spec.stage).await?;
    let differences = template::differences(client, &old, &stage).await?;
    if !differences.is_empty() {
        eprint!("{}", told(&old, &differences));
        if !args.with_current_template {
            return Err(Failure::new(
                Exit::Refused,
                format!("cannot retry promotion {project}/{name}: the stage's template is no longer what it ran"),
            )
            .hint("To run the template as it is now: --with-current-template"));
        }
    }
    let made = act::retry(client, &old).await?;
    output::print(&format!("promotion/{}\n", made.name()))?;
    for note in consequences(&old, &stage) {
        eprintln!("{note}");
    }
    if args.wait {
        return wait::for_end(&connection, &project, &[made.promotion_name()], None).await;
    }
    Ok(Exit::Done)
}

fn told(old: &Promotion, differences: &[String]) -> String {
    let mut text = format!(
        "The template of stage {} differs from what {} ran:\n",
        old.spec.stage,
        old.name()
    );
    for difference in differences {
        text.push_str("  ");
        text.push_str(&output::visible(difference));
        text.push('\n');
    }
    text
}

/// What a retry does that a person might not expect.
fn consequences(old: &Promotion, stage: &Stage) -> Vec<String> {
    let mut notes = Vec::new();
    if old
        .spec
        .steps
        .iter()
        .any(|step| step.uses == "wait-for-approval")
    {
        notes.push("note: its gates ask again; earlier answers do not count for it".to_owned());
    }
    if stage.status.auto_promotion_enabled {
        notes.push(format!(
            "note: stage {} promotes by itself; made by a person, this promotion puts other Freight on hold unless it is the newest",
            stage.name()
        ));
    }
    notes
}
