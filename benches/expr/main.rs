//! Expressions as promotions have them, parsed and evaluated, and a template of 200 of them; beside the Go engine that
//! Kargo uses, on the same corpus in the same run, where Go is installed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::Value as Json;
use tidewaiter::expr::{Env, Value, evaluate, parse, template};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/expr/corpus.json");
const SPAN: Duration = Duration::from_secs(2);

/// What we promise.
const EXPRESSION: Duration = Duration::from_micros(20);
const TEMPLATE: Duration = Duration::from_millis(5);

struct Corpus {
    env: Json,
    expressions: Vec<String>,
}

impl Corpus {
    fn read() -> Self {
        let json: Json = serde_json::from_str(&std::fs::read_to_string(CORPUS).unwrap()).unwrap();
        let expressions = json["expressions"].as_array().unwrap();
        Self {
            env: json["env"].clone(),
            expressions: expressions
                .iter()
                .map(|source| source.as_str().unwrap().to_owned())
                .collect(),
        }
    }

    fn env(&self) -> Env<'static> {
        let mut env = Env::new();
        for (name, value) in self.env.as_object().unwrap() {
            env.set(name, Value::from_json(value));
        }
        env
    }

    /// Text with 200 expressions. Those with two braces at an end go between the other delimiters.
    fn template(&self) -> String {
        let sources = self.expressions.iter().cycle().take(200);
        sources
            .map(|source| format!("line: ${{% {source} %}}\n"))
            .collect()
    }
}

/// The mean time of a call, over calls that fill the span.
fn mean(span: Duration, mut work: impl FnMut()) -> Duration {
    work();
    let (begun, mut calls) = (Instant::now(), 0_u32);
    while begun.elapsed() < span {
        work();
        calls += 1;
    }
    begun.elapsed() / calls
}

/// Go's figures in nanoseconds: per expression, and per template.
fn go() -> Result<(f64, f64), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle");
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("oracle");
    let run = |command: &mut Command| {
        let output = command.output().map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    };
    run(Command::new("go")
        .current_dir(&folder)
        .args(["build", "-o"])
        .arg(&built)
        .arg("."))?;
    let printed = run(Command::new(&built)
        .current_dir(&folder)
        .args(["bench", CORPUS]))?;
    let figures: Json = serde_json::from_str(&printed).map_err(|error| error.to_string())?;
    let figure = |name: &str| figures[name].as_f64().ok_or("a figure is missing");
    Ok((figure("expression")?, figure("template")?))
}

fn nanoseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

fn main() {
    let corpus = Corpus::read();
    let env = corpus.env();
    for source in &corpus.expressions {
        evaluate(source, &env).unwrap_or_else(|why| panic!("{why}"));
    }
    let count = u32::try_from(corpus.expressions.len()).unwrap();
    let all = mean(SPAN, || {
        for source in &corpus.expressions {
            std::hint::black_box(evaluate(source, &env).unwrap());
        }
    });
    let parsing = mean(SPAN, || {
        for source in &corpus.expressions {
            std::hint::black_box(parse(source).unwrap());
        }
    });
    let each = |source: &String| mean(SPAN / 20, || drop(evaluate(source, &env)));
    let slowest = corpus
        .expressions
        .iter()
        .map(|source| (each(source), source))
        .max()
        .unwrap();
    let text = corpus.template();
    let template = mean(SPAN, || {
        std::hint::black_box(template::eval_string(&text, &corpus.env()).unwrap());
    });

    let us = |time: Duration| nanoseconds(time) / 1e3;
    let verdict = |held: bool| if held { "held" } else { "MISSED" };
    println!("expr: {count} expressions, parsed and evaluated; a template of 200");
    println!(
        "  mean of an expression   {:>9.2} us   (parsing alone {:.2})",
        us(all / count),
        us(parsing / count)
    );
    println!(
        "  the slowest             {:>9.2} us   bar {} us: {}   {}",
        us(slowest.0),
        EXPRESSION.as_micros(),
        verdict(slowest.0 < EXPRESSION),
        slowest.1
    );
    println!(
        "  the template            {:>9.2} us   bar {} us: {}",
        us(template),
        TEMPLATE.as_micros(),
        verdict(template < TEMPLATE)
    );
    match go() {
        Ok((expression, whole)) => {
            println!("  Go, an expression       {:>9.2} us", expression / 1e3);
            println!("  Go, the template        {:>9.2} us", whole / 1e3);
            println!(
                "  ratio                   {:>9.1} expressions, {:.1} template (times faster than Go)",
                expression / nanoseconds(all / count),
                whole / nanoseconds(template)
            );
        }
        Err(why) => println!("  no comparison with Go: {}", why.trim()),
    }
}
