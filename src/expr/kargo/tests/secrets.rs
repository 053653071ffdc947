//! Look-ups, and what came from a secret.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::super::{Answer, Lookups, Prefetched, Question};
use super::{one, scope, var};
use crate::expr::HostError;

struct Vault;

impl Lookups for Vault {
    fn config_map(&self, _: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        Ok(Some(BTreeMap::from([(
            "mode".to_owned(),
            "plain".to_owned(),
        )])))
    }
    fn secret(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        if name != "db" {
            return Ok(None);
        }
        let data = [("password", "s3cret-word"), ("pin", "12")];
        Ok(Some(
            data.into_iter()
                .map(|(key, text)| (key.to_owned(), text.to_owned()))
                .collect(),
        ))
    }
    fn shared_config_map(&self, _: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        Err(HostError::new("forbidden"))
    }
    fn shared_secret(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, HostError> {
        self.secret(name)
    }
    fn freight_metadata(&self, _: &str) -> Result<Option<Json>, HostError> {
        Ok(None)
    }
    fn freight_status(&self, _: &str) -> Result<Option<Json>, HostError> {
        Ok(None)
    }
    fn stage_metadata(&self, _: &str) -> Result<Option<Json>, HostError> {
        Ok(Some(json!({ "window": 5 })))
    }
}

/// C52: what came from a secret is known, also after it was changed or went through a var.
#[test]
fn everything_made_of_a_secret_is_reported() {
    let mut scope = scope(&Vault);
    scope.promotion_vars = vec![
        var("token", "${{ secret('db').password }}"),
        var("plain", "${{ configMap('c').mode }}"),
    ];
    let config = json!({
        "header": "Basic ${{ toBase64('me:' + vars.token) }}",
        "mode": "${{ vars.plain }}-mode",
        "all": "${{ toBase64(toJSON(vars)) }}",
    });
    let outcome = scope.config(&config);
    let config = outcome.result.unwrap();
    for made in [
        "s3cret-word",
        config["header"].as_str().unwrap(),
        config["all"].as_str().unwrap(),
    ] {
        assert!(
            outcome.secrets.iter().any(|secret| secret == made),
            "{made}"
        );
    }
    assert!(
        !outcome
            .secrets
            .iter()
            .any(|secret| secret.contains("plain-mode"))
    );
    assert!(!outcome.secrets.iter().any(|secret| secret == "12"));

    let outcome = scope.config(&json!({ "x": "${{ int(vars.token) }}" }));
    let message = outcome.result.unwrap_err().full();
    assert!(!message.contains("s3cret-word"), "{message}");
    assert!(outcome.secrets.contains(&"s3cret-word".to_owned()));
}

/// Whatever its length and type, and whatever was made of it.
#[test]
fn a_shown_configuration_and_an_error_keep_secrets_to_themselves() {
    let db = BTreeMap::from([
        ("pin".to_owned(), "7".to_owned()),
        ("password".to_owned(), "hunter22".to_owned()),
    ]);
    let mut answers = Prefetched::new();
    answers.answer(Question::Secret("db".to_owned()), Answer::Data(Some(db)));
    let mut scope = scope(&answers);
    scope.promotion_vars = vec![var("pin", "${{ secret('db').pin }}"), var("open", "8")];
    let config = json!({
        "pin": "${{ vars.pin }}",
        "url": "https://me:${{ secret('db').password }}@host/${{ vars.open }}",
        "list": ["${{ vars.open }}", { "all": "${{ vars }}" }],
        "len": "${{ len(secret('db').password) }}",
        "plain": "text",
    });
    let (shown, _) = scope.config_hiding(&config).result.unwrap();
    let want = json!({
        "pin": "***",
        "url": "https://me:***@host/8",
        "list": [8, { "all": "***" }],
        "len": "***",
        "plain": "text",
    });
    assert_eq!(shown, want);
    let real = scope.config(&config).result.unwrap();
    assert_eq!((&real["pin"], &real["len"]), (&json!(7), &json!(8)));

    for template in [
        "${{ date(upper(secret('db').password)) }}",
        "${{ date(secret('db').password[1:]) }}",
        "${{ 'x' matches ('[' + lower(secret('db').password)) }}",
        "${{ fromJSON(secret('db').password + '!') }}",
        "${{ int(secret('db').password[0:5]) }}",
        "${{ duration(secret('db').password) }}",
        "${{ secret('db').password.field }}",
        "${{ configMap(secret('db').password) }}",
    ] {
        let outcome = scope.config(&json!({ "x": template }));
        let message = outcome.result.unwrap_err().full().to_lowercase();
        let told = message.replace("hunter22", "");
        assert!(
            !told.contains("hunt") && !told.contains("unter"),
            "{template}: {message}"
        );
    }
}

#[test]
fn lookups_read_like_go_maps_and_keep_their_errors() {
    let scope = scope(&Vault);
    assert_eq!(
        one(&scope, "${{ quote(secret('none').missing) }}"),
        Ok(json!(""))
    );
    assert_eq!(
        one(&scope, "${{ stageMetadata('s').window + 1 }}"),
        Ok(json!(6))
    );
    let message = one(&scope, "${{ sharedConfigMap('c').mode }}").unwrap_err();
    assert!(
        message.contains("sharedConfigMap(): forbidden"),
        "{message}"
    );
}

#[test]
fn an_evaluation_says_what_to_fetch_before_it_can_succeed() {
    let template = "${{ secret(configMap('names').secret).token + stageMetadata('s').suffix }}";
    let mut fetched = Prefetched::new();
    let mut asked = Vec::new();
    let result = loop {
        let result = one(&scope(&fetched), template);
        let missing = fetched.missing();
        if missing.is_empty() {
            break result;
        }
        for question in missing {
            let answer = match &question {
                Question::ConfigMap(_) => Answer::Data(Some(BTreeMap::from([(
                    "secret".to_owned(),
                    "db".to_owned(),
                )]))),
                Question::Secret(_) => Answer::Data(Some(BTreeMap::from([(
                    "token".to_owned(),
                    "abc".to_owned(),
                )]))),
                _ => Answer::Json(Some(json!({ "suffix": "!" }))),
            };
            asked.push(question.clone());
            fetched.answer(question, answer);
        }
    };
    assert_eq!(result, Ok(json!("abc!")));
    let want = [
        Question::ConfigMap("names".to_owned()),
        Question::Secret("db".to_owned()),
        Question::StageMetadata("s".to_owned()),
    ];
    assert_eq!(asked, want);
}
