//! `retry`: a new Promotion of the same Freight, if the Stage's template still is what was run.

use super::{Done, Exit, Failure, args::{Global, Retry}, output, session, wait};
use crate::{
    cluster::{act, find::{self, Scope}},
    kargo::Promotion,
    rules::{retry::{self, Difference}, permissions::{self, Action}, rows::PromotionRow},
};

/// Runs the verb.
pub async fn run(global: &Global, args: &Retry) -> Done {
    let connection = session::connect(global).await?;
    let client = &connection.client;
    let old = find::promotion(client, &session::scope(global, &connection), &args.promotion).await?;
    let (project, name) = (old.project(), old.promotion_name());
    permissions::available(Action::Retry, &PromotionRow::of(&old), &[], &connection.who, crate::kargo::Timestamp::now())
        .map_err(|why| Failure::new(Exit::Refused, format!("cannot retry promotion {project}/{name}: {why}")))?;
    let stage = find::stage(client, &Scope::Project(project.clone()), &old.spec.stage).await?;
    let differences = retry::differences(&old, &stage);
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
    for note in retry::consequences(&old, &stage) {
        eprintln!("{note}");
    }
    if args.wait {
        return wait::for_end(&connection, &project, &[made.promotion_name()], None).await;
    }
    Ok(Exit::Done)
}

fn told(old: &Promotion, differences: &[Difference]) -> String {
    let mut text = format!("The template of stage {} differs from what {} ran:\n", old.spec.stage, old.name());
    for difference in differences {
        text.push_str("  ");
        text.push_str(&output::visible(&difference.to_string()));
        text.push('\n');
    }
    text
}
