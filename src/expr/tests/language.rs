//! The grammar and what it means, beyond the peer tables.

use crate::expr::value::{Field, Object, Record};
use crate::expr::{Env, Value, evaluate, parse};

fn env() -> Env<'static> {
    Env::new()
        .with(
            "app",
            Value::from_json(&serde_json::json!({
                "name": "web", "replicas": 3, "tags": ["a", "b"], "null": null
            })),
        )
        .with("n", Value::Int(7))
        .with(
            "commit",
            Value::Record(
                Record {
                    type_name: "v1alpha1.GitCommit",
                    fields: vec![Field {
                        name: "ID",
                        json: "id",
                        omit_empty: true,
                        value: Value::from("abcdef0123"),
                    }],
                }
                .into(),
            ),
        )
}

#[track_caller]
fn gives(source: &str, want: &str) {
    let got = match evaluate(source, &env()) {
        Ok(value) => value.to_text().unwrap(),
        Err(why) => panic!("{source}: {why}"),
    };
    assert_eq!(got, want, "{source}");
}

#[track_caller]
fn fails(source: &str, want: &str) {
    match evaluate(source, &env()) {
        Ok(value) => panic!("{source} gives {value:?}"),
        Err(why) => assert_eq!(why.to_string(), want, "{source}"),
    }
}

#[test]
fn literals() {
    gives("0x_ff + 0b1_0 + 0o17 + 1_000", "1272");
    gives("1.5e3", "1500");
    gives("[.5, 1., 2]", "[0.5,1,2]");
    gives(
        r#""tab\t\"q\" \x41\u00e9\U0001F600\101 \u{1F600} \ud83d""#,
        "tab\t\"q\" Aé😀A 😀 \u{fffd}",
    );
    gives("`raw \\n 'x'`", "raw \\n 'x'");
}

#[test]
fn comments_and_layout() {
    gives("1 /* one */ + // two\n 2", "3");
    gives("\n\t n \n", "7");
    fails(
        "1 /* open",
        "unclosed comment (1:9)\n | 1 /* open\n | ........^",
    );
}

#[test]
fn precedence() {
    gives("1 + 2 * 3 ** 2 ** 0.5 > 1 and not false", "true");
    gives("-2 ** 2", "-4");
    gives("2 ** 3 ** 2", "512");
    gives("10 - 3 - 2", "5");
    gives("7 % 4 * 2", "6");
    gives("not (n in [1, 2]) && n not in 1..3", "true");
    gives("n > 1 ? 'big' : n > 0 ? 'small' : 'none'", "big");
    gives("nil ?? nil ?? 'x'", "x");
    gives("true || missing.anything", "true");
    gives("1 < 2 < 3 && !(3 > 2 > 2)", "true");
}

#[test]
fn members_slices_and_chains() {
    gives("app.tags[-1] + app['name'] + app?.name", "bwebweb");
    gives("app.missing ?? 'none'", "none");
    gives("app.missing?.deep.deeper ?? 'none'", "none");
    gives("missing?.[0]?.x ?? 'none'", "none");
    gives("commit.ID[:7]", "abcdef0");
    gives("'abc'[1:] + 'abc'[:-1]", "bcab");
    gives("app.tags | map(upper(#)) | join('-')", "A-B");
}

#[test]
fn predicates_lets_and_branches() {
    gives(
        "filter(1..9, {# % 3 == 0}) | map(#index * 10 + #)",
        "[3,16,29]",
    );
    gives("map([{a: 1}, {a: 2}], .a)", "[1,2]");
    gives("reduce(1..4, #acc * #, 1)", "24");
    gives("let x = 2; let y = x * x; [x, y]", "[2,4]");
    gives(
        "if n == 7 { 'seven' } else if n == 8 { 'eight' } else { 'many' }",
        "seven",
    );
    gives("1; 2; n", "7");
    gives("true ?: 1", "true");
    gives("sortBy([{n: 2}, {n: 1}], .n, 'desc') | map(.n)", "[2,1]");
}

