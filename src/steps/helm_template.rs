//! `helm-template`: renders a chart with the program `helm`, in a folder of its own.

use std::ffi::OsString;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    files,
    helm::{
        self,
        chart::{self, CHART, Dependency, LOCK},
        dependencies::{self, Order, Verb},
    },
    manifests::{self, Named, Resource},
    program::{self, Call, HELM, Programs},
    schema::{Object, Shape, list, some_text, text, typed},
};
use crate::{
    engine::{
        step::{Class, Outcome, Step, StepCx, StepError},
        workspace::{
            Exported, Kind, Workspace,
            folder::{Folder, Made},
        },
    },
    git::path::RepoPath,
    kargo::StepKind,
};

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct HelmTemplate {
    /// Where `helm` is.
    pub programs: Programs,
}

fn shape() -> Shape {
    let set = Object::new()
        .required("key", some_text())
        .required("value", text())
        .optional("literal", Shape::Flag);
    Object::new()
        .required("path", some_text())
        .required("outPath", some_text())
        .required("releaseName", some_text())
        .optional("outLayout", Shape::OneOf(&["helm", "flat"]))
        .optional("useReleaseName", Shape::Flag)
        .optional("namespace", text())
        .optional("valuesFiles", list(some_text(), 0))
        .optional("ignoreMissingValueFiles", Shape::Flag)
        .optional("setValues", list(set, 0))
        .optional("buildDependencies", Shape::Flag)
        .optional("includeCRDs", Shape::Flag)
        .optional("disableHooks", Shape::Flag)
        .optional("skipTests", Shape::Flag)
        .optional("kubeVersion", text())
        .optional("apiVersions", list(some_text(), 0))
        .into()
}

#[derive(Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Config {
    path: String,
    out_path: String,
    release_name: String,
    out_layout: Option<String>,
    use_release_name: bool,
    namespace: String,
    values_files: Vec<String>,
    ignore_missing_value_files: bool,
    set_values: Vec<SetValue>,
    build_dependencies: bool,
    #[serde(rename = "includeCRDs")]
    include_crds: bool,
    disable_hooks: bool,
    skip_tests: bool,
    kube_version: String,
    api_versions: Vec<String>,
}

#[derive(Clone, Deserialize)]
struct SetValue {
    key: String,
    value: String,
    #[serde(default)]
    literal: bool,
}

/// Where the manifests go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    OneFile,
    Helm,
    Flat,
}

/// The chart, ready to be rendered.
struct Ready {
    folder: Folder,
    chart: RepoPath,
    values: Vec<RepoPath>,
    exported: Exported,
    dependencies: Vec<Dependency>,
    lock: Option<String>,
}

fn prepare(
    workspace: &mut Workspace,
    path: &RepoPath,
    values: &[RepoPath],
    config: &Config,
    root: &std::path::Path,
    doing: &str,
) -> Result<Ready, StepError> {
    let failed = |error| files::failed(doing, error);
    let chart = workspace.real(path).map_err(failed)?;
    if workspace.kind(&chart).map_err(failed)? == Kind::Absent {
        return Err(StepError::errored(format!(
            "{doing}: there is no chart {path}"
        )));
    }
    let mut given = Vec::new();
    for file in values {
        let real = workspace.real(file).map_err(failed)?;
        if workspace.kind(&real).map_err(failed)? == Kind::File {
            given.push(real);
        } else if !config.ignore_missing_value_files {
            // Says what is there instead.
            files::read_text(
                workspace,
                &real,
                &format!("{doing}: failed to compose values"),
            )?;
        }
    }
    let (mut dependencies, mut lock) = (Vec::new(), None);
    if config.build_dependencies {
        let inner = |name: &str| chart.child(name).map_err(|error| failed(error.into()));
        let text = files::read_text(workspace, &inner(CHART)?, doing)?;
        dependencies = chart::dependencies(&text).map_err(|error| {
            StepError::config(format!("{doing}: cannot read its {CHART}")).because(error)
        })?;
        chart::check_local(&chart, &dependencies)?;
        let file = workspace.read(&inner(LOCK)?).map_err(failed)?;
        lock = file.map(|file| String::from_utf8_lossy(&file.bytes).into_owned());
    }
    let folder = program::private_folder(root, doing)?;
    let into = program::files(&folder, doing)?;
    let paths: Vec<RepoPath> = std::iter::once(&chart).chain(&given).cloned().collect();
    let references: &dyn Fn(&RepoPath, &[u8]) -> Vec<String> = match config.build_dependencies {
        true => &chart::references,
        false => &|_, _| Vec::new(),
    };
    let exported = workspace
        .export(&paths, &into, references)
        .map_err(failed)?;
    Ok(Ready {
        folder,
        chart,
        values: given,
        exported,
        dependencies,
        lock,
    })
}

