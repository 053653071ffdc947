//! `run`: the executor alone.

use tokio::signal::unix::{SignalKind, signal};

use super::{
    Done, Exit, Failure,
    args::{Format, Global, Run},
    executor::{self, Counts},
    output, session,
};
use crate::telemetry;

/// Runs the verb: until a signal, or until nothing can go on.
pub async fn run(global: &Global, args: &Run) -> Done {
    telemetry::to_stderr();
    executor::check(global, args)?;
    let connection = session::connect(global).await?;
    let executor = if args.until_idle {
        executor::start_until_idle(global, &connection, args).await?
    } else {
        executor::start(global, &connection, args).await?
    };
    let stopper = executor.stopper();
    let failed = |error: std::io::Error| {
        Failure::new(Exit::Failed, format!("cannot watch for signals: {error}"))
    };
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let signals = tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        stopper.send_replace(true);
    });
    let counts = executor.finished().await;
    signals.abort();
    print(&counts?, args)?;
    Ok(Exit::Done)
}

fn print(counts: &Counts, args: &Run) -> Result<(), Failure> {
    match args.output {
        Format::Json | Format::Yaml => output::print(&output::document(counts, args.output)?),
        _ if !args.until_idle => Ok(()),
        _ => output::print(&text(counts)),
    }
}

fn text(counts: &Counts) -> String {
    let phases: Vec<String> = counts
        .promotions
        .iter()
        .map(|(phase, number)| format!("{number} {phase}"))
        .collect();
    let phases = if phases.is_empty() {
        "no promotions".to_owned()
    } else {
        phases.join(", ")
    };
    let git = &counts.git;
    let mut text = format!(
        "{phases}\ngit: {} commands, {} fetches, {} pushes, {} commits landed, {} lost races, {} replays, {} refusals\n",
        git.commands,
        git.fetches,
        git.pushes,
        git.commits_landed,
        git.lost_races,
        git.replays,
        git.refusals
    );
    for waiting in &counts.waiting {
        let what = output::visible(&waiting.what);
        text.push_str(&format!(
            "{}/{} waits: {what}\n",
            waiting.project, waiting.promotion
        ));
    }
    text
}
