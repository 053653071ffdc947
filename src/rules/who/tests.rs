use super::*;

fn person(name: &str, groups: &[&str]) -> Person {
    Person {
        name: name.into(),
        uid: String::new(),
        groups: groups.iter().map(|group| (*group).into()).collect(),
    }
}

fn claim(claim: &str, value: &str) -> ApproverRule {
    ApproverRule {
        claim: claim.into(),
        value: value.into(),
        ..ApproverRule::default()
    }
}

fn role(role: &str) -> ApproverRule {
    ApproverRule {
        role: role.into(),
        ..ApproverRule::default()
    }
}

fn directory(username_prefix: &str, groups_prefix: &str, username_claim: &str) -> Directory {
    let claims =
        parse_claims(r#"{"groups": ["leads"], "email": "ann@x.example", "odd": 7}"#).unwrap();
    Directory {
        project: "shop".into(),
        identity: Identity {
            username_prefix: username_prefix.into(),
            groups_prefix: groups_prefix.into(),
            username_claim: username_claim.into(),
        },
        roles: Some(BTreeMap::from([("releaser".into(), claims)])),
    }
}

#[test]
fn claims_match_names_and_groups_without_their_prefix() {
    let plain = directory("", "", "");
    let oidc = directory("oidc:", "team:", "email");
    let cases = [
        (
            &plain,
            claim("groups", "leads"),
            person("ann", &["dev", "leads"]),
            Match::Yes,
        ),
        (
            &plain,
            claim("groups", "leads"),
            person("leads", &["dev"]),
            Match::No,
        ),
        (
            &plain,
            claim("groups", "Leads"),
            person("ann", &["leads"]),
            Match::No,
        ),
        (
            &plain,
            claim("email", "ann@x.example"),
            person("ann@x.example", &[]),
            Match::Yes,
        ),
        (&plain, claim("sub", "ann"), person("ann", &[]), Match::Yes),
        (&plain, claim("sub", "ann"), person("ANN", &[]), Match::No),
        (&plain, claim("name", "ann"), person("ann", &[]), Match::No),
        (
            &plain,
            claim("groups", "system:masters"),
            person("ann", &["system:masters"]),
            Match::No,
        ),
        (
            &plain,
            claim("sub", "system:admin"),
            person("system:admin", &[]),
            Match::No,
        ),
        (&plain, claim("groups", ""), person("ann", &[""]), Match::No),
        (&plain, claim("", "ann"), person("ann", &[]), Match::No),
        (&plain, ApproverRule::default(), person("", &[]), Match::No),
        (
            &oidc,
            claim("email", "ann@x.example"),
            person("oidc:ann@x.example", &[]),
            Match::Yes,
        ),
        (
            &oidc,
            claim("email", "ann@x.example"),
            person("ann@x.example", &[]),
            Match::No,
        ),
        (
            &oidc,
            claim("email", "oidc:ann@x.example"),
            person("oidc:ann@x.example", &[]),
            Match::No,
        ),
        (
            &oidc,
            claim("sub", "ann@x.example"),
            person("oidc:ann@x.example", &[]),
            Match::No,
        ),
        (
            &oidc,
            claim("groups", "leads"),
            person("x", &["team:leads"]),
            Match::Yes,
        ),
        (
            &oidc,
            claim("groups", "leads"),
            person("x", &["leads"]),
            Match::No,
        ),
        (
            &oidc,
            claim("groups", "system:masters"),
            person("x", &["team:system:masters"]),
            Match::No,
        ),
    ];
    for (directory, rule, person, expected) in cases {
        assert_eq!(
            directory.matches(&rule, &person),
            expected,
            "{rule:?} {person:?}"
        );
    }
}

#[test]
fn roles_are_mapped_by_claims_or_are_the_account_itself() {
    let plain = directory("", "", "");
    let unread = Directory {
        roles: None,
        ..plain.clone()
    };
    let cases = [
        (&plain, person("x", &["leads"]), Match::Yes),
        (&plain, person("ann@x.example", &[]), Match::Yes),
        (&plain, person("bob", &["dev"]), Match::No),
        (
            &plain,
            person("system:serviceaccount:shop:releaser", &[]),
            Match::Yes,
        ),
        (
            &plain,
            person("system:serviceaccount:pay:releaser", &[]),
            Match::No,
        ),
        (&plain, person("releaser", &[]), Match::No),
        (&unread, person("x", &["leads"]), Match::Unknown),
        (
            &unread,
            person("system:serviceaccount:shop:releaser", &[]),
            Match::Yes,
        ),
    ];
    for (directory, person, expected) in cases {
        assert_eq!(
            directory.matches(&role("releaser"), &person),
            expected,
            "{person:?}"
        );
    }
    assert_eq!(
        plain.matches(&role("nobody"), &person("x", &["leads"])),
        Match::No
    );
    assert!(parse_claims("not json").is_err());
}

#[test]
fn creators() {
    let plain = directory("", "", "");
    let email = directory("oidc:", "", "email");
    let subject = directory("", "", "sub");
    for (directory, creator, name, expected) in [
        (&plain, "kubernetes:ann", "ann", Some(true)),
        (&plain, "kubernetes:ann", "Ann", Some(true)),
        (&plain, "kubernetes:ann", "bob", Some(false)),
        (
            &plain,
            "kubernetes:system:serviceaccount:shop:ci",
            "system:serviceaccount:shop:ci",
            Some(true),
        ),
        (&plain, "email:ann@x.example", "ann@x.example", None),
        (
            &email,
            "email:ann@x.example",
            "oidc:ann@x.example",
            Some(true),
        ),
        (&email, "email:ann@x.example", "ann@x.example", Some(false)),
        (&email, "subject:123", "oidc:123", None),
        (&subject, "subject:123", "123", Some(true)),
        (&plain, "admin", "admin", None),
        (&plain, "controller:tidewaiter", "ann", None),
        (&plain, "unknown actor", "ann", None),
        (&plain, "", "ann", None),
    ] {
        assert_eq!(
            directory.is_creator(creator, &person(name, &[])),
            expected,
            "{creator} {name}"
        );
    }
}

#[test]
fn only_groups_that_the_rules_name_are_sent() {
    let many: Vec<String> = (0..40).map(|number| format!("g{number}")).collect();
    let ann = Person {
        name: "ann".into(),
        uid: String::new(),
        groups: [vec!["leads".into(), "dev".into()], many.clone()].concat(),
    };
    let plain = directory("", "", "");
    assert_eq!(
        plain.groups_named(&[claim("groups", "dev"), claim("sub", "ann")], &ann),
        ["dev"]
    );
    assert_eq!(plain.groups_named(&[role("releaser")], &ann), ["leads"]);
    assert_eq!(plain.groups_named(&[], &ann), [""; 0]);
    let all: Vec<ApproverRule> = many.iter().map(|group| claim("groups", group)).collect();
    assert_eq!(plain.groups_named(&all, &ann).len(), 16);
}

#[test]
fn one_person_is_one_uid_or_one_name() {
    let with = |name: &str, uid: &str| Person {
        name: name.into(),
        uid: uid.into(),
        groups: vec![],
    };
    for (a, b, expected) in [
        (with("ann", ""), with("ANN", ""), true),
        (with("ann", "1"), with("bob", "1"), true),
        (with("ann", "1"), with("ann", "2"), true),
        (with("ann", ""), with("bob", ""), false),
        (with("é", ""), with("É", ""), false),
    ] {
        assert_eq!(a.is(&b), expected, "{a:?} {b:?}");
    }
}
