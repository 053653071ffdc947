//! `kustomize-set-image`: sets tags and digests in a kustomization's `images`, and leaves every other byte as it is.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    files,
    schema::{Object, Shape, list, some_text, text, typed, unless_empty},
    yaml::{
        Editor, Update, YamlError,
        tree::{Content, Node},
    },
};
use crate::{
    engine::{
        step::{Class, Outcome, Step, StepCx, StepError},
        workspace::{Kind, Workspace},
    },
    git::path::RepoPath,
    kargo::{StepKind, artifact::FreightCollection},
};

/// See the module.
pub struct KustomizeSetImage;

/// What kustomize calls its files.
pub(super) const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// In a configuration: leave what is there.
const KEEP: &str = "*";

fn shape() -> Shape {
    let image = Object::new()
        .required("image", some_text())
        .optional("name", text())
        .optional("newName", text())
        .optional("tag", text())
        .optional("digest", text())
        .exactly_one(&["digest", "tag"]);
    Object::new()
        .required("path", some_text())
        .optional("images", list(image, 0))
        .into()
}

#[derive(Deserialize)]
struct Config {
    path: String,
    #[serde(default)]
    images: Vec<ImageConfig>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ImageConfig {
    image: String,
    #[serde(default, deserialize_with = "unless_empty")]
    name: Option<String>,
    #[serde(default, deserialize_with = "unless_empty")]
    new_name: Option<String>,
    #[serde(default, deserialize_with = "unless_empty")]
    tag: Option<String>,
    #[serde(default, deserialize_with = "unless_empty")]
    digest: Option<String>,
}

/// An entry of `images` as it is to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// In the place of the name; `*` keeps what is there.
    pub new_name: Option<String>,
    /// In the place of the tag.
    pub new_tag: Option<String>,
    /// In the place of the tag.
    pub digest: Option<String>,
}

/// By name, which is how Kargo orders them.
pub type Images = BTreeMap<String, Image>;

impl Image {
    fn fields(&self, name: &str) -> Vec<(&'static str, String)> {
        let given = |value: &Option<String>| value.clone().filter(|value| value != KEEP);
        let all = [
            ("name", Some(name.to_owned())),
            ("newName", given(&self.new_name)),
            ("newTag", given(&self.new_tag)),
            ("digest", given(&self.digest)),
        ];
        all.into_iter()
            .filter_map(|(key, value)| Some((key, value?)))
            .collect()
    }
}

fn named(images: Vec<ImageConfig>) -> Images {
    let target = |image: ImageConfig| {
        let name = image.name.unwrap_or(image.image);
        (
            name,
            Image {
                new_name: image.new_name,
                new_tag: image.tag,
                digest: image.digest,
            },
        )
    };
    images.into_iter().map(target).collect()
}

/// All images of the Freight, each by its repository.
pub fn from_freight(freight: &FreightCollection) -> Result<Images, StepError> {
    let mut images = Images::new();
    for (origin, item) in &freight.items {
        for image in &item.images {
            let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
            let target = Image {
                new_name: None,
                new_tag: some(&image.tag),
                digest: some(&image.digest),
            };
            if images.insert(image.repo_url.clone(), target).is_some() {
                return Err(StepError::config(format!(
                    "manual configuration required due to ambiguous result: {} is in more than one piece of Freight, \
                     {origin} among them",
                    image.repo_url
                ))
                .hint("List the images in the step"));
            }
        }
    }
    Ok(images)
}

/// Kargo's message.
pub fn commit_message(path: &str, images: &Images) -> String {
    if images.is_empty() {
        return String::new();
    }
    let plural = if images.len() == 1 { "image" } else { "images" };
    let lines: Vec<String> = images
        .iter()
        .map(|(name, image)| {
            let name = image
                .new_name
                .as_ref()
                .filter(|name| *name != KEEP)
                .unwrap_or(name);
            match (&image.digest, &image.new_tag) {
                (Some(digest), _) => format!("\n- {name}@{digest}"),
                (None, Some(tag)) => format!("\n- {name}:{tag}"),
                (None, None) => format!("\n- {name}"),
            }
        })
        .collect();
    format!("Updated {path} to use new {plural}\n{}", lines.concat())
}

/// The one kustomization in a directory.
fn find(workspace: &mut Workspace, dir: &RepoPath) -> Result<RepoPath, StepError> {
    let doing = "could not discover kustomization file";
    let mut found = Vec::new();
    for name in NAMES {
        let path = files::path("path", &format!("{dir}/{name}"))?;
        if files::exists(workspace, &path, doing)? != Kind::Absent {
            found.push(path);
        }
    }
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(StepError::errored(format!(
            "{doing}: could not find any Kustomization files in {dir}: it has no {}",
            NAMES.join(", ")
        ))),
        several => {
            let names: Vec<&str> = several.iter().filter_map(RepoPath::name).collect();
            Err(StepError::config(format!(
                "{doing}: ambiguous result: {dir} has {}",
                names.join(" and ")
            ))
            .hint("Kustomize reads one of them; remove the others"))
        }
    }
}

