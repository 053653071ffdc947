//! Verbs of the command line, one file each, and how results are printed.
//!
//! `args` defines the flags, `session` connects, `failure` is how a verb ends that did not do what was asked.

pub mod args;

mod abort;
mod answer;
mod apply;
mod demo;
mod describe;
mod eval;
mod executor;
mod failure;
mod get;
mod info;
pub mod lint;
mod names;
mod output;
mod permitted;
mod promote;
mod retry;
mod run;
mod session;
mod ui;
mod verify;
mod wait;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Cli, Verb};
pub use failure::{Exit, Failure};

/// What a verb comes to.
type Done = Result<Exit, Failure>;

/// Reads the arguments, does what they say, prints errors, and says with which code to exit.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let usage = error.use_stderr();
            let _ = error.print();
            return if usage {
                Exit::Usage.code()
            } else {
                Exit::Done.code()
            };
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return Failure::new(Exit::Failed, format!("cannot start: {error}")).report(),
    };
    let done = runtime.block_on(async {
        let done = dispatch(cli).await;
        session::leave().await;
        done
    });
    let exit = match done {
        Ok(exit) => exit.code(),
        Err(failure) => failure.report(),
    };
    // Blocking reads (a terminal, a pipe) must not keep the process from ending.
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    exit
}

async fn dispatch(cli: Cli) -> Done {
    if let Some(conflict) = cli.conflict() {
        return Err(Failure::new(Exit::Usage, conflict));
    }
    let global = cli.global;
    match cli.verb.unwrap_or_else(|| Verb::Ui(args::Ui::default())) {
        Verb::Ui(args) => ui::run(&global, &args).await,
        Verb::Demo(args) => demo::run(&global, &args).await,
        Verb::Get(args) => get::run(&global, &args).await,
        Verb::Describe(args) => describe::run(&global, &args).await,
        Verb::Promote(args) => promote::run(&global, &args).await,
        Verb::Approve(args) => answer::approve(&global, &args).await,
        Verb::Reject(args) => answer::reject(&global, &args).await,
        Verb::Retry(args) => retry::run(&global, &args).await,
        Verb::Abort(args) => abort::abort(&global, &args).await,
        Verb::Refresh(args) => abort::refresh(&global, &args).await,
        Verb::Verify(args) => verify::run(&global, &args).await,
        Verb::Run(args) => run::run(&global, &args).await,
        Verb::Apply(args) => apply::run(&global, &args).await,
        Verb::Lint(args) => lint::run(&args),
        Verb::Eval(args) => eval::run(&global, &args).await,
        Verb::Info(args) => info::run(&global, &args).await,
        Verb::Completions(args) => {
            let mut command = Cli::command();
            clap_complete::generate(
                args.shell,
                &mut command,
                "tidewaiter",
                &mut std::io::stdout(),
            );
            Ok(Exit::Done)
        }
        Verb::Man => info::manual(),
    }
}
