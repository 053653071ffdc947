//! Promotion steps, one file per `uses`, and the registry that names them.
//!
//! A step works through [`crate::engine::step`]: it changes the workspace, never a disk. `schema` is how a step says
//! what its configuration looks like, `files` how it speaks of paths; `yaml`, `json` and
//! `toml` edit byte by byte, `updates` and `parse` are what the steps on them share.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    engine::step::{Registry, Step},
    kargo::StepKind,
};

pub mod archive;
mod committer;
pub mod compose_output;
pub mod copy;
pub mod delete;
pub mod fail;
pub mod file_write;
pub mod files;
pub mod git_clear;
pub mod git_clone;
pub mod git_commit;
pub mod git_push;
pub mod git_tag;
pub mod helm;
pub mod helm_template;
pub mod helm_update_chart;
pub mod http;
pub mod http_download;
mod ignores;
pub mod json;
pub mod json_parse;
pub mod json_update;
pub mod kustomize_build;
pub mod kustomize_set_image;
pub mod manifests;
mod objects;
pub mod outputs;
mod parse;
pub mod program;
pub mod schema;
pub mod set_freight_alias;
pub mod set_metadata;
pub mod tar;
pub mod toml;
pub mod toml_parse;
pub mod toml_update;
pub mod untar;
pub mod updates;
pub mod wait_for_approval;
pub mod yaml;
pub mod yaml_merge;
pub mod yaml_parse;
pub mod yaml_update;

#[cfg(test)]
mod tests;

/// Step kinds by name.
#[derive(Clone, Default)]
pub struct BuiltIn {
    steps: BTreeMap<StepKind, Arc<dyn Step>>,
}

impl BuiltIn {
    /// With one more, or in place of the one of the same name.
    pub fn with(mut self, step: impl Step + 'static) -> Self {
        self.steps.insert(step.kind(), Arc::new(step));
        self
    }
}

impl Registry for BuiltIn {
    fn find(&self, kind: &StepKind) -> Option<Arc<dyn Step>> {
        self.steps.get(kind).cloned()
    }

    fn kinds(&self) -> BTreeSet<StepKind> {
        self.steps.keys().cloned().collect()
    }
}

/// The steps that need nothing but what a [`crate::engine::step::StepCx`] gives.
pub fn registry() -> BuiltIn {
    BuiltIn::default()
        .with(compose_output::ComposeOutput)
        .with(copy::Copy)
        .with(delete::Delete)
        .with(fail::Fail)
        .with(file_write::FileWrite)
        .with(git_clear::GitClear)
        .with(git_clone::GitClone)
        .with(git_commit::GitCommit)
        .with(git_push::GitPush)
        .with(json_parse::JsonParse)
        .with(json_update::JsonUpdate)
        .with(http::Http)
        .with(http_download::HttpDownload)
        .with(kustomize_set_image::KustomizeSetImage)
        .with(toml_parse::TomlParse)
        .with(toml_update::TomlUpdate)
        .with(helm_template::HelmTemplate::default())
        .with(helm_update_chart::HelmUpdateChart::default())
        .with(kustomize_build::KustomizeBuild::default())
        .with(tar::Tar)
        .with(untar::Untar)
        .with(git_tag::GitTag)
        .with(set_freight_alias::SetFreightAlias)
        .with(set_metadata::SetMetadata)
        .with(wait_for_approval::WaitForApproval)
        .with(yaml_parse::YamlParse)
        .with(yaml_merge::YamlMerge)
        .with(yaml_update::YamlUpdate)
}
