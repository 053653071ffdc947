//! `ui`: the console, fed by watches and served by a task that does what it asks.

mod acts;
mod detail;
mod feeds;

use tokio::sync::mpsc;

use super::{Done, Exit, Failure, args::{Global, Run, Ui}, executor::{self, Executor}, session};
use crate::{
    cluster::Connection,
    config::Folders,
    console::{self, message::{Leave, Message}},
    kargo::Timestamp,
    telemetry,
};

/// Messages that may wait for the console: enough for a page of each kind.
const WAITING: usize = 1024;

/// Runs the verb.
pub async fn run(global: &Global, args: &Ui) -> Done {
    let folders = Folders::of_user();
    telemetry::to_file(&folders.state).map_err(|error| {
        Failure::new(Exit::Failed, format!("cannot write the log in {}: {error}", folders.state.display()))
            .hint("Set TIDEWAITER_STATE_DIR to a folder that you may write")
    })?;
    let connection = session::connect(global).await?;
    let executor = if args.execute {
        let wanted = Run { shard: args.shard.clone(), ..Run::default() };
        Some(executor::start(global, &connection, &wanted).await?)
    } else {
        None
    };
    open(global, &connection, args.readonly, executor).await
}

/// Opens the console on a connection, with the executor of this process where there is one.
pub async fn open(global: &Global, connection: &Connection, readonly: bool, executor: Option<Executor>) -> Done {
    let (messages, inbox) = mpsc::channel::<Message>(WAITING);
    let (effects, orders) = mpsc::channel(WAITING);
    let scope = session::scope(global, connection);
    let mut tasks = tokio::task::JoinSet::new();
    feeds::start(&mut tasks, connection, &scope, &messages);
    tasks.spawn(acts::serve(connection.clone(), detail::Mirrors::of(global), orders, messages.clone()));
    if let Some(executor) = &executor {
        tasks.spawn(happenings(executor.happenings(), messages.clone()));
    }
    let context = console::Context {
        who: connection.who.clone(),
        place: connection.place.clone(),
        project: match &scope {
            crate::cluster::find::Scope::Project(project) => Some(project.clone()),
            crate::cluster::find::Scope::All => None,
        },
        readonly,
        executing: executor.is_some(),
        now: Timestamp::now,
    };
    drop(messages);
    let left = console::run(inbox, effects, context).await;
    tasks.abort_all();
    let exit = left.map_err(|error| {
        Failure::new(Exit::Failed, format!("the console stopped: {error}"))
    })?;
    if let Some(executor) = executor {
        leave(executor, exit.leave).await?;
    }
    match exit.signal {
        // The shell's way of telling that a signal ended a process.
        Some(signal) => std::process::exit(128 + signal.number()),
        None => Ok(Exit::Done),
    }
}

async fn leave(executor: Executor, how: Leave) -> Result<(), Failure> {
    match how {
        Leave::Finish => {
            eprintln!("Finishing what runs; press Ctrl-C to hand over instead.");
            tokio::select! {
                summary = executor.until_idle() => { summary?; }
                _ = tokio::signal::ctrl_c() => {}
            }
            executor.hand_over().await
        }
        Leave::HandOver | Leave::Stop => executor.hand_over().await,
    }
}

async fn happenings(mut lines: tokio::sync::broadcast::Receiver<executor::Happening>, messages: mpsc::Sender<Message>) {
    loop {
        match lines.recv().await {
            Ok(happening) => {
                if messages.send(Message::Happening(happening.to_string())).await.is_err() {
                    return;
                }
            }
            Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => {}
            Err(tokio::sync::broadcast::error::RecvError::Closed) => return,
        }
    }
}
