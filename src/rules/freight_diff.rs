//! What a piece of Freight carries, and what differs between two: `app 2.3.0 → 2.3.1`.

use std::fmt;

use crate::kargo::artifact::{Artifact, Chart, FreightReference, GitCommit, Image};

/// One artifact that is in one piece of Freight and not, or not the same, in the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Short name: the last part of the repository, the chart, the subscription.
    pub name: String,
    /// Before; none where it is new.
    pub from: Option<String>,
    /// After; none where it is gone.
    pub to: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.from, &self.to) {
            (Some(from), Some(to)) => write!(f, "{} {from} → {to}", self.name),
            (None, Some(to)) => write!(f, "{} {to} is new", self.name),
            (Some(from), None) => write!(f, "{} {from} is gone", self.name),
            (None, None) => Ok(()),
        }
    }
}

/// One artifact, boiled down.
struct Item {
    /// What makes it the same artifact in another version.
    key: String,
    name: String,
    /// For people.
    version: String,
    /// What stands between name and version.
    joint: &'static str,
    /// Distinguishes two of the same version text (an image's digest, a tag's commit).
    exact: String,
}

/// From `before` to `after`, in the order of `after`; what is gone comes last. Without `before`, all of `after` is new.
pub fn between(before: Option<&FreightReference>, after: &FreightReference) -> Vec<Difference> {
    let mut old = before.map(items).unwrap_or_default();
    let mut differences = Vec::new();
    for new in items(after) {
        let place = old.iter().position(|item| item.key == new.key);
        match place.map(|place| old.remove(place)) {
            None => differences.push(Difference {
                name: new.name,
                from: None,
                to: Some(new.version),
            }),
            Some(old) if old.version != new.version => {
                differences.push(Difference {
                    name: new.name,
                    from: Some(old.version),
                    to: Some(new.version),
                });
            }
            Some(old) if old.exact != new.exact => {
                let full = |item: &Item| format!("{} ({})", item.version, short(&item.exact));
                let (from, to) = (Some(full(&old)), Some(full(&new)));
                differences.push(Difference {
                    name: new.name,
                    from,
                    to,
                });
            }
            Some(_) => {}
        }
    }
    differences.extend(old.into_iter().map(|item| Difference {
        name: item.name,
        from: Some(item.version),
        to: None,
    }));
    differences
}

