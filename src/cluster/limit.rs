//! A time limit for every request that has an end; watches have none.

use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt;
use kube::{Client, client::Body};

/// The limit where none is given: long enough for the slowest list, short enough that nothing hangs for ever.
pub const USUAL: Duration = Duration::from_secs(60);

/// A request was not answered, head and body, within its limit.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {}", human(*.0))]
pub struct NoAnswer(Duration);

/// The same client with a limit for each request; zero is none, as in kubectl.
pub fn requests(client: Client, limit: Duration) -> Client {
    if limit.is_zero() {
        return client;
    }
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request: Request<Body>| {
        let client = client.clone();
        async move {
            if is_watch(&request) {
                return Ok(client.send(request).await?);
            }
            match tokio::time::timeout(limit, whole(&client, request)).await {
                Ok(answer) => answer,
                Err(_) => Err(NoAnswer(limit).into()),
            }
        }
    });
    Client::new(service, namespace)
}

async fn whole(client: &Client, request: Request<Body>) -> Result<Response<Body>, tower::BoxError> {
    let (head, body) = client.send(request).await?.into_parts();
    let bytes = body.collect().await?.to_bytes();
    Ok(Response::from_parts(head, Body::from(bytes)))
}

fn is_watch(request: &Request<Body>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    query.split('&').any(|pair| pair == "watch=true")
}

/// A limit as people type it: `300ms`, `15s`.
pub fn human(limit: Duration) -> String {
    if limit.subsec_nanos() == 0 {
        format!("{}s", limit.as_secs())
    } else {
        format!("{}ms", limit.as_millis())
    }
}
