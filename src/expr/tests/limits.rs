//! No expression may exhaust the stack, the memory or the time of the process.

use std::time::{Duration, Instant};

use crate::expr::{Env, Value, evaluate};

/// On a stack far smaller than any thread of the program has.
fn on_small_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(1 << 20)
            .spawn_scoped(scope, work)
            .unwrap()
            .join()
            .unwrap()
    })
}

fn outcome(source: &str) -> Result<Value, String> {
    on_small_stack(|| evaluate(source, &Env::new()).map_err(|why| why.to_string()))
}

#[track_caller]
fn refused(source: &str, why: &str) {
    let started = Instant::now();
    let message = outcome(source).unwrap_err();
    assert!(message.contains(why), "{message}");
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn nesting_of_any_kind_is_refused_not_fatal() {
    for (open, middle, close) in [
        ("(", "1", ")"),
        ("[", "", "]"),
        ("{a:", "1", "}"),
        ("-", "1", ""),
        ("not ", "true", ""),
        ("map(x, ", "1", ")"),
        ("len(", "x", ")"),
        ("x[", "0", "]"),
        ("x ? 1 : ", "2", ""),
        ("if x { 1 } else ", "{ 2 }", ""),
        ("if x { ", "1", " } else { 2 }"),
        ("let a = 1; ", "2", ""),
        ("2 ** ", "2", ""),
    ] {
        let source = format!("{}{middle}{}", open.repeat(20_000), close.repeat(20_000));
        let message = outcome(&source).unwrap_err();
        let known = message.contains("nested too deeply") || message.contains("too many parts");
        assert!(
            known || message.contains("unexpected token"),
            "{open}: {message:.200}"
        );
    }
    for chain in [".a", "[0]", "?.a", " | len()", "[:]", " ? 1 : 2", " ?: 2"] {
        let source = format!("x{}", chain.repeat(20_000));
        assert!(outcome(&source).is_err(), "{chain}");
    }
}

#[test]
fn what_is_nested_as_deep_as_allowed_runs_on_a_small_stack() {
    let deep = |open: &str, middle: &str, close: &str| {
        let source = format!("{}{middle}{}", open.repeat(45), close.repeat(45));
        outcome(&source).unwrap()
    };
    deep("[", "1", "]");
    deep("(", "1", ")");
    deep("{a: ", "1", "}");
    deep("-", "1", "");
    deep("map([1], ", "1", ")");
    deep("if true { ", "1", " } else { 2 }");
    deep("max(1, ", "2", ")");
}

#[test]
fn long_flat_expressions_are_fine() {
    let sum = vec!["1"; 4_000].join(" + ");
    assert_eq!(outcome(&sum), Ok(Value::Int(4_000)));
    let list = format!("len([{}])", vec!["1"; 9_000].join(","));
    assert_eq!(outcome(&list), Ok(Value::Int(9_000)));
    let endless = vec!["1"; 20_000].join(" + ");
    refused(&endless, "too many parts");
}

#[test]
fn memory_and_time_are_budgets() {
    refused("1..9999999999", "memory budget exceeded");
    refused("map(1..1000, map(1..1000, 0))", "memory budget exceeded");
    refused("reduce(1..60, #acc + #acc, 'x')", "memory budget exceeded");
    refused("reduce(1..60, [#acc, #acc], 0)", "memory budget exceeded");
    refused(
        "reduce(1..60, replace(#acc, 'x', 'xxxx'), 'x')",
        "memory budget exceeded",
    );
    refused("reduce(1..900, [#acc], 0)", "nested too deeply");
    refused("all(1..400000, none(1..400000, # < 0))", "budget exceeded");
    refused("uniq(map(1..200000, [#]))", "budget exceeded");
    refused(
        "reduce(1..500, concat(#acc, 1..5000), [])",
        "memory budget exceeded",
    );
}

#[test]
fn ten_thousand_parentheses_and_a_megabyte_are_refused_at_once() {
    let nested = format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000));
    refused(&nested, "nested too deeply");
    refused(&"[".repeat(10_000), "nested too deeply");
    refused(&vec!["1"; 500_000].join("+"), "too many parts");
    refused(&"((1)+(2))+".repeat(100_000), "too many parts");
    refused(&"x ".repeat(500_000), "too many parts");
    let text = "é".repeat(500_000);
    assert_eq!(
        outcome(&format!("len('{text}')")),
        Ok(Value::Int(500_000)),
        "a long text is one part"
    );
    let comment = format!("1 /*{text}*/ + 1");
    assert_eq!(outcome(&comment), Ok(Value::Int(2)));
}

