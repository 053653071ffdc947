//! Scanning and typing of templates.

use serde_json::json;

use super::{eval_bool_condition, eval_json, eval_json_text, eval_string};
use crate::expr::{Env, Value};

fn typed(template: &str) -> serde_json::Value {
    let config = json!({ "x": template });
    match eval_json(&config, &Env::new()) {
        Ok(config) => config["x"].clone(),
        Err(why) => panic!("{template}: {}", why.full()),
    }
}

fn refused(template: &str) -> String {
    eval_json(&json!({ "x": [{ "y": template }] }), &Env::new())
        .unwrap_err()
        .full()
}

/// C58: types and braces in expressions.
#[test]
fn results_get_the_type_that_kargo_gives_them_c58() {
    for (template, want) in [
        ("${{ 42 }}", json!(42)),
        ("${{ quote(42) }}", json!("42")),
        ("${{ '42' }}", json!(42)),
        ("n-${{ 42 }}", json!("n-42")),
        ("${{ null }}", json!(null)),
        ("${{ {'a': 1} }}", json!({"a": 1})),
        ("${% '}}' %}", json!("}}")),
        ("42", json!("42")),
        ("true", json!("true")),
        ("${{ 'a' }}${{ 'b' }}", json!("ab")),
        ("${{ 'tru' }}e", json!(true)),
        ("${{ 't' }}", json!(true)),
        ("${{ '1234567' }}", json!(1_234_567)),
        ("${{ '12345e6' }}", json!(12_345_000_000_i64)),
        ("${{ quote('1234567') }}", json!("1234567")),
        ("${{ 1.5 }}", json!(1.5)),
        ("${{ 2 ** 62 }}", json!(4_611_686_018_427_388_000_i64)),
        (
            "${{ '9007199254740993' }}",
            json!(9_007_199_254_740_992_i64),
        ),
        ("${{ '1_000' }}", json!(1000)),
        ("${{ '0x1p4' }}", json!(16)),
        ("${{ '0x10' }}", json!("0x10")),
        ("${{ '1e999' }}", json!("1e999")),
        ("${{ '' }}", json!("")),
        ("${{ ' 1' }}", json!(1)),
        ("${{ [] }}", json!([])),
        ("${{ '\"x\"' }}", json!("x")),
        ("line\n${{ 1 }}\n", json!("line\n1\n")),
        ("${{ 1 }}\n", json!(1)),
        ("${{ 1 }}\n\n", json!(1)),
    ] {
        assert_eq!(typed(template), want, "{template}");
    }
}

