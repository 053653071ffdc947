//! GET: one object, or a list page by page.

use super::Call;
use super::reply::{self, ReplyBody};
use super::route::{Place, Query};
use super::table::{self, Include};
use crate::local::kinds::Kind;
use crate::local::object::{self, Key};
use crate::local::selector::Selector;
use crate::local::status::ApiError;
use crate::local::store::{State, Store, Stored};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// How a client wants its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Whole,
    /// Metadata alone.
    Partial,
    /// Rows of a table.
    Table(Include),
}

impl View {
    /// From the first choice of the `Accept` header; what comes with the rows of a table is a parameter.
    pub(super) fn of(headers: &HeaderMap, query: &Query) -> Self {
        let accept = headers.get(http::header::ACCEPT);
        let accept = accept.and_then(|value| value.to_str().ok()).unwrap_or("");
        let first = accept.split(',').next().unwrap_or("");
        if first.contains("as=PartialObjectMetadata") {
            Self::Partial
        } else if first.contains("as=Table") {
            Self::Table(match query.get("includeObject") {
                Some("None") => Include::Nothing,
                Some("Object") => Include::Object,
                _ => Include::Metadata,
            })
        } else {
            Self::Whole
        }
    }

    pub(super) fn text(self, kind: &Kind, stored: &Stored) -> Bytes {
        self.of_text(kind, &stored.text)
    }

    /// Like [`View::text`], for text whose object has gone.
    pub(super) fn of_text(self, kind: &Kind, text: &Bytes) -> Bytes {
        let value = || serde_json::from_slice(text).unwrap_or(Value::Null);
        match self {
            Self::Whole => text.clone(),
            Self::Partial => Bytes::from(partial(&value()).to_string()),
            Self::Table(include) => Bytes::from(table::of_one(kind, include, value()).to_string()),
        }
    }
}

pub(super) fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object.get("metadata").cloned().unwrap_or(Value::Null),
    })
}

/// The selectors of a request.
pub(super) fn selector(query: &Query) -> Result<Selector, ApiError> {
    Selector::parse(
        query.get("labelSelector").unwrap_or(""),
        query.get("fieldSelector").unwrap_or(""),
    )
    .map_err(ApiError::bad_request)
}

/// A version as clients give it, which is one of ours or an error.
pub(super) fn version(query: &Query) -> Result<Option<u64>, ApiError> {
    query
        .get("resourceVersion")
        .map(|text| {
            text.parse().map_err(|_| {
                ApiError::bad_request(format!("resourceVersion: Invalid value: {text:?}"))
            })
        })
        .transpose()
}

pub(super) fn read(
    store: &Store,
    call: &Call,
    place: &Place,
) -> Result<Response<ReplyBody>, ApiError> {
    let view = View::of(&call.headers, &call.query);
    match &place.name {
        Some(name) => get(store, call, place, name, view),
        None => list(store, call, place, view),
    }
}

fn get(
    store: &Store,
    call: &Call,
    place: &Place,
    name: &str,
    view: View,
) -> Result<Response<ReplyBody>, ApiError> {
    match place.subresource.as_deref() {
        None => {}
        Some("status") if place.kind.status => {}
        Some(_) => return Err(ApiError::no_such_path()),
    }
    let key = Key::new(place.id, place.namespace.as_deref().unwrap_or(""), name);
    let asked = version(&call.query)?.unwrap_or(0);
    let stored = store.read(|state| {
        not_from_the_future(state, asked)?;
        Ok(state.objects.get(&key).cloned())
    })?;
    let stored = stored.ok_or_else(|| ApiError::not_found(place.kind, name))?;
    Ok(reply::text(200, view.text(place.kind, &stored)))
}

fn not_from_the_future(state: &State, asked: u64) -> Result<(), ApiError> {
    if asked > state.version {
        return Err(ApiError::too_large_version(asked, state.version));
    }
    Ok(())
}

/// Where the next page begins: the list's version and the last object given.
#[derive(Debug, Serialize, Deserialize)]
struct Continue {
    version: u64,
    namespace: String,
    name: String,
}

impl Continue {
    fn parse(token: &str) -> Result<Self, ApiError> {
        URL_SAFE_NO_PAD
            .decode(token)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .ok_or_else(|| ApiError::bad_request("continue key is not valid"))
    }

    fn token(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }
}

/// Which version a list is of.
enum AtVersion {
    Newest,
    Exactly(u64),
}

