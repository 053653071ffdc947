//! Whether everything ended as it must: exactly the expected commits, no effect twice, the expected replays.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    colleague::{Seen, Trouble},
    world::{World, values_path},
};
use crate::{
    cli::executor::Counts,
    cluster::{
        Connection,
        find::{self, Scope},
    },
    kargo::Promotion,
};

/// Commits that must be on the monorepo's main: whose, by `stage step` or `colleague`.
const PLATFORM: &[(&str, usize)] = &[
    ("colleague", 3),
    ("shop/prod", 1),
    ("shop/test-eu", 1),
    ("shop/test-us", 1),
    ("shop/uat", 1),
    ("pay/uat", 1),
];
/// The same for the site.
const SITE: &[(&str, usize)] = &[("colleague", 1), ("shop/prod", 1)];

/// Looks at everything; the facts that were found true, or the first that was not.
pub async fn all(
    world: &World,
    connection: &Connection,
    counts: &Counts,
) -> Result<Vec<String>, Trouble> {
    let promotions: Vec<Promotion> = find::list(&connection.client, &Scope::All).await?;
    let stages: BTreeMap<String, String> = promotions
        .iter()
        .map(|promotion| {
            (
                promotion.uid().to_string(),
                format!("{}/{}", promotion.project(), promotion.spec.stage),
            )
        })
        .collect();
    let mut facts = Vec::new();
    for (name, repository, expected) in [
        ("platform", world.platform(), PLATFORM),
        ("site", world.site(), SITE),
    ] {
        let history = world.colleague.history(&repository).await?;
        no_effect_twice(name, &history)?;
        let found = by_writer(&history, &stages);
        let wanted: BTreeMap<String, usize> = expected
            .iter()
            .map(|(who, count)| ((*who).to_owned(), *count))
            .collect();
        if found != wanted {
            return Err(format!("{name} holds {found:?} instead of {wanted:?}").into());
        }
        facts.push(format!(
            "{name} holds exactly the {} expected commits, none of them twice",
            history.len()
        ));
    }
    contents(world).await?;
    facts.push("every file has the promoted version and what others changed in it".to_owned());
    if counts.git.replays != 1 || counts.git.refusals != 0 {
        return Err(format!("expected 1 replay and no refusal, counted {:?}", counts.git).into());
    }
    facts.push(format!(
        "1 replay, {} pushes and {} fetches for {} commits",
        counts.git.pushes, counts.git.fetches, counts.git.commits_landed
    ));
    Ok(facts)
}

fn no_effect_twice(name: &str, history: &[Seen]) -> Result<(), Trouble> {
    let mut seen = BTreeSet::new();
    for commit in history {
        let header = commit
            .header
            .as_ref()
            .ok_or_else(|| format!("{name}: {:?} has no header", commit.message))?;
        if !seen.insert((header.promotion_uid.clone(), header.step.clone())) {
            return Err(format!("{name}: {:?} was pushed twice", commit.message).into());
        }
    }
    Ok(())
}

fn by_writer(history: &[Seen], stages: &BTreeMap<String, String>) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for header in history.iter().filter_map(|commit| commit.header.as_ref()) {
        let who = stages
            .get(&header.promotion_uid)
            .cloned()
            .unwrap_or_else(|| header.promotion_uid.clone());
        *found.entry(who).or_insert(0) += 1;
    }
    found
}

async fn contents(world: &World) -> Result<(), Trouble> {
    let expected = [
        (values_path("test-eu"), "tag: 2.3.1"),
        (values_path("test-us"), "tag: 2.3.1"),
        (values_path("uat"), "tag: 2.3.1"),
        (values_path("prod"), "tag: 2.3.0"),
        (values_path("prod"), "replicas: 4"),
        (
            "apps/pay/uat/kustomization.yaml".to_owned(),
            "newTag: \"1.4\"",
        ),
    ];
    for (path, text) in expected {
        let content = world
            .colleague
            .read(&world.platform(), &path)
            .await?
            .unwrap_or_default();
        if !content.contains(text) {
            return Err(format!("{path} does not say {text:?} but:\n{content}").into());
        }
    }
    let note = world
        .colleague
        .read(&world.site(), "releases/2.3.0.md")
        .await?;
    if note.is_none_or(|note| !note.contains("On main since")) {
        return Err("the release note is missing".into());
    }
    Ok(())
}
