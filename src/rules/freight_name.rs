//! A Freight's name: the SHA-1 of its content, with addresses brought into Kargo's form.
//!
//! The form is Kargo's own (it lowers the case of the whole address), so that names are equal to those that Kargo
//! computes; it is not how this program compares repositories.

use sha1::{Digest, Sha1};

use crate::kargo::{
    Freight, FreightName,
    artifact::{Artifact, Chart, GitCommit, Image, hex},
};

/// Of what `freight` carries and where it comes from; its present name does not matter.
pub fn of(freight: &Freight) -> FreightName {
    let commits = freight.commits.iter().map(commit);
    let images = freight.images.iter().map(image);
    let charts = freight.charts.iter().map(chart);
    let others = freight.artifacts.iter().map(artifact);
    let mut parts: Vec<String> = commits.chain(images).chain(charts).chain(others).collect();
    parts.sort();
    let content = format!("{}:{}", freight.origin.key(), parts.join("|"));
    hex(&Sha1::digest(content.as_bytes())).into()
}

fn joined(parts: &[&str]) -> String {
    parts
        .iter()
        .filter(|part| !part.is_empty())
        .copied()
        .collect::<Vec<_>>()
        .join(":")
}

fn commit(commit: &GitCommit) -> String {
    joined(&[
        &git_address(&commit.repo_url),
        &commit.tag,
        &commit.id,
        &commit.subscription_name,
    ])
}

fn image(image: &Image) -> String {
    let version = format!("{}:{}@{}", image.repo_url, image.tag, image.digest);
    joined(&[&version, &image.subscription_name])
}

fn chart(chart: &Chart) -> String {
    let version = format!(
        "{}:{}",
        chart_address(&chart.repo_url, &chart.name),
        chart.version
    );
    joined(&[&version, &chart.subscription_name])
}

fn artifact(artifact: &Artifact) -> String {
    format!(
        "{}:{}:{}",
        artifact.artifact_type, artifact.subscription_name, artifact.version
    )
}

/// Characters that are invisible in an address and get into it by copying.
fn sanitized(url: &str) -> String {
    let invisible =
        |letter: char| matches!(letter, '\u{feff}' | '\u{200b}'..='\u{200d}' | '\u{2060}');
    let visible: String = url
        .chars()
        .filter(|letter| !invisible(*letter) && !letter.is_control())
        .collect();
    visible.trim().to_owned()
}

fn without_suffixes(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.strip_suffix(".git")
        .unwrap_or(path)
        .trim_end_matches('/')
}

/// A git repository's address as Kargo compares it: lower case, without `.git`, a trailing slash and the user of an
/// http address; `host:path` as ssh. What is no address, or has a query, stays as it is.
pub fn git_address(url: &str) -> String {
    let original = sanitized(url);
    let url = original.to_lowercase();
    if url.contains(char::is_whitespace) || url.contains('?') || url.contains('#') {
        return original;
    }
    for scheme in ["http://", "https://"] {
        if let Some(rest) = url.strip_prefix(scheme) {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            let path = without_suffixes(path);
            return if path.is_empty() {
                format!("{scheme}{host}")
            } else {
                format!("{scheme}{host}/{path}")
            };
        }
    }
    if let Some(rest) = url.strip_prefix("ssh://") {
        return format!("ssh://{}", without_suffixes(rest));
    }
    if url.contains("://") {
        return original;
    }
    match url.split_once(':') {
        Some((host, path)) => format!("ssh://{host}/{}", without_suffixes(path)),
        None => format!("ssh://{}", without_suffixes(&url)),
    }
}

/// A chart repository's address as Kargo compares it: lower case, no `oci://`, no host for Docker Hub.
fn chart_repository(url: &str) -> String {
    let url = sanitized(url).to_lowercase();
    let url = url.strip_prefix("oci://").unwrap_or(&url);
    without_docker_hub(url).to_owned()
}

/// Docker Hub is what an address without a host means.
fn without_docker_hub(address: &str) -> &str {
    let docker = ["docker.io/", "index.docker.io/", "registry-1.docker.io/"];
    docker
        .iter()
        .find_map(|host| address.strip_prefix(host))
        .unwrap_or(address)
}

