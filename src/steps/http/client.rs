//! Sending: redirects as Go follows them, and bodies read in pieces. The clients are those of `pool`.

use std::{error::Error, net::IpAddr, time::Duration};

use bytes::Bytes;
use reqwest::{
    Method, Response, StatusCode, Url,
    header::{self, HeaderMap, HeaderName},
};
use tokio::time::Instant;

use super::pool;

/// Requests of one exchange, redirects among them: Go's limit.
const HOPS: usize = 10;

/// What is sent.
#[derive(Clone, Debug)]
pub struct Request {
    /// GET and so on.
    pub method: Method,
    /// With the query.
    pub url: Url,
    /// All of them; those with secrets are marked so.
    pub headers: HeaderMap,
    /// Empty for none.
    pub body: Bytes,
    /// For everything until the answer is read.
    pub timeout: Duration,
    /// Whether any certificate will do.
    pub insecure: bool,
    /// None: as the environment says.
    pub proxy: Option<String>,
}

impl Request {
    /// The address without what may be secret: some servers have tokens in the path.
    pub fn place(&self) -> String {
        place(&self.url)
    }
}

fn place(url: &Url) -> String {
    let port = url
        .port()
        .map(|port| format!(":{port}"))
        .unwrap_or_default();
    let host = url.host_str().unwrap_or_default();
    format!("{}://{host}{port}", url.scheme())
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// Nothing was sent: no connection.
    #[error("cannot reach {place}: {why}")]
    Unreachable {
        /// Scheme, host and port.
        place: String,
        /// The chain of reasons.
        why: String,
    },
    /// Nothing was sent: whoever answered there could not prove to be that server.
    #[error("{place} cannot be trusted: {why}")]
    Untrusted {
        /// Scheme, host and port.
        place: String,
        /// The chain of reasons.
        why: String,
    },
    /// It may have been sent, and no whole answer came.
    #[error("no answer from {place}: {why}")]
    NoAnswer {
        /// Scheme, host and port.
        place: String,
        /// The chain of reasons.
        why: String,
    },
    /// What was asked cannot be sent at all.
    #[error("cannot ask {place}: {why}")]
    Unusable {
        /// Scheme, host and port.
        place: String,
        /// The chain of reasons.
        why: String,
    },
    /// The answer is larger than what is read.
    #[error("the answer of {place} is too large: it exceeds the limit of {limit} bytes")]
    TooLarge {
        /// Scheme, host and port.
        place: String,
        /// The most that is read.
        limit: u64,
    },
}

/// The head of an answer, its body still to be read.
pub struct Answered {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    place: String,
    until: Instant,
    timeout: Duration,
    response: Response,
}

impl Answered {
    /// The body's next piece.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, SendError> {
        let piece = tokio::time::timeout_at(self.until, self.response.chunk()).await;
        let why = match piece {
            Ok(Ok(piece)) => return Ok(piece),
            Ok(Err(error)) => reasons(error),
            Err(_) => late(self.timeout),
        };
        let place = self.place.clone();
        Err(SendError::NoAnswer { place, why })
    }

    /// The whole body, in memory.
    pub async fn body(mut self, limit: usize) -> Result<Vec<u8>, SendError> {
        self.fits(u64::try_from(limit).unwrap_or(u64::MAX), 0)?;
        let mut body = Vec::new();
        while let Some(piece) = self.piece().await? {
            body.extend_from_slice(&piece);
            if body.len() > limit {
                return Err(self.too_large(u64::try_from(limit).unwrap_or(u64::MAX)));
            }
        }
        Ok(body)
    }

    /// An error where the body is, or says it will be, larger than `limit`; `so_far` were read.
    pub fn fits(&self, limit: u64, so_far: u64) -> Result<(), SendError> {
        let said = self.response.content_length().unwrap_or(0);
        if said.max(so_far) > limit {
            return Err(self.too_large(limit));
        }
        Ok(())
    }

    fn too_large(&self, limit: u64) -> SendError {
        let place = self.place.clone();
        SendError::TooLarge { place, limit }
    }
}

