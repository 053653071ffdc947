use super::*;

fn url(text: &str) -> RepoUrl {
    text.parse().unwrap()
}

#[test]
fn spellings_of_one_repository_are_equal() {
    let want = "https://h.example/o/r";
    for same in [
        "https://h.example/o/r",
        "https://h.example/o/r/",
        "https://h.example/o/r.git",
        "https://h.example/o/r.git/",
        "https://u:p@h.example/o/r.git",
        "\u{feff}https://h.example/o/r",
        "\u{a0}https://h.example/o/r",
        "https://h.example/\u{200b}o/r",
        "\nhttps://h.example/o/r\n",
        "HTTPS://H.Example/o/r",
    ] {
        assert_eq!(url(same).normalised(), want, "{same:?}");
    }
    let ssh = url("git@h.example:o/r.git").normalised();
    assert_eq!(ssh, url("ssh://git@h.example/o/r").normalised());
    assert_ne!(ssh, want);
    assert_eq!(
        url("https://h.example:8443/o/r").normalised(),
        "https://h.example:8443/o/r"
    );
    assert_eq!(
        url("https://h.example/o/r?x=1").normalised(),
        "https://h.example/o/r?x=1"
    );
    assert_eq!(
        url("https://h.example/Org/Repo").normalised(),
        "https://h.example/Org/Repo"
    );
    assert_ne!(url("/srv/r").normalised(), url("/srv/r.git").normalised());
}

#[test]
fn kargos_own_table_holds() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../shared/peer/kargo-urls.json"
    );
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("skipped: {path} is absent");
        return;
    };
    let rows: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let mut seen = 0;
    for row in rows {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let got = match text("kind").as_str() {
            "git" => normalise(&text("in")),
            "sanitize" => sanitise(&text("in")),
            _ => continue,
        };
        assert_eq!(got, text("out"), "{}", text("id"));
        seen += 1;
    }
    assert!(seen > 50, "only {seen} rows read");
}

#[test]
fn a_password_is_never_shown() {
    for (given, shown) in [
        (
            "https://u:s3cret@h.example/o/r",
            "https://***@h.example/o/r",
        ),
        ("https://t0ken@h.example/o/r", "https://***@h.example/o/r"),
        (
            "ssh://git:s3cret@h.example/o/r",
            "ssh://git:***@h.example/o/r",
        ),
        ("ssh://git@h.example/o/r", "ssh://git@h.example/o/r"),
        ("git@h.example:o/r", "git@h.example:o/r"),
    ] {
        assert_eq!(url(given).to_string(), shown);
        assert_eq!(format!("{:?}", url(given)), format!("RepoUrl({shown})"));
    }
}

#[test]
fn a_login_leaves_the_command_line() {
    let (shown, login) = url("https://u%40x:s3%2Fcret@h.example/o/r").for_command();
    assert_eq!(shown, "https://h.example/o/r");
    let login = login.unwrap();
    assert_eq!(
        (login.username.as_str(), login.password.as_str()),
        ("u@x", "s3/cret")
    );
    assert!(url("git@h.example:o/r").for_command().1.is_none());
}

#[test]
fn where_ssh_connects_to() {
    for (address, want) in [
        ("git@h:o/r", Some(("git@h", None))),
        ("ssh://git@h:22/o/r", Some(("git@h", Some("22")))),
        ("ssh://h/o/r", Some(("h", None))),
        ("https://h/o/r", None),
        ("/srv/r", None),
        ("file:///srv/r", None),
    ] {
        let got = url(address).ssh_destination().map(|d| (d.login, d.port));
        assert_eq!(
            got,
            want.map(|(l, p)| (l.to_owned(), p.map(str::to_owned))),
            "{address}"
        );
    }
}

#[test]
fn what_git_must_not_be_given() {
    for bad in [
        "",
        "  ",
        "-x",
        "ext::sh -c x",
        "ftp://h/x",
        "../r",
        "o/r",
        "not even a url",
    ] {
        assert!(bad.parse::<RepoUrl>().is_err(), "{bad:?}");
    }
    for good in [
        "/srv/r.git",
        "file:///srv/r",
        "h:o/r",
        "ssh://git@h:22/o/r",
        "git://h/r",
        "https://[::1]:8/r",
    ] {
        assert!(good.parse::<RepoUrl>().is_ok(), "{good:?}");
    }
    let error = "ftp://u:s3cret@h/x"
        .parse::<RepoUrl>()
        .unwrap_err()
        .to_string();
    assert!(!error.contains("s3cret"), "{error}");
}
