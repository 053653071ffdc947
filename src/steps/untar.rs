//! `untar`: takes files out of an archive, and nothing that an archive should not do.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    archive::{self, ArchiveError, Content, Limits, Unpacked},
    files,
    ignores::Ignores,
    schema::{Object, Shape, some_text, typed},
};
use crate::{
    engine::{
        step::{Class, Outcome, Step, StepCx, StepError},
        workspace::Workspace,
    },
    git::{path::RepoPath, tree::Mode},
    kargo::StepKind,
};

/// See the module.
pub struct Untar;

fn shape() -> Shape {
    Object::new()
        .required("inPath", some_text())
        .required("outPath", some_text())
        .optional("stripComponents", Shape::Integer { min: Some(0) })
        .optional("ignore", some_text())
        .into()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    in_path: String,
    out_path: String,
    #[serde(default)]
    strip_components: u64,
    #[serde(default)]
    ignore: String,
}

/// Names shown of those that were left out.
const SHOWN: usize = 5;

fn unpack(workspace: &mut Workspace, from: &RepoPath, strip: u64) -> Result<Unpacked, StepError> {
    let doing = format!("failed to extract tar file {from}");
    let file = workspace
        .read(from)
        .map_err(|error| files::failed(&doing, error))?
        .ok_or_else(|| StepError::errored(format!("{doing}: there is no such file")))?;
    archive::read(&file.bytes, strip, Limits::default()).map_err(|error| {
        let hint = match &error {
            ArchiveError::LargeFile { .. }
            | ArchiveError::Large(_)
            | ArchiveError::Many(_)
            | ArchiveError::Bomb(_) => Some("Nothing was extracted; split the archive"),
            ArchiveError::Format(_) => Some("Pack it as tar, with or without gzip"),
            _ => None,
        };
        let failed = StepError::errored(format!("{doing}: extraction aborted")).because(error);
        match hint {
            Some(hint) => failed.hint(hint),
            None => failed,
        }
    })
}

/// The directory becomes what the archive holds: Kargo replaces it as a whole, too.
fn replace(
    workspace: &mut Workspace,
    out: &RepoPath,
    unpacked: &Unpacked,
    ignored: &Ignores,
) -> Result<(), StepError> {
    let doing = format!("cannot extract to {out}");
    let failed = |error| files::failed(&doing, error);
    if let Some(mount) = workspace.checkout_below(out).map_err(failed)? {
        return Err(
            StepError::config(format!("{doing}: the checkout {mount} is in it"))
                .hint("What was in outPath is replaced; give a directory without checkouts in it"),
        );
    }
    for listed in workspace.list(out).map_err(failed)?.unwrap_or_default() {
        let path = out.child(&listed.name).map_err(|e| failed(e.into()))?;
        workspace.remove(&path).map_err(failed)?;
    }
    let mut written: Vec<(RepoPath, &[u8], Mode)> = Vec::new();
    for (path, content) in &unpacked.entries {
        if ignored.within(path, *content == Content::Dir) {
            continue;
        }
        let at = out.join(path);
        match content {
            Content::Dir => {}
            Content::File { bytes, executable } => {
                let mode = if *executable {
                    Mode::Executable
                } else {
                    Mode::File
                };
                written.push((at, bytes, mode));
            }
            Content::Link(target) => written.push((at, target, Mode::Link)),
        }
    }
    let all = written
        .iter()
        .map(|(path, bytes, mode)| (path, *bytes, Some(*mode)));
    workspace.write_all(all).map_err(failed)
}

fn said(left_out: &[(String, &'static str)]) -> String {
    let shown: Vec<String> = left_out
        .iter()
        .take(SHOWN)
        .map(|(name, why)| format!("{name:?} ({why})"))
        .collect();
    let more = match left_out.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("left out: {}{more}", shown.join(", "))
}

#[async_trait]
impl Step for Untar {
    fn kind(&self) -> StepKind {
        "untar".into()
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
        let out = files::path("outPath", &config.out_path)?;
        let ignored = Ignores::parse(&config.ignore)?;
        let left_out = cx
            .files
            .edit(move |workspace| {
                let unpacked = unpack(workspace, &from, config.strip_components)?;
                replace(workspace, &out, &unpacked, &ignored)?;
                Ok(unpacked.left_out)
            })
            .await?;
        let outcome = Outcome::succeeded(Map::new());
        Ok(if left_out.is_empty() {
            outcome
        } else {
            outcome.saying(said(&left_out))
        })
    }
}
