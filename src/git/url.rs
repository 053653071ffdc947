//! Repository addresses: what git is given, what people are shown, and when two are the same.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::redact;

/// A repository's address as written, freed of invisible characters. Anything that the user's git
/// can reach: https, http, ssh, git, the `user@host:path` form, `file://`, and absolute local paths.
///
/// `Display` and `Debug` hide a password or token in it; [`RepoUrl::expose`] does not.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepoUrl(String);

/// A text that is no repository address.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{url:?} is not a repository address: {why}")]
pub struct InvalidRepoUrl {
    /// The text, redacted.
    pub url: String,
    /// The first rule that it breaks.
    pub why: &'static str,
}

/// An http(s) password that was written into an address.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct UrlLogin {
    pub username: String,
    pub password: String,
}

/// `user@host`, as ssh takes it, and the port where one is given.
pub(super) struct SshDestination {
    pub login: String,
    pub port: Option<String>,
}

impl RepoUrl {
    /// The address with everything in it, for git and the journal; never for people or logs.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// When two addresses mean the same repository, by Kargo's rules except that the path keeps its
    /// case: user info of http(s), a trailing `/` or `.git`, and the short SSH spelling do not count.
    /// What is no URL, or has a query, is returned unchanged.
    pub fn normalised(&self) -> String {
        normalise(&self.0)
    }

    /// The address for git's command line, and the login that was in it: an argument is
    /// visible to every process of the machine, and git repeats it in its messages.
    pub(super) fn for_command(&self) -> (String, Option<UrlLogin>) {
        let whole = || (self.0.clone(), None);
        let Some((scheme, rest)) = http_parts(&self.0) else {
            return whole();
        };
        let (authority, path) = split_authority(rest);
        let Some((user_info, host)) = authority.rsplit_once('@') else {
            return whole();
        };
        let Some((username, password)) = user_info.split_once(':') else {
            return whole();
        };
        let login = UrlLogin {
            username: percent_decoded(username),
            password: percent_decoded(password),
        };
        (format!("{scheme}://{host}{path}"), Some(login))
    }

    /// Whom ssh would connect to; `None` for other ways.
    pub(super) fn ssh_destination(&self) -> Option<SshDestination> {
        let split = |authority: &str| match authority.rsplit_once(':') {
            Some((login, port)) if port.bytes().all(|b| b.is_ascii_digit()) => {
                (login.to_owned(), Some(port.to_owned()))
            }
            _ => (authority.to_owned(), None),
        };
        let (login, port) = match self.0.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("ssh") => {
                split(split_authority(rest).0)
            }
            None if !self.0.starts_with('/') => (scp_parts(&self.0)?.0.to_owned(), None),
            _ => return None,
        };
        Some(SshDestination { login, port })
    }

    /// The login in the address, which is a credential of its own; empty where there is none.
    pub(super) fn user_info(&self) -> &str {
        let authority = http_parts(&self.0).map_or("", |(_, rest)| split_authority(rest).0);
        authority
            .rsplit_once('@')
            .map_or("", |(user_info, _)| user_info)
    }

    /// The file name's worth of the address: the last part of its path, for directory names.
    pub(super) fn slug(&self) -> String {
        let shown = self.normalised();
        let last = shown.rsplit(['/', ':']).next().unwrap_or_default();
        let kept: String = last
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c))
            .take(40)
            .collect();
        if kept.is_empty() {
            "repository".to_owned()
        } else {
            kept
        }
    }
}

/// Invisible characters go wherever they are; spaces only at the ends (Kargo's `SanitizeURL`).
pub(super) fn sanitise(text: &str) -> String {
    let invisible =
        |c: char| c.is_control() || matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}');
    let visible: String = text.chars().filter(|c| !invisible(*c)).collect();
    visible.trim().to_owned()
}

