use super::*;
use crate::local::admission::AdmitAll;
use crate::local::kinds::by_plural_alone;
use crate::local::store::{HistoryLimits, Store};
use crate::local::user::UserInfo;
use crate::local::write::{Action, Part, WriteRequest};
use redb::backends::InMemoryBackend;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A disk that fails when it is told to.
#[derive(Debug)]
struct Faulty {
    inner: InMemoryBackend,
    broken: Arc<AtomicBool>,
}

impl Faulty {
    fn works(&self) -> Result<(), std::io::Error> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(std::io::Error::from(std::io::ErrorKind::StorageFull));
        }
        Ok(())
    }
}

impl redb::StorageBackend for Faulty {
    fn len(&self) -> Result<u64, std::io::Error> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), std::io::Error> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> Result<(), std::io::Error> {
        self.works()?;
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> Result<(), std::io::Error> {
        self.works()?;
        self.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), std::io::Error> {
        self.works()?;
        self.inner.write(offset, data)
    }
}

fn create_namespace(name: &str) -> WriteRequest {
    let (kind_id, kind) = by_plural_alone("namespaces").unwrap();
    WriteRequest {
        kind_id,
        kind,
        namespace: String::new(),
        name: String::new(),
        action: Action::Create(
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
        ),
        part: Part::Main,
        user: UserInfo::named("ann"),
        dry_run: false,
        strict: false,
    }
}

#[tokio::test]
async fn what_could_not_be_stored_is_not_seen_and_not_acknowledged() {
    let broken = Arc::new(AtomicBool::new(false));
    let backend = Faulty {
        inner: InMemoryBackend::new(),
        broken: Arc::clone(&broken),
    };
    let database = builder().create_with_backend(backend).unwrap();
    stamp(&database).unwrap();
    let loaded = Loaded {
        objects: Objects::default(),
        version: 1,
    };
    let limits = HistoryLimits {
        events: 100,
        age: Duration::from_secs(60),
    };
    let store = Store::start(Disk { database }, loaded, limits, Arc::new(AdmitAll), ()).unwrap();
    store.write(create_namespace("good")).await.unwrap();
    let version = store.read(|state| state.version);

    broken.store(true, Ordering::SeqCst);
    let error = store.write(create_namespace("bad")).await.unwrap_err();
    assert_eq!(error.code, 500);
    assert!(
        error.message.contains("writing to the local store: "),
        "{error:?}"
    );
    store.read(|state| {
        assert_eq!(state.version, version);
        assert!(
            state.objects.namespace("good").is_some() && state.objects.namespace("bad").is_none()
        );
    });
    // Nor is it decided on as if it were there.
    let again = store.write(create_namespace("bad")).await.unwrap_err();
    assert_eq!(again.code, 500, "not a conflict with what was never stored");
    store.stop();
}

#[test]
fn keys_lead_back_to_objects() {
    for (plural, namespace, name) in [
        ("promotions", "shop", "a.b"),
        ("namespaces", "", "shop"),
        ("secrets", "x", "y"),
    ] {
        let key = Key::new(by_plural_alone(plural).unwrap().0, namespace, name);
        assert_eq!(parse_file_key(&file_key(&key)), Some(key));
    }
    for text in ["", "promotions", "ships/a/b", "secrets/a/b/c"] {
        assert_eq!(parse_file_key(text), None, "{text}");
    }
}

#[test]
fn a_checksum_covers_key_and_content() {
    let value = sealed("a", b"content");
    assert_eq!(unsealed("a", &value), Some(&b"content"[..]));
    assert_eq!(unsealed("b", &value), None);
    assert_eq!(unsealed("a", &value[..10]), None);
    let mut broken = value;
    *broken.last_mut().unwrap() ^= 1;
    assert_eq!(unsealed("a", &broken), None);
}

#[test]
fn a_folder_that_cannot_be_written_is_no_damage() {
    let missing = Path::new("/nonexistent-folder/store.redb");
    assert!(matches!(Disk::open(missing), Err(OpenError::Io { .. })));
}
