//! Clients that the whole process shares: one per way to connect, each with its connections.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, OnceLock, PoisonError},
    time::Duration,
};

use reqwest::{Client, Url};

use super::client::{self, Request};

/// A host that takes no connection within this is away.
const CONNECT: Duration = Duration::from_secs(5);

/// Clients kept.
const CLIENTS: usize = 64;

/// What two requests must have in common to share connections.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Kind {
    insecure: bool,
    proxy: Option<String>,
    /// This machine's own addresses go through no proxy, as in Go.
    direct: bool,
}

/// The client for this hop of a request.
pub fn client(request: &Request, url: &Url) -> Result<Client, String> {
    static CLIENTS_KEPT: OnceLock<Mutex<HashMap<Kind, Client>>> = OnceLock::new();
    let kind = Kind {
        insecure: request.insecure,
        proxy: request.proxy.clone(),
        direct: request.proxy.is_none() && is_here(url),
    };
    let kept = CLIENTS_KEPT.get_or_init(Mutex::default);
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(client) = kept.get(&kind) {
        return Ok(client.clone());
    }
    let client = build(&kind).map_err(client::reasons)?;
    if kept.len() >= CLIENTS {
        kept.clear();
    }
    kept.insert(kind, client.clone());
    Ok(client)
}

fn build(kind: &Kind) -> Result<Client, reqwest::Error> {
    // kube brings this provider too; whoever comes first installs it.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("tidewaiter/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT)
        .tls_danger_accept_invalid_certs(kind.insecure);
    if kind.direct {
        builder = builder.no_proxy();
    }
    if let Some(proxy) = &kind.proxy {
        builder = builder.proxy(reqwest::Proxy::all(proxy)?);
    }
    builder.build()
}

fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_needs_no_proxy() {
        for (url, here) in [
            ("http://127.0.0.1:1/", true),
            ("http://[::1]/", true),
            ("http://localhost/", true),
            ("http://h.example/", false),
        ] {
            assert_eq!(is_here(&Url::parse(url).unwrap()), here, "{url}");
        }
    }
}
