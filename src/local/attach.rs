//! Joining a local cluster from any process: as the owner of its store where there is none, else
//! through the owner's socket, and in the owner's place when it has gone.

use super::cluster::{LocalCluster, Options};
use super::http;
use super::place::Place;
use super::socket::{self, SendError, SocketError, SocketGuard};
use super::store::OpenError;
use super::user::{Identity, UserError, UserInfo};
use ::http::{Method, Request, Response};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use kube::client::Body;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::RwLock;
use tower::BoxError;

/// How long an owner is waited for that has the lock and does not answer yet.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(25);

/// Why a local cluster was not joined.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The store could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The socket could not be served.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The OS user is not known.
    #[error(transparent)]
    User(#[from] UserError),
    /// Nobody serves the folder.
    #[error("no process answers for the local cluster in {folder}")]
    Unreachable {
        /// The cluster's folder.
        folder: String,
        /// The last attempt.
        #[source]
        source: std::io::Error,
    },
    /// This process has let go of the cluster.
    #[error("the local cluster has been closed")]
    Closed,
}

/// A local cluster joined.
pub struct Attached {
    /// A client for the user that was asked for.
    pub client: kube::Client,
    /// Who that is: the OS user, or the one acted as.
    pub user: UserInfo,
    joint: Arc<Joint>,
}

impl Attached {
    /// A client for another user: requests act as them, and say on whose behalf.
    #[must_use]
    pub fn client_for(&self, user: &UserInfo) -> kube::Client {
        self.joint.client(Some(user))
    }

    /// The user of the operating system, whoever is acted as.
    #[must_use]
    pub fn os_user(&self) -> &UserInfo {
        &self.joint.os_user
    }

    /// Whether this process owns the store now.
    pub async fn is_owner(&self) -> bool {
        matches!(*self.joint.mode.read().await, Mode::Owner { .. })
    }

    /// Lets go: an owner closes the store and its socket, so that another process can take over.
    /// Clients of this process fail from then on.
    pub async fn close(&self) {
        let before = std::mem::replace(&mut *self.joint.mode.write().await, Mode::Closed);
        if let Mode::Owner {
            cluster,
            _socket: socket,
        } = before
        {
            socket.finish().await;
            // Requests that are under way still hold the cluster: they must not keep the store.
            cluster.close();
        }
    }
}

/// Joins the local cluster in a folder, as its owner if nobody is. `identity` may act as somebody
/// else than the OS user; the server records who really asks.
///
/// # Errors
/// When the store cannot be opened, or its owner does not answer within five seconds.
pub async fn attach(dir: &Path, identity: &Identity) -> Result<Attached, AttachError> {
    attach_with(dir, identity, Options::default()).await
}

/// [`attach`], with other than the usual options for when this process becomes the owner.
///
/// # Errors
/// As [`attach`].
pub async fn attach_with(
    dir: &Path,
    identity: &Identity,
    options: Options,
) -> Result<Attached, AttachError> {
    let joint = Arc::new(Joint {
        place: Place::new(dir),
        os_user: UserInfo::of_process()?,
        succession: Some(options),
        mode: RwLock::new(Mode::Remote),
    });
    if !joint.take_over().await? {
        joint.reach().await?;
    }
    let as_user = identity.user_of(&joint.os_user);
    let user = match &as_user {
        Some(user) => joint.os_user.acting_as(user),
        None => joint.os_user.clone(),
    };
    Ok(Attached {
        client: joint.client(as_user.as_ref()),
        user,
        joint,
    })
}

/// A client over the socket of another process, which is never replaced when it goes.
///
/// # Errors
/// When there is no owner, or it does not answer within five seconds.
pub async fn connect(dir: &Path, as_user: Option<&UserInfo>) -> Result<kube::Client, AttachError> {
    let joint = Arc::new(Joint {
        place: Place::new(dir),
        os_user: UserInfo::of_process()?,
        succession: None,
        mode: RwLock::new(Mode::Remote),
    });
    joint.reach().await?;
    Ok(joint.client(as_user))
}

/// What all clients of one joining share.
struct Joint {
    place: Place,
    os_user: UserInfo,
    /// How the store is opened when it is this process's turn; none if it never takes one.
    succession: Option<Options>,
    mode: RwLock<Mode>,
}

