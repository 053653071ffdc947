//! Many Stages on one branch, an outside writer, and SIGKILL at random moments: nothing is lost, nothing happens twice.
//!
//! `TIDEWAITER_CHAOS_SEED=7 cargo test --test chaos` plays one seed again.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod support;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::Value;
use support::{Running, World, project, set_key, stage};

/// Stages per Project.
const STAGES: usize = 6;
/// How long processes are killed and promotions made.
const STORM: Duration = Duration::from_secs(7);
/// Pieces of Freight per Project; a Stage is promoted to each of them at most once, in this order.
const TAGS: [&str; 4] = ["1.2.0", "1.2.1", "1.2.2", "1.2.3"];

/// SplitMix64: the same seed is the same storm, as far as the machine's own timing lets it be.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % sides
    }
}

/// One Stage's part: which key of which file it sets, and whether somebody has to agree.
struct Part {
    project: &'static str,
    stage: String,
    file: String,
    key: String,
    gated: bool,
}

fn parts() -> Vec<Part> {
    let mut parts = Vec::new();
    for project in ["red", "blue"] {
        for at in 0..STAGES {
            // The first half write into one file, which the outside writer changes, too.
            let shared = at < STAGES / 2;
            let file = if shared {
                "shared.yaml".to_owned()
            } else {
                format!("{project}-{at}.yaml")
            };
            parts.push(Part {
                project,
                stage: format!("s{at}"),
                file,
                key: format!("{project}{at}"),
                gated: at == 0 || at == STAGES - 1,
            });
        }
    }
    parts
}

fn steps(repository: &Path, part: &Part) -> String {
    let whole = set_key(repository, &part.file, &part.key);
    if !part.gated {
        return whole;
    }
    let (head, push) = whole.split_at(whole.find("- uses: git-push").unwrap());
    format!("{head}- uses: wait-for-approval\n  as: gate\n  config: {{minApprovals: 1}}\n{push}")
}

fn prepared(parts: &[Part]) -> (World, PathBuf, Pieces) {
    let world = World::new();
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for part in parts {
        files
            .entry(part.file.clone())
            .or_insert_with(|| "# top\n".into())
            .push_str(&format!("{}: old\n", part.key));
    }
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let repository = world.repository("mono", &files);
    let mut text = project("red") + &project("blue");
    for part in parts {
        text.push_str(&stage(part.project, &part.stage, &steps(&repository, part)));
    }
    world.apply(&text);
    let freight: Pieces = ["red", "blue"]
        .map(|project| (project, TAGS.map(|tag| world.freight(project, tag))))
        .into();
    (world, repository, freight)
}

/// The names of the Freight, by Project, as [`TAGS`].
type Pieces = BTreeMap<&'static str, [String; TAGS.len()]>;

/// Who is promoted to what.
struct Plan<'a> {
    parts: &'a [Part],
    freight: &'a Pieces,
    /// How many pieces each Stage was promoted to.
    given: Vec<usize>,
}

impl Plan<'_> {
    /// One more promotion of that Stage. A command that dies with the owner of the store may have made it or not.
    fn promote(&mut self, world: &World, at: usize) {
        let part = &self.parts[at];
        let Some(freight) = self.freight[part.project].get(self.given[at]) else {
            return;
        };
        self.given[at] += 1;
        let args = [
            "promote",
            "-n",
            part.project,
            "--stage",
            &part.stage,
            "--freight",
            freight,
        ];
        world.run(&args);
    }
}

/// Somebody with git: a commit of their own now and then, pushed however often it takes.
fn write_outside(world: &World, repository: &Path, stop: &AtomicBool) -> u32 {
    let folder = world.path().join("outside");
    let clone = repository.display().to_string();
    world.git(world.path(), &["clone", "-q", &clone, "outside"]);
    let mut written = 0;
    while !stop.load(Ordering::SeqCst) {
        loop {
            world.git(&folder, &["fetch", "-q", "origin"]);
            world.git(&folder, &["reset", "-q", "--hard", "origin/main"]);
            let file = if written % 3 == 2 {
                "shared.yaml"
            } else {
                "outside.yaml"
            };
            let path = folder.join(file);
            let before = std::fs::read_to_string(&path).unwrap_or_default();
            std::fs::write(&path, format!("{before}outside{written}: here\n")).unwrap();
            world.git(&folder, &["add", "-A"]);
            let said = format!("outside {written}");
            world.git(&folder, &["commit", "-q", "-m", &said]);
            if world.try_git(&folder, &["push", "-q", "origin", "HEAD:main"]) {
                break;
            }
        }
        written += 1;
        std::thread::sleep(Duration::from_millis(120));
    }
    written
}

