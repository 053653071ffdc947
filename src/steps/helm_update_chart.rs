//! `helm-update-chart`: sets the versions of a chart's dependencies, byte by byte, and has Helm bring them.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    files,
    helm::{
        chart::{self, CHART, Dependency, LOCK},
        dependencies::{self, Order, Verb},
    },
    program::{self, HELM, Programs},
    schema::{Object, Shape, list, some_text, typed},
    yaml::{self, Update},
};
use crate::{
    engine::{
        step::{Class, Outcome, Step, StepCx, StepError},
        workspace::{Exported, Workspace, folder::Folder},
    },
    git::path::RepoPath,
    kargo::StepKind,
};

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct HelmUpdateChart {
    /// Where `helm` is.
    pub programs: Programs,
}

fn shape() -> Shape {
    let one = Object::new()
        .required("repository", some_text())
        .required("name", some_text())
        .required("version", some_text());
    Object::new()
        .required("path", some_text())
        .optional("charts", list(one, 1))
        .into()
}

#[derive(Deserialize)]
struct Config {
    path: String,
    #[serde(default)]
    charts: Vec<Dependency>,
}

/// Kargo's message, its lines in order; none where nothing changed.
pub fn commit_message(path: &str, changes: &BTreeMap<String, Option<String>>) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let line = |(name, change): (&String, &Option<String>)| {
        format!("\n- {name}: {}", change.as_deref().unwrap_or("removed"))
    };
    let lines: String = changes.iter().map(line).collect();
    format!("Updated chart dependencies for {path}\n{lines}")
}

/// `Chart.yaml` with these versions, and its dependencies as they are then.
pub fn set_versions(
    text: &str,
    at: &RepoPath,
    wanted: &[Dependency],
) -> Result<(String, Vec<Dependency>), StepError> {
    let unreadable = |error| {
        StepError::config(format!("cannot read the dependencies in {at}"))
            .because(error)
            .hint("Correct the file in the repository")
    };
    let listed = chart::dependencies(text).map_err(unreadable)?;
    let mut updates = Vec::new();
    for want in wanted {
        let same = |one: &Dependency| one.name == want.name && one.repository == want.repository;
        let Some(index) = listed.iter().position(same) else {
            let there: Vec<String> = listed
                .iter()
                .map(|one| format!("{} of {}", one.name, one.repository))
                .collect();
            return Err(StepError::errored(format!(
                "no dependency in Chart.yaml matches update with repository {:?} and name {:?}",
                want.repository, want.name
            ))
            .hint(format!("{at} lists: {}", there.join(", "))));
        };
        if listed
            .get(index)
            .is_some_and(|one| one.version != want.version)
        {
            updates.push(Update {
                key: format!("dependencies.{index}.version"),
                value: want.version.clone().into(),
            });
        }
    }
    let edited = yaml::set(text, &updates).map_err(|error| {
        StepError::config(format!(
            "cannot set the versions in {at}, which is unchanged"
        ))
        .because(error)
        .hint("Correct the file in the repository")
    })?;
    let listed = chart::dependencies(&edited).map_err(unreadable)?;
    Ok((edited, listed))
}

struct Ready {
    folder: Folder,
    chart: RepoPath,
    exported: Exported,
    dependencies: Vec<Dependency>,
    lock: Option<String>,
}

/// Edits `Chart.yaml` and fills a folder; none where the chart is made of nothing else.
fn prepare(
    workspace: &mut Workspace,
    path: &RepoPath,
    wanted: &[Dependency],
    root: &std::path::Path,
    doing: &str,
) -> Result<Option<Ready>, StepError> {
    let failed = |error| files::failed(doing, error);
    let chart = workspace.real(path).map_err(failed)?;
    let at = chart.child(CHART).map_err(|error| failed(error.into()))?;
    let before = files::read_text(workspace, &at, doing)?;
    let (edited, dependencies) = set_versions(&before, &at, wanted)?;
    chart::check_local(&chart, &dependencies)?;
    if edited != before {
        files::write_text(workspace, &at, &edited, doing)?;
    }
    if dependencies.is_empty() {
        return Ok(None);
    }
    let lock = chart.child(LOCK).map_err(|error| failed(error.into()))?;
    let lock = workspace.read(&lock).map_err(failed)?;
    let lock = lock.map(|file| String::from_utf8_lossy(&file.bytes).into_owned());
    let folder = program::private_folder(root, doing)?;
    let into = program::files(&folder, doing)?;
    let exported = workspace
        .export(std::slice::from_ref(&chart), &into, &chart::references)
        .map_err(failed)?;
    Ok(Some(Ready {
        folder,
        chart,
        exported,
        dependencies,
        lock,
    }))
}

