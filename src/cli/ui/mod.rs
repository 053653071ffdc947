//! `ui`: the console, fed by watches and served by a task that does what it asks.

mod acts;
mod detail;
mod feeds;
mod people;

use tokio::sync::mpsc;

use super::{
    Done, Exit, Failure,
    args::{Global, Run, Ui},
    executor::{self, Executor},
    session,
};
use crate::{
    cluster::{self, Connection},
    config::Folders,
    console::{
        self, How,
        message::{Leave, Message},
    },
    kargo::Timestamp,
    telemetry,
};

/// Messages that may wait for the console: enough for a page of each kind.
const WAITING: usize = 1024;

/// Runs the verb.
pub async fn run(global: &Global, args: &Ui) -> Done {
    let folders = Folders::of_user();
    telemetry::to_file(&folders.state).map_err(|error| {
        Failure::new(
            Exit::Failed,
            format!(
                "cannot write the log in {}: {error}",
                folders.state.display()
            ),
        )
        .hint("Set TIDEWAITER_STATE_DIR to a folder that you may write")
    })?;
    let wanted = Run {
        shard: args.shard.clone(),
        ..Run::default()
    };
    if args.execute {
        executor::check(global, &wanted)?;
    }
    let connection = session::connect(global).await?;
    let executor = if args.execute {
        Some(executor::start(global, &connection, &wanted).await?)
    } else {
        None
    };
    open(global, &connection, args.readonly, executor).await
}

/// Opens the console on a connection, with the executor of this process where there is one.
pub async fn open(
    global: &Global,
    connection: &Connection,
    readonly: bool,
    executor: Option<Executor>,
) -> Done {
    let (messages, inbox) = mpsc::channel::<Message>(WAITING);
    let (effects, orders) = mpsc::channel(WAITING);
    let scope = session::scope(global, connection);
    let mut tasks = tokio::task::JoinSet::new();
    let (projects, seen) = mpsc::channel(WAITING);
    feeds::start(
        &mut tasks,
        feeds::Wires {
            connection,
            scope: &scope,
            to: &messages,
            projects: &projects,
        },
    );
    drop(projects);
    tasks.spawn(people::follow(connection.clone(), seen, messages.clone()));
    tasks.spawn(acts::serve(
        connection.clone(),
        detail::Mirrors::of(global),
        orders,
        messages.clone(),
    ));
    if let Some(executor) = &executor {
        tasks.spawn(happenings(executor.happenings(), messages.clone()));
    }
    let context = console::Context {
        person: cluster::people::person(&connection.who),
        place: connection.place.clone(),
        project: match &scope {
            cluster::find::Scope::Project(project) => Some(project.clone()),
            cluster::find::Scope::All => None,
        },
        readonly,
        executing: executor.is_some(),
        zone: jiff::tz::TimeZone::system(),
        theme: console::Theme::from_env(|name| std::env::var(name).ok()),
        now: Timestamp::now,
    };
    drop(messages);
    let left = console::run_in_terminal(inbox, effects, context).await;
    tasks.abort_all();
    let exit = left.map_err(|error| {
        Failure::new(
            Exit::Failed,
            format!("cannot go on with the console: {error}"),
        )
    });
    let how = exit.as_ref().map(|exit| exit.how);
    if let Some(executor) = executor {
        leave(
            executor,
            connection,
            how.unwrap_or(How::Quit(Leave::HandOver)),
        )
        .await?;
    }
    let exit = exit?;
    for panic in &exit.panics {
        eprintln!("error: {panic}");
    }
    match exit.how {
        // The shell's way of telling that a signal ended a process.
        How::Signal(signal) => std::process::exit(128 + signal.number()),
        How::Quit(_) if !exit.panics.is_empty() => Ok(Exit::Failed),
        How::Quit(_) => Ok(Exit::Done),
    }
}

/// Ends the executor as the person chose; a signal hands over.
async fn leave(executor: Executor, connection: &Connection, how: How) -> Result<(), Failure> {
    if how == How::Quit(Leave::Finish) {
        eprintln!("Bringing to an end what runs; Ctrl-C hands over instead.");
        tokio::select! {
            ended = executor.quiet(connection) => ended?,
            _ = tokio::signal::ctrl_c() => {}
        }
    }
    executor.hand_over().await
}

async fn happenings(
    mut lines: tokio::sync::broadcast::Receiver<executor::Happening>,
    messages: mpsc::Sender<Message>,
) {
    loop {
        match lines.recv().await {
            Ok(happening) => {
                if messages
                    .send(Message::Happening(happening.line()))
                    .await
                    .is_err()
                {
                    return;
                }
            }
            Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => {}
            Err(tokio::sync::broadcast::error::RecvError::Closed) => return,
        }
    }
}
