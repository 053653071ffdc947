//! POST, PUT, PATCH and DELETE: from requests to the writer.

use super::Call;
use super::read;
use super::reply::{self, ReplyBody};
use super::route::Place;
use crate::local::status::ApiError;
use crate::local::store::Store;
use crate::local::write::{Action, DeleteOptions, Part, Patch, WriteRequest};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use http::{Method, Response};
use serde_json::{Value, json};

/// Deletions of a collection that are under way at the same time: they share commits.
const AT_ONCE: usize = 50;

pub(super) async fn write(
    store: &Store,
    call: &Call,
    place: &Place,
) -> Result<Response<ReplyBody>, ApiError> {
    let part = part(place)?;
    if place.kind.namespaced && place.namespace.is_none() {
        return Err(ApiError::method_not_allowed());
    }
    let dry_run = dry_run(call.query.get("dryRun"))?;
    let (action, dry_run) = match (&call.method, place.name.is_some(), part) {
        (&Method::POST, false, Part::Main) => (Action::Create(call.json()?), dry_run),
        (&Method::PUT, true, _) => (Action::Replace(call.json()?), dry_run),
        (&Method::PATCH, true, _) => {
            let core = !place.kind.group.contains('.') || place.kind.group.ends_with(".k8s.io");
            (
                Action::Patch(Patch::parse(&call.content_type(), &call.body, core)?),
                dry_run,
            )
        }
        (&Method::DELETE, _, Part::Main) => {
            let (options, dry) = delete_options(call)?;
            let dry_run = dry_run || dry;
            if place.name.is_none() {
                return delete_collection(store, call, place, options, dry_run).await;
            }
            (Action::Delete(options), dry_run)
        }
        _ => return Err(ApiError::method_not_allowed()),
    };
    let request = request(call, place, action, part, dry_run)?;
    let written = store.write(request).await?;
    let text = read::View::of(&call.headers, &call.query).of_text(place.kind, &written.text);
    let mut response = reply::text(written.code, text);
    reply::warn(&mut response, &written.warnings);
    Ok(response)
}

fn request(
    call: &Call,
    place: &Place,
    action: Action,
    part: Part,
    dry_run: bool,
) -> Result<WriteRequest, ApiError> {
    let strict = match call.query.get("fieldValidation") {
        None | Some("Warn" | "Ignore") => false,
        Some("Strict") => true,
        Some(other) => {
            return Err(ApiError::bad_request(format!(
                "fieldValidation: Unsupported value: {other:?}"
            )));
        }
    };
    Ok(WriteRequest {
        kind_id: place.id,
        kind: place.kind,
        namespace: place.namespace.clone().unwrap_or_default(),
        name: place.name.clone().unwrap_or_default(),
        action,
        part,
        user: call.user.clone(),
        dry_run,
        strict,
    })
}

fn part(place: &Place) -> Result<Part, ApiError> {
    match place.subresource.as_deref() {
        None => Ok(Part::Main),
        Some("status") if place.kind.status => Ok(Part::Status),
        Some("finalize") if place.kind.is_namespace() => Ok(Part::Finalize),
        Some(_) => Err(ApiError::no_such_path()),
    }
}

fn dry_run(value: Option<&str>) -> Result<bool, ApiError> {
    match value {
        None => Ok(false),
        Some("All") => Ok(true),
        Some(other) => Err(ApiError::bad_request(format!(
            "dryRun: Unsupported value: {other:?}: supported values: \"All\""
        ))),
    }
}

/// From the body or the query. Dependents always go in the background; a request to keep them is
/// refused rather than ignored.
fn delete_options(call: &Call) -> Result<(DeleteOptions, bool), ApiError> {
    let body = if call.body.is_empty() {
        Value::Null
    } else {
        call.json()?
    };
    let text = |pointer: &str| {
        let value = body.pointer(pointer).and_then(Value::as_str);
        value.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let policy = text("/propagationPolicy");
    let policy = policy
        .as_deref()
        .or_else(|| call.query.get("propagationPolicy"));
    let keeps = policy == Some("Orphan")
        || body.get("orphanDependents") == Some(&Value::Bool(true))
        || call.query.flag("orphanDependents");
    if keeps {
        return Err(ApiError::bad_request(
            "deleting without the dependents (propagationPolicy Orphan) is not offered by a local cluster",
        ));
    }
    let dry = dry_run(body.pointer("/dryRun/0").and_then(Value::as_str))?;
    let options = DeleteOptions {
        uid: text("/preconditions/uid"),
        resource_version: text("/preconditions/resourceVersion"),
    };
    Ok((options, dry))
}

/// Deletes what the selectors pick, each by itself as a cluster does: what is created meanwhile
/// stays, and a refusal ends it.
async fn delete_collection(
    store: &Store,
    call: &Call,
    place: &Place,
    options: DeleteOptions,
    dry_run: bool,
) -> Result<Response<ReplyBody>, ApiError> {
    let selector = read::selector(&call.query)?;
    let namespace = place.namespace.as_deref();
    let (version, picked) = store.read(|state| {
        let range = state.objects.range(place.id, namespace);
        let picked: Vec<_> = range
            .filter(|(key, stored)| selector.matches(key, &stored.labels))
            .map(|(key, stored)| (key.clone(), stored.value()))
            .collect();
        (state.version, picked)
    });
    let deletions = picked.into_iter().map(|(key, object)| {
        let one = Place {
            namespace: place.kind.namespaced.then_some(key.namespace),
            name: Some(key.name),
            ..place.clone()
        };
        let action = Action::Delete(options.clone());
        async move {
            match store
                .write(request(call, &one, action, Part::Main, dry_run)?)
                .await
            {
                Ok(_) => Ok(Some(object)),
                Err(error) if error.code == 404 => Ok(None),
                Err(error) => Err(error),
            }
        }
    });
    let deleted: Vec<Option<Value>> = stream::iter(deletions)
        .buffered(AT_ONCE)
        .try_collect()
        .await?;
    let items: Vec<Value> = deleted.into_iter().flatten().collect();
    Ok(reply::json(
        200,
        json!({
            "kind": format!("{}List", place.kind.kind),
            "apiVersion": place.kind.api_version(),
            "metadata": {"resourceVersion": version.to_string()},
            "items": items,
        }),
    ))
}