enum Mode {
    /// Fields are dropped in this order: first nobody can come in, then the store is closed.
    Owner {
        _socket: SocketGuard,
        cluster: Arc<LocalCluster>,
    },
    Remote,
    Closed,
}

type ReplyBody = UnsyncBoxBody<Bytes, BoxError>;

impl Joint {
    fn client(self: &Arc<Self>, as_user: Option<&UserInfo>) -> kube::Client {
        let service = JointService {
            joint: Arc::clone(self),
            as_user: as_user.cloned(),
        };
        kube::Client::new(service, "default")
    }

    /// Becomes the owner if nobody is. False if somebody else is.
    async fn take_over(&self) -> Result<bool, AttachError> {
        let Some(options) = &self.succession else {
            return Ok(false);
        };
        let mut mode = self.mode.write().await;
        match *mode {
            Mode::Owner { .. } => return Ok(true),
            Mode::Closed => return Err(AttachError::Closed),
            Mode::Remote => {}
        }
        let Some(lock) = self.place.lock()? else {
            return Ok(false);
        };
        let cluster = LocalCluster::open_locked(self.place.clone(), lock, options.clone())?;
        let socket = cluster.serve_socket()?;
        *mode = Mode::Owner {
            _socket: socket,
            cluster,
        };
        Ok(true)
    }

    async fn dial(&self) -> Result<tokio::net::UnixStream, SendError> {
        let path = self.place.socket().ok_or_else(|| {
            SendError::NotConnected(std::io::Error::from(std::io::ErrorKind::NotFound))
        })?;
        socket::connect(&path).await
    }

    /// The owner here, or a connection to the owner elsewhere. Waits a little for one that is
    /// starting, and takes the place of one that has gone.
    async fn reach(&self) -> Result<Reached, AttachError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match &*self.mode.read().await {
                Mode::Owner { cluster, .. } => return Ok(Reached::Here(Arc::clone(cluster))),
                Mode::Closed => return Err(AttachError::Closed),
                Mode::Remote => {}
            }
            let last = match self.dial().await {
                Ok(stream) => return Ok(Reached::There(stream)),
                Err(SendError::NotConnected(error)) => error,
                Err(SendError::Broken(error)) => std::io::Error::other(error),
            };
            if self.take_over().await? {
                continue;
            }
            let hopeless = self.succession.is_none() && !self.place.has_owner();
            if hopeless || Instant::now() >= deadline {
                return Err(AttachError::Unreachable {
                    folder: self.place.folder().display().to_string(),
                    source: last,
                });
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn send(
        &self,
        as_user: Option<&UserInfo>,
        request: Request<Body>,
    ) -> Result<Response<ReplyBody>, BoxError> {
        // A read can be asked again when the owner goes in the middle; a write may have been done.
        let again = (request.method() == Method::GET).then(|| copy_of_read(&request));
        match self.send_once(as_user, request).await {
            Err(error) if error.is::<SendError>() => match again {
                Some(request) => self.send_once(as_user, request).await,
                None => Err(error),
            },
            outcome => outcome,
        }
    }

    async fn send_once(
        &self,
        as_user: Option<&UserInfo>,
        mut request: Request<Body>,
    ) -> Result<Response<ReplyBody>, BoxError> {
        match self.reach().await? {
            Reached::Here(cluster) => {
                let user = match as_user {
                    Some(user) => self.os_user.acting_as(user),
                    None => self.os_user.clone(),
                };
                let response = cluster.front(&user).answer(request).await;
                Ok(response.map(|body| body.map_err(|never| match never {}).boxed_unsync()))
            }
            Reached::There(stream) => {
                if let Some(user) = as_user.filter(|user| **user != self.os_user) {
                    http::act_as(user, request.headers_mut())?;
                }
                let response = socket::send(stream, request).await?;
                Ok(response.map(|body| body.map_err(BoxError::from).boxed_unsync()))
            }
        }
    }
}

enum Reached {
    Here(Arc<LocalCluster>),
    There(tokio::net::UnixStream),
}

/// A read has no body worth keeping.
fn copy_of_read(request: &Request<Body>) -> Request<Body> {
    let mut copy = Request::new(Body::empty());
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    copy
}

#[derive(Clone)]
struct JointService {
    joint: Arc<Joint>,
    as_user: Option<UserInfo>,
}

impl tower::Service<Request<Body>> for JointService {
    type Response = Response<ReplyBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { service.joint.send(service.as_user.as_ref(), request).await })
    }
}
