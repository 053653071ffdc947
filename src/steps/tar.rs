//! `tar`: puts a file or a directory into an archive that is the same whenever the files are.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    archive::{self, Content, Entries},
    files,
    ignores::Ignores,
    schema::{Object, Shape, some_text, typed},
};
use crate::{
    engine::{
        step::{Class, Outcome, Step, StepCx, StepError},
        workspace::{Kind, Workspace},
    },
    git::{path::RepoPath, tree::Mode},
    kargo::StepKind,
};

/// See the module.
pub struct Tar;

fn shape() -> Shape {
    Object::new()
        .required("inPath", some_text())
        .required("outPath", some_text())
        .optional("ignore", some_text())
        .optional("gzip", Shape::Flag)
        .into()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    in_path: String,
    out_path: String,
    #[serde(default)]
    ignore: String,
    /// As Kargo's manual and schema say.
    #[serde(default = "yes")]
    gzip: bool,
}

fn yes() -> bool {
    true
}

/// What goes in: directories by the files in them, since git keeps no empty ones.
fn gather(
    workspace: &mut Workspace,
    from: &RepoPath,
    to: &RepoPath,
    ignored: &Ignores,
) -> Result<Entries, StepError> {
    let doing = || format!("cannot put {from} into an archive");
    let failed = |error| files::failed(doing(), error);
    let real = workspace.real(from).map_err(failed)?;
    let walked = workspace.walk(&real).map_err(failed)?;
    if walked.is_empty() && workspace.list(&real).map_err(failed)?.is_none() {
        return Err(StepError::errored(format!(
            "{}: the path {from} does not exist",
            doing()
        )));
    }
    let target = workspace.real(to).map_err(failed)?;
    let mut entries = Entries::new();
    for file in walked {
        let inner = match file.path.below(&real) {
            // A single file goes by its own name.
            Some(inner) if inner.is_root() => match file.path.name() {
                Some(name) => RepoPath::root().child(name).map_err(|e| failed(e.into()))?,
                None => continue,
            },
            Some(inner) => inner,
            None => continue,
        };
        // An archive that is written where it reads from would hold itself the next time.
        if file.path == target || ignored.within(&inner, false) {
            continue;
        }
        let Some(blob) = &file.blob else { continue };
        let bytes = workspace.blob(&file.path, blob).map_err(failed)?;
        for dir in inner.ancestors().filter(|dir| !dir.is_root()) {
            entries.insert(dir, Content::Dir);
        }
        let content = match file.mode {
            Mode::Link => Content::Link(bytes),
            mode => Content::File {
                bytes,
                executable: mode == Mode::Executable,
            },
        };
        entries.insert(inner, content);
    }
    Ok(entries)
}

#[async_trait]
impl Step for Tar {
    fn kind(&self) -> StepKind {
        "tar".into()
    }

    fn class(&self) -> Class {
        Class::Workspace
    }

    fn shape(&self) -> Shape {
        shape()
    }

    async fn run(&self, cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let config: Config = typed(config)?;
        let from = files::path("inPath", &config.in_path)?;
        let to = files::path("outPath", &config.out_path)?;
        let ignored = Ignores::parse(&config.ignore)?;
        let gzip = config.gzip;
        cx.files
            .edit(move |workspace| {
                let doing = format!("failed to create the tar archive {to}");
                if workspace.kind(&to).is_ok_and(|kind| kind == Kind::Dir) {
                    return Err(StepError::errored(format!("{doing}: it is a directory"))
                        .hint("Give the path of a file"));
                }
                let entries = gather(workspace, &from, &to, &ignored)?;
                let bytes = archive::write(&entries, gzip).map_err(|error| {
                    StepError::errored(&doing)
                        .because(error)
                        .hint("Leave large files out with ignore")
                })?;
                workspace
                    .write(&to, &bytes, None)
                    .map_err(|error| files::failed(doing, error))
            })
            .await?;
        Ok(Outcome::succeeded(Map::new()))
    }
}