/// The differences in one line; says so where there are none.
pub fn summary(differences: &[Difference]) -> String {
    if differences.is_empty() {
        return "no difference".to_owned();
    }
    differences
        .iter()
        .map(Difference::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Every artifact as one short text: `app:2.3.1`, `repo@74291c2`, `chart 1.0.0`.
pub fn labels(freight: &FreightReference) -> Vec<String> {
    let label = |item: Item| match item.version.as_str() {
        "" => item.name,
        version => format!("{}{}{version}", item.name, item.joint),
    };
    items(freight).into_iter().map(label).collect()
}

fn items(freight: &FreightReference) -> Vec<Item> {
    let images = freight.images.iter().map(image);
    let charts = freight.charts.iter().map(chart);
    let commits = freight.commits.iter().map(commit);
    let others = freight.artifacts.iter().map(artifact);
    images.chain(charts).chain(commits).chain(others).collect()
}

/// Start of a digest or commit id.
fn short(id: &str) -> String {
    let (algorithm, digits) = id
        .rsplit_once(':')
        .map_or(("", id), |(algorithm, digits)| (algorithm, digits));
    let digits: String = digits.chars().take(7).collect();
    if algorithm.is_empty() {
        digits
    } else {
        format!("{algorithm}:{digits}")
    }
}

fn base_name(url: &str) -> String {
    let trimmed = url.trim_end_matches('/').trim_end_matches(".git");
    trimmed
        .rsplit(['/', ':'])
        .next()
        .unwrap_or(trimmed)
        .to_owned()
}

fn image(image: &Image) -> Item {
    Item {
        key: format!("image {} {}", image.repo_url, image.subscription_name),
        name: base_name(&image.repo_url),
        version: if image.tag.is_empty() {
            short(&image.digest)
        } else {
            image.tag.clone()
        },
        joint: if image.tag.is_empty() { "@" } else { ":" },
        exact: image.digest.clone(),
    }
}

fn chart(chart: &Chart) -> Item {
    Item {
        key: format!(
            "chart {} {} {}",
            chart.repo_url, chart.name, chart.subscription_name
        ),
        name: if chart.name.is_empty() {
            base_name(&chart.repo_url)
        } else {
            chart.name.clone()
        },
        version: chart.version.clone(),
        joint: " ",
        exact: chart.version.clone(),
    }
}

fn commit(commit: &GitCommit) -> Item {
    Item {
        key: format!("commit {} {}", commit.repo_url, commit.subscription_name),
        name: base_name(&commit.repo_url),
        version: if commit.tag.is_empty() {
            short(&commit.id)
        } else {
            commit.tag.clone()
        },
        joint: "@",
        exact: commit.id.clone(),
    }
}

fn artifact(artifact: &Artifact) -> Item {
    Item {
        key: format!(
            "artifact {} {}",
            artifact.artifact_type, artifact.subscription_name
        ),
        name: artifact.subscription_name.clone(),
        version: artifact.version.clone(),
        joint: " ",
        exact: artifact.version.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn freight(value: Value) -> FreightReference {
        serde_json::from_value(value).unwrap()
    }

    fn lines(before: Option<Value>, after: Value) -> Vec<String> {
        between(before.map(freight).as_ref(), &freight(after))
            .iter()
            .map(Difference::to_string)
            .collect()
    }

    #[test]
    fn differences() {
        let image = |tag: &str, digest: &str| json!({"images": [{"repoURL": "ghcr.io/org/app", "tag": tag, "digest": digest}]});
        let commit = |id: &str, tag: &str| json!({"commits": [{"repoURL": "https://h.example/o/r.git", "id": id, "tag": tag}]});
        let cases: Vec<(Option<Value>, Value, &[&str])> = vec![
            (
                Some(image("2.3.0", "sha256:aaaaaaaaa")),
                image("2.3.1", "sha256:bbbbbbbbb"),
                &["app 2.3.0 → 2.3.1"],
            ),
            (
                Some(image("2.3.0", "sha256:a")),
                image("2.3.0", "sha256:a"),
                &[],
            ),
            (
                Some(image("latest", "sha256:aaaaaaaaa")),
                image("latest", "sha256:bbbbbbbbb"),
                &["app latest (sha256:aaaaaaa) → latest (sha256:bbbbbbb)"],
            ),
            (
                Some(image("", "sha256:aaaaaaaaa")),
                image("", "sha256:bbbbbbbbb"),
                &["app sha256:aaaaaaa → sha256:bbbbbbb"],
            ),
            (None, image("1", ""), &["app 1 is new"]),
            (
                Some(image("1", "")),
                commit("74291c2aaaa", ""),
                &["r 74291c2 is new", "app 1 is gone"],
            ),
            (
                Some(commit("1111111aaaa", "")),
                commit("2222222aaaa", ""),
                &["r 1111111 → 2222222"],
            ),
            (
                Some(commit("1111111aaaa", "v1")),
                commit("2222222aaaa", "v2"),
                &["r v1 → v2"],
            ),
            (
                Some(
                    json!({"charts": [{"repoURL": "https://c.example", "name": "web", "version": "1.0.0"}]}),
                ),
                json!({"charts": [{"repoURL": "https://c.example", "name": "web", "version": "1.1.0"}]}),
                &["web 1.0.0 → 1.1.0"],
            ),
            (
                Some(
                    json!({"artifacts": [{"artifactType": "npm", "subscriptionName": "lib", "version": "1"}]}),
                ),
                json!({"artifacts": [{"artifactType": "npm", "subscriptionName": "lib", "version": "2"}]}),
                &["lib 1 → 2"],
            ),
        ];
        for (before, after, expected) in cases {
            assert_eq!(lines(before, after.clone()), expected, "{after}");
        }
        assert_eq!(summary(&[]), "no difference");
    }

    #[test]
    fn two_subscriptions_of_one_repository_are_two_artifacts() {
        let two = |a: &str, b: &str| json!({"images": [{"repoURL": "app", "tag": a, "subscriptionName": "a"}, {"repoURL": "app", "tag": b, "subscriptionName": "b"}]});
        assert_eq!(lines(Some(two("1", "2")), two("1", "3")), ["app 2 → 3"]);
    }

    #[test]
    fn registries_with_a_port_keep_their_name() {
        let image =
            |tag: &str| json!({"images": [{"repoURL": "registry.example:5000/app", "tag": tag}]});
        assert_eq!(lines(Some(image("6")), image("7")), ["app 6 → 7"]);
    }
}
