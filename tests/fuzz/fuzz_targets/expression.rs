//! Any text as an expression: it parses and evaluates, or says why not; it never panics, hangs or eats the memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidewaiter::expr::{Env, Value, evaluate};

fuzz_target!(|text: &str| {
    let env = Env::new()
        .with("s", Value::from("näh"))
        .with("n", Value::Int(7))
        .with("l", Value::list(vec![Value::Int(3), Value::from("x"), Value::Nil]))
        .with("m", Value::map([("k", Value::Float(0.5))]));
    drop(evaluate(text, &env));
});
