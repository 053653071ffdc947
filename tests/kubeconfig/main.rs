//! The binary over a kubeconfig: the verbs work as on a local cluster, and a misbehaving server or credential plugin
//! ends in a sentence and an exit code, never in a hang or a storm.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod proxy;
#[path = "../support/mod.rs"]
mod support;

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use proxy::{Act, Proxy, status};
use support::{Ran, Running, World, project, stage, until};

const GATE: &str = "- uses: wait-for-approval
  as: gate
  config: {}
";

/// A cluster with an executor, seen through a kubeconfig.
struct Cluster {
    world: World,
    proxy: Proxy,
    _executor: Running,
}

impl Cluster {
    fn new() -> Self {
        let world = World::new();
        let quick = "- uses: compose-output\n  as: out\n  config: {a: 1}\n";
        let stages = stage("shop", "test", quick) + &stage("shop", "prod", GATE);
        world.apply(&(project("shop") + &stages));
        let executor = world.start(&["run"]);
        let socket = world.cluster().join("api.sock");
        until("the socket", || {
            std::os::unix::net::UnixStream::connect(&socket).ok()
        });
        let proxy = Proxy::start(&socket);
        let cluster = Self {
            world,
            proxy,
            _executor: executor,
        };
        cluster.user("{token: good}");
        cluster
    }

    fn config(&self) -> PathBuf {
        self.world.path().join("kubeconfig")
    }

