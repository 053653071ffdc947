//! Kargo's functions where the peer table says nothing: ambiguity, missing outputs, secrets, versions.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::{
    Commit, Context, FUNCTIONS, Freight, FreightView, GitNames, Lookups, NoLookups, Origin,
    STEP_FUNCTIONS, Scope, StepMeta, StepsView, Subscription, Var,
};
use crate::expr::{Env, Value, evaluate};

mod secrets;

fn scope(lookups: &dyn Lookups) -> Scope<'_> {
    Scope {
        context: Context::default(),
        promotion_vars: Vec::new(),
        step_vars: Vec::new(),
        outputs: BTreeMap::new(),
        steps: StepsView::default(),
        target: None,
        freight: FreightView::default(),
        lookups,
        now: None,
    }
}

fn var(name: &str, value: &str) -> Var {
    Var {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

fn meta(alias: &str, status: &str) -> StepMeta {
    StepMeta {
        alias: alias.to_owned(),
        status: status.to_owned(),
        ..StepMeta::default()
    }
}

fn one(scope: &Scope<'_>, template: &str) -> Result<Json, String> {
    let outcome = scope.config(&json!({ "x": template }));
    outcome
        .result
        .map(|config| config["x"].clone())
        .map_err(|why| why.full())
}

/// C59: output of a step that was skipped.
#[test]
fn a_missing_output_names_its_step_and_what_became_of_it_c59() {
    let mut scope = scope(&NoLookups);
    scope.steps = StepsView {
        current_alias: "task::pr".to_owned(),
        metas: vec![meta("push", "Skipped"), meta("task::merge", "Errored")],
    };
    for (template, want) in [
        ("${{ outputs.push.branch }}", "step \"push\" was skipped"),
        ("${{ outputs['push'].branch }}", "step \"push\" was skipped"),
        (
            "${{ task.outputs.merge.id }}",
            "step \"task::merge\" ended in an error",
        ),
        (
            "${{ outputs.nope.branch }}",
            "there is no output of a step \"nope\"",
        ),
    ] {
        let message = one(&scope, template).unwrap_err();
        assert!(message.contains(want), "{template}: {message}");
    }
    let message = one(&scope, "${{ outputs.push.branch }}").unwrap_err();
    assert!(
        message.contains("cannot fetch branch from <nil>: outputs.push is nil"),
        "{message}"
    );
    assert_eq!(
        one(&scope, "${{ outputs.push?.branch ?? 'main' }}"),
        Ok(json!("main"))
    );
}

/// C41: a message made of a step that changed nothing, which puts one out all the same; and of one that put out none.
#[test]
fn a_commit_message_of_a_step_that_changed_nothing_c41() {
    let mut scope = scope(&NoLookups);
    scope.steps.metas = vec![meta("update", "Succeeded"), meta("other", "Skipped")];
    let output = Value::map([("commitMessage", Value::from("Updated image to v1"))]);
    scope.outputs.insert("update".to_owned(), output);
    assert_eq!(
        one(&scope, "${{ outputs.update.commitMessage }}"),
        Ok(json!("Updated image to v1"))
    );
    let message = one(&scope, "${{ outputs.other.commitMessage }}").unwrap_err();
    assert!(message.contains("step \"other\" was skipped"), "{message}");
    let message = one(&scope, "${{ upper(outputs.update.commitMesage) }}");
    assert!(message.is_err());
}

#[test]
fn a_misspelt_name_is_told_what_was_meant() {
    let mut scope = scope(&NoLookups);
    scope.context.project = "shop".to_owned();
    scope.promotion_vars = vec![var("imageTag", "v1")];
    scope
        .outputs
        .insert("push".to_owned(), Value::map::<&str>([]));
    scope.steps.metas = vec![meta("push", "Succeeded")];
    for (template, words) in [
        (
            "${{ vars.imageTga.x }}",
            "vars.imageTga is nil; there is no var \"imageTga\"; did you mean imageTag?",
        ),
        (
            "${{ outputs.psh.x }}",
            "there is no output of a step \"psh\"; did you mean push?",
        ),
        (
            "${{ stepMetas.pusch.Status }}",
            "there is no step \"pusch\" before this one; did you mean push?",
        ),
        (
            "${{ ctx.prject.x }}",
            "ctx has no prject; did you mean project?",
        ),
        (
            "${{ ctx.targetFreight.orgin.name }}",
            "ctx.targetFreight has no orgin; did you mean origin?",
        ),
        (
            "${{ var.imageTag }}",
            "there is no name \"var\"; did you mean vars?",
        ),
        ("${{ imgeFrom('x') }}", "did you mean imageFrom()?"),
        ("${{ succes() }}", "did you mean success()?"),
        ("${{ qoute('x') }}", "did you mean quote()?"),
        ("${{ uper('x') }}", "did you mean upper()?"),
        ("${{ stepMetas.push.status }}", "did you mean Status?"),
        (
            "${{ task.outputs.x }}",
            "only a step that came from a task has it",
        ),
        ("${{ target.params }}", "the promotion has no target"),
    ] {
        let message = one(&scope, template).unwrap_err();
        assert!(message.contains(words), "{template}: {message}");
    }
    // What a `let` names is nobody's misspelling.
    let message = one(&scope, "${{ let var = nil; var.x }}").unwrap_err();
    assert!(!message.contains("did you mean"), "{message}");
}

/// The expressions of http and the parse steps have no delimiters, and nothing of Kargo's.
#[test]
fn a_raw_expression_has_the_language_alone() {
    let env = Env::new().with("response", Value::map([("status", Value::Int(200))]));
    assert_eq!(
        evaluate("response.status == 200", &env),
        Ok(Value::Bool(true))
    );
    for name in FUNCTIONS.iter().chain(&STEP_FUNCTIONS).chain(&["asJSON"]) {
        let why = evaluate(&format!("{name}('x')"), &env).unwrap_err();
        assert!(why.to_string().contains("unknown name"), "{why}");
    }
    let why = evaluate("quote('x')", &env).unwrap_err().to_string();
    assert!(why.contains("it works in templates (${{ }}) only"), "{why}");
}

#[test]
fn vars_see_what_comes_before_them() {
    let mut scope = scope(&NoLookups);
    scope.outputs.insert("a".to_owned(), Value::from("out"));
    scope.promotion_vars = vec![var("one", "${{ 1 }}"), var("two", "${{ vars.one + 1 }}")];
    scope.step_vars = vec![var("one", "${{ outputs.a }}-${{ vars.two }}")];
    assert_eq!(one(&scope, "${{ vars.one }}"), Ok(json!("out-2")));

    scope.promotion_vars.push(var("early", "${{ outputs.a }}"));
    let message = one(&scope, "x").unwrap_err();
    assert!(message.contains("the var \"early\""), "{message}");
    assert!(
        message.contains("outputs is nil; the promotion's vars come before all steps"),
        "{message}"
    );
    scope.promotion_vars = vec![var("status", "${{ success() }}")];
    let message = one(&scope, "x").unwrap_err();
    assert!(message.contains("unknown name success"), "{message}");
}

/// `task.outputs` holds the outputs of the step's own task only.
#[test]
fn a_task_sees_its_own_outputs() {
    let mut scope = scope(&NoLookups);
    for alias in ["plain", "mine::a", "other::b", "mine::c::d"] {
        scope.outputs.insert(alias.to_owned(), Value::from(alias));
    }
    assert_eq!(one(&scope, "${{ task }}"), Ok(json!(null)));
    scope.steps.current_alias = "mine::z".to_owned();
    assert_eq!(
        one(&scope, "${{ task.outputs }}"),
        Ok(json!({ "a": "mine::a" }))
    );
    assert_eq!(
        one(&scope, "${{ outputs['other::b'] }}"),
        Ok(json!("other::b"))
    );
}

#[test]
fn a_failure_counts_unless_it_is_forgiven() {
    let mut scope = scope(&NoLookups);
    let mut forgiven = meta("a", "Failed");
    forgiven.continue_on_error = true;
    scope.steps.metas = vec![forgiven, meta("b", "Skipped")];
    assert_eq!(scope.should_run(None).result, Ok(true));
    scope.steps.metas.push(meta("c", "Errored"));
    assert_eq!(scope.should_run(Some("")).result, Ok(false));
    let condition = "${{ always() && failure() && !success() && status('a') == 'Failed' }}";
    assert_eq!(scope.should_run(Some(condition)).result, Ok(true));
    assert_eq!(
        one(
            &scope,
            "${{ stepMetas.c.Status }} ${{ stepMetas.a.ErrorCount }}"
        ),
        Ok(json!("Errored 0"))
    );
}

fn commit_view(warehouses: &[&str]) -> FreightView {
    let origin = |name: &&str| Origin {
        kind: "Warehouse".to_owned(),
        name: (*name).to_owned(),
    };
    FreightView {
        requested: warehouses.iter().map(origin).collect(),
        warehouses: warehouses
            .iter()
            .map(|name| {
                let repo_url = "https://Host/Repo.git".to_owned();
                ((*name).to_owned(), vec![Subscription::Git { repo_url }])
            })
            .collect(),
        freight: warehouses
            .iter()
            .map(|name| Freight {
                origin: origin(name),
                commits: vec![Commit {
                    repo_url: "https://host/repo".to_owned(),
                    id: format!("id-of-{name}"),
                    ..Commit::default()
                }],
                ..Freight::default()
            })
            .collect(),
        git_names: GitNames(|url| url.to_lowercase().trim_end_matches(".git").to_owned()),
    }
}

#[test]
fn two_possible_origins_need_one_to_be_named() {
    let mut scope = scope(&NoLookups);
    scope.freight = commit_view(&["w1"]);
    assert_eq!(
        one(&scope, "${{ commitFrom('https://host/repo.git').ID }}"),
        Ok(json!("id-of-w1"))
    );
    assert_eq!(
        one(&scope, "${{ commitFrom('https://other') }}"),
        Ok(json!(null))
    );
    scope.freight = commit_view(&["w1", "w2"]);
    let message = one(&scope, "${{ commitFrom('https://host/repo').ID }}").unwrap_err();
    assert!(
        message.contains("provide a Freight origin to disambiguate"),
        "{message}"
    );
    let template = "${{ commitFrom('https://host/repo', warehouse('w2')).ID }}";
    assert_eq!(one(&scope, template), Ok(json!("id-of-w2")));
    scope.freight.warehouses.clear();
    let message = one(&scope, "${{ imageFrom('x') }}").unwrap_err();
    assert!(message.contains("Warehouse \"w1\" not found"), "{message}");
}

#[test]
fn versions() {
    let scope = scope(&NoLookups);
    for (template, want) in [
        (
            "${{ quote(semverParse('v1.2.3-rc.1+b').IncPatch().String()) }}",
            json!("1.2.3"),
        ),
        (
            "${{ quote(semverParse('1.2').IncMinor().String()) }}",
            json!("1.3.0"),
        ),
        ("${{ semverParse('1.2.3').Major() }}", json!(1)),
        (
            "${{ semverParse('1.10.0').GreaterThan(semverParse('1.9.0')) }}",
            json!(true),
        ),
        (
            "${{ semverParse('1.2.3-rc.1').Prerelease() }}",
            json!("rc.1"),
        ),
        ("${{ semverDiff('1.2.3', '1.2.4') }}", json!("Patch")),
        ("${{ semverDiff('1.2.3.4', '1') }}", json!("Incomparable")),
    ] {
        assert_eq!(one(&scope, template), Ok(want), "{template}");
    }
}