impl Config {
    fn layout(&self, out: &RepoPath) -> Layout {
        match self.out_layout.as_deref() {
            _ if manifests::is_file(out) => Layout::OneFile,
            Some("flat") => Layout::Flat,
            _ => Layout::Helm,
        }
    }

    /// What Helm is told; `project` is the namespace where none is given.
    fn args(
        &self,
        ready: &Ready,
        project: &str,
        layout: Layout,
    ) -> Result<Vec<OsString>, StepError> {
        let into = program::files(&ready.folder, "cannot render")?;
        let at = |path: &RepoPath| into.join(path.as_git()).display().to_string();
        let namespace = Some(self.namespace.as_str()).filter(|name| !name.is_empty());
        let mut args = vec![
            "template".to_owned(),
            format!("--namespace={}", namespace.unwrap_or(project)),
        ];
        for (wanted, flag) in [
            (self.include_crds, "--include-crds"),
            (self.disable_hooks, "--no-hooks"),
            (self.skip_tests, "--skip-tests"),
            (
                self.use_release_name && layout == Layout::Helm,
                "--release-name",
            ),
        ] {
            if wanted {
                args.push(flag.into());
            }
        }
        if layout == Layout::Helm {
            let out = ready.folder.dir("out");
            let out = out.map_err(|error| StepError::errored("cannot render").because(error))?;
            args.push(format!("--output-dir={}", out.display()));
        }
        args.extend(
            ready
                .values
                .iter()
                .map(|path| format!("--values={}", helm::listed(&at(path)))),
        );
        for set in &self.set_values {
            let flag = if set.literal { "set-literal" } else { "set" };
            args.push(format!("--{flag}={}={}", set.key, set.value));
        }
        if !self.kube_version.is_empty() {
            args.push(format!("--kube-version={}", self.kube_version));
        }
        args.extend(
            self.api_versions
                .iter()
                .map(|v| format!("--api-versions={}", helm::listed(v))),
        );
        args.extend(["--".into(), self.release_name.clone(), at(&ready.chart)]);
        Ok(args.into_iter().map(Into::into).collect())
    }
}

/// Charts that were brought, to be written back.
type Brought = Option<(Vec<Made>, String)>;

impl HelmTemplate {
    async fn build_dependencies(
        &self,
        cx: &StepCx<'_>,
        ready: &Ready,
        doing: &str,
    ) -> Result<Brought, StepError> {
        if ready.dependencies.is_empty() {
            return Ok(None);
        }
        let doing = format!("{doing}: failed to build chart dependencies");
        let order = Order {
            verb: Verb::Build,
            folder: &ready.folder,
            files: &program::files(&ready.folder, &doing)?,
            chart: &ready.chart,
            digest: &ready.exported.digest,
            dependencies: &ready.dependencies,
            lock: ready.lock.as_deref(),
            when: &cx.around.started_at,
            doing: &doing,
        };
        dependencies::bring(&self.programs, cx.fetched, &order).await?;
        dependencies::brought(&order).map(Some)
    }

