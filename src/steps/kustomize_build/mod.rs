//! `kustomize-build`: renders a kustomization with the program `kustomize`, in a folder of its own.

use std::{path::Path, sync::Mutex};

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    files,
    manifests::{self, Named, Resource},
    program::{self, Call, KUSTOMIZE, Programs},
    schema::{Object, Shape, list, some_text, text, typed},
};
use crate::{
    engine::{
        fetched::{self, Fetched, Kept},
        step::{Class, Outcome, Step, StepCx, StepError},
        workspace::folder::Folder,
    },
    git::{objects::Objects, path::RepoPath},
    kargo::StepKind,
};

mod sources;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct KustomizeBuild {
    /// Where `kustomize` and `helm` are.
    pub programs: Programs,
}

fn shape() -> Shape {
    let helm = Object::new()
        .optional("apiVersions", list(some_text(), 0))
        .optional("kubeVersion", text());
    Object::new()
        .required("path", some_text())
        .required("outPath", some_text())
        .optional("outputFormat", Shape::OneOf(&["kargo", "kustomize"]))
        .optional("plugin", Object::new().optional("helm", helm))
        .into()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    path: String,
    out_path: String,
    output_format: Option<String>,
    #[serde(default)]
    plugin: Plugin,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Plugin {
    helm: Helm,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Helm {
    api_versions: Vec<String>,
    kube_version: String,
}

/// How resources are named.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    OneFile,
    Kargo,
    Kustomize,
}

impl Config {
    fn layout(&self, out: &RepoPath) -> Layout {
        match self.output_format.as_deref() {
            _ if manifests::is_file(out) => Layout::OneFile,
            Some("kustomize") => Layout::Kustomize,
            _ => Layout::Kargo,
        }
    }
}

/// The kustomization, ready to be built.
struct Ready {
    folder: Folder,
    /// Where it is, through links.
    at: RepoPath,
    /// Equal where it would be built the same.
    digest: String,
    /// What of it is to come from outside.
    remote: Option<String>,
    hint: Option<String>,
}

const DOING: &str = "cannot build the kustomization";

fn doing(path: &RepoPath) -> String {
    format!("{DOING} at {path}")
}

async fn prepare(cx: &mut StepCx<'_>, path: &RepoPath) -> Result<Ready, StepError> {
    let (path, root) = (path.clone(), cx.files.mirrors().folders());
    cx.files
        .edit(move |workspace| {
            let failed = |error| files::failed(doing(&path), error);
            let at = workspace.real(&path).map_err(failed)?;
            if workspace.list(&at).map_err(failed)?.is_none() {
                return Err(StepError::errored(format!(
                    "{}: there is no such directory",
                    doing(&path)
                )));
            }
            let folder = program::private_folder(&root, &doing(&path))?;
            let files = program::files(&folder, &doing(&path))?;
            let seen: Mutex<(Vec<RepoPath>, Option<String>)> = Mutex::default();
            let references = |path: &RepoPath, bytes: &[u8]| {
                let mut seen = seen.lock().unwrap_or_else(|error| error.into_inner());
                if seen.1.is_none() {
                    seen.1 = sources::remote(path, bytes);
                }
                seen.0.push(path.clone());
                sources::references(path, bytes)
            };
            let exported = workspace
                .export(std::slice::from_ref(&at), &files, &references)
                .map_err(failed)?;
            let (all, remote) = seen.into_inner().unwrap_or_else(|error| error.into_inner());
            sources::bring_in(&files, &all)
                .map_err(|error| StepError::errored(doing(&path)).because(error))?;
            Ok(Ready {
                folder,
                at,
                hint: exported.hint(),
                digest: exported.digest,
                remote,
            })
        })
        .await
}

impl KustomizeBuild {
    async fn build(&self, ready: &Ready, config: &Config, out: &Path) -> Result<(), StepError> {
        let mut args: Vec<String> = vec!["build".into(), "--enable-helm".into()];
        if let Ok(helm) = self.programs.find(&program::HELM) {
            args.push(format!("--helm-command={}", helm.display()));
        }
        let helm = &config.plugin.helm;
        for version in &helm.api_versions {
            args.push(format!("--helm-api-versions={version}"));
        }
        if !helm.kube_version.is_empty() {
            args.push(format!("--helm-kube-version={}", helm.kube_version));
        }
        args.push(format!("--output={}", out.display()));
        args.push("--".into());
        args.push(format!("./{}", ready.at.as_git()));
        let call = Call {
            program: &KUSTOMIZE,
            args: args.into_iter().map(Into::into).collect(),
            folder: &ready.folder,
            network: ready.remote.is_some(),
            doing: &doing(&ready.at),
        };
        let built = self.programs.run(call).await.map(drop);
        built.map_err(|error| match (&ready.hint, error.hint.is_none()) {
            (Some(hint), true) => error.hint(hint.clone()),
            _ => error,
        })
    }

    /// What was built, below `out`: from what was fetched before where the kustomization has remote parts.
    async fn built(
        &self,
        ready: &Ready,
        config: &Config,
        layout: Layout,
        fetched: &Fetched,
    ) -> Result<Vec<(RepoPath, Vec<u8>)>, StepError> {
        let failed = |error| StepError::errored(doing(&ready.at)).because(error);
        let dir = ready.folder.dir("out").map_err(failed)?;
        let out = match layout {
            Layout::Kustomize => dir.clone(),
            _ => dir.join("all.yaml"),
        };
        if ready.remote.is_none() {
            self.build(ready, config, &out).await?;
        } else {
            let helm = &config.plugin.helm;
            let versions = format!("{:?} {:?}", helm.api_versions, helm.kube_version);
            let split = layout == Layout::Kustomize;
            let name = format!("kustomize-build {} {split} {versions}", ready.digest);
            match fetched.get(&name).await? {
                Some(Kept::Tree(tree)) => {
                    let objects = Objects::open(fetched.store());
                    let objects =
                        objects.map_err(|e| StepError::transient(doing(&ready.at)).because(e))?;
                    fetched::folder::put_out(&objects, &tree, &dir)?;
                }
                _ => {
                    self.build(ready, config, &out).await?;
                    let dir = dir.clone();
                    let take = move |objects: &Objects| {
                        fetched::folder::take_in(objects, &dir).map(Kept::Tree)
                    };
                    fetched.put(&name, take).await?;
                }
            }
        }
        program::rendered(dir, &doing(&ready.at)).await
    }
}

/// The files of the workspace that a build gives.
fn arranged(
    built: Vec<(RepoPath, Vec<u8>)>,
    layout: Layout,
) -> Result<Vec<(RepoPath, Vec<u8>)>, StepError> {
    let mut named = Named::default();
    for (path, bytes) in &built {
        let text = String::from_utf8_lossy(bytes);
        match layout {
            Layout::OneFile => return Ok(vec![(RepoPath::root(), bytes.clone())]),
            Layout::Kargo => {
                for document in manifests::documents(&text) {
                    let resource = Resource::of(&document);
                    let Resource {
                        namespace,
                        kind,
                        name,
                        ..
                    } = &resource;
                    let prefix = if namespace.is_empty() {
                        String::new()
                    } else {
                        format!("{namespace}-")
                    };
                    let file = format!("{prefix}{kind}-{name}.yaml").to_lowercase();
                    named.add(file, document)?;
                }
            }
            Layout::Kustomize => {
                // Kustomize puts `default_` before what names no namespace; Kargo does not.
                let resource = Resource::of(&text);
                let Resource {
                    group,
                    version,
                    kind,
                    name,
                    ..
                } = &resource;
                let parts = [group, version, kind, name]
                    .into_iter()
                    .filter(|part| !part.is_empty());
                let base = parts.map(String::as_str).collect::<Vec<_>>().join("_");
                let file = match path.name() {
                    Some(made) if !resource.namespace.is_empty() => made.to_owned(),
                    _ => format!("{base}.yaml").to_lowercase(),
                };
                named.add(file, text.into_owned())?;
            }
        }
    }
    Ok(named.into_files().collect())
}

#[async_trait]
impl Step for KustomizeBuild {
    fn kind(&self) -> StepKind {
        "kustomize-build".into()
    }

    /// What comes from outside is kept like a fetch's.
    fn class(&self) -> Class {
        Class::Workspace
    }

    fn shape(&self) -> Shape {
        shape()
    }

    async fn run(&self, mut cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let config: Config = typed(config)?;
        let path = files::path("path", &config.path)?;
        let out = files::path("outPath", &config.out_path)?;
        self.programs.find(&KUSTOMIZE)?;
        let ready = prepare(&mut cx, &path).await?;
        let layout = config.layout(&out);
        let built = self.built(&ready, &config, layout, cx.fetched).await?;
        let rendered = arranged(built, layout)?;
        let doing = format!("failed to write built manifests to {out}");
        cx.files
            .edit(move |workspace| manifests::write(workspace, &out, &rendered, &doing))
            .await?;
        Ok(Outcome::succeeded(Map::new()))
    }
}