/// Which version is wanted, and the one that must exist for it. With a limit, a version without
/// further word means exactly that one.
fn wanted_version(
    query: &Query,
    page: Option<&Continue>,
    limited: bool,
) -> Result<(AtVersion, u64), ApiError> {
    let asked = version(query)?;
    let matching = query.get("resourceVersionMatch");
    if let Some(page) = page {
        if asked.is_some_and(|version| version != 0) || matching.is_some() {
            return Err(ApiError::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        return Ok((AtVersion::Exactly(page.version), page.version));
    }
    match (matching, asked) {
        (None, Some(version)) if limited && version != 0 => {
            Ok((AtVersion::Exactly(version), version))
        }
        (None | Some("NotOlderThan"), Some(version)) => Ok((AtVersion::Newest, version)),
        (None, None) => Ok((AtVersion::Newest, 0)),
        (Some("Exact"), Some(version)) if version != 0 => {
            Ok((AtVersion::Exactly(version), version))
        }
        (Some("Exact"), Some(_)) => Err(ApiError::bad_request(
            "resourceVersionMatch: Forbidden: resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\"",
        )),
        (Some("Exact" | "NotOlderThan"), None) => Err(ApiError::bad_request(
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        )),
        (Some(other), _) => Err(ApiError::bad_request(format!(
            "resourceVersionMatch: Unsupported value: {other:?}"
        ))),
    }
}

fn list(
    store: &Store,
    call: &Call,
    place: &Place,
    view: View,
) -> Result<Response<ReplyBody>, ApiError> {
    let query = &call.query;
    let selector = selector(query)?;
    let page = query.get("continue").map(Continue::parse).transpose()?;
    let limit = query.number("limit")?.filter(|limit| *limit > 0);
    let (wanted, asked) = wanted_version(query, page.as_ref(), limit.is_some())?;
    let limit = limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    });
    let namespace = place.namespace.as_deref();
    store.forget_old();
    let (version, objects) = store.read(|state| {
        not_from_the_future(state, asked)?;
        let version = match wanted {
            AtVersion::Newest => state.version,
            AtVersion::Exactly(version) => version,
        };
        let snapshot = state.snapshot(place.id, namespace, version);
        Ok((version, snapshot))
    })?;
    let objects = objects.ok_or_else(|| {
        let what = if page.is_some() {
            "The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter."
        } else {
            "The resourceVersion for the provided list is too old."
        };
        ApiError::expired(what)
    })?;
    let mut rest = objects
        .iter()
        .filter(|(key, _)| {
            page.as_ref().is_none_or(|page| {
                (key.namespace.as_str(), key.name.as_str())
                    > (page.namespace.as_str(), page.name.as_str())
            })
        })
        .filter(|(key, stored)| selector.matches(key, &stored.labels));
    let mut items: Vec<(&Key, &Arc<Stored>)> = Vec::new();
    while items.len() < limit {
        match rest.next() {
            Some(item) => items.push(item),
            None => break,
        }
    }
    let remaining = rest.count();
    let mut metadata = json!({"resourceVersion": version.to_string()});
    if let (Some((last, _)), true) = (items.last(), remaining > 0) {
        let next = Continue {
            version,
            namespace: last.namespace.clone(),
            name: last.name.clone(),
        };
        let map = object::map_mut(&mut metadata);
        map.insert("continue".to_owned(), next.token().into());
        // With a selector a cluster does not know how many are left.
        if selector.is_empty() {
            map.insert("remainingItemCount".to_owned(), remaining.into());
        }
    }
    if let View::Table(include) = view {
        let objects = items.iter().map(|(_, stored)| stored.value());
        let table = table::of(place.kind, include, &metadata, objects);
        return Ok(reply::json(200, table));
    }
    let texts = items
        .iter()
        .map(|(_, stored)| view.text(place.kind, stored));
    Ok(reply::text(
        200,
        list_text(place.kind, view, &metadata, texts),
    ))
}

/// Puts a list together from objects that are text already.
fn list_text(
    kind: &Kind,
    view: View,
    metadata: &Value,
    items: impl Iterator<Item = Bytes>,
) -> Bytes {
    let (list_kind, api_version) = match view {
        View::Partial => (
            "PartialObjectMetadataList".to_owned(),
            "meta.k8s.io/v1".to_owned(),
        ),
        _ => (format!("{}List", kind.kind), kind.api_version()),
    };
    let head = format!(
        "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{metadata},\"items\":[",
        Value::from(list_kind),
        Value::from(api_version)
    );
    let mut text = BytesMut::from(head.as_bytes());
    for (index, item) in items.enumerate() {
        if index > 0 {
            text.put_u8(b',');
        }
        text.extend_from_slice(&item);
    }
    text.extend_from_slice(b"]}");
    text.freeze()
}
