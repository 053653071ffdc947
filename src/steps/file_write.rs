//! `file-write`: writes a text to a file.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    files,
    schema::{Object, Shape, matching, some_text, text, typed},
};
use crate::{
    engine::{
        step::{Class, Outcome, Step, StepCx, StepError},
        workspace::{Kind, Workspace},
    },
    git::path::RepoPath,
    git::tree::Mode,
    kargo::StepKind,
};

/// See the module.
pub struct FileWrite;

fn shape() -> Shape {
    Object::new()
        .required("path", some_text())
        .required("contents", text())
        .optional("permissions", matching("^0[0-7]{3}$"))
        .optional("overwrite", Shape::Flag)
        .into()
}

#[derive(Deserialize)]
struct Config {
    path: String,
    contents: String,
    permissions: Option<String>,
    #[serde(default)]
    overwrite: bool,
}

/// Git keeps of a mode only whether a file is executable, and that is not allowed here: what is left is to refuse
/// what Kargo refuses.
fn check_permissions(permissions: &str) -> Result<(), StepError> {
    let refuse = |why: &str| {
        Err(
            StepError::failed(format!("permissions {permissions} must not {why}"))
                .hint("Git keeps no other mode of a text file than 0644; leave permissions out"),
        )
    };
    let Ok(mode) = u32::from_str_radix(permissions, 8) else {
        return refuse("be anything but octal digits");
    };
    if mode > 0o777 {
        refuse("include special mode bits")
    } else if mode & 0o111 != 0 {
        refuse("include executable bits")
    } else if mode & 0o002 != 0 {
        refuse("be world-writable: 0002 is set")
    } else {
        Ok(())
    }
}

fn write(workspace: &mut Workspace, at: &RepoPath, config: &Config) -> Result<(), StepError> {
    let doing = format!("cannot write {at}");
    if !config.overwrite && files::exists(workspace, at, &doing)? != Kind::Absent {
        return Err(StepError::failed(format!("{at} already exists"))
            .hint("Set overwrite: true to replace it"));
    }
    let mode = config.permissions.is_some().then_some(Mode::File);
    workspace
        .write(at, config.contents.as_bytes(), mode)
        .map_err(|error| files::failed(doing, error))
}

#[async_trait]
impl Step for FileWrite {
    fn kind(&self) -> StepKind {
        "file-write".into()
    }

    fn class(&self) -> Class {
        Class::Workspace
    }

    fn shape(&self) -> Shape {
        shape()
    }

    async fn run(&self, cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let config: Config = typed(config)?;
        if let Some(permissions) = &config.permissions {
            check_permissions(permissions)?;
        }
        let at = files::path("path", &config.path)?;
        cx.files
            .edit(move |workspace| write(workspace, &at, &config))
            .await?;
        Ok(Outcome::succeeded(Map::new()))
    }
}