#[test]
fn errors_name_the_place_and_what_was_nil() {
    fails(
        "app.owner.name",
        "cannot fetch name from <nil>: app.owner is nil (1:11)\n | app.owner.name\n | ..........^",
    );
    fails(
        "n +\n  app.tags.first",
        "cannot use string as an index of an array (2:12)\n |   app.tags.first\n | ...........^",
    );
    fails(
        "commit.Id",
        "v1alpha1.GitCommit has no field Id; did you mean ID? (1:8)\n | commit.Id\n | .......^",
    );
    fails(
        "1 + 'a'",
        "invalid operation: + (mismatched types int and string) (1:3)\n | 1 + 'a'\n | ..^",
    );
    fails(
        "nope(1)",
        "unknown name nope: there is no such function; did you mean none()? (1:1)\n | nope(1)\n | ^",
    );
    fails(
        "'é' + 1 +",
        "unexpected token EOF (1:9)\n | 'é' + 1 +\n | ........^",
    );
    fails("now()", "the time is not known here (1:1)\n | now()\n | ^");
    fails("'abc", "literal not terminated (1:4)\n | 'abc\n | ...^");
    fails("§", "unrecognized character: U+00A7 '§' (1:1)\n | §\n | ^");
}

#[test]
fn a_parse_error_is_known_before_evaluation() {
    let why = parse("len(1, 2)").unwrap_err();
    assert_eq!(
        why.message,
        "invalid number of arguments (expected 1, got 2)"
    );
    assert_eq!((why.place.line, why.place.column), (1, 1));
    assert!(parse("'a' == 1").is_err());
    assert!(parse("app.name == 1").is_ok());
}

#[test]
fn texts_are_written_as_go_writes_them() {
    gives(
        "string(1e6) + ' ' + string(123456.0) + ' ' + string(0.00001)",
        "1e+06 123456 1e-05",
    );
    gives("string([1, 'a', nil, {b: 2.5}])", "[1 a <nil> map[b:2.5]]");
    gives(
        "toJSON({b: '<&>', a: [], c: {}})",
        "{\n  \"a\": [],\n  \"b\": \"\\u003c\\u0026\\u003e\",\n  \"c\": {}\n}",
    );
    gives(
        "[1e21, 1e-7, 100000000000000000000.0]",
        "[1e+21,1e-7,100000000000000000000]",
    );
    gives(
        "string(duration('90m1.5s')) + ' ' + string(duration('1500us'))",
        "1h30m1.5s 1.5ms",
    );
    gives("commit", "{\"id\":\"abcdef0123\"}");
    gives("fromJSON('{\"a\":[1,2.5,null]}').a", "[1,2.5,null]");
}

#[test]
fn dates() {
    gives(
        "date('2024-02-29').AddDate(1, 0, 1).Format('Mon, 02 Jan 2006')",
        "Sun, 02 Mar 2025",
    );
    gives(
        "date('2024-01-31').AddDate(-1, 1, 0).Format('2006-01-02')",
        "2023-03-03",
    );
    gives(
        "date('5.6.24 7:08,25', '2.1.06 15:04,00').Format('2006-01-02')",
        "2024-06-05",
    );
    gives("(date('2024-03-01') - date('2024-02-28')).Hours()", "48");
    gives(
        "date('2024-05-06T07:08:09.123456789Z').Format('3:04:05.000 PM')",
        "7:08:09.123 AM",
    );
    gives(
        "date('2024-05-06 07:08:09') + duration('1h')",
        "\"2024-05-06T08:08:09Z\"",
    );
    gives("date('06/05/24 11PM', '02/01/06 3PM').Unix()", "1715036400");
    gives("date('2024-05-06') < date('2024-05-07')", "true");
    let now: jiff::Zoned = "2024-05-06T12:00:00+00:00[UTC]".parse().unwrap();
    let env = Env::new().at(now);
    let got = evaluate("now().Format('2006-01-02')", &env).unwrap();
    assert_eq!(got, Value::from("2024-05-06"));
}

#[test]
fn patterns() {
    gives("'v1.2.3' matches '^v\\\\d+'", "true");
    gives("map(['a1', 'b'], # matches '[0-9]')", "[true,false]");
    assert!(evaluate("'a' matches '('", &env()).is_err());
}

