use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-08-21T12:00:00Z";

fn request(rules: Value, min: u32) -> ApprovalRequest {
    serde_json::from_value(json!({
        "metadata": {"name": "r1", "uid": "u1"},
        "spec": {"stage": "prod", "step": "gate", "approvers": rules, "minApprovals": min, "change": {"digest": "d1"}}
    }))
    .unwrap()
}

fn group(value: &str) -> Value {
    json!({"claim": "groups", "value": value})
}

fn required(value: &str) -> Value {
    json!({"claim": "groups", "value": value, "required": true})
}

/// An answer `name`, stored so many seconds after noon less an hour.
fn answer(name: &str, second: u32, user: &str, spec: Value) -> Approval {
    let mut object = json!({
        "metadata": {"name": name, "creationTimestamp": format!("2026-08-21T11:00:{second:02}Z")},
        "spec": {"request": "r1", "requestUid": "u1", "stage": "prod", "decision": "Approve", "digest": "d1", "user": user}
    });
    for (key, value) in spec.as_object().unwrap() {
        object["spec"][key] = value.clone();
    }
    serde_json::from_value(object).unwrap()
}

fn yes(name: &str, second: u32, user: &str) -> Approval {
    answer(name, second, user, json!({}))
}

fn no(name: &str, second: u32, user: &str) -> Approval {
    answer(
        name,
        second,
        user,
        json!({"decision": "Reject", "message": "not today"}),
    )
}

fn in_group(name: &str, second: u32, user: &str, groups: &[&str]) -> Approval {
    answer(name, second, user, json!({"groups": groups}))
}

fn decide(request: &ApprovalRequest, journalled: &[Counted], approvals: &[Approval]) -> Verdict {
    let answers: Vec<Answer<'_>> = approvals
        .iter()
        .map(|approval| Answer {
            approval,
            verified: true,
        })
        .collect();
    let directory = Directory {
        project: "shop".into(),
        roles: Some(Default::default()),
        ..Directory::default()
    };
    count(
        request,
        journalled,
        &answers,
        &directory,
        NOW.parse().unwrap(),
    )
}

fn marks(verdict: &Verdict) -> Vec<(&str, CountReason)> {
    verdict
        .marks
        .iter()
        .map(|(name, reason)| (name.as_str(), *reason))
        .collect()
}

use CountReason as R;

