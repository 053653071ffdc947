//! git-push with `tag`: one tag of a checkout to the remote, which is asked whether it is there already.

use serde_json::{Map, Value, json};

use super::words::commit_link;
use crate::{
    engine::{
        journal::TagIntent,
        runner::{Flow, Runner, Stopped, one::Ready},
        step::{Outcome, PushOrder, StepError},
        workspace::{Mount, Tagged},
    },
    git::{
        land::{TagError, TagRequest},
        tag::TagName,
    },
    kargo::PromotionStep,
};

impl Runner {
    pub(super) async fn push_tag(
        &mut self,
        at: usize,
        step: &PromotionStep,
        ready: &Ready,
        order: &PushOrder,
        name: &TagName,
    ) -> Result<Flow, Stopped> {
        let alias = &step.alias;
        let mut rekeyed = false;
        let (mount, tag) = loop {
            let found = async {
                let mount = self.checkout(order).await?;
                let tag = self.tag_to_push(at, &mount, order, name)?;
                let origin = self.origin(&mount).await?;
                Ok((mount, tag, origin))
            };
            let (mount, tag, (mirror, key)) = match found.await {
                Ok(found) => found,
                Err(error) => return self.failed(step, ready.limits, &error).await,
            };
            let error = if key == mount.mirror || rekeyed {
                let intent = TagIntent {
                    name: name.clone(),
                    id: tag.id.clone(),
                };
                let before = self.journal().step(alias).tag.replace(intent);
                self.boundary(&format!("{alias}:intent:before"))?;
                self.write().await?;
                self.boundary(&format!("{alias}:intent"))?;
                let request = TagRequest {
                    mirror,
                    name: name.clone(),
                    tag: tag.id.clone(),
                    ask_first: before.is_some(),
                    budget: self.budget(ready, order),
                };
                let course = self.course.clone();
                self.pushing.begin(&format!("the tag {name}"));
                let pushed = self
                    .while_writing(course.tools.landers.tag(request))
                    .await?;
                self.pushing.end();
                match pushed {
                    Ok(_) => break (mount, tag),
                    Err(error) => Some(tag_error(error)),
                }
            } else {
                None
            };
            match error {
                Some(error) if rekeyed || !self.has_new_key(&mount, &key).await => {
                    return self.failed(step, ready.limits, &error).await;
                }
                // The credentials changed: once more with the new ones, in their mirror.
                _ => {
                    rekeyed = true;
                    if let Some(flow) = self.recover(at).await? {
                        return Ok(flow);
                    }
                }
            }
        };
        self.boundary(&format!("{alias}:landed"))?;
        let said = format!("tag {name} at {}", tag.commit.short());
        let outcome = Outcome::succeeded(output(&mount, &tag, order)).saying(said);
        let files = self.ledger.journal.workspace.clone().unwrap_or_default();
        self.accept(step, ready.limits, outcome, &files.clone(), files)
            .await
    }

    /// The tag, if it names what it will name when the promotion is over.
    fn tag_to_push(
        &self,
        at: usize,
        mount: &Mount,
        order: &PushOrder,
        name: &TagName,
    ) -> Result<Tagged, StepError> {
        let Some(tag) = mount.tags.get(name) else {
            let others: Vec<&str> = mount.tags.keys().map(TagName::as_str).collect();
            let there = match others.is_empty() {
                true => "none".to_owned(),
                false => others.join(", "),
            };
            return Err(StepError::config(format!(
                "cannot push the tag {name}: the checkout at {} has no tag of that name, its tags: {there}",
                mount.path
            ))
            .hint("Make it with a git-tag step before this one"));
        };
        let is_there = !mount.commits.contains(&tag.commit)
            || self.ledger.journal.steps.values().any(|record| {
                let of_it = |intent: &crate::engine::journal::PushIntent| {
                    intent.path == mount.path && intent.commits.contains(&tag.commit)
                };
                record.arrived.is_some() && record.intent.as_ref().is_some_and(of_it)
            });
        let mut later = self.course.steps.iter().skip(at + 1);
        match later.find(|step| !is_there && pushes(step, order)) {
            Some(push) => Err(StepError::config(format!(
                "cannot push the tag {name}: it names {}, which step {} is yet to push and which may land under another id",
                tag.commit.short(),
                push.alias
            ))
            .hint("Push the branch first, then the tag")),
            None => Ok(tag.clone()),
        }
    }
}

/// Whether a step brings the commits of the same checkout onto a branch, by its template.
fn pushes(step: &PromotionStep, order: &PushOrder) -> bool {
    let text = |name: &str| {
        let value = step.config.as_ref().and_then(|config| config.get(name));
        value.and_then(Value::as_str).unwrap_or_default()
    };
    let plain = |path: &str| {
        path.trim_start_matches("./")
            .trim_end_matches('/')
            .to_owned()
    };
    step.uses == *"git-push" && text("tag").is_empty() && plain(text("path")) == plain(&order.path)
}

/// The step's output, as Kargo has it.
fn output(mount: &Mount, tag: &Tagged, order: &PushOrder) -> Map<String, Value> {
    let mut output = Map::from_iter([("commit".to_owned(), json!(tag.commit))]);
    if let Some(branch) = &mount.branch {
        output.insert("branch".into(), json!(branch));
    }
    if let Some(link) = commit_link(mount, order, &tag.commit) {
        output.insert("commitURL".into(), json!(link));
    }
    output
}

fn tag_error(error: TagError) -> StepError {
    match &error {
        TagError::Exists { .. } => StepError::conflict("cannot push")
            .because(error)
            .hint("Tags are not moved: give this one another name"),
        TagError::Refused { .. } => StepError::refused("the push was refused").because(error),
        TagError::NameCollision { .. } => StepError::config("cannot push").because(error),
        TagError::Remote { .. } | TagError::BudgetExhausted { .. } => {
            StepError::errored("cannot push").because(error)
        }
    }
}

#[cfg(test)]
mod tests;