#[test]
fn loops_in_loops_over_a_million_end() {
    refused(
        "map(1..1000000, map(1..1000000, map(1..1000000, #)))",
        "memory budget exceeded",
    );
    refused(
        "all(1..900000, all(1..900000, all(1..900000, true)))",
        "budget exceeded",
    );
    refused(
        "sum(1..900, sum(1..900, sum(1..900, # * 2)))",
        "budget exceeded",
    );
}

#[test]
fn patterns_do_not_backtrack() {
    let text = format!("{}!", "a".repeat(50_000));
    for pattern in ["^(a+)+$", "^(a|aa)+$", "(a*)*b", "^(a?){50}a{50}$"] {
        let source = format!("'{text}' matches '{pattern}'");
        assert_eq!(outcome(&source), Ok(Value::Bool(false)), "{pattern}");
    }
    refused("'a' matches '((a{100}){100}){100}'", "error parsing regexp");
}

#[test]
fn texts_cannot_grow_without_end() {
    refused("repeat('abc', 1000000)", "memory budget exceeded");
    refused("repeat('a', 9223372036854775807)", "memory budget exceeded");
    refused(
        "join(map(1..1000, repeat('a', 999)), ',')",
        "memory budget exceeded",
    );
    let big = "let big = reduce(1..20, #acc + #acc, 'xxxx'); ";
    refused(
        &format!("{big} len(split(big, ''))"),
        "memory budget exceeded",
    );
    refused(
        &format!("{big} len(map(1..1000, upper(big)))"),
        "budget exceeded",
    );
    refused(
        &format!("{big} len(map(1..1000, big[1:]))"),
        "budget exceeded",
    );
    refused(
        &format!("{big} len(map(1..1000, toJSON(big)))"),
        "budget exceeded",
    );
}

#[test]
fn large_operands_cost_steps() {
    let big = "let big = reduce(1..20, #acc + #acc, 'xxxx'); ";
    for body in [
        "all(1..400000, not (big contains 'y'))",
        "len(sortBy(1..100000, big))",
        "let list = 1..300000; all(list, -1 not in list)",
    ] {
        refused(&format!("{big}{body}"), "budget exceeded");
    }
}

#[test]
fn deep_values_are_refused() {
    let json = format!("fromJSON('{}{}')", "[".repeat(5_000), "]".repeat(5_000));
    refused(&json, "recursion limit exceeded");
    refused("reduce(1..5000, {{a: #acc}}, nil)", "nested too deeply");
    refused(
        "reduce(1..5000, concat([#acc], [1]), [])",
        "nested too deeply",
    );
    let deep = "reduce(1..190, [#acc], 0)";
    for use_of_it in ["toJSON", "string", "flatten", "max", "uniq"] {
        assert!(
            outcome(&format!("{use_of_it}({deep})")).is_ok(),
            "{use_of_it}"
        );
    }
    assert_eq!(outcome(&format!("{deep} == {deep}")), Ok(Value::Bool(true)));
}

#[test]
fn nothing_is_wrong_with_a_zero_byte() {
    assert_eq!(outcome("len('a\0b')"), Ok(Value::Int(3)));
    assert_eq!(outcome(r"'\x00' == '\u0000'"), Ok(Value::Bool(true)));
    assert_eq!(outcome(r"toJSON('\x00')"), Ok(Value::from(r#""\u0000""#)));
    refused("1 + \0", "unrecognized character: U+0000");
    refused("a\0b", "unrecognized character: U+0000");
}

#[test]
fn many_patterns_cost_steps() {
    refused(
        "filter(1..400000, 'a' matches string(#))",
        "step budget exceeded",
    );
}

/// Damaged expressions of every kind: an answer or an error, never a panic.
#[test]
fn cut_and_mixed_up_expressions_never_panic() {
    let samples = [
        "filter(1..9, {# % 3 == 0}) | map(#index * 10 + #) | sum()",
        "let x = {a: [1, 'ü', nil], 'b': b'\\x00'}; x?.a[1:2] ?? x['b'] ? -1.5e3 : 0x1F ** 2",
        "if a matches '^[a-z]+$' and not (b not in 1..3) { date('2024-01-01').Format('Jan _2') } else { `raw` }",
        "toJSON(groupBy(split('a,b', ','), len(#))) + string(duration('1h') * 2) /* c */ // d",
    ];
    let env = Env::new()
        .with("a", Value::from("abc"))
        .with("b", Value::Int(2));
    for sample in samples {
        let chars: Vec<char> = sample.chars().collect();
        for cut in 0..=chars.len() {
            let head: String = chars[..cut].iter().collect();
            let tail: String = chars[cut..].iter().collect();
            for source in [
                &head,
                &tail,
                &format!("{tail}{head}"),
                &format!("{head} {head}"),
            ] {
                let _ = evaluate(source, &env);
            }
            let mut without = chars.clone();
            if cut < without.len() {
                without.remove(cut);
            }
            let _ = evaluate(&without.iter().collect::<String>(), &env);
        }
    }
}