    async fn render(
        &self,
        cx: &mut StepCx<'_>,
        config: Config,
        doing: &str,
    ) -> Result<(), StepError> {
        let path = files::path("path", &config.path)?;
        let out = files::path("outPath", &config.out_path)?;
        let mut values = Vec::new();
        for (index, file) in config.values_files.iter().enumerate() {
            values.push(files::path(&format!("valuesFiles.{index}"), file)?);
        }
        self.programs.find(&HELM)?;
        let layout = config.layout(&out);
        let (wanted, what, root) = (
            config.clone(),
            doing.to_owned(),
            cx.files.mirrors().folders(),
        );
        let prepared = move |workspace: &mut Workspace| {
            prepare(workspace, &path, &values, &wanted, &root, &what)
        };
        let ready = cx.files.edit(prepared).await?;
        let brought = self.build_dependencies(cx, &ready, doing).await?;
        let call = Call {
            program: &HELM,
            args: config.args(&ready, cx.around.project.as_str(), layout)?,
            folder: &ready.folder,
            network: false,
            doing,
        };
        let printed =
            self.programs
                .run(call)
                .await
                .map_err(|error| match ready.exported.hint() {
                    Some(hint) if error.hint.is_none() => error.hint(hint),
                    _ => error,
                })?;
        let rendered = match layout {
            Layout::OneFile => vec![(RepoPath::root(), printed)],
            Layout::Flat => flat(&String::from_utf8_lossy(&printed))?,
            Layout::Helm => {
                let out = ready.folder.dir("out");
                let out = out.map_err(|error| StepError::errored(doing).because(error))?;
                program::rendered(out, doing).await?
            }
        };
        let (chart, what) = (ready.chart.clone(), doing.to_owned());
        cx.files
            .edit(move |workspace| {
                if let Some((charts, lock)) = brought {
                    dependencies::write_back(workspace, &chart, &charts, &lock, &what)?;
                }
                manifests::write(
                    workspace,
                    &out,
                    &rendered,
                    &format!("{what}: failed to write to {out}"),
                )
            })
            .await
    }
}

/// A file for each resource, named as Kargo names them.
fn flat(printed: &str) -> Result<Vec<(RepoPath, Vec<u8>)>, StepError> {
    let (mut named, mut nameless) = (Named::default(), 0_usize);
    for document in manifests::documents(printed) {
        let mut document = document.trim();
        let resource = Resource::of(document);
        // Kargo writes hooks without the line that says where they come from.
        if resource.hook
            && let Some((first, rest)) = document.split_once('\n')
            && first.starts_with("# Source:")
        {
            document = rest.trim();
        }
        let name = match (resource.kind.is_empty(), resource.name.is_empty()) {
            (false, false) => {
                let group = resource.group.replace('.', "_");
                let parts = [group, resource.kind, resource.namespace, resource.name];
                let given = parts.iter().filter(|part| !part.is_empty());
                let joined = given.map(String::as_str).collect::<Vec<_>>().join("-");
                format!("{joined}.yaml").to_lowercase()
            }
            _ => {
                nameless += 1;
                format!("resource-{}.yaml", nameless - 1)
            }
        };
        named.add(name, document.to_owned())?;
    }
    Ok(named.into_files().collect())
}

#[async_trait]
impl Step for HelmTemplate {
    fn kind(&self) -> StepKind {
        "helm-template".into()
    }

    /// Charts from outside are kept like a fetch's.
    fn class(&self) -> Class {
        Class::Workspace
    }

    fn shape(&self) -> Shape {
        shape()
    }

    async fn run(&self, mut cx: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let config: Config = typed(config)?;
        let doing = format!("failed to render chart {}", config.path);
        self.render(&mut cx, config, &doing).await?;
        Ok(Outcome::succeeded(Map::new()))
    }
}
