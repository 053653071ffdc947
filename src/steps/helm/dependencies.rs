//! `helm dependency`: brings the charts that a chart is made of into its `charts`, once for each set of inputs.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::json;
use sha2::{Digest, Sha256};

use super::chart::{self, CHARTS, Dependency, LOCK};
use crate::{
    engine::{
        fetched::{self, Fetched, Kept},
        step::StepError,
        workspace::{
            Kind, Workspace,
            folder::{self, Folder, LIMITS, Made},
        },
    },
    git::{
        id::TreeId,
        objects::Objects,
        path::RepoPath,
        tree::{Mode, Node, edit::Edits},
    },
    kargo::{Timestamp, artifact::hex},
    steps::{
        archive, files,
        program::{Call, HELM, Programs, REPOSITORIES},
    },
};

/// What Helm is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Find the newest versions that `Chart.yaml` allows.
    Update,
    /// Bring what `Chart.lock` says; without a lock it is an update.
    Build,
}

/// A chart in a folder, whose dependencies are to be brought.
pub struct Order<'a> {
    /// What to do.
    pub verb: Verb,
    /// The folder, with the chart in it.
    pub folder: &'a Folder,
    /// The folder's files.
    pub files: &'a Path,
    /// The chart, in the workspace and in the folder's files.
    pub chart: &'a RepoPath,
    /// What the folder was filled with, as a digest.
    pub digest: &'a str,
    /// What `Chart.yaml` lists.
    pub dependencies: &'a [Dependency],
    /// The lock as it was.
    pub lock: Option<&'a str>,
    /// When the step started first.
    pub when: &'a Timestamp,
    /// For errors.
    pub doing: &'a str,
}

impl Order<'_> {
    fn dir(&self) -> PathBuf {
        self.files.join(self.chart.as_git())
    }

    fn failed(&self, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StepError {
        StepError::errored(self.doing).because(error)
    }
}

/// Fills the chart's `charts` and makes its lock, in the folder: by Helm, or from what it brought before.
pub async fn bring(
    programs: &Programs,
    fetched: &Fetched,
    order: &Order<'_>,
) -> Result<(), StepError> {
    let name = format!(
        "helm dependency {:?} {} {}",
        order.verb, order.chart, order.digest
    );
    match fetched.get(&name).await? {
        Some(Kept::Tree(tree)) => put_out(fetched, &tree, order),
        _ => {
            run(programs, order).await?;
            settle(order)?;
            let dir = order.dir();
            fetched
                .put(&name, move |objects| take_in(objects, &dir))
                .await
                .map(drop)
        }
    }
}

async fn run(programs: &Programs, order: &Order<'_>) -> Result<(), StepError> {
    write_repositories(order).map_err(|error| order.failed(error))?;
    let verb = match order.verb {
        Verb::Update => "update",
        Verb::Build => "build",
    };
    let chart = order.dir();
    let args = [
        "dependency".as_ref(),
        verb.as_ref(),
        "--".as_ref(),
        chart.as_os_str(),
    ];
    let call = Call {
        program: &HELM,
        args: args.into_iter().map(Into::into).collect(),
        folder: order.folder,
        network: order.dependencies.iter().any(|one| one.local().is_none()),
        doing: order.doing,
    };
    programs.run(call).await.map(drop)
}

/// Helm brings nothing from repositories that it was not told of.
fn write_repositories(order: &Order<'_>) -> io::Result<()> {
    let urls: BTreeSet<&str> = order
        .dependencies
        .iter()
        .map(|one| one.repository.as_str())
        .filter(|url| url.starts_with("http://") || url.starts_with("https://"))
        .collect();
    let entry = |url: &&str| json!({"name": hex(&Sha256::digest(url.as_bytes())), "url": url});
    let list = json!({
        "apiVersion": "",
        "generated": "1980-01-01T00:00:00Z",
        "repositories": urls.iter().map(entry).collect::<Vec<_>>(),
    });
    let at = order.folder.path().join("home").join(REPOSITORIES);
    if let Some(parent) = at.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(at, list.to_string())
}

