//! A time limit for every request that has an end; watches have none.

use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt;
use kube::{Client, client::Body};

use super::Error;

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

/// Looks again and again, with growing pauses, until there is something to see; none where `limit` is over first.
pub async fn poll<T, F>(limit: Duration, look: impl Fn() -> F) -> Result<Option<T>, Error>
where
    F: Future<Output = Result<Option<T>, Error>>,
{
    let end = tokio::time::Instant::now() + limit;
    let mut pause = Duration::from_millis(20);
    loop {
        if let Some(seen) = look().await? {
            return Ok(Some(seen));
        }
        if tokio::time::Instant::now() + pause > end {
            return Ok(None);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(500));
    }
}

/// A limit as people type it: `300ms`, `15s`.
pub fn human(limit: Duration) -> String {
    if limit.subsec_nanos() == 0 {
        format!("{}s", limit.as_secs())
    } else {
        format!("{}ms", limit.as_millis())
    }
}
