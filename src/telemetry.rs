//! Logs: to stderr for verbs, to a file while the console has the screen; `TIDEWAITER_LOG` sets what is told.

use std::{fs, io, path::Path, sync::Mutex};

use tracing_subscriber::EnvFilter;

/// The variable that says what is logged, in `RUST_LOG`'s language.
pub const LOG_VARIABLE: &str = "TIDEWAITER_LOG";

fn filter(default: &str) -> EnvFilter {
    EnvFilter::try_from_env(LOG_VARIABLE).unwrap_or_else(|_| EnvFilter::new(default))
}

/// Logs to stderr: warnings unless told otherwise.
pub fn to_stderr() {
    // A second initialisation (tests in one process) keeps the first.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter("tidewaiter=warn,error"))
        .with_writer(io::stderr)
        .with_ansi(false)
        .try_init();
}

/// Logs to `folder/tidewaiter.log`, so that nothing is painted over the screen.
pub fn to_file(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let file = fs::File::options()
        .create(true)
        .append(true)
        .open(folder.join("tidewaiter.log"))?;
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter("tidewaiter=info,warn"))
        .with_writer(Mutex::new(file))
        .with_ansi(false)
        .try_init();
    Ok(())
}
