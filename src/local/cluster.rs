//! A local cluster, owned by this process.

use super::admission::Admission;
use super::background;
use super::http::{Front, WatchTimes};
use super::kargo_rules::KargoRules;
use super::kinds;
use super::place::{OwnerLock, Place};
use super::socket::{self, SocketError, SocketGuard};
use super::store::{Disk, HistoryLimits, OpenError, Store};
use super::user::UserInfo;
use super::write::{Action, Part, WriteRequest};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Namespaces that are there from the start, besides what every cluster has.
const FIRST_NAMESPACES: &[&str] = &["default", "kube-system", "kargo"];

/// How a local cluster behaves. The defaults are for use; tests shorten times.
#[derive(Clone)]
pub struct Options {
    /// The rules that writes have to pass.
    pub admission: Arc<dyn Admission>,
    /// Events that watches and pages can go back at most.
    pub history_events: usize,
    /// How far back they can go at most.
    pub history_age: Duration,
    /// Time between bookmarks of a watch that asks for them.
    pub bookmarks: Duration,
    /// How long a watch lasts that gives no timeout.
    pub watch_timeout: Duration,
    /// How long Events are kept after the last thing was added to them: an hour, as in a cluster.
    pub event_age: Duration,
    /// Where a socket goes whose path in the folder would be too long; none for the system's
    /// places: `$XDG_RUNTIME_DIR`, else the folder for temporary files.
    pub runtime_dir: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            admission: Arc::new(KargoRules::default()),
            history_events: 1_000,
            history_age: Duration::from_secs(300),
            bookmarks: Duration::from_secs(60),
            watch_timeout: Duration::from_secs(45 * 60),
            event_age: Duration::from_secs(3600),
            runtime_dir: None,
        }
    }
}

/// A local cluster whose store this process owns. Dropping it closes the store; its clients then
/// get 503 and its watches end.
pub struct LocalCluster {
    store: Arc<Store>,
    place: Option<Place>,
    options: Options,
    background: tokio::task::JoinHandle<()>,
}

impl LocalCluster {
    /// Opens the store in a folder, making both if they are not there.
    ///
    /// # Errors
    /// When another process owns it ([`OpenError::InUse`]), when the file is not an intact store of
    /// this program's format (it is left as it is), and outside a tokio runtime.
    pub fn open(dir: &Path, options: Options) -> Result<Arc<Self>, OpenError> {
        let place = Place::new(dir);
        let lock = place.lock()?.ok_or_else(|| OpenError::InUse {
            path: place.lock_file(),
        })?;
        Self::open_locked(place, lock, options)
    }

    /// Opens the store of a folder whose lock is held.
    pub(crate) fn open_locked(
        place: Place,
        lock: OwnerLock,
        options: Options,
    ) -> Result<Arc<Self>, OpenError> {
        let (disk, loaded) = Disk::open(&place.store())?;
        Self::start(disk, loaded, lock, Some(place), options)
    }

    /// A cluster that lives in memory only and is gone when it is dropped.
    ///
    /// # Errors
    /// When the writer cannot be started, and outside a tokio runtime.
    pub fn memory(options: Options) -> Result<Arc<Self>, OpenError> {
        let (disk, loaded) = Disk::in_memory()?;
        Self::start(disk, loaded, (), None, options)
    }

    fn start(
        disk: Disk,
        loaded: super::store::Loaded,
        guard: impl Send + 'static,
        place: Option<Place>,
        options: Options,
    ) -> Result<Arc<Self>, OpenError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| OpenError::NoRuntime)?;
        let limits = HistoryLimits {
            events: options.history_events,
            age: options.history_age,
        };
        let admission = Arc::clone(&options.admission);
        let store =
            Store::start(disk, loaded, limits, admission, guard).map_err(OpenError::Writer)?;
        store.submit(first_namespaces(&store));
        let background = runtime.spawn(background::run(Arc::downgrade(&store), options.event_age));
        Ok(Arc::new(Self {
            store,
            place,
            options,
            background,
        }))
    }

    /// A client whose requests are this user's. It needs no socket, and keeps nothing open: once
    /// the cluster is dropped it is answered 503.
    #[must_use]
    pub fn client(&self, user: &UserInfo) -> kube::Client {
        kube::Client::new(self.front(user), "default")
    }

    pub(crate) fn front(&self, user: &UserInfo) -> Front {
        let times = WatchTimes {
            bookmarks: self.options.bookmarks,
            timeout: self.options.watch_timeout,
        };
        Front::new(Arc::clone(&self.store), times, user.clone())
    }

    /// Serves the folder's socket to other processes of the same user, until the guard is dropped.
    ///
    /// # Errors
    /// When the cluster has no folder, the user cannot be found out, or the socket cannot be made.
    pub fn serve_socket(&self) -> Result<SocketGuard, SocketError> {
        let place = self.place.as_ref().ok_or(SocketError::NoFolder)?;
        let user = UserInfo::of_process()?;
        socket::serve(
            place,
            self.options.runtime_dir.as_deref(),
            self.front(&user),
        )
    }

    /// Drops the history of changes, as a real cluster may at any time: watches that are behind
    /// get 410, and so do pages that are still to come.
    pub fn compact_history(&self) {
        self.store.compact();
    }

    /// Closes the store after the writes that were already sent. Dropping does the same.
    pub fn close(&self) {
        self.background.abort();
        self.store.stop();
    }
}

impl Drop for LocalCluster {
    fn drop(&mut self) {
        self.close();
    }
}

/// Requests for the namespaces of a new cluster that are not there yet.
fn first_namespaces(store: &Store) -> Vec<WriteRequest> {
    let Some((kind_id, kind)) = kinds::by_plural("", "v1", "namespaces") else {
        return Vec::new();
    };
    FIRST_NAMESPACES
        .iter()
        .filter(|name| store.read(|state| state.objects.namespace(name).is_none()))
        .map(|name| WriteRequest {
            kind_id,
            kind,
            namespace: String::new(),
            name: String::new(),
            action: Action::Create(json!({
                "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name},
            })),
            part: Part::Main,
            user: UserInfo::service_account("kube-system", "namespace-controller"),
            dry_run: false,
            strict: false,
        })
        .collect()
}
