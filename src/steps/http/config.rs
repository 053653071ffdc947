//! What `http` and `http-download` have in common in their configuration.

use std::time::Duration;

use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use serde::Deserialize;

use crate::{
    engine::step::StepError,
    rules::durations::GoDuration,
    steps::schema::{Object, Shape, list, matching, some_text},
};

/// A name with a value.
#[derive(Clone, Debug, Deserialize)]
pub struct Pair {
    /// Of a header or a query parameter.
    pub name: String,
    /// May be secret.
    pub value: String,
}

/// A list of [`Pair`]s.
pub fn pairs() -> Shape {
    let pair = Object::new()
        .required("name", some_text())
        .required("value", some_text());
    list(pair, 0)
}

/// A duration. Kargo's own pattern, which is open at both ends: [`span`] reads what it lets through.
pub fn duration() -> Shape {
    matching("(?:\\d+(ns|us|µs|ms|s|m|h))+")
}

/// The duration in `field`; `usual` where there is none.
pub fn span(field: &str, text: &str, usual: Duration) -> Result<Duration, String> {
    if text.is_empty() {
        return Ok(usual);
    }
    let span: GoDuration = text.parse().map_err(|error| format!("{field}: {error}"))?;
    if span.is_none() {
        return Err(format!("{field}: must be more than zero"));
    }
    Ok(span.to_std())
}

/// The address with its query parameters.
pub fn address(url: &str, parameters: &[Pair]) -> Result<Url, StepError> {
    let wrong = |why: &str| {
        StepError::config(format!("url is not one that can be asked: {why}"))
            .hint("Give a whole address such as https://host/path")
    };
    let mut url = Url::parse(url).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong(&format!("its scheme is {}", url.scheme())));
    }
    if !parameters.is_empty() {
        let mut query = url.query_pairs_mut();
        for pair in parameters {
            query.append_pair(&pair.name, &pair.value);
        }
    }
    Ok(url)
}

/// The headers, their values as they are written, in UTF-8; no value of them is in an error.
pub fn headers(pairs: &[Pair]) -> Result<HeaderMap, StepError> {
    let mut headers = HeaderMap::new();
    for pair in pairs {
        let name = HeaderName::try_from(&pair.name).map_err(|_| {
            StepError::config(format!("headers: {:?} is no name of a header", pair.name))
        })?;
        let mut value = HeaderValue::from_bytes(pair.value.as_bytes()).map_err(|_| {
            StepError::config(format!(
                "headers: the value of {} cannot be sent: it has a line end or another character that no header may have",
                pair.name
            ))
        })?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}
