//! The socket through which other processes of the same user reach the owner's server, and the way
//! to it.

use super::http::Front;
use super::place::Place;
use super::user::UserError;
use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// Why the socket is not served.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The cluster lives in memory only.
    #[error("a local cluster in memory has no socket")]
    NoFolder,
    /// The user that peers are served as is not known.
    #[error("serving the local cluster's socket")]
    User(#[from] UserError),
    /// A file or the socket could not be made.
    #[error("making the local cluster's socket {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// Keeps a socket served. Dropping it ends all connections and removes the socket.
#[derive(Debug)]
pub struct SocketGuard {
    path: PathBuf,
    record: Option<PathBuf>,
    /// The private folder of a socket outside the cluster's folder.
    _elsewhere: Option<tempfile::TempDir>,
    serving: JoinHandle<()>,
    closing: watch::Sender<bool>,
}

/// How long requests that are under way have when the owner leaves. Watches have no end of their own.
const GRACE: Duration = Duration::from_millis(300);

impl SocketGuard {
    /// Where the socket is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets nobody in any more and answers the requests that are under way: whoever sent a write then knows
    /// whether it was done.
    pub(super) async fn finish(mut self) {
        self.closing.send_replace(true);
        if tokio::time::timeout(GRACE, &mut self.serving)
            .await
            .is_err()
        {
            tracing::debug!("connections to the local cluster were cut");
        }
    }
}

impl Drop for SocketGuard {
    fn drop(&mut self) {
        self.serving.abort();
        for path in std::iter::once(&self.path).chain(&self.record) {
            if let Err(error) = std::fs::remove_file(path)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                tracing::warn!(path = %path.display(), %error, "the local cluster's socket was not removed");
            }
        }
    }
}

fn io_error(path: &Path) -> impl FnOnce(std::io::Error) -> SocketError {
    let path = path.to_owned();
    move |source| SocketError::Io { path, source }
}

/// Makes the socket and serves it. The caller owns the folder, so what lies there is left over.
pub(super) fn serve(
    place: &Place,
    runtime_dir: Option<&Path>,
    front: Front,
) -> Result<SocketGuard, SocketError> {
    let (listener, path, record, elsewhere) = match place.own_socket() {
        Some(path) => (bind_in_folder(place, &path)?, path, None, None),
        None => {
            let folder = private_folder(runtime_dir)?;
            let path = folder.path().join("api.sock");
            let listener = bind(&path)?;
            let record = place.socket_record();
            let unfinished = record.with_extension("new");
            std::fs::write(&unfinished, format!("{}\n", path.display()))
                .and_then(|()| std::fs::rename(&unfinished, &record))
                .map_err(io_error(&record))?;
            (listener, path, Some(record), Some(folder))
        }
    };
    let (closing, told) = watch::channel(false);
    Ok(SocketGuard {
        path,
        record,
        _elsewhere: elsewhere,
        serving: tokio::spawn(accept(listener, front, told)),
        closing,
    })
}

/// Binds inside a folder that nobody else may enter, and moves the socket to its place when it has
/// its mode: there is no moment at which others could connect.
fn bind_in_folder(place: &Place, path: &Path) -> Result<UnixListener, SocketError> {
    let gate = place.folder().join(".s");
    let _ = std::fs::remove_dir_all(&gate);
    DirBuilder::new()
        .mode(0o700)
        .create(&gate)
        .map_err(io_error(&gate))?;
    let listener = bind(&gate.join("a"))?;
    std::fs::rename(gate.join("a"), path).map_err(io_error(path))?;
    std::fs::remove_dir(&gate).map_err(io_error(&gate))?;
    Ok(listener)
}

fn bind(path: &Path) -> Result<UnixListener, SocketError> {
    let listener = UnixListener::bind(path).map_err(io_error(path))?;
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(io_error(path))?;
    Ok(listener)
}

fn private_folder(runtime_dir: Option<&Path>) -> Result<tempfile::TempDir, SocketError> {
    let base = match runtime_dir {
        Some(dir) => dir.to_owned(),
        None => std::env::var_os("XDG_RUNTIME_DIR")
            .filter(|dir| !dir.is_empty())
            .map_or_else(std::env::temp_dir, PathBuf::from),
    };
    tempfile::Builder::new()
        .prefix("tidewaiter-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(&base)
        .map_err(io_error(&base))
}

/// Pause after a failed accept, such as when there are no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

async fn accept(listener: UnixListener, front: Front, closing: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    let mut told = closing.clone();
    loop {
        tokio::select! {
            _ = told.changed() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    if is_ours(&stream) {
                        connections.spawn(serve_connection(stream, front.clone(), closing.clone()));
                    } else {
                        tracing::warn!("a connection of another user to the local cluster was refused");
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "accepting a connection to the local cluster");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Whether the process at the other end runs as the same user.
fn is_ours(stream: &UnixStream) -> bool {
    stream
        .peer_cred()
        .is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw())
}

async fn serve_connection(stream: UnixStream, front: Front, mut closing: watch::Receiver<bool>) {
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(front));
    tokio::pin!(connection);
    let ended = tokio::select! {
        served = connection.as_mut() => Some(served),
        _ = closing.changed() => None,
    };
    let served = match ended {
        Some(served) => served,
        None => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        // Clients leave in the middle of watches: that is how watches end.
        tracing::debug!(%error, "a connection to the local cluster ended");
    }
}

/// Why a request did not get a response.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    /// Nothing was sent.
    #[error("connecting to the local cluster's socket")]
    NotConnected(#[source] std::io::Error),
    /// The request may have been carried out.
    #[error("talking to the owner of the local cluster")]
    Broken(#[source] hyper::Error),
}

/// A connection to an owner that runs as the same user.
pub(super) async fn connect(path: &Path) -> Result<UnixStream, SendError> {
    let stream = UnixStream::connect(path)
        .await
        .map_err(SendError::NotConnected)?;
    if is_ours(&stream) {
        Ok(stream)
    } else {
        let other = std::io::Error::new(
            std::io::ErrorKind::PermissionDenied,
            "the socket is served by another user",
        );
        Err(SendError::NotConnected(other))
    }
}

/// Sends one request on a connection of its own: they cost little here, and none is reused that the
/// owner may have closed.
pub(super) async fn send<B>(
    stream: UnixStream,
    mut request: Request<B>,
) -> Result<Response<Incoming>, SendError>
where
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake::<_, B>(TokioIo::new(stream))
            .await
            .map_err(SendError::Broken)?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to the local cluster's owner ended");
        }
    });
    request
        .headers_mut()
        .insert(header::HOST, HeaderValue::from_static("localhost"));
    sender
        .send_request(request)
        .await
        .map_err(SendError::Broken)
}
