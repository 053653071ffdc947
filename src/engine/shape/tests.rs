use serde_json::json;

use super::{check::is_email, *};

#[test]
fn every_problem_names_its_field() {
    let shape: Shape = Object::new()
        .required("path", some_text())
        .optional("tries", Shape::Integer { min: Some(1) })
        .optional("how", Shape::OneOf(&["a", "b"]))
        .optional(
            "items",
            list(
                Object::new()
                    .optional("x", text())
                    .optional("y", text())
                    .at_most_one(&["x", "y"]),
                1,
            ),
        )
        .into();
    let cases = [
        (json!(null), vec!["(root): path is required"]),
        (
            json!({"path": "p", "tries": 42.0, "how": "a", "items": [{"x": "", "y": "1"}, {"x": null, "y": null}]}),
            vec![],
        ),
        (
            json!({"path": "p", "tries": 4.5}),
            vec!["tries: Invalid type. Expected: integer, given: number"],
        ),
        (
            json!({"path": "p", "tries": "4"}),
            vec!["tries: Invalid type. Expected: integer, given: string"],
        ),
        (
            json!({"path": "p", "tries": 0}),
            vec!["tries: Must be greater than or equal to 1"],
        ),
        (
            json!({"path": "p", "how": "c"}),
            vec!["how: how must be one of the following: \"a\", \"b\""],
        ),
        (
            json!({"path": null}),
            vec!["path: Invalid type. Expected: string, given: null"],
        ),
        (
            json!({"paht": "p", "path": "p"}),
            vec!["(root): Additional property paht is not allowed; did you mean path?"],
        ),
        (
            json!({"path": "p", "items": [{}, {"x": "1", "y": "2"}]}),
            vec![
                "items.1: Must validate one and only one schema (oneOf): x and y are given, and only one of x, y may be",
            ],
        ),
        (
            json!({"path": "p", "items": [{"z": 1}]}),
            vec!["items.0: Additional property z is not allowed; fields: x, y"],
        ),
        (
            json!([1]),
            vec!["(root): Invalid type. Expected: object, given: array"],
        ),
    ];
    for (config, problems) in cases {
        assert_eq!(shape.check(&config), problems, "{config}");
    }
}

#[test]
fn addresses() {
    for (text, good) in [
        ("a@b", true),
        ("", false),
        ("@b", false),
        ("a@", false),
        ("a b@c", false),
        ("<a@b>", false),
    ] {
        assert_eq!(is_email(text), good, "{text}");
    }
}

#[test]
fn a_template_is_checked_as_far_as_it_tells() {
    let shape: Shape = Object::new()
        .required("path", some_text())
        .optional("tries", Shape::Integer { min: Some(1) })
        .optional("flag", Shape::Flag)
        .optional("how", Shape::OneOf(&["a", "b"]))
        .optional("list", list(text(), 1))
        .optional("value", Shape::Scalar)
        .optional("x", text())
        .optional("y", text())
        .exactly_one(&["x", "y"])
        .into();
    let cases = [
        (
            json!({"path": "${{ a }}", "tries": "${{ b }}", "flag": "${{ c }}", "list": "${{ d }}", "x": "${{ e }}"}),
            vec![],
        ),
        (
            json!({"path": "p", "tries": "n-${{ b }}", "y": "z"}),
            vec!["tries: Invalid type. Expected: integer, given: string"],
        ),
        (
            json!({"path": "p", "tries": "${{ quote(b) }}", "y": "z"}),
            vec!["tries: Invalid type. Expected: integer, given: string"],
        ),
        (
            json!({"path": "p", "tries": "${{ 0 }}", "y": "z"}),
            vec!["tries: Must be greater than or equal to 1"],
        ),
        (
            json!({"path": "${{ a == b }}", "y": "z"}),
            vec!["path: Invalid type. Expected: string, given: boolean"],
        ),
        (
            json!({"path": "p", "list": ["${{ [a] }}"], "y": "z"}),
            vec!["list.0: Invalid type. Expected: string, given: array"],
        ),
        (
            json!({"path": "p", "how": "${{ quote('c') }}", "y": "z", "value": "${{ a }}"}),
            vec![],
        ),
        (
            json!({"path": "p", "how": "c${{ 1 }}", "y": "z", "value": "${{ {a: 1} }}"}),
            vec!["value: Invalid type. Expected: string, number, boolean or null, given: object"],
        ),
        (json!({"path": "p", "x": "1", "y": "${{ z }}"}), vec![]),
        (
            json!({"path": "p"}),
            vec!["(root): Must validate one and only one schema (oneOf): give one of x, y"],
        ),
    ];
    for (config, problems) in cases {
        let found: Vec<String> = shape
            .check_template(&config)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, problems, "{config}");
    }
}