#[test]
fn quoting_follows_go() {
    for (template, want) in [
        (r#"${{ quote("a\"b\n") }}"#, r#"a\"b\n"#),
        (
            "${{ quote('é\u{a0}\u{200b}😀\u{301}') }}",
            "é\\u00a0\\u200b😀\u{301}",
        ),
        ("${{ quote('\\x00\\x07') }}", "\\x00\\a"),
        ("${{ unsafeQuote('a') }}", "\"a\""),
        ("${{ quote({'k': '<'}) }}", "{\"k\":\"\\u003c\"}"),
        ("${{ asJSON([]) }}", "[]\n"),
        (
            "${{ asYAML({a: {b: [1, {c: ''}]}, d: 'yes', e: 'x: y', f: '1', g: 'a\\nb\\n'}) }}",
            "a:\n    b:\n        - 1\n        - c: \"\"\nd: \"yes\"\ne: 'x: y'\nf: \"1\"\ng: |\n    a\n    b\n",
        ),
    ] {
        assert_eq!(typed(template), json!(want), "{template}");
    }
}

/// C58: braces in expressions.
#[test]
fn an_expression_ends_at_the_first_end_c58() {
    for cut in ["${{ '}}' }}", "${{ {'a': {'b': 1}} }}"] {
        let message = refused(cut);
        assert!(
            message.contains("an expression ends at the first \"}}\""),
            "{message}"
        );
    }
    let message = refused("${{ 'a }}");
    assert!(message.contains("literal not terminated"), "{message}");
    assert!(!message.contains("ends at the first"), "{message}");
    assert_eq!(
        refused("a ${{ x"),
        "x[0].y: unclosed expression: expected \"}}\" but reached end of template"
    );
    assert_eq!(
        refused("${% x }}"),
        "x[0].y: unclosed expression: expected \"%}\" but reached end of template"
    );
}

#[test]
fn what_templates_write_has_a_limit() {
    let long = "${{ repeat('x', 999999) }}".repeat(40);
    let message = eval_string(&long, &Env::new()).unwrap_err().full();
    assert!(message.contains("too long"), "{message}");
}

#[test]
fn many_expressions_and_many_dollars_take_no_time() {
    let many = "${{ 1 }}$ ${".repeat(30_000);
    let begun = std::time::Instant::now();
    let got = eval_string(&many, &Env::new()).unwrap().value;
    assert_eq!(got.as_str().unwrap().len(), 5 * 30_000);
    assert!(begun.elapsed() < std::time::Duration::from_secs(20));
}

/// Kargo's scanner takes an empty expression for the end of all expressions.
#[test]
fn nothing_is_evaluated_after_an_empty_expression() {
    assert_eq!(typed("${{ 1 }}a${{}}b${{ 2 }}"), json!("1ab${{ 2 }}"));
    assert!(refused("${{ }}").contains("unexpected token EOF"));
}

#[test]
fn errors_name_path_expression_and_place() {
    assert_eq!(
        refused("v${{ a.b }}"),
        "x[0].y: cannot evaluate \"a.b\": cannot fetch b from <nil>: a is nil; there is no name \"a\" (1:4)\n |  a.b \n | ...^"
    );
    let message = refused("${{ 0 / 0 }}");
    assert!(message.contains("NaN"), "{message}");
    assert!(refused("${{ 'Inf' }}").contains("unsupported value: +Inf"));
}

#[test]
fn only_values_are_templates() {
    let config = json!({ "${{ 1 }}": [1, true, null, "${{ 1 }}", { "k": "${{ 2 }}" }] });
    let got = eval_json(&config, &Env::new()).unwrap();
    assert_eq!(got, json!({ "${{ 1 }}": [1, true, null, 1, { "k": 2 }] }));
    let why = eval_json_text("{ \"key\": ${{ true }} }", &Env::new()).unwrap_err();
    assert!(why.to_string().starts_with("input is not valid JSON"));
}

#[test]
fn a_condition_is_a_bool() {
    let env = Env::new();
    assert_eq!(eval_bool_condition("${{ 1 < 2 }}", &env), Ok(true));
    for condition in ["yes", "${{ 1 }}", "${{ nil }}", "true"] {
        let why = eval_bool_condition(condition, &env).unwrap_err();
        assert!(
            why.to_string().contains("must evaluate to a boolean"),
            "{why}"
        );
    }
}

#[test]
fn a_plain_string_is_left_alone() {
    let got = eval_string("$ { 42 }\n", &Env::new()).unwrap();
    assert_eq!(got.value, Value::from("$ { 42 }\n"));
    assert!(!got.from_secret);
}

#[test]
fn what_a_template_is_bound_to_become() {
    use super::{Outlook, outlook};
    let text = Outlook::Some("string");
    for (template, expected) in [
        ("plain", Outlook::Is(json!("plain"))),
        ("42", Outlook::Is(json!("42"))),
        ("${{ 42 }}", Outlook::Is(json!(42))),
        ("${{ '42' }}", Outlook::Is(json!(42))),
        ("${{ quote(x) }}", text.clone()),
        ("${{ a ? quote(x) : quote(y) }}\n", text.clone()),
        ("${{ a ? quote(x) : y }}", Outlook::Unknown),
        ("${{ a == b }}", Outlook::Some("boolean")),
        ("${{ len(x) }}", Outlook::Some("number")),
        ("${{ {'a': 1} }}", Outlook::Some("object")),
        ("${{ [x] }}", Outlook::Some("array")),
        ("${{ x }}", Outlook::Unknown),
        ("n-${{ x }}", text.clone()),
        ("./a/${{ x }}/b.yaml", text.clone()),
        ("${{ x }}: ${{ y }}.", Outlook::Unknown),
        ("${{ x }}.md", text.clone()),
        ("1.${{ x }}", Outlook::Unknown),
        ("tr${{ x }}", Outlook::Unknown),
        ("{${{ x }}}", Outlook::Unknown),
        ("{${{ x }}", Outlook::Unknown),
        ("v${{ x }}", text.clone()),
        ("-${{ x }}", Outlook::Unknown),
        ("${{ x", Outlook::Unknown),
    ] {
        assert_eq!(outlook(template), expected, "{template}");
    }
}

#[test]
fn the_pieces_of_a_template() {
    use super::{Piece, pieces};
    assert_eq!(
        pieces("a${{ b }}${% c %}d"),
        [
            Piece::Text("a"),
            Piece::Expression { text: " b ", at: 4 },
            Piece::Expression {
                text: " c ",
                at: 12
            },
            Piece::Text("d"),
        ]
    );
    assert_eq!(
        pieces("x${{}}${{ y }}"),
        [
            Piece::Text("x"),
            Piece::Empty { at: 1 },
            Piece::Text("${{ y }}")
        ]
    );
    assert_eq!(pieces("${{ a"), [Piece::Unclosed { at: 0, end: "}}" }]);
}