/// The first reason why git must not be given this text.
fn broken_rule(url: &str) -> Option<&'static str> {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    let before_path = url.split('/').next().unwrap_or_default();
    if url.is_empty() {
        Some("it is empty")
    } else if url.starts_with('-') {
        Some("it starts with a dash")
    } else if before_path.contains("::") && scheme.is_none_or(|s| s.contains("::")) {
        Some("remote helpers (`name::address`) are not run")
    } else if scheme.is_some_and(|s| {
        !["https", "http", "ssh", "git", "file"].contains(&s.to_ascii_lowercase().as_str())
    }) {
        Some("its scheme is none of https, http, ssh, git, file")
    } else if scheme.is_none() && !url.starts_with('/') && scp_parts(url).is_none() {
        Some("it is neither a URL, nor `host:path`, nor an absolute path")
    } else {
        None
    }
}

impl FromStr for RepoUrl {
    type Err = InvalidRepoUrl;
    fn from_str(text: &str) -> Result<Self, InvalidRepoUrl> {
        let url = sanitise(text);
        match broken_rule(&url) {
            None => Ok(Self(url)),
            Some(why) => Err(InvalidRepoUrl {
                url: redact::addresses(&url),
                why,
            }),
        }
    }
}

impl TryFrom<String> for RepoUrl {
    type Error = InvalidRepoUrl;
    fn try_from(text: String) -> Result<Self, InvalidRepoUrl> {
        text.parse()
    }
}

impl From<RepoUrl> for String {
    fn from(url: RepoUrl) -> String {
        url.0
    }
}

impl fmt::Display for RepoUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redact::addresses(&self.0))
    }
}

impl fmt::Debug for RepoUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RepoUrl({self})")
    }
}

/// `(scheme, rest)` of an http(s) address, the scheme in lower case.
fn http_parts(url: &str) -> Option<(String, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    matches!(scheme.as_str(), "http" | "https").then_some((scheme, rest))
}

/// `host:port` and the path with its slash.
fn split_authority(rest: &str) -> (&str, &str) {
    rest.split_at(rest.find('/').unwrap_or(rest.len()))
}

/// `user@host` and path of the short SSH spelling.
fn scp_parts(url: &str) -> Option<(&str, &str)> {
    let (login, path) = url.split_once(':').unwrap_or((url, ""));
    let odd = |c: char| c.is_whitespace() || "/?#".contains(c);
    let host = login.rsplit('@').next().unwrap_or_default();
    let plain = !login.contains(odd) && !host.is_empty() && login.matches('@').count() <= 1;
    (plain && !path.contains(|c: char| c.is_whitespace() || c == '?')).then_some((login, path))
}

fn normalise(text: &str) -> String {
    let url = sanitise(text);
    if url.starts_with('/') || url.starts_with("file:") {
        // Locally `r` and `r.git` may be two repositories side by side.
        let trimmed = url.trim_end_matches('/');
        return if trimmed.is_empty() {
            url
        } else {
            trimmed.to_owned()
        };
    }
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest.to_owned()),
        None => match scp_parts(&url) {
            Some((login, "")) => ("ssh".to_owned(), login.to_owned()),
            Some((login, path)) => (
                "ssh".to_owned(),
                format!("{login}/{}", path.trim_start_matches('/')),
            ),
            None => return url,
        },
    };
    if rest.is_empty() || rest.contains(|c: char| c.is_whitespace() || "?#".contains(c)) {
        return url;
    }
    let (authority, path) = split_authority(&rest);
    let (user, host) = authority
        .rsplit_once('@')
        .map_or((None, authority), |(user, host)| (Some(user), host));
    let host = host.to_ascii_lowercase();
    let user = match (scheme.as_str(), user) {
        ("ssh", Some(user)) => format!("{user}@"),
        _ => String::new(),
    };
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    format!("{scheme}://{user}{host}{path}")
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let pair = tail
            .get(..2)
            .and_then(|pair| std::str::from_utf8(pair).ok());
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
