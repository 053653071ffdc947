//! One child in its own process group: its output is read up to a bound, and the whole group is
//! ended at the deadline or when nobody waits for it any more. The steps that run other programs share it.

use std::{
    io,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, Command},
    sync::oneshot,
    time::{sleep, timeout},
};

/// As much of stdout as any answer needs: an `ls-remote` of ten thousand refs is one megabyte.
const STDOUT_LIMIT: usize = 8 << 20;
/// Servers' words and git's errors.
const STDERR_LIMIT: usize = 64 << 10;
/// How long git may tidy up its lock files after the first signal.
const GRACE: Duration = Duration::from_secs(2);
/// Output may be held open by a process that outlives the command (an SSH master).
const LINGER: Duration = Duration::from_millis(300);

/// What the child said.
pub struct Raw {
    /// Whether it ended with 0.
    pub success: bool,
    /// The start of it.
    pub stdout: Vec<u8>,
    /// The start of it.
    pub stderr: Vec<u8>,
    /// Whether there was more on stdout than is kept.
    pub cut: bool,
}

/// Why there is no result.
pub enum Ended {
    /// It could not be started or waited for.
    Io(io::Error),
    /// It ran into its deadline.
    Late {
        /// How long it ran.
        after: Duration,
        /// What it had said by then.
        stderr: String,
    },
}

/// Runs it, with as much of its output as git ever says that matters.
pub async fn run(command: Command, deadline: Duration) -> Result<Raw, Ended> {
    run_bounded(command, deadline, STDOUT_LIMIT).await
}

/// Runs it and keeps at most `limit` bytes of its output. The child belongs to a task of its own, which notices when
/// this future is dropped.
pub async fn run_bounded(
    mut command: Command,
    deadline: Duration,
    limit: usize,
) -> Result<Raw, Ended> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let child = command.spawn().map_err(Ended::Io)?;
    let (wanted, unwanted) = oneshot::channel::<()>();
    let watched = tokio::spawn(watch(child, deadline, limit, unwanted));
    let result = watched.await.map_err(|e| Ended::Io(io::Error::other(e)))?;
    drop(wanted);
    result
}

async fn watch(
    mut child: Child,
    deadline: Duration,
    limit: usize,
    unwanted: oneshot::Receiver<()>,
) -> Result<Raw, Ended> {
    let stdout = Kept::of(child.stdout.take(), limit);
    let stderr = Kept::of(child.stderr.take(), STDERR_LIMIT);
    let status = tokio::select! {
        status = child.wait() => status.map_err(Ended::Io)?,
        () = sleep(deadline) => {
            end(&mut child).await;
            let stderr = String::from_utf8_lossy(&stderr.finish().await.0).into_owned();
            return Err(Ended::Late { after: deadline, stderr });
        }
        _ = unwanted => {
            end(&mut child).await;
            return Err(Ended::Io(io::Error::new(io::ErrorKind::Interrupted, "no longer wanted")));
        }
    };
    let ((stdout, cut), (stderr, _)) = tokio::join!(stdout.finish(), stderr.finish());
    Ok(Raw {
        success: status.success(),
        stdout,
        stderr,
        cut,
    })
}

/// Ends the whole group: politely, so that git removes its lock files, then for good.
async fn end(child: &mut Child) {
    let Some(group) = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw)
    else {
        return;
    };
    // A group that is gone already is what was wanted.
    let _gone = kill_process_group(group, Signal::TERM);
    if timeout(GRACE, child.wait()).await.is_err() {
        let _gone = kill_process_group(group, Signal::KILL);
        let _reaped = child.wait().await;
    }
}

/// What was read of a stream, and whether there was more.
type Start = (Vec<u8>, bool);

/// The start of a stream, read in the background so that the child never blocks on it.
struct Kept {
    start: Arc<Mutex<Start>>,
    reader: tokio::task::JoinHandle<()>,
}

impl Kept {
    fn of(stream: Option<impl AsyncRead + Unpin + Send + 'static>, limit: usize) -> Self {
        let start = Arc::new(Mutex::new(Start::default()));
        let reader = tokio::spawn(read(stream, limit, Arc::clone(&start)));
        Self { start, reader }
    }

    /// What was read, after the end of the stream or a short wait for it.
    async fn finish(mut self) -> Start {
        if timeout(LINGER, &mut self.reader).await.is_err() {
            self.reader.abort();
        }
        std::mem::take(&mut *self.start.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn read(stream: Option<impl AsyncRead + Unpin>, limit: usize, start: Arc<Mutex<Start>>) {
    let Some(mut stream) = stream else { return };
    let mut chunk = vec![0; 8192];
    while let Ok(count @ 1..) = stream.read(&mut chunk).await {
        let mut start = start.lock().unwrap_or_else(PoisonError::into_inner);
        let room = limit.saturating_sub(start.0.len()).min(count);
        start.1 |= room < count;
        start
            .0
            .extend_from_slice(chunk.get(..room).unwrap_or_default());
    }
}
