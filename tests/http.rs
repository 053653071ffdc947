//! The real executor, killed while a request of it is under way.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

#[path = "../src/steps/tests/server.rs"]
#[allow(dead_code)]
mod server;
mod support;

use server::{Reply, Server, reply};
use support::{World, project, stage};

/// The first request gets no answer; every later one does.
fn world(more: &str) -> (World, Server, String) {
    let server = Server::new(|_, before| match before {
        0 => Reply::Silence,
        _ => reply(200, "{}"),
    });
    let world = World::new();
    let steps = format!(
        "- uses: http\n  as: call\n  config: {{method: POST, url: '{}', body: go, timeout: 1h{more}}}\n",
        server.url
    );
    world.apply(&(project("p") + &stage("p", "s", &steps)));
    let freight = world.freight("p", "1.2.3");
    let name = world.promote("p", "s", &freight);
    (world, server, name)
}

#[test]
fn a_killed_executor_leaves_a_request_that_is_not_sent_again_unless_asked_for() {
    for (more, times, phase) in [("", 1, "Errored"), (", onUnknown: repeat", 2, "Succeeded")] {
        let (world, server, name) = world(more);
        let mut first = world.start_silently(&["run", "--until-idle"], &[]);
        server.until_asked(1);
        first.kill();
        world.until_idle();
        let asked = server.asked();
        assert_eq!(asked.len(), times, "{more}");
        let keys: Vec<_> = asked.iter().map(|a| a.header("idempotency-key")).collect();
        assert!(keys.iter().all(|key| key.is_some() && *key == keys[0]));
        let promotion = world.promotion(&name);
        assert_eq!(promotion["status"]["phase"], phase, "{promotion:#}");
        let message = promotion["status"]["message"].as_str().unwrap_or_default();
        assert_eq!(
            message.contains("outcome unknown: may have been sent at 20"),
            phase == "Errored",
            "{message}"
        );
    }
}

/// A server with a certificate that nobody has signed.
struct Tls(std::process::Child, String, std::path::PathBuf);

impl Tls {
    fn start(folder: &std::path::Path) -> Option<Self> {
        use std::{
            io::{BufRead, BufReader},
            process::{Command, Stdio},
        };
        let (key, certificate) = (folder.join("key.pem"), folder.join("certificate.pem"));
        let made = Command::new("openssl")
            .args([
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
            ])
            .args(["-nodes", "-days", "2", "-subj", "/CN=test"])
            .args(["-addext", "subjectAltName=IP:127.0.0.1"])
            .args(["-addext", "basicConstraints=critical,CA:FALSE"])
            .arg("-keyout")
            .arg(&key)
            .arg("-out")
            .arg(&certificate)
            .output()
            .ok()?;
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        let mut child = Command::new("openssl")
            .args(["s_server", "-accept", "127.0.0.1:0", "-www", "-key"])
            .arg(&key)
            .arg("-cert")
            .arg(&certificate)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        let place = lines.find_map(|line| Some(line.strip_prefix("ACCEPT ")?.to_owned()));
        // It goes on printing.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self(
            child,
            format!("https://{}/", place.unwrap()),
            certificate,
        ))
    }
}

impl Drop for Tls {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn certificates_are_those_of_the_system_and_are_checked_unless_told_otherwise() {
    let world = World::new();
    let Some(tls) = Tls::start(world.path()) else {
        eprintln!("not tested: there is no openssl");
        return;
    };
    let call = |more: &str| {
        let config = format!("{{url: '{}', timeout: 30s{more}}}", tls.1);
        format!("- uses: http\n  as: call\n  config: {config}\n")
    };
    world.apply(
        &(project("p")
            + &stage("p", "plain", &call(""))
            + &stage("p", "trusting", &call(", insecureSkipTLSVerify: true"))
            + &stage("p", "knowing", &call(""))),
    );
    let freight = world.freight("p", "1.2.3");
    let run = |stage: &str, known: bool| {
        let name = world.promote("p", stage, &freight);
        let mut command = world.command(&["run", "--until-idle"]);
        if known {
            command.env("SSL_CERT_FILE", &tls.2);
        }
        assert!(command.output().unwrap().status.success());
        let status = world.promotion(&name)["status"].clone();
        let said = status["message"].as_str().unwrap_or_default().to_owned();
        (status["phase"].as_str().unwrap().to_owned(), said)
    };
    let (phase, said) = run("plain", false);
    assert_eq!(phase, "Errored", "{said}");
    assert!(said.contains("cannot be trusted"), "{said}");
    assert_eq!(run("trusting", false), ("Succeeded".into(), String::new()));
    assert_eq!(run("knowing", true), ("Succeeded".into(), String::new()));
}
