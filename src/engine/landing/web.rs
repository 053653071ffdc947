//! The web page of a commit, where the host's kind is known.

use crate::git::id::CommitId;

/// The page of `commit` in the repository at `url` (normalised). `provider` where the address does not tell.
pub fn commit_url(url: &str, provider: Option<&str>, commit: &CommitId) -> Option<String> {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let (base, host) = match rest {
        Some(rest) => (url.to_owned(), rest.split('/').next()?.to_owned()),
        None => {
            let (host, path) = url.strip_prefix("ssh://")?.split_once('/')?;
            let host = host
                .rsplit_once('@')
                .map_or(host, |(_, host)| host)
                .to_owned();
            (format!("https://{host}/{path}"), host)
        }
    };
    let name = host.split(':').next().unwrap_or(&host);
    let kind = provider.or_else(|| kind_of(name))?;
    let part = match kind {
        "github" | "gitea" | "azure" => "commit",
        "gitlab" => "-/commit",
        "bitbucket" => "commits",
        _ => return None,
    };
    Some(format!("{base}/{part}/{commit}"))
}

fn kind_of(host: &str) -> Option<&'static str> {
    if host.contains("github") || host.ends_with(".ghe.com") {
        Some("github")
    } else if host.contains("gitlab") {
        Some("gitlab")
    } else if host.contains("gitea") {
        Some("gitea")
    } else if host == "dev.azure.com" || host.ends_with(".visualstudio.com") {
        Some("azure")
    } else if host == "bitbucket.org" {
        Some("bitbucket")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_by_host() {
        let commit: CommitId = "00000000000000000000000000000000000000aa".parse().unwrap();
        let cases = [
            (
                "https://github.com/o/r",
                None,
                Some("https://github.com/o/r/commit/"),
            ),
            (
                "ssh://git@gitlab.example/o/r",
                None,
                Some("https://gitlab.example/o/r/-/commit/"),
            ),
            ("https://h.example/o/r", None, None),
            (
                "https://h.example/o/r",
                Some("bitbucket"),
                Some("https://h.example/o/r/commits/"),
            ),
            ("/srv/r", Some("github"), None),
        ];
        for (url, provider, expected) in cases {
            let expected = expected.map(|start| format!("{start}{commit}"));
            assert_eq!(commit_url(url, provider, &commit), expected, "{url}");
        }
    }
}