#[test]
fn split_and_replace_at_their_edges() {
    gives("split('', ',')", "[\"\"]");
    gives("split('abc', '')", "[\"a\",\"b\",\"c\"]");
    gives("split('a,b,c', ',', 1)", "[\"a,b,c\"]");
    gives("split('a,b', ',', 0)", "[]");
    gives("splitAfter('a,b,', ',')", "[\"a,\",\"b,\",\"\"]");
    gives("replace('abc', '', '-')", "-a-b-c-");
    gives("replace('aaa', 'a', 'b', -1)", "bbb");
    gives(
        "repeat('ab', fromJSON('2')) + 'abcd'[:fromJSON('2')]",
        "ababab",
    );
    gives("trim('xxaxx', 'x') + trimPrefix('  a')", "a a");
    gives(
        "upper('straße') + lower('ΑΣ')",
        "STRAßEας".replace('ς', "σ").as_str(),
    );
}

/// What `http` offers its expressions: fields and a method on one value.
#[derive(Debug)]
struct Response;

impl Object for Response {
    fn type_name(&self) -> &str {
        "response"
    }
    fn field(&self, name: &str) -> Option<Value> {
        (name == "status").then_some(Value::Int(200))
    }
    fn call(&self, method: &str, arguments: &[Value]) -> Option<Result<Value, String>> {
        match (method, arguments) {
            ("header", [Value::Str(name)]) => Some(Ok(Value::from(format!("<{name}>")))),
            ("header", _) => Some(Err("a header has a name".to_owned())),
            _ => None,
        }
    }
    fn marshal(&self) -> Value {
        Value::map([("status", Value::Int(200))])
    }
}

#[test]
fn a_host_value_has_fields_and_methods() {
    let env = Env::new().with("response", Value::Object(std::sync::Arc::new(Response)));
    let text = |source: &str| match evaluate(source, &env) {
        Ok(value) => value.to_text().unwrap(),
        Err(why) => why.to_string(),
    };
    assert_eq!(
        text("response.status == 200 && response.header('X') == '<X>'"),
        "true"
    );
    assert_eq!(text("response"), "{\"status\":200}");
    assert!(text("response.header(1)").starts_with("a header has a name (1:10)"));
    assert!(text("response.body").starts_with("cannot fetch body from response"));
    assert!(text("response.close()").starts_with("type response has no method close"));
}

#[test]
fn mistakes_in_types_show_where_they_would_never_be_reached() {
    fails(
        "false && (1 + 'a')",
        "invalid operation: + (mismatched types int and string) (1:13)\n | false && (1 + 'a')\n | ............^",
    );
    fails(
        "n > 1 ? 'x' : len(1)",
        "invalid argument for len (type int) (1:15)\n | n > 1 ? 'x' : len(1)\n | ..............^",
    );
    fails(
        "map([1], # + 'a')",
        "invalid operation: + (mismatched types int and string) (1:12)\n | map([1], # + 'a')\n | ...........^",
    );
    // What a variable holds is not known before.
    gives("false && (n + 'a')", "false");
}

#[test]
fn what_literals_decide_is_not_evaluated() {
    gives("app.null.name == 1 and false", "false");
    gives("app.null.name == 1 or true", "true");
    gives("filter([1, n, app], # > 0)[0]", "1");
    gives("count([1, n, app], # > 0) > 0", "true");
    gives("sum([app.name, '!'])", "web!");
}

#[test]
fn of_a_very_long_line_only_a_part_is_shown() {
    let source = format!("{} + * + {}", "n + n", "n + ".repeat(2_000));
    let message = evaluate(&source, &env()).unwrap_err().to_string();
    assert!(message.len() < 1_000, "{}", message.len());
    let far = format!("{} * ", "n + ".repeat(2_000));
    let message = evaluate(&far, &env()).unwrap_err().to_string();
    let lines: Vec<&str> = message.lines().collect();
    let caret = lines[2].find('^').unwrap();
    assert_eq!(lines[1].as_bytes()[caret], b'*', "{message}");
}
