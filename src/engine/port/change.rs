//! Changing an object by what it is now: read, decided, written on the version that was read, and again after a lost
//! race. What is as wanted already is not written, so that the same change made again, after a crash, is none.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Key, Part, Port, PortError};
use crate::kargo::meta::KARGO_GROUP;

/// Lost races until the change is given up.
const TRIES: u32 = 20;
/// The pause after the first of them; each next one is longer by as much.
const PAUSE: Duration = Duration::from_millis(5);

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It was written.
    Now,
    /// The object was like that before.
    Already,
}

/// Why an object is not as wanted.
#[derive(Debug)]
pub struct ChangeError {
    /// What the account has to be allowed and is not: `patch on stages/status of …`.
    pub lacks: Option<String>,
    /// What the cluster says.
    pub why: PortError,
}

impl ChangeError {
    fn new(verb: &str, key: &Key, part: Part, why: PortError) -> Self {
        let status = match (verb, part) {
            ("patch", Part::Status) => "/status",
            _ => "",
        };
        let lacks = matches!(why, PortError::Forbidden { .. }).then(|| {
            format!(
                "{verb} on {}{status} of {KARGO_GROUP} in namespace {}",
                key.kind.plural(),
                key.project
            )
        });
        Self { lacks, why }
    }
}

impl ChangeError {
    /// The objects of a kind could not be listed.
    pub fn listing(of: &Key, why: PortError) -> Self {
        Self::new("list", of, Part::Main, why)
    }
}

/// The object of that name, which must be there.
pub async fn read(port: &dyn Port, key: &Key) -> Result<Value, ChangeError> {
    let failed = |why| ChangeError::new("get", key, Part::Main, why);
    let found = port.read(key).await.map_err(failed)?;
    found.ok_or_else(|| failed(PortError::Gone { key: key.clone() }))
}

/// Makes an object what it should be. `patch` says what is to be merged into the object as it is; none where nothing.
pub async fn change(
    port: &dyn Port,
    key: &Key,
    part: Part,
    patch: impl Fn(&Value) -> Option<Value> + Send + Sync,
) -> Result<Changed, ChangeError> {
    let mut lost = 0;
    loop {
        let object = read(port, key).await?;
        let Some(mut body) = patch(&object) else {
            return Ok(Changed::Already);
        };
        let version = object.pointer("/metadata/resourceVersion");
        let based_on =
            json!({"metadata": {"resourceVersion": version.cloned().unwrap_or_default()}});
        json_patch::merge(&mut body, &based_on);
        match port.patch(key, part, body).await {
            Ok(_) => return Ok(Changed::Now),
            Err(PortError::Conflict { .. }) if lost + 1 < TRIES => {
                lost += 1;
                tokio::time::sleep(PAUSE * lost).await;
            }
            Err(why) => return Err(ChangeError::new("patch", key, part, why)),
        }
    }
}