impl HelmUpdateChart {
    async fn update(
        &self,
        cx: &mut StepCx<'_>,
        path: &RepoPath,
        wanted: Vec<Dependency>,
    ) -> Result<BTreeMap<String, Option<String>>, StepError> {
        let doing = format!("cannot update the dependencies of the chart {path}");
        let (at, what, root) = (path.clone(), doing.clone(), cx.files.mirrors().folders());
        let prepared =
            move |workspace: &mut Workspace| prepare(workspace, &at, &wanted, &root, &what);
        let Some(ready) = cx.files.edit(prepared).await? else {
            return Ok(BTreeMap::new());
        };
        let into = program::files(&ready.folder, &doing)?;
        let order = Order {
            verb: Verb::Update,
            folder: &ready.folder,
            files: &into,
            chart: &ready.chart,
            digest: &ready.exported.digest,
            dependencies: &ready.dependencies,
            lock: ready.lock.as_deref(),
            when: &cx.around.started_at,
            doing: &doing,
        };
        dependencies::bring(&self.programs, cx.fetched, &order)
            .await
            .map_err(|error| match ready.exported.hint() {
                Some(hint) if error.hint.is_none() => error.hint(hint),
                _ => error,
            })?;
        let (charts, lock) = dependencies::brought(&order)?;
        let listed = |text: &str| {
            chart::dependencies(text).map_err(|error| {
                StepError::errored(format!("{doing}: cannot read its {LOCK}")).because(error)
            })
        };
        let before = ready.lock.as_deref().map(listed).transpose()?;
        let changes = chart::changes(&before.unwrap_or_default(), &listed(&lock)?);
        let (chart, what) = (ready.chart.clone(), doing.clone());
        cx.files
            .edit(move |workspace| {
                dependencies::write_back(workspace, &chart, &charts, &lock, &what)
            })
            .await?;
        Ok(changes)
    }
}

#[async_trait]
impl Step for HelmUpdateChart {
    fn kind(&self) -> StepKind {
        "helm-update-chart".into()
    }

    fn class(&self) -> Class {
        Class::Fetch
    }

    fn shape(&self) -> Shape {
        shape()
    }

    async fn run(&self, mut cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let config: Config = typed(config)?;
        let path = files::path("path", &config.path)?;
        let result = self.update(&mut cx, &path, config.charts.clone()).await;
        let changes = result.map_err(|error| {
            let missing = self.programs.find(&HELM).is_err() && error.hint.is_some();
            if missing {
                StepError {
                    doing: format!("{}, so the dependencies cannot be brought", error.doing),
                    ..error
                }
            } else {
                error
            }
        })?;
        if !changes.is_empty() {
            let message = commit_message(&config.path, &changes);
            return Ok(Outcome::succeeded(said(message)));
        }
        // A message even where nothing changes: a git-commit may be made of it (C41).
        let asked = config
            .charts
            .into_iter()
            .map(|one| (one.name, Some(one.version)));
        let message = match commit_message(&config.path, &asked.collect()) {
            none if none.is_empty() => {
                format!("Chart dependencies for {} are up to date", config.path)
            }
            message => message,
        };
        Ok(Outcome::succeeded(said(message)).saying("the dependencies are up to date"))
    }
}

fn said(message: String) -> Map<String, Value> {
    Map::from_iter([("commitMessage".to_owned(), Value::String(message))])
}