#[test]
fn a_quorum_of_different_people() {
    type Case = (
        &'static str,
        Value,
        u32,
        Vec<Approval>,
        Standing,
        &'static str,
    );
    let cases: Vec<Case> = vec![
        (
            "nobody yet",
            json!([]),
            2,
            vec![],
            Standing::Open,
            "0 of 2 approvals",
        ),
        (
            "anyone, once",
            json!([]),
            1,
            vec![yes("a", 1, "ann")],
            Standing::Approved,
            "1 of 1 approvals",
        ),
        (
            "none asked is still one",
            json!([]),
            0,
            vec![],
            Standing::Open,
            "0 of 1 approvals",
        ),
        (
            "two people",
            json!([]),
            2,
            vec![yes("a", 1, "ann"), yes("b", 2, "bob")],
            Standing::Approved,
            "2 of 2 approvals",
        ),
        (
            "one person twice",
            json!([]),
            2,
            vec![yes("a", 1, "ann"), yes("b", 2, "Ann")],
            Standing::Open,
            "1 of 2 approvals",
        ),
        (
            "one uid, two names",
            json!([]),
            2,
            vec![
                answer("a", 1, "ann", json!({"uid": "7"})),
                answer("b", 2, "bob", json!({"uid": "7"})),
            ],
            Standing::Open,
            "1 of 2 approvals",
        ),
        (
            "the same through a third",
            json!([]),
            2,
            vec![
                answer("a", 1, "ann", json!({"uid": "7"})),
                yes("b", 2, "bob"),
                answer("c", 3, "bob", json!({"uid": "7"})),
            ],
            Standing::Open,
            "1 of 2 approvals",
        ),
        (
            "a required rule",
            json!([group("dev"), required("platform-leads")]),
            2,
            vec![
                in_group("a", 1, "ann", &["dev"]),
                in_group("b", 2, "bob", &["dev"]),
            ],
            Standing::Open,
            "2 of 2 approvals; needs platform-leads",
        ),
        (
            "one person may satisfy several rules and counts once",
            json!([required("dev"), required("leads")]),
            2,
            vec![in_group("a", 1, "ann", &["dev", "leads"])],
            Standing::Open,
            "1 of 2 approvals",
        ),
        (
            "required rules by different people",
            json!([required("dev"), required("leads")]),
            2,
            vec![
                in_group("a", 1, "ann", &["dev"]),
                in_group("b", 2, "bob", &["leads"]),
            ],
            Standing::Approved,
            "2 of 2 approvals",
        ),
        (
            "a rejection",
            json!([]),
            2,
            vec![no("a", 1, "ann")],
            Standing::Rejected,
            "rejected by ann: not today",
        ),
        (
            "a rejection together with the last approval",
            json!([]),
            1,
            vec![yes("a", 1, "ann"), no("b", 2, "bob")],
            Standing::Rejected,
            "rejected by bob: not today",
        ),
        (
            "one changes their mind in time",
            json!([]),
            2,
            vec![yes("a", 1, "ann"), no("b", 2, "ann")],
            Standing::Rejected,
            "rejected by ann: not today",
        ),
        (
            "and cannot take a rejection back",
            json!([]),
            1,
            vec![no("a", 1, "ann"), yes("b", 2, "ann")],
            Standing::Rejected,
            "rejected by ann: not today",
        ),
    ];
    for (name, rules, min, approvals, standing, message) in cases {
        let verdict = decide(&request(rules, min), &[], &approvals);
        assert_eq!(
            (&verdict.standing, verdict.message.as_str()),
            (&standing, message),
            "{name}"
        );
    }
}

#[test]
fn what_does_not_count_says_why() {
    let mut asked = request(json!([group("leads")]), 3);
    asked.spec.deadline = Some("2026-08-21T11:00:30Z".parse().unwrap());
    let leads = |name, second, user: &str, more: Value| {
        let mut spec = json!({"groups": ["leads"]});
        spec.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        answer(name, second, user, spec)
    };
    let approvals = [
        leads("good", 1, "ann", json!({})),
        leads("again", 2, "ann", json!({})),
        in_group("dev", 3, "bob", &["dev"]),
        leads("stale", 4, "cat", json!({"digest": "d0"})),
        leads("other question", 5, "dan", json!({"requestUid": "u0"})),
        leads("late", 31, "eve", json!({})),
        leads("in time", 30, "fay", json!({})),
        answer(
            "no rejection either",
            6,
            "gus",
            json!({"decision": "Reject", "groups": ["dev"]}),
        ),
    ];
    let verdict = decide(&asked, &[], &approvals);
    assert_eq!(
        marks(&verdict),
        [
            ("good", R::Counted),
            ("again", R::Duplicate),
            ("dev", R::Ineligible),
            ("stale", R::Stale),
            ("no rejection either", R::Ineligible),
            ("in time", R::Counted),
            ("late", R::Late),
        ]
    );
    assert_eq!(verdict.standing, Standing::Expired);
    assert_eq!(
        verdict.message,
        "2 of 3 approvals; expired at 2026-08-21T11:00:30Z"
    );
    let forged = yes("f", 1, "ann");
    let answers = [Answer {
        approval: &forged,
        verified: false,
    }];
    let verdict = count(
        &request(json!([]), 1),
        &[],
        &answers,
        &Directory::default(),
        NOW.parse().unwrap(),
    );
    assert_eq!(
        (marks(&verdict), verdict.standing),
        (vec![("f", R::Unverified)], Standing::Open)
    );
    assert_eq!(
        verdict.message,
        "0 of 1 approvals; 1 not counted, as the approval policy is not in force"
    );
}

