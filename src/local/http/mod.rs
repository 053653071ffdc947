//! Requests in, responses out: the HTTP API of Kubernetes as a tower service.

mod discovery;
mod identity;
mod read;
mod reply;
mod route;
mod table;
mod watch;
mod writes;

pub(crate) use identity::act_as;

use super::status::ApiError;
use super::store::Store;
use super::user::UserInfo;
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Limited};
use reply::ReplyBody;
use route::{Query, Route};
use serde_json::Value;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A request body at most.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// How watches behave; tests shorten it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchTimes {
    pub(crate) bookmarks: Duration,
    /// For requests that give no `timeoutSeconds`.
    pub(crate) timeout: Duration,
}

/// The server as one user's requests meet it.
#[derive(Clone)]
pub(crate) struct Front {
    store: Arc<Store>,
    times: WatchTimes,
    user: UserInfo,
}

/// A request with its body read.
struct Call {
    method: Method,
    query: Query,
    headers: http::HeaderMap,
    body: Bytes,
    user: UserInfo,
}

impl Call {
    /// Media type without its parameters.
    fn content_type(&self) -> String {
        let value = self.headers.get(http::header::CONTENT_TYPE);
        let text = value.and_then(|value| value.to_str().ok()).unwrap_or("");
        text.split(';')
            .next()
            .unwrap_or("")
            .trim()
            .to_ascii_lowercase()
    }

    /// The body as JSON, or why not.
    fn json(&self) -> Result<Value, ApiError> {
        let media = self.content_type();
        if !matches!(media.as_str(), "application/json" | "") {
            return Err(ApiError::unsupported_media(format!(
                "the body of the request was in an unknown format ({media:?}): accepted media types include: application/json"
            )));
        }
        serde_json::from_slice(&self.body)
            .map_err(|error| ApiError::bad_request(format!("the body is not JSON: {error}")))
    }
}

impl Front {
    pub(crate) fn new(store: Arc<Store>, times: WatchTimes, user: UserInfo) -> Self {
        Self { store, times, user }
    }

    /// Answers a request; refusals are responses too.
    pub(crate) async fn answer<B>(&self, request: Request<B>) -> Response<ReplyBody>
    where
        B: hyper::body::Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        match self.handle(request).await {
            Ok(response) => response,
            Err(error) => reply::refused(&error),
        }
    }

    async fn handle<B>(&self, request: Request<B>) -> Result<Response<ReplyBody>, ApiError>
    where
        B: hyper::body::Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if !self.store.is_open() {
            return Err(ApiError::closed());
        }
        let (parts, body) = request.into_parts();
        let route = Route::of(parts.uri.path())?;
        let call = Call {
            query: Query::parse(parts.uri.query().unwrap_or("")),
            user: identity::of(&self.user, &parts.headers)?,
            method: parts.method,
            headers: parts.headers,
            body: read_body(body).await?,
        };
        match route {
            Route::Plain(text) => Ok(reply::plain(text)),
            Route::Discovery(document) => Ok(reply::json(200, document)),
            Route::Identity(what) => identity::review(&call, what),
            Route::Resource(place) => match call.method {
                Method::GET if call.query.flag("watch") => {
                    watch::watch(&self.store, self.times, &call, &place)
                }
                Method::GET => read::read(&self.store, &call, &place),
                _ => writes::write(&self.store, &call, &place).await,
            },
        }
    }
}

async fn read_body<B>(body: B) -> Result<Bytes, ApiError>
where
    B: hyper::body::Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let read = Limited::new(body, BODY_LIMIT).collect().await;
    read.map(http_body_util::Collected::to_bytes)
        .map_err(|error| {
            if error.is::<http_body_util::LengthLimitError>() {
                let message = format!("Request entity too large: limit is {BODY_LIMIT}");
                ApiError::new(413, "RequestEntityTooLarge", message)
            } else {
                ApiError::bad_request(format!("reading the body of the request: {error}"))
            }
        })
}

impl<B> tower::Service<Request<B>> for Front
where
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<ReplyBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let front = self.clone();
        Box::pin(async move { Ok(front.answer(request).await) })
    }
}
