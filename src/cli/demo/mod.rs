//! `demo`: a sample project with real git repositories, the executor and the console, in one command.
//!
//! `world` makes the repositories and objects, `story` is what happens, `check` says whether all ended as it must;
//! `colleague` is the other writer. With `--plain` the story is played to its end without a terminal; without it the
//! story is paced for a person, who does the last two deeds: retrying and approving.

mod check;
mod colleague;
mod story;
mod world;

use std::path::PathBuf;

use super::{
    Done, Exit, Failure,
    args::{Demo, Global, Run},
    executor, session, ui,
};
use crate::{config::Folders, telemetry};
use colleague::Trouble;
use world::World;

/// Runs the verb.
pub async fn run(global: &Global, args: &Demo) -> Done {
    if global.local.is_some() || global.kubeconfig.is_some() || global.context.is_some() {
        return Err(
            Failure::new(Exit::Usage, "the demo makes its own local cluster")
                .hint("Choose the folder with --dir DIR"),
        );
    }
    if args.plain {
        telemetry::to_stderr();
    } else {
        telemetry::to_file(&Folders::of_user().state).map_err(|error| {
            Failure::new(Exit::Failed, format!("cannot write the log: {error}"))
        })?;
    }
    let dir = folder(args)?;
    let global = Global {
        local: Some(dir.join("cluster")),
        ..global.clone()
    };
    let connection = session::connect(&global).await?;
    let operator = connection.who.name.clone();
    let world = World::open(&dir, &operator).map_err(|trouble| failed(&trouble))?;
    let fresh = world
        .prepare(&connection)
        .await
        .map_err(|trouble| failed(&trouble))?;
    if args.plain && !fresh {
        return Err(Failure::new(
            Exit::Usage,
            format!(
                "cannot play the demo in {}: it was played there before",
                dir.display()
            ),
        )
        .hint("Name a new folder with --dir, or none"));
    }
    let executor = executor::start(&global, &connection, &Run::default()).await?;
    if args.plain {
        let exit = plain(&world, &connection, &executor).await;
        executor.hand_over().await?;
        return exit;
    }
    let director = tokio::spawn(story::paced(world, connection.clone(), fresh));
    let exit = ui::open(&global, &connection, false, Some(executor)).await;
    director.abort();
    let local = global
        .local
        .as_deref()
        .unwrap_or(&dir)
        .display()
        .to_string();
    println!(
        "The demo stays in {}. Look at what was pushed:\n  git -C {}/repos/platform.git log --stat main",
        dir.display(),
        dir.display()
    );
    println!(
        "Go on with it:\n  tidewaiter demo --dir {}\n  tidewaiter --local {local} get promotions",
        dir.display()
    );
    exit
}

async fn plain(
    world: &World,
    connection: &crate::cluster::Connection,
    executor: &executor::Executor,
) -> Done {
    let lines = tokio::spawn(story::tell(executor.happenings()));
    let played = story::to_the_end(world, connection).await;
    let checked = match played {
        Ok(()) => check::all(world, connection, &executor.counts()).await,
        Err(trouble) => Err(trouble),
    };
    // What happened is told before what came of it.
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    lines.abort();
    match checked {
        Ok(facts) => {
            for fact in facts {
                println!("ok: {fact}");
            }
            Ok(Exit::Done)
        }
        Err(trouble) => Err(failed(&trouble)),
    }
}

fn folder(args: &Demo) -> Result<PathBuf, Failure> {
    let made = match &args.dir {
        Some(dir) => std::fs::create_dir_all(dir).and_then(|()| std::fs::canonicalize(dir)),
        None => tempfile::Builder::new()
            .prefix("tidewaiter-demo-")
            .tempdir()
            .map(tempfile::TempDir::keep),
    };
    made.map_err(|error| {
        Failure::new(
            Exit::Failed,
            format!("cannot make the demo's folder: {error}"),
        )
    })
}

fn failed(trouble: &Trouble) -> Failure {
    let mut sentence = format!("the demo did not go as it should: {trouble}");
    let mut next = trouble.source();
    while let Some(error) = next {
        sentence.push_str(": ");
        sentence.push_str(&error.to_string());
        next = error.source();
    }
    Failure::new(Exit::Failed, sentence)
}