#[test]
fn what_was_journalled_stays_and_what_closed_stays_closed() {
    let asked = request(json!([group("leads")]), 2);
    let first = decide(&asked, &[], &[in_group("a", 1, "ann", &["leads"])]);
    assert_eq!(first.standing, Standing::Open);
    // The object is gone, and so are ann's groups.
    let second = decide(
        &asked,
        &first.counted,
        &[in_group("b", 2, "bob", &["leads"])],
    );
    assert_eq!(second.standing, Standing::Approved);
    let users: Vec<&str> = second.counted.iter().map(|one| one.user.as_str()).collect();
    assert_eq!(users, ["ann", "bob"]);
    // Closed: whatever comes now is late, also a rejection and an earlier time.
    let more = [
        in_group("b", 2, "bob", &["leads"]),
        answer(
            "c",
            1,
            "cat",
            json!({"decision": "Reject", "groups": ["leads"]}),
        ),
    ];
    let third = decide(&asked, &second.counted, &more);
    assert_eq!(third.standing, Standing::Approved);
    assert_eq!(marks(&third), [("c", R::Late), ("b", R::Counted)]);
    let journal = serde_json::to_value(&second.counted).unwrap();
    assert_eq!(
        serde_json::from_value::<Vec<Counted>>(journal).unwrap(),
        second.counted
    );
}

#[test]
fn a_persons_words_are_kept_to_the_byte() {
    let words = "looks fine\n🚀 really";
    let verdict = decide(
        &request(json!([]), 1),
        &[],
        &[answer("a", 1, "ann", json!({"message": words}))],
    );
    let response = verdict.counted[0].response();
    assert_eq!(
        (
            response.user.as_str(),
            response.action.as_str(),
            response.message.as_str()
        ),
        ("ann", "approve", words)
    );
    assert_eq!(response.time, Some("2026-08-21T11:00:01Z".parse().unwrap()));
}

#[test]
fn creators_do_not_approve_their_own() {
    let ask = |creator: &str| {
        let mut asked = request(json!([]), 1);
        asked.spec.exclude_creator = true;
        asked.spec.creator = creator.into();
        asked
    };
    let own = decide(
        &ask("kubernetes:ann"),
        &[],
        &[yes("a", 1, "ann"), yes("b", 2, "bob")],
    );
    assert_eq!(
        (marks(&own), own.standing),
        (
            vec![("a", R::Creator), ("b", R::Counted)],
            Standing::Approved
        )
    );
    let rejected = decide(&ask("kubernetes:ann"), &[], &[no("a", 1, "ann")]);
    assert_eq!(rejected.standing, Standing::Rejected, "but may stop it");
    for creator in ["admin", "controller:x", "", "email:ann@x.example"] {
        let one = decide(&ask(creator), &[], &[yes("a", 1, "ann")]);
        assert_eq!(
            one.message,
            "1 of 2 approvals (one more, as who made the Promotion cannot be told)"
        );
        assert_eq!(
            decide(
                &ask(creator),
                &[],
                &[yes("a", 1, "ann"), yes("b", 2, "bob")]
            )
            .standing,
            Standing::Approved
        );
    }
}

/// C71: two gates of one promotion are answered apart.
#[test]
fn an_answer_is_for_one_gate() {
    let a = request(json!([]), 1);
    let mut b = request(json!([]), 1);
    b.metadata.uid = Some("u2".into());
    let approvals = [
        yes("a", 1, "ann"),
        answer(
            "b",
            2,
            "bob",
            json!({"requestUid": "u2", "decision": "Reject"}),
        ),
    ];
    assert_eq!(decide(&a, &[], &approvals).standing, Standing::Approved);
    assert_eq!(decide(&b, &[], &approvals).standing, Standing::Rejected);
    assert_eq!(marks(&decide(&b, &[], &approvals)), [("b", R::Counted)]);
}

#[test]
fn the_policy_in_words() {
    let rules = |value: Value| -> Vec<ApproverRule> { serde_json::from_value(value).unwrap() };
    assert_eq!(
        policy(&[], 0, false),
        "1 approval of anyone who can see the Promotion"
    );
    let some = rules(
        json!([group("dev"), required("leads"), {"role": "admin"}, {"claim": "email", "value": "a@x"}]),
    );
    assert_eq!(
        policy(&some, 2, true),
        "2 approvals of group dev or group leads (required) or role admin or email a@x, not of who made the Promotion"
    );
}