/// Sends, and follows redirects. Dropping it closes the connection.
pub async fn send(request: &Request) -> Result<Answered, SendError> {
    let until = Instant::now() + request.timeout;
    let (mut url, mut method) = (request.url.clone(), request.method.clone());
    let (mut headers, mut body) = (request.headers.clone(), request.body.clone());
    // Whether an earlier server has had the request whole.
    let mut taken = false;
    for _ in 0..HOPS {
        let place = place(&url);
        let client = pool::client(request, &url).map_err(|why| SendError::Unusable {
            place: place.clone(),
            why,
        })?;
        let mut hop = client
            .request(method.clone(), url.clone())
            .headers(headers.clone());
        if !body.is_empty() {
            hop = hop.body(body.clone());
        }
        let response = match tokio::time::timeout_at(until, hop.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(no_answer(place, error, taken)),
            Err(_) => {
                let why = late(request.timeout);
                return Err(SendError::NoAnswer { place, why });
            }
        };
        let status = response.status();
        let Some(next) = target(&response, &url) else {
            return Ok(Answered {
                status,
                headers: response.headers().clone(),
                place,
                until,
                timeout: request.timeout,
                response,
            });
        };
        if matches!(status.as_u16(), 301..=303) && !matches!(method, Method::GET | Method::HEAD) {
            taken = true;
            method = Method::GET;
            body = Bytes::new();
            headers.remove(header::CONTENT_TYPE);
        }
        if !is_within(next.host_str(), request.url.host_str()) {
            for name in SENSITIVE {
                headers.remove(name);
            }
        }
        url = next;
    }
    let why = format!("it redirects on and on: stopped after {HOPS} requests");
    let place = request.place();
    Err(match taken {
        true => SendError::NoAnswer { place, why },
        false => SendError::Unreachable { place, why },
    })
}

/// What Go sends to no other host than the first and those below it.
const SENSITIVE: [HeaderName; 3] = [
    header::AUTHORIZATION,
    header::COOKIE,
    header::WWW_AUTHENTICATE,
];

/// Where an answer sends us.
fn target(response: &Response, from: &Url) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = response.headers().get(header::LOCATION)?.to_str().ok()?;
    let url = from.join(location).ok()?;
    matches!(url.scheme(), "http" | "https").then_some(url)
}

fn is_within(host: Option<&str>, first: Option<&str>) -> bool {
    let (Some(host), Some(first)) = (host, first) else {
        return false;
    };
    let below = host
        .strip_suffix(first)
        .is_some_and(|head| head.ends_with('.'));
    // An address has no hosts below it.
    host == first || (below && first.parse::<IpAddr>().is_err())
}

fn late(timeout: Duration) -> String {
    format!("timed out after {timeout:?}")
}

fn no_answer(place: String, error: reqwest::Error, taken: bool) -> SendError {
    let (builder, connect) = (error.is_builder(), error.is_connect());
    let untrusted = is_about_certificates(&error);
    let why = reasons(error);
    if builder {
        SendError::Unusable { place, why }
    } else if untrusted && !taken {
        SendError::Untrusted { place, why }
    } else if connect && !taken {
        SendError::Unreachable { place, why }
    } else {
        SendError::NoAnswer { place, why }
    }
}

fn is_about_certificates(error: &reqwest::Error) -> bool {
    let mut next: Option<&(dyn Error + 'static)> = error.source();
    while let Some(cause) = next {
        // Inside of an input-output error is what `source` skips.
        let inner = cause
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        let inner = inner.map(|inner| inner as &(dyn Error + 'static));
        let found = inner.unwrap_or(cause).downcast_ref::<rustls::Error>();
        if matches!(found, Some(rustls::Error::InvalidCertificate(_))) {
            return true;
        }
        next = inner.or_else(|| cause.source());
    }
    false
}

/// The causes, innermost last; the outer ones only repeat the address, which may hold a secret.
pub(super) fn reasons(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = Vec::new();
    let mut next: Option<&dyn Error> = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !words.contains(&said) {
            words.push(said);
        }
        next = cause.source();
    }
    if words.is_empty() {
        error.to_string()
    } else {
        words.join(": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_below_the_first_are_the_same() {
        for (host, first, within) in [
            ("a.example", "a.example", true),
            ("b.a.example", "a.example", true),
            ("ba.example", "a.example", false),
            ("example", "a.example", false),
            ("1.10.0.0.1", "10.0.0.1", false),
        ] {
            assert_eq!(is_within(Some(host), Some(first)), within, "{host} {first}");
        }
    }

    #[test]
    fn a_place_says_neither_user_nor_path_nor_query() {
        let url = Url::parse("https://u:p@h.example:8443/a/b?token=t#x").unwrap();
        assert_eq!(place(&url), "https://h.example:8443");
    }
}