/// Answers every open question once. A command that dies with the owner of the store is given again.
fn answer(world: &World, answered: &mut BTreeSet<String>) {
    let ran = world.run(&["get", "requests", "-A", "-o", "json"]);
    if ran.code != Some(0) {
        return;
    }
    let list: Value = serde_json::from_str(&ran.stdout).unwrap();
    for request in list["items"].as_array().unwrap() {
        let uid = text(&request["metadata"]["uid"]);
        let open = matches!(request["status"]["phase"].as_str(), None | Some("Open"));
        if !open || answered.contains(&uid) {
            continue;
        }
        let project = text(&request["metadata"]["namespace"]);
        let promotion = text(&request["spec"]["promotion"]["name"]);
        let ran = world.run(&["approve", &promotion, "-n", &project, "--as", "ann"]);
        if ran.code == Some(0) {
            answered.insert(uid);
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn phases(world: &World) -> Option<Vec<String>> {
    let ran = world.run(&["get", "promotions", "-A", "-o", "json"]);
    let list: Value = serde_json::from_str(&ran.stdout).ok()?;
    let items = list["items"].as_array()?;
    Some(
        items
            .iter()
            .map(|one| text(&one["status"]["phase"]))
            .collect(),
    )
}

/// Starts executors and onlookers and kills them; which of them owns the store is up to who comes first. An executor
/// may also die by itself, at a step boundary.
fn storm(world: &World, dice: &mut Dice, plan: &mut Plan<'_>, answered: &mut BTreeSet<String>) {
    let end = Instant::now() + STORM;
    let mut running: Vec<Running> = Vec::new();
    while Instant::now() < end {
        while running.len() < 2 {
            let args: &[&str] = match dice.roll(3) {
                0 => &["get", "promotions", "-A", "-w"],
                _ => &["run"],
            };
            let crash = (dice.roll(2) == 0).then(|| (1 + dice.roll(40)).to_string());
            let env: Vec<_> = crash
                .iter()
                .map(|at| ("TIDEWAITER_CRASH_AT", at.as_str()))
                .collect();
            running.push(world.start_silently(args, &env));
        }
        for _ in 0..dice.roll(4) {
            let at = usize::try_from(dice.roll(plan.parts.len() as u64)).unwrap();
            plan.promote(world, at);
        }
        std::thread::sleep(Duration::from_millis(30 + dice.roll(500)));
        if dice.roll(2) == 0 {
            answer(world, answered);
        }
        let at = usize::try_from(dice.roll(2)).unwrap();
        running.remove(at).kill();
        if dice.roll(4) == 0 {
            running.clear();
        }
    }
}

fn play(seed: u64) {
    let parts = parts();
    let (world, repository, freight) = prepared(&parts);
    let world = Arc::new(world);
    let stop = Arc::new(AtomicBool::new(false));
    let outside = {
        let (world, repository, stop) = (Arc::clone(&world), repository.clone(), Arc::clone(&stop));
        std::thread::spawn(move || write_outside(&world, &repository, &stop))
    };
    let (mut dice, mut answered) = (Dice(seed), BTreeSet::new());
    let mut plan = Plan {
        parts: &parts,
        freight: &freight,
        given: vec![0; parts.len()],
    };
    (0..parts.len()).for_each(|at| plan.promote(&world, at));
    storm(&world, &mut dice, &mut plan, &mut answered);
    stop.store(true, Ordering::SeqCst);
    let written = outside.join().unwrap();
    assert!(
        written > 2,
        "seed {seed}: the outside writer wrote {written}"
    );

    let last = world.start_silently(&["run"], &[]);
    support::until(&format!("seed {seed}: the end of all promotions"), || {
        answer(&world, &mut answered);
        let phases = phases(&world)?;
        phases
            .iter()
            .all(|phase| !matches!(phase.as_str(), "" | "Pending" | "Running"))
            .then_some(())
    });
    drop(last);
    world.until_idle();

    let all = world.get(&["promotions", "-A"]);
    let all = all["items"].as_array().unwrap();
    check_branch(&world, &repository, &plan, all, written, seed);
    check_gates(&world, &plan, all, seed);
    for mirror in std::fs::read_dir(world.cluster().join("mirrors")).unwrap() {
        let path = mirror.unwrap().path();
        if path.extension().is_some_and(|e| e == "git") {
            let pins = world.git(&path, &["for-each-ref", "refs/tidewaiter"]);
            assert_eq!(pins, "", "seed {seed}: {} keeps pins", path.display());
        }
    }
}

/// Whether the Promotion is one of that Stage.
fn of(part: &Part, promotion: &Value) -> bool {
    promotion["metadata"]["namespace"] == part.project
        && promotion["spec"]["stage"] == part.stage.as_str()
}

fn check_branch(
    world: &World,
    repository: &Path,
    plan: &Plan<'_>,
    promotions: &[Value],
    written: u32,
    seed: u64,
) {
    let raw = world.git(repository, &["rev-list", "--header", "main"]);
    let commits: BTreeSet<String> = world
        .git(repository, &["rev-list", "main"])
        .lines()
        .map(str::to_owned)
        .collect();
    for promotion in promotions {
        let (name, status) = (text(&promotion["metadata"]["name"]), &promotion["status"]);
        assert_eq!(status["phase"], "Succeeded", "seed {seed}: {promotion:#}");
        let mark = format!("\ntidewaiter {} ", text(&promotion["metadata"]["uid"]));
        assert_eq!(
            raw.matches(&mark).count(),
            1,
            "seed {seed}: {name} has one commit on the branch: {promotion:#}"
        );
        let pushed = text(&status["state"]["push"]["commit"]);
        assert!(
            commits.contains(&pushed),
            "seed {seed}: {name} says {pushed}, which is not on the branch"
        );
        let own = world.git(repository, &["cat-file", "commit", &pushed]);
        assert!(
            own.contains(&mark),
            "seed {seed}: {name} says {pushed}, which is another's"
        );
    }
    for part in plan.parts {
        let own = promotions.iter().filter(|one| of(part, one));
        let last = own
            .max_by_key(|one| text(&one["metadata"]["name"]))
            .unwrap();
        let freight = text(&last["spec"]["freight"]);
        let at = plan.freight[part.project]
            .iter()
            .position(|one| *one == freight);
        let (tag, file) = (TAGS[at.unwrap()], world.show(repository, &part.file));
        let (plain, quoted) = (
            format!("{}: {tag}", part.key),
            format!("{}: \"{tag}\"", part.key),
        );
        assert!(
            file.lines().any(|line| line == plain || line == quoted),
            "seed {seed}: {plain} in {}:\n{file}",
            part.file
        );
    }
    for number in 0..written {
        let file = if number % 3 == 2 {
            "shared.yaml"
        } else {
            "outside.yaml"
        };
        let line = format!("outside{number}: here");
        assert!(
            world.show(repository, file).lines().any(|one| one == line),
            "seed {seed}: {line} is lost from {file}"
        );
    }
    let all = usize::try_from(written).unwrap() + promotions.len() + 1;
    assert_eq!(
        world.commits(repository),
        all,
        "seed {seed}: commits in all"
    );
}

/// A question is asked again only about another change, and ends Approved or Withdrawn; an answer is judged, and
/// counts for exactly one question.
fn check_gates(world: &World, plan: &Plan<'_>, promotions: &[Value], seed: u64) {
    let gated = plan.parts.iter().filter(|part| part.gated);
    let gates = gated
        .map(|part| promotions.iter().filter(|one| of(part, one)).count())
        .sum::<usize>();
    let requests = world.get(&["requests", "-A"]);
    let mut asked: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut approved: BTreeMap<String, usize> = BTreeMap::new();
    for request in requests["items"].as_array().unwrap() {
        let uid = text(&request["spec"]["promotion"]["uid"]);
        let fresh = asked
            .entry(uid.clone())
            .or_default()
            .insert(text(&request["spec"]["change"]["digest"]));
        assert!(
            fresh,
            "seed {seed}: asked twice about the same: {requests:#}"
        );
        match request["status"]["phase"].as_str() {
            Some("Approved") => {
                *approved.entry(uid).or_default() += 1;
                let responses = request["status"]["responses"].as_array().unwrap();
                assert_eq!(responses.len(), 1, "seed {seed}: {request:#}");
            }
            Some("Withdrawn") => {}
            other => panic!("seed {seed}: a question is left {other:?}: {request:#}"),
        }
    }
    assert_eq!(asked.len(), gates, "seed {seed}: each gate has asked");
    assert!(
        approved.len() == gates && approved.values().all(|n| *n == 1),
        "seed {seed}: {approved:?}"
    );
    let approvals = world.get(&["approvals", "-A"]);
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    for approval in approvals["items"].as_array().unwrap() {
        let status = &approval["status"];
        assert!(
            status["counted"].is_boolean(),
            "seed {seed}: an answer that nobody judged: {approval:#}"
        );
        if status["counted"] == true {
            *counted
                .entry(text(&approval["spec"]["requestUid"]))
                .or_default() += 1;
        }
    }
    for request in requests["items"].as_array().unwrap() {
        if request["status"]["phase"] == "Approved" {
            let uid = text(&request["metadata"]["uid"]);
            assert_eq!(
                counted.get(&uid),
                Some(&1),
                "seed {seed}: the answer that closed the gate says that it counted: {approvals:#}"
            );
        }
    }
}

#[test]
fn whoever_is_killed_everything_lands_once() {
    let seeds: Vec<u64> = match std::env::var("TIDEWAITER_CHAOS_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => vec![1, 2],
    };
    // Side by side: most of the time goes into waiting.
    let games: Vec<_> = seeds
        .into_iter()
        .map(|seed| std::thread::spawn(move || play(seed)))
        .collect();
    for game in games {
        if let Err(panic) = game.join() {
            std::panic::resume_unwind(panic);
        }
    }
}
