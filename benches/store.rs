//! Durable status patches of the local store, against writing a file and fsync for each.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod measure;
#[path = "../tests/support/mod.rs"]
mod support;

use std::{
    fs::File,
    io::Write,
    time::{Duration, Instant},
};

use futures::StreamExt;
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use serde_json::json;
use support::{World, project, set_key, stage};
use tidewaiter::kargo::Promotion;

const SPAN: Duration = Duration::from_secs(3);
const STAGES: usize = 64;

/// Patches per second with so many under way at a time.
async fn patches(client: &Client, names: &[String], at_a_time: usize) -> f64 {
    let api: Api<Promotion> = Api::namespaced(client.clone(), "p");
    let begun = Instant::now();
    let mut work = futures::stream::iter(0_usize..)
        .take_while(|_| std::future::ready(begun.elapsed() < SPAN))
        .map(|n| {
            let (api, name) = (api.clone(), &names[n % names.len()]);
            async move {
                let patch = json!({"status": {"phase": "Running", "message": format!("{n} {}", "x".repeat(400))}});
                api.patch_status(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
            }
        })
        .buffer_unordered(at_a_time);
    let mut done = 0_u32;
    while work.next().await.is_some() {
        done += 1;
    }
    f64::from(done) / begun.elapsed().as_secs_f64()
}

fn files(world: &World) -> f64 {
    let (begun, mut done) = (Instant::now(), 0_u32);
    while begun.elapsed() < SPAN {
        let path = world
            .path()
            .join(format!("file{}", usize::try_from(done).unwrap() % STAGES));
        let mut file = File::create(path).unwrap();
        file.write_all(&[b'x'; 1_500]).unwrap();
        file.sync_all().unwrap();
        done += 1;
    }
    f64::from(done) / begun.elapsed().as_secs_f64()
}

fn main() {
    let runtime = measure::runtime();
    let world = World::new();
    let repository = world.repository("mono", &[("v.yaml", "tag: old\n")]);
    let mut objects = project("p");
    for n in 0..STAGES {
        let steps = set_key(&repository, "v.yaml", "tag");
        objects.push_str(&stage("p", &format!("s{n:02}"), &steps));
    }
    world.apply(&objects);
    let freight = world.freight("p", "1.2.3");
    let names: Vec<String> = (0..STAGES)
        .map(|n| world.promote("p", &format!("s{n:02}"), &freight))
        .collect();
    let (one, many) = runtime.block_on(async {
        let connection = measure::join(&world).await;
        let client = connection.as_executor().unwrap().client;
        let one = patches(&client, &names, 1).await;
        let many = patches(&client, &names, STAGES).await;
        measure::leave(connection).await;
        (one, many)
    });
    let file = files(&world);
    println!("store: durable status patches per second");
    println!("  one at a time         {one:>7.0}");
    println!("  {STAGES} at a time          {many:>7.0}");
    println!("  file and fsync        {file:>7.0}");
    println!(
        "  ratio                 {:>7.2} one at a time, {:.2} {STAGES} at a time",
        one / file,
        many / file
    );
}
