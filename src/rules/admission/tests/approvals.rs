use super::*;

fn answer() -> Value {
    json!({
        "metadata": {"name": "r1-abc", "namespace": "shop"},
        "spec": {"request": "r1", "requestUid": "u1", "stage": "prod", "decision": "Approve", "digest": "d",
                 "user": "ann", "uid": "1001", "groups": ["leads"], "message": "looks fine"}
    })
}

fn with(pointer: &str, value: Value) -> Value {
    let mut object = answer();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[key] = value;
    object
}

#[test]
fn nobody_signs_for_another() {
    for (pointer, value, code, text) in [
        (
            "/spec/user",
            json!("bob"),
            403,
            "spec.user is not the requester",
        ),
        (
            "/spec/user",
            json!("Ann"),
            403,
            "spec.user is not the requester",
        ),
        ("/spec/uid", json!("1"), 403, "spec.uid"),
        (
            "/spec/groups",
            json!(["leads", "admins"]),
            403,
            "not in the group \"admins\"",
        ),
        ("/spec/impersonatedBy", json!("root"), 403, "impersonatedBy"),
        (
            "/metadata/ownerReferences",
            json!([{"kind": "Pod"}]),
            403,
            "has no ownerReferences",
        ),
        (
            "/metadata/finalizers",
            json!(["x/y"]),
            403,
            "has no finalizers",
        ),
    ] {
        let (got, message) =
            Write::create("approvals", with(pointer, value.clone())).refusal(&shop());
        assert!(
            got == code && message.contains(text),
            "{pointer} {value}: {got} {message}"
        );
        assert!(
            code != 403 || message.contains(POLICY),
            "a refusal by the policy names it: {message}"
        );
    }
    for object in [
        answer(),
        with("/spec/uid", json!("")),
        with("/spec/groups", json!([])),
    ] {
        let got = Write::create("approvals", object.clone())
            .admit(&shop())
            .unwrap();
        assert_eq!(got, object, "nothing is filled in");
    }
}

#[test]
fn impersonation_is_recorded_truly() {
    let stand_in = User {
        impersonated_by: Some("root".into()),
        ..ann()
    };
    let honest = with("/spec/impersonatedBy", json!("root"));
    assert!(
        Write::create("approvals", honest)
            .by(stand_in.clone())
            .admit(&shop())
            .is_ok()
    );
    let (code, message) = Write::create("approvals", answer())
        .by(stand_in)
        .refusal(&shop());
    assert!(
        code == 403 && message.contains("impersonatedBy"),
        "{message}"
    );
}

#[test]
fn the_verb_approve_is_asked_for() {
    let world = World {
        refused: vec![("approve", "prod")],
        ..shop()
    };
    let (code, message) = Write::create("approvals", answer()).refusal(&world);
    assert!(
        code == 403 && message.contains("may not approve"),
        "{message}"
    );
}

#[test]
fn an_answer_stays_as_it_is() {
    let (old, world) = (answer(), shop());
    let labelled = with("/metadata/labels", json!({"a": "b"}));
    assert!(
        Write::update("approvals", old.clone(), labelled)
            .admit(&world)
            .is_ok()
    );
    let held = with("/metadata/finalizers", json!(["x/y"]));
    let write = Write::update("approvals", old.clone(), held);
    assert_eq!(write.refusal(&world).0, 403);
    assert_eq!(
        write.by(executor()).refusal(&world).0,
        403,
        "not even by the executor"
    );
    let status = with("/status", json!({"counted": true})).clone();
    assert_eq!(
        Write::update("approvals", old.clone(), status.clone())
            .status()
            .refusal(&world)
            .0,
        403
    );
    assert!(
        Write::update("approvals", old.clone(), status)
            .status()
            .by(executor())
            .admit(&world)
            .is_ok()
    );
    assert_eq!(
        Write::delete("approvals", old.clone()).refusal(&world).0,
        403
    );
    for name in [
        EXECUTOR,
        "system:serviceaccount:kube-system:namespace-controller",
        "system:serviceaccount:kube-system:generic-garbage-collector",
    ] {
        let user = User {
            name: name.into(),
            ..User::default()
        };
        assert!(
            Write::delete("approvals", old.clone())
                .by(user)
                .admit(&world)
                .is_ok(),
            "{name}"
        );
    }
}

#[test]
fn questions_are_the_executors() {
    let world = shop();
    let question =
        json!({"metadata": {"name": "r1"}, "spec": {"stage": "prod", "minApprovals": 1}});
    let mut closed = question.clone();
    closed["status"] = json!({"phase": "Approved"});
    let mut other = question.clone();
    other["spec"]["minApprovals"] = 0.into();
    let create = || Write::create("approvalrequests", question.clone());
    let update =
        |object: &Value| Write::update("approvalrequests", question.clone(), object.clone());
    for write in [
        create(),
        update(&closed).status(),
        update(&other),
        Write::delete("approvalrequests", question.clone()),
    ] {
        assert_eq!(write.refusal(&world).0, 403);
    }
    assert!(create().by(executor()).admit(&world).is_ok());
    assert!(
        update(&closed)
            .status()
            .by(executor())
            .admit(&world)
            .is_ok()
    );
    assert!(
        Write::delete("approvalrequests", question.clone())
            .by(executor())
            .admit(&world)
            .is_ok()
    );
}

#[test]
fn a_late_answer_is_kept() {
    let closed = json!({"metadata": {"name": "r1", "uid": "u1"}, "status": {"phase": "Rejected"}});
    let world = shop().with("approvalrequests", "shop", closed);
    assert!(Write::create("approvals", answer()).admit(&world).is_ok());
}
