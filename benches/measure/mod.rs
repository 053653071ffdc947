//! What the benchmarks share: the executor in this process on a local cluster, and clocks.
#![allow(dead_code)]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tidewaiter::{
    cluster::{Connection, Target, connect, connect::Impersonate, port::KubePort},
    engine::{
        supervisor::{Summary, Supervisor},
        tools::{Settings, Tools, Verification},
    },
    git::{
        command::{Git, GitSettings},
        counters::{CounterSnapshot, Counters},
        land::Landers,
        mirror::Mirrors,
    },
    steps,
};
use tokio::{runtime::Runtime, sync::watch};

use crate::support::World;

/// Processor time of this process, and of the children that it has waited for.
#[derive(Clone, Copy, Debug)]
pub struct Cpu {
    pub own: Duration,
    pub children: Duration,
}

impl Cpu {
    /// So far, in steps of a hundredth of a second.
    pub fn now() -> Self {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let fields: Vec<u64> = stat[stat.rfind(')').unwrap()..]
            .split_whitespace()
            .map(|field| field.parse().unwrap_or_default())
            .collect();
        let ticks = |at: usize| Duration::from_millis((fields[at] + fields[at + 1]) * 10);
        Self {
            own: ticks(12),
            children: ticks(14),
        }
    }
}

/// What some work took.
#[derive(Clone, Copy, Debug)]
pub struct Took {
    pub time: Duration,
    pub cpu: Cpu,
}

pub fn measured<T>(work: impl FnOnce() -> T) -> (T, Took) {
    let (begun, before) = (Instant::now(), Cpu::now());
    let result = work();
    let (time, after) = (begun.elapsed(), Cpu::now());
    let cpu = Cpu {
        own: after.own - before.own,
        children: after.children - before.children,
    };
    (result, Took { time, cpu })
}

pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// How many times more the second is.
pub fn ratio(ours: Duration, theirs: Duration) -> f64 {
    theirs.as_secs_f64() / ours.as_secs_f64().max(0.000_001)
}

pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// Joins the world's local cluster in this process.
pub async fn join(world: &World) -> Connection {
    let target = Target::Local(world.cluster());
    connect(&target, &Impersonate::default(), None)
        .await
        .unwrap()
}

/// Lets go of it, so that the binary can have it.
pub async fn leave(connection: Connection) {
    connection.local.unwrap().close().await;
}

/// Runs the executor in this process until nothing can go on, as `run --until-idle` does.
pub async fn execute(world: &World, connection: &Connection) -> (Summary, CounterSnapshot) {
    let counters = Counters::default();
    let env = [
        ("GIT_CONFIG_GLOBAL".into(), "/dev/null".into()),
        ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ("HOME".into(), world.path().join("home").into()),
    ];
    let settings = GitSettings {
        env: env.to_vec(),
        ..GitSettings::default()
    };
    let git = Git::new(settings, counters.clone());
    let mirrors = Mirrors::open(&world.cluster().join("mirrors"), git).unwrap();
    let client = connection.as_executor().unwrap().client;
    let mut settings = Settings::new("bench");
    settings.verification = Verification::ByServer;
    let tools = Tools::new(
        settings,
        Arc::new(KubePort::new(client)),
        Arc::new(steps::registry()),
        Arc::new(mirrors),
        Landers::default(),
    );
    let (_stop, stopped) = watch::channel(false);
    let summary = Supervisor::new(Arc::new(tools.unwrap()))
        .run_until_idle(stopped)
        .await;
    (summary, counters.snapshot())
}
