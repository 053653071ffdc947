//! Rendered manifests: a text of YAML documents, cut into one file for each resource.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::files;
use crate::{
    engine::{step::StepError, workspace::Workspace},
    git::path::RepoPath,
};

/// One document and what it says it is; empty where it does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    /// The document, without the line that separates it from others.
    pub text: String,
    /// The part of `apiVersion` before the slash.
    pub group: String,
    /// The rest of `apiVersion`.
    pub version: String,
    /// `kind`.
    pub kind: String,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// Whether it is a hook of Helm's.
    pub hook: bool,
}

/// As much of a resource as says what it is. Texts are read as texts, whatever else they could be.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Said {
    api_version: Option<String>,
    kind: Option<String>,
    metadata: Option<Metadata>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
    annotations: Option<BTreeMap<String, Value>>,
}

impl Resource {
    /// Reads what a document is; a text that is no resource is kept all the same.
    pub fn of(text: &str) -> Self {
        let said: Option<Said> = serde_saphyr::from_str(text).unwrap_or_default();
        let said = said.unwrap_or_default();
        let metadata = said.metadata.unwrap_or_default();
        let api = said.api_version.unwrap_or_default();
        let (group, version) = api.rsplit_once('/').unwrap_or(("", &api));
        let annotations = metadata.annotations.unwrap_or_default();
        Self {
            text: text.to_owned(),
            group: group.to_owned(),
            version: version.to_owned(),
            kind: said.kind.unwrap_or_default(),
            namespace: metadata.namespace.unwrap_or_default(),
            name: metadata.name.unwrap_or_default(),
            hook: annotations.contains_key("helm.sh/hook"),
        }
    }
}

/// The documents of a text that hold anything. A line of three dashes ends one; inside a block of text such a line is
/// indented.
pub fn documents(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "---" {
            documents.push(String::new());
        } else if let Some(last) = documents.last_mut() {
            last.push_str(line);
        }
    }
    documents.retain(|document| !document.trim().is_empty());
    documents
}

/// A name made of what a resource says of itself has to be a plain one.
pub fn check_file_name(name: &str) -> Result<(), StepError> {
    if name.is_empty() {
        return Err(StepError::errored("generated resource filename is empty"));
    }
    let plain = RepoPath::root().child(name).is_ok() && !name.contains(['/', '\\']);
    match plain {
        true => Ok(()),
        false => Err(
            StepError::errored(format!("unsafe generated resource filename {name:?}"))
                .hint("A resource's kind, namespace and name become the name of its file"),
        ),
    }
}

/// Files by name, each name once: of two resources with one file one would be lost.
#[derive(Debug, Default)]
pub struct Named(BTreeMap<String, String>);

impl Named {
    /// One more.
    pub fn add(&mut self, name: String, text: String) -> Result<(), StepError> {
        check_file_name(&name)?;
        match self.0.insert(name.clone(), text.clone()) {
            Some(other) if other != text => Err(StepError::errored(format!(
                "two resources would be written to {name}, and one of them would be lost"
            ))
            .hint(
                "Render to one file instead (an outPath that ends in .yaml), or to another layout",
            )),
            _ => Ok(()),
        }
    }

    /// All of them, in order.
    pub fn into_files(self) -> impl Iterator<Item = (RepoPath, Vec<u8>)> {
        let path = |(name, text): (String, String)| {
            let path = RepoPath::root().child(&name).ok()?;
            Some((path, text.into_bytes()))
        };
        self.0.into_iter().filter_map(path)
    }
}

/// Whether a path means one file for everything, as Kargo tells.
pub fn is_file(path: &RepoPath) -> bool {
    let end = path.name().and_then(|name| name.rsplit_once('.'));
    end.is_some_and(|(_, end)| end == "yaml" || end == "yml")
}

/// Writes rendered files below `out`; what is there already stays, unless it has one of the names.
pub fn write(
    workspace: &mut Workspace,
    out: &RepoPath,
    rendered: &[(RepoPath, Vec<u8>)],
    doing: &str,
) -> Result<(), StepError> {
    let paths: Vec<(RepoPath, &[u8])> = rendered
        .iter()
        .map(|(path, bytes)| (out.join(path), bytes.as_slice()))
        .collect();
    let all = paths.iter().map(|(path, bytes)| (path, *bytes, None));
    workspace
        .write_all(all)
        .map_err(|error| files::failed(doing, error))
}