    /// Writes the kubeconfig with this user.
    fn user(&self, user: &str) {
        let url = &self.proxy.url;
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: here\ncontexts: [{{name: here, context: {{cluster: c, user: u, namespace: shop}}}}]\nclusters: [{{name: c, cluster: {{server: \"{url}\"}}}}]\nusers: [{{name: u, user: {user}}}]\n"
        );
        fs::write(self.config(), text).unwrap();
    }

    /// Writes the kubeconfig with a credential plugin of this shell text.
    fn plugin(&self, script: &str) {
        let path = self.world.path().join("plugin");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        self.exec(&path.display().to_string());
    }

    fn exec(&self, command: &str) {
        self.user(&format!(
            "{{exec: {{apiVersion: client.authentication.k8s.io/v1, command: {command}, interactiveMode: Always}}}}"
        ));
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidewaiter"));
        let home = self.world.path().join("home");
        command
            .env("HOME", home)
            .env_remove("TIDEWAITER_LOCAL")
            .arg("--kubeconfig")
            .arg(self.config())
            .args(args)
            .stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        let output = self.command(args).output().unwrap();
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Promotes a new piece of Freight to the gated Stage and waits until it asks.
    fn asks(&self) -> String {
        let freight = self.world.freight("shop", "2.0.0");
        let name = self.world.promote("shop", "prod", &freight);
        until("the gate", || {
            let requests = self.world.get(&["requests"]);
            let open = |r: &serde_json::Value| r["status"]["phase"] == "Open";
            requests["items"].as_array()?.iter().any(open).then_some(())
        });
        name
    }
}

#[test]
fn every_verb_works_over_a_kubeconfig() {
    let cluster = Cluster::new();
    assert!(
        cluster
            .run(&["info"])
            .exits(0)
            .stdout
            .contains("cluster: here"),
        "the context of the file that was named"
    );
    let file = cluster.world.path().join("more.yaml");
    fs::write(
        &file,
        stage("shop", "more", "- uses: fail\n  config: {message: no}\n"),
    )
    .unwrap();
    let applied = cluster.run(&["apply", "-f", &file.display().to_string()]);
    assert_eq!(applied.exits(0).stdout, "stage/more created\n");

    let freight = cluster.world.freight("shop", "1.0.0");
    let done = cluster.run(&[
        "promote",
        "--stage",
        "test",
        "--freight",
        &freight,
        "--wait",
    ]);
    assert!(done.exits(0).stderr.contains("Succeeded"));
    let stages = cluster.run(&["get", "stages", "test"]).exits(0).stdout;
    assert!(stages.contains("v1-0-0"), "by alias: {stages}");
    let failed = cluster.run(&[
        "promote",
        "--stage",
        "more",
        "--freight-alias",
        "v1-0-0",
        "--wait",
    ]);
    let failed = failed.exits(1).stdout;
    let name = failed.trim().trim_start_matches("promotion/");
    cluster.run(&["retry", name, "--wait"]).exits(1);

    let gated = cluster.asks();
    let told = cluster
        .run(&["describe", "promotion", &gated])
        .exits(0)
        .stdout;
    assert!(told.contains("0 of 1 approvals"), "{told}");
    let refreshed = cluster.run(&["refresh", &gated]).exits(0).stdout;
    assert!(refreshed.contains("refreshed: Running"), "{refreshed}");
    cluster.run(&["approve", &gated, "-m", "fine"]).exits(0);
    let second = cluster.world.promote("shop", "prod", &freight);
    cluster.run(&["abort", &second]).exits(0);
    until("the abort", || {
        (cluster.world.promotion(&second)["status"]["phase"] == "Aborted").then_some(())
    });
}

#[test]
fn a_slow_answer_is_exit_code_6_for_every_request() {
    let cluster = Cluster::new();
    for slow in ["/stages", "selfsubjectreviews"] {
        cluster.proxy.rule(move |first, _| {
            if first.contains(slow) {
                Act::Delay(Duration::from_secs(30))
            } else {
                Act::Forward
            }
        });
        let start = Instant::now();
        let ran = cluster
            .run(&["get", "stages", "--request-timeout", "1s"])
            .exits(6);
        assert!(ran.stderr.contains("within 1s"), "{}", ran.stderr);
        assert!(start.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn a_token_refused_in_mid_session_ends_the_waiting_without_a_storm() {
    let cluster = Cluster::new();
    let freight = cluster.world.freight("shop", "1.0.0");
    let promoted = Arc::new(AtomicBool::new(false));
    cluster.proxy.rule(move |first, _| {
        if promoted.load(Ordering::SeqCst) {
            return status(401, "Unauthorized", "Unauthorized");
        }
        promoted.store(
            first.starts_with("POST") && first.contains("/promotions"),
            Ordering::SeqCst,
        );
        Act::Forward
    });
    let ran = cluster
        .run(&[
            "promote",
            "--stage",
            "prod",
            "--freight",
            &freight,
            "--wait",
            "--timeout",
            "15s",
        ])
        .exits(3);
    assert!(
        ran.stderr.contains("the connection fails"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("Unauthorized") && ran.stderr.contains("Log in again"),
        "{}",
        ran.stderr
    );
    let seen = cluster.proxy.seen().len();
    assert!(seen < 20, "{seen} requests");
    cluster.run(&["get", "stages"]).exits(3);
}

#[test]
fn one_forbidden_kind_costs_only_what_it_shows() {
    let cluster = Cluster::new();
    let name = cluster.asks();
    cluster.proxy.rule(|first, _| {
        if ["/freights", "/stages"]
            .iter()
            .any(|kind| first.contains(kind))
        {
            return status(403, "Forbidden", "not yours");
        }
        Act::Forward
    });
    let table = cluster.run(&["get", "promotions"]).exits(0).stdout;
    assert!(table.contains(&name), "{table}");
    let refused = cluster.run(&["get", "stages"]).exits(3).stderr;
    assert!(refused.contains("not yours"), "{refused}");

    cluster.proxy.rule(|first, _| {
        if first.contains("/promotions") {
            return status(403, "Forbidden", "not yours");
        }
        Act::Forward
    });
    let ran = cluster.run(&["approve", &name]).exits(0);
    assert!(ran.stdout.contains("approved gate"), "{}", ran.stdout);
}

#[test]
fn without_our_crds_there_are_no_requests_and_approve_says_why() {
    let cluster = Cluster::new();
    let name = cluster.asks();
    cluster.proxy.rule(|first, _| {
        if first.contains("tidewaiter.dev") {
            return Act::Answer(404, "404 page not found\n".into());
        }
        Act::Forward
    });
    assert!(
        cluster
            .run(&["get", "promotions"])
            .exits(0)
            .stdout
            .contains(&name)
    );
    cluster.run(&["get", "requests"]).exits(0);
    cluster.run(&["describe", "promotion", &name]).exits(0);
    let ran = cluster.run(&["approve", &name]).exits(5);
    assert!(
        ran.stderr.contains("our CRD is not installed"),
        "{}",
        ran.stderr
    );
}

#[test]
fn kargos_internal_error_that_means_forbidden_is_a_refusal() {
    let cluster = Cluster::new();
    let freight = cluster.world.freight("shop", "1.0.0");
    cluster.proxy.rule(|first, _| {
        if first.starts_with("POST") && first.contains("/promotions") {
            return status(
                500,
                "InternalError",
                "Internal error occurred: user ann is not permitted to promote",
            );
        }
        Act::Forward
    });
    cluster
        .run(&["promote", "--stage", "test", "--freight", &freight])
        .exits(3);
}

#[test]
fn a_connection_cut_in_a_list_is_exit_code_5_and_so_is_a_failing_server() {
    let cluster = Cluster::new();
    cluster.proxy.rule(|first, _| {
        if first.contains("/stages") {
            Act::Cut(400)
        } else {
            Act::Forward
        }
    });
    cluster.run(&["get", "stages"]).exits(5);
    cluster.proxy.rule(|first, _| {
        if first.contains("/stages") {
            status(500, "InternalError", "later")
        } else {
            Act::Forward
        }
    });
    let ran = cluster.run(&["get", "stages"]).exits(5);
    assert!(ran.stderr.contains("later"), "{}", ran.stderr);
}

#[test]
fn a_watch_survives_cuts_and_versions_that_are_too_old() {
    let cluster = Cluster::new();
    cluster.proxy.rule(|first, _| {
        if first.contains("watch=true") {
            return if first.contains("/promotions") {
                status(410, "Expired", "too old resource version")
            } else {
                Act::Cut(600)
            };
        }
        Act::Forward
    });
    let mut command = cluster.command(&["get", "promotions", "-w"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = child.stdout.take().unwrap();
    let (tell, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if tell.send(line).is_err() {
                return;
            }
        }
    });
    let running = Running(child);
    until("a refused watch", || {
        cluster
            .proxy
            .seen()
            .iter()
            .any(|first| first.contains("watch=true"))
            .then_some(())
    });
    let freight = cluster.world.freight("shop", "1.0.0");
    let name = cluster.world.promote("shop", "test", &freight);
    until("its end", || {
        lines
            .try_iter()
            .any(|line| line.contains(&name) && line.contains("Succeeded"))
            .then_some(())
    });
    drop(running);
    let watches = cluster
        .proxy
        .seen()
        .iter()
        .filter(|first| first.contains("watch=true"))
        .count();
    assert!(watches < 60, "{watches} watches");
}

const TOKEN: &str = r#"echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"good"EXPIRY}}'"#;

#[test]
fn credential_plugins_neither_hang_nor_paint() {
    let cluster = Cluster::new();
    let start = Instant::now();
    cluster.plugin("printf 'Password: ' >&2; read answer || { echo 'no terminal' >&2; exit 1; }");
    let ran = cluster.run(&["get", "stages"]).exits(3);
    assert!(ran.stderr.contains("no terminal"), "{}", ran.stderr);

    cluster.plugin("echo 'run cloud login first' >&2; echo 't0ken-in-stdout'; exit 1");
    let ran = cluster.run(&["get", "stages"]).exits(3);
    assert!(
        ran.stderr.contains("run cloud login first"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("t0ken"), "{}", ran.stderr);

    cluster.exec("/nowhere/plugin");
    let ran = cluster.run(&["get", "stages"]).exits(3);
    assert!(ran.stderr.contains("cannot be started"), "{}", ran.stderr);

    cluster.plugin(&format!("echo NOISE >&2; {}", TOKEN.replace("EXPIRY", "")));
    let ran = cluster.run(&["get", "stages"]).exits(0);
    assert_eq!(ran.stderr, "");

    cluster.plugin("exec sleep 600");
    let ran = cluster
        .run(&["get", "stages", "--request-timeout", "1s"])
        .exits(6);
    assert!(ran.stderr.contains("credential plugin"), "{}", ran.stderr);
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_short_token_is_renewed() {
    let cluster = Cluster::new();
    let calls = cluster.world.path().join("calls");
    let expiry = r#","expirationTimestamp":"'$(date -u -d '+2 seconds' +%Y-%m-%dT%H:%M:%SZ)'""#;
    cluster.plugin(&format!(
        "echo x >> {}; {}",
        calls.display(),
        TOKEN.replace("EXPIRY", expiry)
    ));
    cluster.run(&["get", "promotions"]).exits(0);
    assert!(fs::read_to_string(&calls).unwrap().lines().count() > 1);
}
