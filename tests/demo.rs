//! The demo, played to its end without a terminal.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod support;

use std::process::Command;

#[test]
fn the_demo_ends_well_and_says_what_happened() {
    let world = support::World::new();
    let home = world.path().join("home");
    let output = Command::new(env!("CARGO_BIN_EXE_tidewaiter"))
        .args(["demo", "--plain", "--dir"])
        .arg(world.path().join("demo"))
        .env("HOME", &home)
        .env("XDG_RUNTIME_DIR", &home)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{out}\n{err}");
    for told in [
        "shop/prod",
        "shop/test-eu",
        "pay/uat",
        "ok: platform holds exactly the 8 expected commits",
        "1 replay",
    ] {
        assert!(out.contains(told), "{told:?} is not told:\n{out}");
    }
    let log = world.git(
        &world.path().join("demo/repos/platform.git"),
        &["log", "--format=%s", "main"],
    );
    assert_eq!(log.lines().count(), 8, "{log}");
}
