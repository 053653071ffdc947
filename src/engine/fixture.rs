//! A small world for tests: a strict cluster in memory, real git repositories in a temporary folder, and the executor.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::{
    port::{Kind, fake::Fake},
    step::{Class, Outcome, Step, StepCx, StepError},
    supervisor::{Summary, Supervisor},
    tools::{Crash, Settings, Tools, Verification},
};
use crate::{
    git::{
        command::{Git, GitSettings},
        counters::Counters,
        land::Landers,
        mirror::Mirrors,
    },
    kargo::{Promotion, Stage, StepKind},
    steps::BuiltIn,
};

pub const PROJECT: &str = "shop";
pub const FREIGHT: &str = "f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1";

pub struct World {
    pub port: Arc<Fake>,
    pub dir: tempfile::TempDir,
    pub counters: Counters,
    pub crash: Option<Crash>,
    pub registry: BuiltIn,
    pub git_program: PathBuf,
    pub verification: Verification,
    pub budget: Duration,
    /// Names the claim; each run is another holder.
    pub holder: String,
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl World {
    pub fn new() -> Self {
        let world = Self {
            port: Arc::new(Fake::default()),
            dir: tempfile::tempdir().unwrap(),
            counters: Counters::default(),
            crash: None,
            registry: crate::steps::registry(),
            git_program: "git".into(),
            verification: Verification::ByServer,
            budget: Duration::from_secs(20),
            holder: "first".into(),
        };
        world.port.put(
            Kind::Warehouse,
            json!({
                "metadata": {"name": "web", "namespace": PROJECT},
                "spec": {"subscriptions": [{"image": {"repoURL": "registry.example/web"}}]},
            }),
        );
        world.freight(FREIGHT, "2.3.1");
        world
    }

    pub fn freight(&self, name: &str, tag: &str) {
        self.port.put(
            Kind::Freight,
            json!({
                "apiVersion": "kargo.akuity.io/v1alpha1", "kind": "Freight",
                "metadata": {"name": name, "namespace": PROJECT},
                "alias": "calm-otter",
                "origin": {"kind": "Warehouse", "name": "web"},
                "images": [{"repoURL": "registry.example/web", "tag": tag}],
            }),
        );
    }

    pub fn remote(&self, name: &str) -> String {
        self.dir
            .path()
            .join(format!("{name}.git"))
            .display()
            .to_string()
    }

    pub fn git(&self, at: &Path, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(args)
            .current_dir(at)
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", self.dir.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_AUTHOR_NAME", "t")
            .env("GIT_AUTHOR_EMAIL", "t@example.com")
            .env("GIT_COMMITTER_NAME", "t")
            .env("GIT_COMMITTER_EMAIL", "t@example.com")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout)
            .unwrap()
            .trim_end()
            .to_owned()
    }

    /// A remote with these files on `main`.
    pub fn repository(&self, name: &str, files: &[(&str, &str)]) -> String {
        let remote = self.remote(name);
        self.git(
            self.dir.path(),
            &["init", "-q", "--bare", "-b", "main", &remote],
        );
        self.change(name, files);
        remote
    }

    /// Somebody else pushes to `main`.
    pub fn change(&self, name: &str, files: &[(&str, &str)]) -> String {
        let (remote, work) = (
            self.remote(name),
            tempfile::tempdir_in(self.dir.path()).unwrap(),
        );
        let at = work.path();
        self.git(at, &["init", "-q", "-b", "main"]);
        self.git(at, &["remote", "add", "origin", &remote]);
        if !self.git(at, &["ls-remote", "origin", "main"]).is_empty() {
            self.git(at, &["pull", "-q", "origin", "main"]);
        }
        for (path, text) in files {
            let path = at.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        self.git(at, &["add", "-A"]);
        self.git(at, &["commit", "-q", "-m", "by hand"]);
        self.git(at, &["push", "-q", "origin", "main"]);
        self.git(at, &["rev-parse", "HEAD"])
    }

    pub fn log(&self, name: &str, branch: &str) -> Vec<String> {
        let text = self.git(
            Path::new(&self.remote(name)),
            &["log", "--format=%s", branch],
        );
        text.lines().map(str::to_owned).collect()
    }

    pub fn show(&self, name: &str, branch: &str, path: &str) -> String {
        self.git(
            Path::new(&self.remote(name)),
            &["show", &format!("{branch}:{path}")],
        )
    }

    pub fn stage(&self, name: &str, steps: &Value) {
        self.port.put(
            Kind::Stage,
            json!({
                "apiVersion": "kargo.akuity.io/v1alpha1", "kind": "Stage",
                "metadata": {"name": name, "namespace": PROJECT, "generation": 1},
                "spec": {
                    "requestedFreight": [{"origin": {"kind": "Warehouse", "name": "web"}, "sources": {"direct": true}}],
                    "promotionTemplate": {"spec": {"steps": steps}},
                },
            }),
        );
    }

    /// A Promotion of [`FREIGHT`] with the Stage's steps, as the server's admission would make it.
    pub fn promote(&self, stage: &str, number: u32) -> String {
        let object = self.port.look(Kind::Stage, PROJECT, stage).unwrap();
        let steps = object["spec"]["promotionTemplate"]["spec"]["steps"].clone();
        let name = format!("{stage}.01jzzzzzzzzzzzzzzzzzzz{number:04}.f1f1f1f");
        self.port.put(
            Kind::Promotion,
            json!({
                "apiVersion": "kargo.akuity.io/v1alpha1", "kind": "Promotion",
                "metadata": {"name": name, "namespace": PROJECT, "generation": 1,
                    "annotations": {"kargo.akuity.io/create-actor": "kubernetes:ann"}},
                "spec": {"stage": stage, "freight": FREIGHT, "steps": steps},
            }),
        );
        name
    }

    pub fn settings(&self) -> Settings {
        let mut settings = Settings::new(self.holder.clone());
        settings.verification = self.verification;
        settings.transient_budget = self.budget;
        settings.first_pause = Duration::from_millis(5);
        settings.crash = self.crash.clone();
        settings
    }

    pub fn tools(&self) -> Arc<Tools> {
        self.tools_with(self.settings())
    }

    pub fn tools_with(&self, settings: Settings) -> Arc<Tools> {
        let env = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"]
            .map(|name| (name.into(), "/dev/null".into()));
        let mut env = env.to_vec();
        env.push(("HOME".into(), self.dir.path().into()));
        let git = Git::new(
            GitSettings {
                program: self.git_program.clone(),
                env,
                ..GitSettings::default()
            },
            self.counters.clone(),
        );
        let begun = std::time::Instant::now();
        // Tasks of a run that was ended in the middle may hold it for a moment.
        let mirrors = loop {
            match Mirrors::open(&self.mirrors(), git.clone()) {
                Ok(mirrors) => break Arc::new(mirrors),
                Err(error) => assert!(begun.elapsed() < Duration::from_secs(10), "{error}"),
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let registry = Arc::new(self.registry.clone());
        let port: Arc<Fake> = Arc::clone(&self.port);
        Arc::new(Tools::new(settings, port, registry, mirrors, Landers::default()).unwrap())
    }

    pub fn mirrors(&self) -> PathBuf {
        self.dir.path().join("mirrors")
    }

    pub async fn run(&self) -> Summary {
        self.run_with(self.tools()).await
    }

    pub async fn run_with(&self, tools: Arc<Tools>) -> Summary {
        let (_stop, stopped) = watch::channel(false);
        let work = Supervisor::new(tools).run_until_idle(stopped);
        tokio::time::timeout(Duration::from_secs(60), work)
            .await
            .expect("the executor never became idle")
    }

    pub fn promotion(&self, name: &str) -> Promotion {
        serde_json::from_value(self.port.look(Kind::Promotion, PROJECT, name).unwrap()).unwrap()
    }

    pub fn the_stage(&self, name: &str) -> Stage {
        serde_json::from_value(self.port.look(Kind::Stage, PROJECT, name).unwrap()).unwrap()
    }

    /// Steps' statuses with their messages, for one look.
    pub fn steps(&self, name: &str) -> Vec<String> {
        let status = self.promotion(name).status;
        let text = |status: &Option<crate::kargo::StepStatus>| {
            status.as_ref().map(ToString::to_string).unwrap_or_default()
        };
        status
            .step_execution_metadata
            .iter()
            .map(|e| format!("{} {}: {}", e.alias, text(&e.status), e.message))
            .collect()
    }
}

/// clone, write, commit, push.
pub fn write_and_push(remote: &str, path: &str, contents: &str) -> Value {
    json!([
        {"uses": "git-clone", "as": "clone", "config": {"repoURL": remote, "checkout": [{"branch": "main", "path": "./src"}]}},
        {"uses": "file-write", "as": "write", "config": {"path": format!("./src/{path}"), "contents": contents, "overwrite": true}},
        {"uses": "git-commit", "as": "commit", "config": {"path": "./src", "message": format!("{path} by ${{{{ ctx.stage }}}}")}},
        {"uses": "git-push", "as": "push", "config": {"path": "./src"}},
    ])
}

type Script = Arc<dyn Fn(u32) -> Result<Outcome, StepError> + Send + Sync>;

/// A step that does what a test says, by the number of the try.
pub struct Scripted {
    pub name: &'static str,
    pub class: Class,
    pub tries: Arc<AtomicU32>,
    pub script: Script,
}

impl Scripted {
    pub fn new(
        name: &'static str,
        script: impl Fn(u32) -> Result<Outcome, StepError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            class: Class::RepeatableEffect,
            tries: Arc::default(),
            script: Arc::new(script),
        }
    }

    pub fn class(self, class: Class) -> Self {
        Self { class, ..self }
    }
}

#[async_trait::async_trait]
impl Step for Scripted {
    fn kind(&self) -> StepKind {
        self.name.into()
    }
    fn class(&self) -> Class {
        self.class
    }
    fn check(&self, config: &Value) -> Vec<String> {
        config
            .get("wrong")
            .map(|wrong| format!("wrong: {wrong}"))
            .into_iter()
            .collect()
    }
    async fn run(&self, _: StepCx<'_>, config: &Value) -> Result<Outcome, StepError> {
        let mut outcome = (self.script)(self.tries.fetch_add(1, Ordering::SeqCst) + 1)?;
        if let Some(echo) = config.get("echo") {
            outcome.output.insert("echo".into(), echo.clone());
        }
        Ok(outcome)
    }
}

/// Succeeds, with its configuration's `echo` as output.
pub fn echo() -> Scripted {
    Scripted::new("echo", |_| Ok(Outcome::succeeded(serde_json::Map::new())))
}