/// Takes out what would be different next time: the lock's time, and those in archives of local charts.
fn settle(order: &Order<'_>) -> Result<(), StepError> {
    let dir = order.dir();
    let at = dir.join(LOCK);
    let made = fs::read_to_string(&at).map_err(|error| order.failed(error))?;
    let lock = chart::settled_lock(order.lock, &made, order.when);
    fs::write(&at, &lock).map_err(|error| order.failed(error))?;
    let locked = chart::dependencies(&lock).map_err(|error| order.failed(error))?;
    for one in locked.iter().filter(|one| one.local().is_some()) {
        let at = dir
            .join(CHARTS)
            .join(format!("{}-{}.tgz", one.name, one.version));
        let Ok(bytes) = fs::read(&at) else { continue };
        let packed = archive::read(&bytes, 0, archive::Limits::default())
            .and_then(|unpacked| archive::write(&unpacked.entries, true))
            .map_err(|error| order.failed(error))?;
        fs::write(&at, packed).map_err(|error| order.failed(error))?;
    }
    Ok(())
}

fn take_in(objects: &Objects, chart: &Path) -> Result<Kept, StepError> {
    let failed = |error| StepError::transient("cannot keep the charts").because(error);
    let mut edits = Edits::new();
    let path = |name: &str| {
        RepoPath::root()
            .child(name)
            .map_err(|error| StepError::errored("cannot keep the charts").because(error))
    };
    let charts = chart.join(CHARTS);
    if charts.is_dir() {
        let tree = fetched::folder::take_in(objects, &charts)?;
        if tree != TreeId::empty() {
            edits.put(&path(CHARTS)?, Some(Node::tree(&tree).map_err(failed)?));
        }
    }
    let lock = fs::read(chart.join(LOCK))
        .map_err(|error| StepError::errored("cannot keep the charts").because(error))?;
    let blob = objects.write_blob(&lock).map_err(failed)?;
    edits.put(
        &path(LOCK)?,
        Some(Node::leaf(Mode::File, &blob).map_err(failed)?),
    );
    objects
        .edit(&TreeId::empty(), &edits)
        .map(Kept::Tree)
        .map_err(failed)
}

fn put_out(fetched: &Fetched, tree: &TreeId, order: &Order<'_>) -> Result<(), StepError> {
    let dir = order.dir();
    match fs::remove_dir_all(dir.join(CHARTS)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(order.failed(error)),
        _ => {}
    }
    let objects = Objects::open(fetched.store())
        .map_err(|error| StepError::transient(order.doing).because(error))?;
    fetched::folder::put_out(&objects, tree, &dir)
}

/// What the folder's chart has in `charts` and as its lock.
pub fn brought(order: &Order<'_>) -> Result<(Vec<Made>, String), StepError> {
    let dir = order.dir();
    let charts = match dir.join(CHARTS) {
        charts if charts.is_dir() => {
            folder::read(&charts, LIMITS).map_err(|error| order.failed(error))?
        }
        _ => Vec::new(),
    };
    let lock = fs::read_to_string(dir.join(LOCK)).map_err(|error| order.failed(error))?;
    Ok((charts, lock))
}

/// Makes the workspace's chart have the same; what is the same already is not written.
pub fn write_back(
    workspace: &mut Workspace,
    chart: &RepoPath,
    charts: &[Made],
    lock: &str,
    doing: &str,
) -> Result<(), StepError> {
    let failed = |error| files::failed(doing, error);
    let inner = |name: &str| chart.child(name).map_err(|error| failed(error.into()));
    let dir = inner(CHARTS)?;
    let wanted: BTreeSet<RepoPath> = charts.iter().map(|made| dir.join(&made.path)).collect();
    if workspace.kind(&dir).map_err(failed)? == Kind::Dir {
        for there in workspace.walk(&dir).map_err(failed)? {
            if there.blob.is_some() && !wanted.contains(&there.path) {
                workspace.remove(&there.path).map_err(failed)?;
            }
        }
    }
    let lock_path = inner(LOCK)?;
    let mut changed: Vec<(RepoPath, &[u8], Option<Mode>)> = Vec::new();
    for made in charts {
        let path = dir.join(&made.path);
        if made.mode == Mode::Link {
            // Links are the repository's own, and as they were: Helm makes none.
            continue;
        }
        let same = workspace.read(&path).map_err(failed)?;
        if same.is_none_or(|there| there.bytes != made.bytes || there.mode != made.mode) {
            changed.push((path, &made.bytes, Some(made.mode)));
        }
    }
    let before = workspace.read(&lock_path).map_err(failed)?;
    if before.is_none_or(|there| there.bytes != lock.as_bytes()) {
        changed.push((lock_path, lock.as_bytes(), None));
    }
    let all = changed
        .iter()
        .map(|(path, bytes, mode)| (path, *bytes, *mode));
    workspace.write_all(all).map_err(failed)
}
