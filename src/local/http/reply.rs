//! Responses.

use crate::local::status::ApiError;
use bytes::Bytes;
use futures::Stream;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use serde_json::Value;
use std::convert::Infallible;

/// Whole, or a stream of watch events.
pub(crate) type ReplyBody = UnsyncBoxBody<Bytes, Infallible>;

fn with(code: u16, content_type: &'static str, body: ReplyBody) -> Response<ReplyBody> {
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// JSON that is already text.
pub(super) fn text(code: u16, text: Bytes) -> Response<ReplyBody> {
    with(code, "application/json", Full::new(text).boxed_unsync())
}

pub(super) fn json(code: u16, value: Value) -> Response<ReplyBody> {
    text(code, Bytes::from(value.to_string()))
}

pub(super) fn plain(text: &'static str) -> Response<ReplyBody> {
    let body = Full::new(Bytes::from_static(text.as_bytes())).boxed_unsync();
    with(200, "text/plain", body)
}

pub(super) fn refused(error: &ApiError) -> Response<ReplyBody> {
    json(error.code, error.to_status())
}

pub(super) fn stream(chunks: impl Stream<Item = Bytes> + Send + 'static) -> Response<ReplyBody> {
    use futures::StreamExt as _;
    let frames = chunks.map(|chunk| Ok::<_, Infallible>(Frame::data(chunk)));
    with(
        200,
        "application/json",
        BodyExt::boxed_unsync(StreamBody::new(frames)),
    )
}

/// Adds warnings for the client to show. One that a header cannot carry is left out.
pub(super) fn warn(response: &mut Response<ReplyBody>, warnings: &[String]) {
    for warning in warnings {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
}