/// `text` with these images set.
pub fn set_images(text: &str, images: &Images) -> Result<String, YamlError> {
    let mut editor = Editor::open(text)?;
    for (name, image) in images {
        match entry_of(&editor, name)? {
            Some(route) => update_entry(&mut editor, &route, image)?,
            None => editor.append(0, "images", &image.fields(name))?,
        }
    }
    Ok(editor.into_text())
}

/// Where an image's entry is.
fn entry_of(editor: &Editor, name: &str) -> Result<Option<[usize; 2]>, YamlError> {
    let refuse = |why: &str| {
        Err(YamlError::Unsettable {
            key: "images".into(),
            why: why.to_owned(),
        })
    };
    let Some(Content::Map(entries)) = editor.node(0, &[]).map(|root| &root.content) else {
        return Ok(None);
    };
    let mut lists = entries
        .iter()
        .enumerate()
        .filter(|(_, (key, _))| key.text() == Some("images"));
    let Some((at, (_, list))) = lists.next() else {
        return Ok(None);
    };
    if lists.next().is_some() {
        return refuse("it is there twice");
    }
    let Content::Seq(items) = &list.content else {
        return Ok(None);
    };
    let mut found = None;
    for (index, item) in items.iter().enumerate() {
        let Content::Map(fields) = &item.content else {
            return refuse("an item of it is not a mapping");
        };
        let named =
            |(key, value): &(Node, Node)| key.text() == Some("name") && value.text() == Some(name);
        if fields.iter().any(named) && found.replace([at, index]).is_some() {
            return refuse(&format!("{name} is in it twice"));
        }
    }
    Ok(found)
}

/// An entry becomes what is asked for: a tag goes when a digest comes, in its line.
fn update_entry(editor: &mut Editor, route: &[usize; 2], image: &Image) -> Result<(), YamlError> {
    let wanted = [
        ("newName", &image.new_name),
        ("newTag", &image.new_tag),
        ("digest", &image.digest),
    ];
    let position = |editor: &Editor, key: &str| match editor
        .node(0, route)
        .map(|node| &node.content)
    {
        Some(Content::Map(fields)) => fields.iter().position(|(name, _)| name.text() == Some(key)),
        _ => None,
    };
    let [list, item] = *route;
    let [_, (_, tag), (_, digest)] = wanted;
    for (old, new, value) in [("newTag", "digest", digest), ("digest", "newTag", tag)] {
        let goes = wanted
            .iter()
            .any(|(key, wanted)| *key == old && wanted.is_none());
        if let (Some(value), Some(index), None, true) =
            (value, position(editor, old), position(editor, new), goes)
        {
            editor.replace_entry(0, route, index, new, value)?;
        }
    }
    for (key, value) in wanted {
        match (value.as_deref(), position(editor, key)) {
            (Some(KEEP), _) | (None, None) => {}
            (Some(value), Some(index)) => {
                let update = Update {
                    key: format!("images.{item}.{key}"),
                    value: Value::from(value),
                };
                editor.set_at(0, &[list, item, index], &update)?;
            }
            (Some(value), None) => editor.add_entry(0, route, key, value)?,
            (None, Some(index)) => editor.remove_entry(0, route, index)?,
        }
    }
    Ok(())
}

fn run(workspace: &mut Workspace, dir: &RepoPath, images: &Images) -> Result<bool, StepError> {
    let at = find(workspace, dir)?;
    let doing = format!("cannot set images in {at}");
    let before = files::read_text(workspace, &at, &doing)?;
    let after = set_images(&before, images).map_err(|error| {
        StepError::config(format!("{doing}, which is unchanged"))
            .because(error)
            .hint("Correct the file in the repository")
    })?;
    if after == before {
        return Ok(false);
    }
    files::write_text(workspace, &at, &after, &doing)?;
    Ok(true)
}

#[async_trait]
impl Step for KustomizeSetImage {
    fn kind(&self) -> StepKind {
        "kustomize-set-image".into()
    }

    fn class(&self) -> Class {
        Class::Workspace
    }

    fn shape(&self) -> Shape {
        shape()
    }

    async fn run(&self, cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let config: Config = typed(config)?;
        let dir = files::path("path", &config.path)?;
        let images = if config.images.is_empty() {
            from_freight(&cx.around.freight)?
        } else {
            named(config.images)
        };
        // A message even where nothing changes: a git-commit may be made of it (C41).
        let message = commit_message(&config.path, &images);
        let changed = cx
            .files
            .edit(move |workspace| run(workspace, &dir, &images))
            .await?;
        let outcome = Outcome::succeeded(Map::from_iter([(
            "commitMessage".to_owned(),
            Value::String(message),
        )]));
        Ok(if changed {
            outcome
        } else {
            outcome.saying("the images are set already")
        })
    }
}
