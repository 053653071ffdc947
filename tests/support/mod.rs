//! A folder with a local cluster, real bare repositories and the real binary, for whole-program tests.
#![allow(dead_code)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

/// How long anything may take before a test gives up.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// One test's world.
pub struct World {
    dir: TempDir,
}

/// What a command printed and how it ended.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    fn of(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Fails the test unless the exit code is this one.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "stdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }
}

impl World {
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("tw-").tempdir().unwrap();
        fs::create_dir(dir.path().join("home")).unwrap();
        Self { dir }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn cluster(&self) -> PathBuf {
        self.path().join("cluster")
    }

    fn clean(&self, command: &mut Command) {
        for (name, _) in std::env::vars() {
            if name.starts_with("GIT_")
                || name.starts_with("TIDEWAITER_")
                || name.starts_with("XDG_")
            {
                command.env_remove(name);
            }
        }
        let home = self.path().join("home");
        command
            .env("HOME", &home)
            .env("XDG_RUNTIME_DIR", &home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("TZ", "UTC");
    }

    /// The binary, on this world's local cluster.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidewaiter"));
        self.clean(&mut command);
        command
            .arg("--local")
            .arg(self.cluster())
            .args(args)
            .stdin(Stdio::null());
        command
    }

    /// Runs the binary to its end.
    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&self.command(args).output().unwrap())
    }

    /// Starts the binary and leaves it running; killed when dropped.
    pub fn start(&self, args: &[&str]) -> Running {
        let child = self
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Running(child)
    }

    /// The same without anybody who reads what it prints: a full pipe would stop it.
    pub fn start_silently(&self, args: &[&str], env: &[(&str, &str)]) -> Running {
        let child = self
            .command(args)
            .envs(env.iter().copied())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Running(child)
    }

    /// Applies documents.
    #[track_caller]
    pub fn apply(&self, text: &str) -> Ran {
        let file = self.path().join("objects.yaml");
        fs::write(&file, text).unwrap();
        self.run(&["apply", "-f", &file.display().to_string()])
            .exits(0)
    }

    /// Real git, with nothing of this machine's settings.
    #[track_caller]
    pub fn git(&self, folder: &Path, args: &[&str]) -> String {
        let output = self.git_output(folder, args);
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }

    /// Whether git did it.
    pub fn try_git(&self, folder: &Path, args: &[&str]) -> bool {
        self.git_output(folder, args).status.success()
    }

    fn git_output(&self, folder: &Path, args: &[&str]) -> Output {
        let mut command = Command::new("git");
        self.clean(&mut command);
        command
            .current_dir(folder)
            .args([
                "-c",
                "user.name=Test",
                "-c",
                "user.email=test@example.com",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(args)
            .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
            .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
            .output()
            .unwrap()
    }

    /// A bare repository whose main holds these files in one commit.
    pub fn repository(&self, name: &str, files: &[(&str, &str)]) -> PathBuf {
        let bare = self.path().join(format!("{name}.git"));
        self.git(
            self.path(),
            &["init", "-q", "--bare", &bare.display().to_string()],
        );
        if !files.is_empty() {
            self.push_files(&bare, "seed", files);
        }
        bare
    }

    /// Another writer: commits files onto main with git itself.
    pub fn push_files(&self, bare: &Path, message: &str, files: &[(&str, &str)]) {
        let work = tempfile::tempdir_in(self.path()).unwrap();
        self.git(
            work.path(),
            &["clone", "-q", &bare.display().to_string(), "."],
        );
        for (path, content) in files {
            let path = work.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        self.git(work.path(), &["add", "-A"]);
        self.git(work.path(), &["commit", "-q", "-m", message]);
        self.git(work.path(), &["push", "-q", "origin", "HEAD:main"]);
    }

    /// A file on main.
    pub fn show(&self, bare: &Path, path: &str) -> String {
        self.git(bare, &["show", &format!("main:{path}")])
    }

    /// How many commits main has.
    pub fn commits(&self, bare: &Path) -> usize {
        self.git(bare, &["rev-list", "--count", "main"])
            .parse()
            .unwrap()
    }

    /// Objects as JSON.
    #[track_caller]
    pub fn get(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = ["get"]
            .iter()
            .chain(args)
            .copied()
            .chain(["-o", "json"])
            .collect();
        serde_json::from_str(&self.run(&args).exits(0).stdout).unwrap()
    }

    /// The stored promotion of that name.
    #[track_caller]
    pub fn promotion(&self, name: &str) -> Value {
        self.get(&["promotions", name])
    }

    /// Makes one Freight with an image of this tag; its name.
    #[track_caller]
    pub fn freight(&self, project: &str, tag: &str) -> String {
        let ran = self.apply(&format!(
            "apiVersion: kargo.akuity.io/v1alpha1\nkind: Freight\nmetadata: {{generateName: f-, namespace: {project}}}\nalias: v{}\norigin: {{kind: Warehouse, name: w}}\nimages: [{{repoURL: example.com/app, tag: \"{tag}\"}}]\n",
            tag.replace('.', "-")
        ));
        ran.stdout
            .trim()
            .trim_end_matches(" created")
            .rsplit('/')
            .next()
            .unwrap()
            .to_owned()
    }

    /// Promotes and gives the new promotion's name.
    #[track_caller]
    pub fn promote(&self, project: &str, stage: &str, freight: &str) -> String {
        let ran = self
            .run(&[
                "promote",
                "-n",
                project,
                "--stage",
                stage,
                "--freight",
                freight,
            ])
            .exits(0);
        ran.stdout
            .trim()
            .trim_start_matches("promotion/")
            .to_owned()
    }

    /// Executes what there is until nothing can run; the counts.
    #[track_caller]
    pub fn until_idle(&self) -> Value {
        let ran = self.run(&["run", "--until-idle", "-o", "json"]).exits(0);
        serde_json::from_str(&ran.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", ran.stdout, ran.stderr))
    }
}

/// A project with one warehouse.
pub fn project(name: &str) -> String {
    format!(
        "apiVersion: kargo.akuity.io/v1alpha1\nkind: Project\nmetadata: {{name: {name}}}\n---\napiVersion: kargo.akuity.io/v1alpha1\nkind: Warehouse\nmetadata: {{name: w, namespace: {name}}}\nspec:\n  interval: 5m0s\n  freightCreationPolicy: Manual\n  subscriptions: [{{image: {{repoURL: example.com/app}}}}]\n---\n"
    )
}

/// A Stage that takes Freight straight from the warehouse and has these steps (YAML list items, not indented).
pub fn stage(project: &str, name: &str, steps: &str) -> String {
    let steps: String = steps
        .lines()
        .map(|line| format!("      {line}\n"))
        .collect();
    format!(
        "apiVersion: kargo.akuity.io/v1alpha1\nkind: Stage\nmetadata: {{name: {name}, namespace: {project}}}\nspec:\n  requestedFreight:\n  - origin: {{kind: Warehouse, name: w}}\n    sources: {{direct: true}}\n  promotionTemplate:\n    spec:\n      steps:\n{steps}---\n"
    )
}

/// Clone, set one key of one file to the image's tag, commit, push.
pub fn set_key(repository: &Path, file: &str, key: &str) -> String {
    format!(
        "- uses: git-clone\n  as: clone\n  config:\n    repoURL: {}\n    checkout: [{{branch: main, path: ./src}}]\n- uses: yaml-update\n  as: update\n  config:\n    path: ./src/{file}\n    updates: [{{key: {key}, value: '${{{{ quote(imageFrom(\"example.com/app\").Tag) }}}}'}}]\n- uses: git-commit\n  as: commit\n  config: {{path: ./src, message: 'set {key}'}}\n- uses: git-push\n  as: push\n  config: {{path: ./src}}\n",
        repository.display()
    )
}

/// A process of ours that goes on.
pub struct Running(pub Child);

impl Running {
    /// Ends it as a crash would.
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// One request over the local cluster's socket; the answer's body.
fn request(world: &World, method: &str, path: &str) -> String {
    use std::io::{Read, Write};
    let mut socket =
        std::os::unix::net::UnixStream::connect(world.cluster().join("api.sock")).unwrap();
    // HTTP 1.0: the body comes in one piece and ends with the connection.
    write!(
        socket,
        "{method} {path} HTTP/1.0\r\nHost: local\r\nContent-Length: 0\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(" 200 ") || head.contains(" 202 "), "{answer}");
    body.to_owned()
}

/// Reads an object or a list as it is stored.
pub fn read(world: &World, path: &str) -> Value {
    serde_json::from_str(&request(world, "GET", path)).unwrap()
}

/// Deletes an object, as kubectl would: there is no verb for it.
pub fn delete(world: &World, project: &str, plural: &str, name: &str) {
    let path = format!("/apis/kargo.akuity.io/v1alpha1/namespaces/{project}/{plural}/{name}");
    request(world, "DELETE", &path);
}

/// Waits until `look` gives something.
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(
            Instant::now() < end,
            "{what} did not come within {PATIENCE:?}"
        );
        std::thread::sleep(Duration::from_millis(25));
    }
}