#[test]
fn who_may_answer() {
    let row = |change: &dyn Fn(&mut ApprovalRequest)| {
        let mut asked = request(json!([group("leads"), {"role": "releaser"}]), 2);
        change(&mut asked);
        RequestRow::of(&asked)
    };
    let person = |name: &str, groups: &[&str]| Person {
        name: name.into(),
        uid: String::new(),
        groups: groups.iter().map(|group| (*group).into()).collect(),
    };
    let known = Directory {
        project: "shop".into(),
        roles: Some(Default::default()),
        ..Directory::default()
    };
    let ask = |row: &RequestRow, person: &Person, decision| {
        may_answer(row, person, decision, &known, NOW.parse().unwrap())
            .map_err(|reason| reason.to_string())
    };
    let (yes, no) = (Decision::Approve, Decision::Reject);
    let (ann, bob) = (person("ann", &["leads"]), person("bob", &["dev"]));
    let open = row(&|_| {});
    assert_eq!(ask(&open, &ann, yes), Ok(()));
    // C70: approving and rejecting are both for the listed ones.
    let not_listed = Err(
        "you are not among its approvers: 2 approvals of group leads or role releaser".to_owned(),
    );
    assert_eq!(ask(&open, &bob, yes), not_listed);
    assert_eq!(ask(&open, &bob, no), not_listed);
    assert_eq!(
        ask(&row(&|asked| asked.spec.approvers.clear()), &bob, no),
        Ok(())
    );
    let unread = Directory {
        roles: None,
        ..known.clone()
    };
    assert_eq!(
        may_answer(&open, &bob, yes, &unread, NOW.parse().unwrap()),
        Ok(()),
        "the executor will tell"
    );
    // C68: a late answer is refused with the time at which the gate closed.
    let late = row(&|asked| asked.spec.deadline = Some("2026-08-21T11:59:59Z".parse().unwrap()));
    assert_eq!(
        ask(&late, &ann, yes),
        Err("expired at 2026-08-21T11:59:59Z".into())
    );
    let last_second = row(&|asked| asked.spec.deadline = Some(NOW.parse().unwrap()));
    assert_eq!(ask(&last_second, &ann, yes), Ok(()));
    for (phase, text) in [
        (RequestPhase::Approved, "it is approved already"),
        (RequestPhase::Rejected, "it was rejected"),
        (RequestPhase::Withdrawn, "the question was withdrawn"),
        (RequestPhase::Expired, "it is closed"),
    ] {
        assert_eq!(
            ask(&row(&|asked| asked.status.phase = phase), &ann, yes),
            Err(text.into())
        );
    }
    let own = row(&|asked| {
        asked.spec.exclude_creator = true;
        asked.spec.creator = "kubernetes:ann".into();
    });
    assert_eq!(
        ask(&own, &ann, yes),
        Err("you made this Promotion and may not approve it".into())
    );
    assert_eq!(ask(&own, &ann, no), Ok(()));
    let answered = row(&|asked| {
        asked.status.responses = vec![Response {
            user: "ann".into(),
            ..Response::default()
        }]
    });
    assert_eq!(ask(&answered, &ann, yes), Err("you have answered".into()));
    assert_eq!(ask(&answered, &ann, no), Ok(()));
}

/// Two who counted as two turn out to be one through a third answer: that is not forgotten when counting again.
#[test]
fn who_is_the_same_stays_the_same() {
    let asked = request(json!([]), 2);
    let three = [
        answer("a", 1, "ann", json!({"uid": "7"})),
        yes("b", 2, "bob"),
        answer("c", 3, "bob", json!({"uid": "7"})),
    ];
    let first = decide(&asked, &[], &three);
    assert_eq!(
        (marks(&first), first.standing),
        (
            vec![("a", R::Counted), ("b", R::Counted), ("c", R::Duplicate)],
            Standing::Open
        )
    );
    let journal: Vec<Counted> =
        serde_json::from_value(serde_json::to_value(&first.counted).unwrap()).unwrap();
    for answers in [&three[..], &three[..2], &[]] {
        let again = decide(&asked, &journal, answers);
        assert_eq!(
            (again.standing, again.message.as_str()),
            (Standing::Open, "1 of 2 approvals")
        );
        assert_eq!(again.counted, journal, "nothing new to be journalled");
    }
    let closing = decide(&asked, &journal, &[yes("d", 4, "dan")]);
    assert_eq!(closing.standing, Standing::Approved);
    let after = decide(&asked, &closing.counted, &three);
    assert_eq!(
        (marks(&after), after.standing),
        (
            vec![("a", R::Counted), ("b", R::Counted), ("c", R::Duplicate)],
            Standing::Approved
        )
    );
}

