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
        let known = message.contains("nested too deeply") || message.contains("cannot redeclare");
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
