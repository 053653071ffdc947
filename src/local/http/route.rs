//! What a path and its query ask for.

use super::discovery;
use crate::local::kinds::{self, Kind, KindId};
use crate::local::status::ApiError;
use serde_json::Value;

/// A path understood.
pub(super) enum Route {
    Plain(&'static str),
    Discovery(Value),
    Identity(IdentityReview),
    Resource(Place),
}

/// Questions about who may do what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdentityReview {
    Who,
    MayI,
    MayThey,
}

/// A collection, an object or a subresource.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) id: KindId,
    pub(super) kind: &'static Kind,
    /// None for cluster-scoped kinds and for collections over all namespaces.
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    pub(super) subresource: Option<String>,
}

impl Route {
    pub(super) fn of(path: &str) -> Result<Self, ApiError> {
        let segments: Vec<String> = path
            .split('/')
            .filter(|part| !part.is_empty())
            .map(|part| decode(part, false))
            .collect();
        let parts: Vec<&str> = segments.iter().map(String::as_str).collect();
        match parts.as_slice() {
            ["healthz" | "livez" | "readyz", ..] => Ok(Self::Plain("ok")),
            ["version"] => Ok(Self::Discovery(discovery::version())),
            ["api"] => Ok(Self::Discovery(discovery::core_versions())),
            ["apis"] => Ok(Self::Discovery(discovery::groups())),
            ["apis", group] => discovery::group(group)
                .map(Self::Discovery)
                .ok_or_else(ApiError::no_such_path),
            ["api", version] => discovery::resources("", version)
                .map(Self::Discovery)
                .ok_or_else(ApiError::no_such_path),
            ["apis", group, version] => discovery::resources(group, version)
                .map(Self::Discovery)
                .ok_or_else(ApiError::no_such_path),
            ["apis", "authentication.k8s.io", "v1", "selfsubjectreviews"] => {
                Ok(Self::Identity(IdentityReview::Who))
            }
            [
                "apis",
                "authorization.k8s.io",
                "v1",
                "selfsubjectaccessreviews",
            ] => Ok(Self::Identity(IdentityReview::MayI)),
            ["apis", "authorization.k8s.io", "v1", "subjectaccessreviews"] => {
                Ok(Self::Identity(IdentityReview::MayThey))
            }
            ["api", version, rest @ ..] => Place::of("", version, rest).map(Self::Resource),
            ["apis", group, version, rest @ ..] => {
                Place::of(group, version, rest).map(Self::Resource)
            }
            _ => Err(ApiError::no_such_path()),
        }
    }
}

impl Place {
    fn of(group: &str, version: &str, parts: &[&str]) -> Result<Self, ApiError> {
        let (namespace, parts) = match parts {
            // The namespace itself, not something in it.
            ["namespaces"] | ["namespaces", _] | ["namespaces", _, "status" | "finalize"]
                if group.is_empty() =>
            {
                (None, parts)
            }
            ["namespaces", namespace, rest @ ..] => (Some((*namespace).to_owned()), rest),
            _ => (None, parts),
        };
        let (plural, rest) = parts.split_first().ok_or_else(ApiError::no_such_path)?;
        let (id, kind) =
            kinds::by_plural(group, version, plural).ok_or_else(ApiError::no_such_path)?;
        let (name, subresource) = match rest {
            [] => (None, None),
            [name] => (Some((*name).to_owned()), None),
            [name, subresource] => (Some((*name).to_owned()), Some((*subresource).to_owned())),
            _ => return Err(ApiError::no_such_path()),
        };
        let place = Self {
            id,
            kind,
            namespace,
            name,
            subresource,
        };
        let scoped = place.namespace.is_some();
        // Objects of namespaced kinds are reached through their namespace only, and others never are.
        let fits = if kind.namespaced {
            scoped || place.name.is_none()
        } else {
            !scoped
        };
        if fits {
            Ok(place)
        } else {
            Err(ApiError::no_such_path())
        }
    }
}

/// Query parameters; the first of a name counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn parse(text: &str) -> Self {
        Self(
            text.split('&')
                .filter(|pair| !pair.is_empty())
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decode(name, true), decode(value, true))
                })
                .collect(),
        )
    }

    /// The value of a parameter; an empty one is as good as none.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(n, _)| n == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|v| !v.is_empty())
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some("true" | "1"))
    }

    /// A number, or the 400 of something else.
    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, ApiError> {
        self.get(name)
            .map(|text| {
                text.parse().map_err(|_| {
                    ApiError::bad_request(format!("Invalid value: {text:?}: {name} is a number"))
                })
            })
            .transpose()
    }
}

/// Undoes percent encoding; `+` is a space in queries. What is not encoded properly stays.
fn decode(text: &str, plus_is_space: bool) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        match (first, tail) {
            (b'%', [high, low, after @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => {
                    bytes.push(high * 16 + low);
                    rest = after;
                }
                _ => bytes.push(b'%'),
            },
            (b'+', _) if plus_is_space => bytes.push(b' '),
            (byte, _) => bytes.push(*byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> Option<(String, String, String, String)> {
        match Route::of(path) {
            Ok(Route::Resource(p)) => Some((
                p.kind.plural.to_owned(),
                p.namespace.unwrap_or_default(),
                p.name.unwrap_or_default(),
                p.subresource.unwrap_or_default(),
            )),
            _ => None,
        }
    }

    #[test]
    fn paths() {
        let of = |a: &str, b: &str, c: &str, d: &str| {
            Some((a.to_owned(), b.to_owned(), c.to_owned(), d.to_owned()))
        };
        for (path, expected) in [
            (
                "/apis/kargo.akuity.io/v1alpha1/promotions",
                of("promotions", "", "", ""),
            ),
            (
                "/apis/kargo.akuity.io/v1alpha1/namespaces/shop/promotions",
                of("promotions", "shop", "", ""),
            ),
            (
                "/apis/kargo.akuity.io/v1alpha1/namespaces/shop/promotions/p/status",
                of("promotions", "shop", "p", "status"),
            ),
            (
                "/apis/kargo.akuity.io/v1alpha1/projects/shop",
                of("projects", "", "shop", ""),
            ),
            ("/api/v1/namespaces", of("namespaces", "", "", "")),
            ("/api/v1/namespaces/shop", of("namespaces", "", "shop", "")),
            (
                "/api/v1/namespaces/shop/finalize",
                of("namespaces", "", "shop", "finalize"),
            ),
            (
                "/api/v1/namespaces/shop/secrets",
                of("secrets", "shop", "", ""),
            ),
            (
                "/api/v1/namespaces/shop/secrets/a%2Eb",
                of("secrets", "shop", "a.b", ""),
            ),
            ("/apis/kargo.akuity.io/v1alpha1/promotions/p", None),
            (
                "/apis/kargo.akuity.io/v1alpha1/namespaces/shop/projects",
                None,
            ),
            ("/apis/kargo.akuity.io/v1/promotions", None),
            ("/apis/kargo.akuity.io/v1alpha1/ships", None),
            ("/nonsense", None),
        ] {
            assert_eq!(place(path), expected, "{path}");
        }
    }

    #[test]
    fn queries_are_decoded() {
        let query = Query::parse("labelSelector=a+in+%28b%2Cc%29&watch=true&limit=x&empty=");
        assert_eq!(query.get("labelSelector"), Some("a in (b,c)"));
        assert!(query.flag("watch") && !query.flag("limit"));
        assert_eq!(query.number("limit").unwrap_err().code, 400);
        assert_eq!(query.get("empty"), None);
        assert_eq!(decode("100%", false), "100%");
    }
}