/// How many people stand behind answers, found the slow way.
fn people_behind(approvals: &[&Approval]) -> usize {
    let mut group: Vec<usize> = (0..approvals.len()).collect();
    for _ in 0..approvals.len() {
        for (a, one) in approvals.iter().enumerate() {
            for (b, other) in approvals.iter().enumerate() {
                let uid = !one.spec.uid.is_empty() && one.spec.uid == other.spec.uid;
                if uid || one.spec.user.eq_ignore_ascii_case(&other.spec.user) {
                    group[a] = group[a].min(group[b]);
                }
            }
        }
    }
    group
        .iter()
        .collect::<std::collections::BTreeSet<_>>()
        .len()
}

/// Whatever comes in whatever order and pieces: no rejection is lost, no quorum is met by too few people.
#[test]
fn counting_in_pieces_fails_closed() {
    let mut seed = 1_u64;
    let mut roll = |sides: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % sides
    };
    let mut approved = 0;
    for round in 0..1_500 {
        let min = 1 + roll(3) as u32;
        let asked = request(json!([group("leads"), required("ops")]), min);
        let approvals: Vec<Approval> = (0..roll(8))
            .map(|index| {
                let user = ["ann", "ANN", "bob", "cat", "dan"][roll(5) as usize];
                let uid = ["", "", "1", "2"][roll(4) as usize];
                let groups: Vec<&str> =
                    [["leads"].as_slice(), &["ops"], &["leads", "ops"], &["dev"]][roll(4) as usize]
                        .to_vec();
                let decision = if roll(12) == 0 { "Reject" } else { "Approve" };
                answer(
                    &format!("a{index}"),
                    index as u32,
                    user,
                    json!({"groups": groups, "decision": decision, "uid": uid}),
                )
            })
            .collect();
        let eligible =
            |approval: &&Approval| approval.spec.groups.iter().any(|group| group != "dev");
        let mut journal: Vec<Counted> = Vec::new();
        let mut standing = Standing::Open;
        let mut seen = 0;
        for end in 0..=approvals.len() {
            let verdict = decide(&asked, &journal, &approvals[..end]);
            let names = |counted: &[Counted]| -> Vec<ApprovalName> {
                counted.iter().map(|one| one.approval.clone()).collect()
            };
            assert!(
                names(&verdict.counted).starts_with(&names(&journal)),
                "round {round}: what was counted stays"
            );
            if standing == Standing::Open {
                seen = end;
            } else {
                assert_eq!(
                    verdict.standing, standing,
                    "round {round}: closed stays closed"
                );
            }
            (journal, standing) = (verdict.counted, verdict.standing);
        }
        if standing == Standing::Approved {
            approved += 1;
            let valid: Vec<&Approval> = approvals[..seen].iter().filter(eligible).collect();
            assert!(
                people_behind(&valid) >= min as usize,
                "round {round}: {valid:#?}"
            );
            assert!(
                journal.iter().any(|one| one.rules.contains(&1)),
                "round {round}: ops"
            );
        }
        let at_once = decide(&asked, &[], &approvals);
        let rejected = approvals
            .iter()
            .filter(eligible)
            .any(|approval| approval.spec.decision == Decision::Reject);
        assert_eq!(
            at_once.standing == Standing::Rejected,
            rejected,
            "round {round}: all at once, rejection wins"
        );
    }
    assert!(approved > 100, "{approved}: the rounds are worth something");
}