/// An image repository's address as Kargo compares it: no host for Docker Hub, no `library/` for its own images. A
/// Freight's name has the address as it is given.
pub fn image_repository(url: &str) -> String {
    let url = sanitized(url);
    let address = without_docker_hub(&url);
    match address.strip_prefix("library/") {
        Some(name) if !name.contains('/') => name.to_owned(),
        _ => address.to_owned(),
    }
}

/// A chart repository's address with the chart's name behind it. Kargo joins with Go's path.Join, which makes one
/// slash of several, also of the two in `https://`.
pub fn chart_address(url: &str, name: &str) -> String {
    let joined = format!("{}/{name}", chart_repository(url));
    let absolute = if joined.starts_with('/') { "/" } else { "" };
    let parts: Vec<&str> = joined
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    format!("{absolute}{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;

    fn name(freight: Value) -> String {
        of(&serde_json::from_value(freight).unwrap())
            .as_str()
            .to_owned()
    }

    /// The name that its rule gives for a written-out content.
    fn sha1(content: &str) -> String {
        hex(&Sha1::digest(content.as_bytes()))
    }

    #[test]
    fn the_name_is_made_of_the_sorted_content() {
        let freight = json!({
            "metadata": {"name": "wrong"}, "alias": "calm-otter",
            "origin": {"kind": "Warehouse", "name": "w"},
            "images": [{"repoURL": "ghcr.io/org/app", "tag": "2.3.1", "digest": "sha256:ab"}],
            "commits": [{"repoURL": "https://u:p@H.example/Org/repo.git", "id": "74291c2", "message": "no part of it"}],
            "charts": [{"repoURL": "https://charts.example", "name": "app", "version": "1.0.0", "subscriptionName": "s"}],
            "artifacts": [{"artifactType": "npm", "subscriptionName": "lib", "version": "3"}],
        });
        let parts = "ghcr.io/org/app:2.3.1@sha256:ab|https://h.example/org/repo:74291c2|https:/charts.example/app:1.0.0:s|npm:lib:3";
        assert_eq!(name(freight), sha1(&format!("Warehouse/w:{parts}")));
        let tagged = json!({"origin": {"kind": "Warehouse", "name": "w"},
            "commits": [{"repoURL": "git@h.example:o/r.git", "id": "1", "tag": "v1"}]});
        assert_eq!(
            name(tagged),
            sha1("Warehouse/w:ssh://git@h.example/o/r:v1:1")
        );
    }

    #[test]
    fn order_and_alias_do_not_matter_and_the_origin_does() {
        let freight = |origin: &str, tags: [&str; 2], alias: &str| {
            let images: Vec<Value> = tags
                .iter()
                .map(|tag| json!({"repoURL": "a", "tag": tag}))
                .collect();
            name(
                json!({"origin": {"kind": "Warehouse", "name": origin}, "images": images, "alias": alias}),
            )
        };
        assert_eq!(freight("w", ["1", "2"], "x"), freight("w", ["2", "1"], "y"));
        assert_ne!(freight("w", ["1", "2"], "x"), freight("v", ["1", "2"], "x"));
    }

    /// Kargo's own table, where it is there.
    #[test]
    fn addresses_as_kargo_has_them() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/peer/kargo-urls.json");
        let Ok(text) = std::fs::read_to_string(&file) else {
            eprintln!("skipped: {} is not there", file.display());
            return;
        };
        let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
        let mut checked = 0;
        for case in &cases {
            let (given, expected) = (case["in"].as_str().unwrap(), case["out"].as_str().unwrap());
            let got = match case["kind"].as_str().unwrap() {
                "git" => git_address(given),
                "helm" => chart_repository(given),
                "image" => image_repository(given),
                "sanitize" => sanitized(given),
                other => panic!("{other} is not known"),
            };
            assert_eq!(got, expected, "{}", case["id"]);
            checked += 1;
        }
        println!("kargo-urls: {checked} of {} agree", cases.len());
        assert!(checked > 90, "{checked}");
    }

    #[test]
    fn chart_addresses() {
        for (url, chart, expected) in [
            (
                "https://Charts.example/",
                "app",
                "https:/charts.example/app",
            ),
            ("oci://ghcr.io/org/app", "", "ghcr.io/org/app"),
            ("oci://docker.io/org/app", "", "org/app"),
        ] {
            assert_eq!(chart_address(url, chart), expected, "{url}");
        }
    }
}
