//! `eval --batch`: a line of JSON in, a line of JSON out, whatever the line.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{Ground, values};
use crate::{
    cli::{Done, Exit, Failure, output},
    expr::{kargo::Source, show, template::HIDDEN},
};

/// One question.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    id: Json,
    expr: Option<String>,
    template: Option<String>,
    #[serde(default)]
    env: Option<Map<String, Json>>,
}

/// Longer lines are answered with an error, and not kept.
const LONGEST: u64 = 64 << 20;

/// Answers every line of `file` (`-` is standard input) in order.
pub async fn run(ground: &Ground, file: &Path) -> Done {
    let failed = |error: &io::Error| {
        Failure::new(
            Exit::NotFound,
            format!("cannot read the batch {}: {error}", file.display()),
        )
    };
    let mut lines: Box<dyn BufRead> = if file.as_os_str() == "-" {
        Box::new(BufReader::new(io::stdin()))
    } else {
        Box::new(BufReader::new(
            File::open(file).map_err(|error| failed(&error))?,
        ))
    };
    while let Some(line) = next(&mut *lines).map_err(|error| failed(&error))? {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        // Each answer at once: whoever asks over a pipe waits for it.
        let answer = answer(ground, &line).await;
        output::print(&(super::line(&answer)? + "\n"))?;
    }
    Ok(Exit::Done)
}

/// The next line with its end, or the beginning of one that is too long.
fn next(lines: &mut dyn BufRead) -> io::Result<Option<Vec<u8>>> {
    let (mut line, mut rest) = (Vec::new(), Vec::new());
    lines.take(LONGEST).read_until(b'\n', &mut line)?;
    let mut whole = u64::try_from(line.len()).unwrap_or(LONGEST) < LONGEST || line.ends_with(b"\n");
    while !whole {
        rest.clear();
        lines.take(LONGEST).read_until(b'\n', &mut rest)?;
        whole = rest.is_empty() || rest.ends_with(b"\n");
        // One byte more than may be: enough to be told from a line of just that length.
        if line.len() as u64 == LONGEST {
            line.push(b' ');
        }
    }
    Ok(Some(line).filter(|line| !line.is_empty()))
}

async fn answer(ground: &Ground, line: &[u8]) -> Answer {
    let (id, result) = match read(line) {
        Ok((id, source, over)) => (id, ground.evaluate(source, over).await),
        Err((id, why)) => (id, Err(why)),
    };
    let what = match result {
        Ok(tried) => What::Value {
            kind: show::kind(&tried.value),
            value: if tried.from_secret {
                Json::from(HIDDEN)
            } else {
                show::json(&tried.value)
            },
        },
        Err(error) => What::Error { error },
    };
    Answer { id, what }
}

/// One answer.
#[derive(Serialize)]
struct Answer {
    id: Json,
    #[serde(flatten)]
    what: What,
}

#[derive(Serialize)]
#[serde(untagged)]
enum What {
    Value {
        value: Json,
        #[serde(rename = "type")]
        kind: &'static str,
    },
    Error {
        error: String,
    },
}

type Question = (Json, Source, Vec<(String, crate::expr::Value)>);

/// What a line asks, or the id as far as it can be told and what is wrong with the line.
fn read(line: &[u8]) -> Result<Question, (Json, String)> {
    if line.len() as u64 > LONGEST {
        return Err((Json::Null, "the line is too long".into()));
    }
    let id = || {
        let whole: Option<Json> = serde_json::from_slice(line).ok();
        whole
            .and_then(|whole| whole.get("id").cloned())
            .unwrap_or(Json::Null)
    };
    let parsed: Line = serde_json::from_slice(line)
        .map_err(|error| (id(), format!("the line is not a question: {error}")))?;
    let source = match (parsed.expr, parsed.template) {
        (Some(text), None) => Source::Expression(text),
        (None, Some(text)) => Source::Template(text),
        (Some(_), Some(_)) => {
            let why = "the line has both an \"expr\" and a \"template\"";
            return Err((parsed.id, why.into()));
        }
        (None, None) => {
            let why = "the line has neither an \"expr\" nor a \"template\"";
            return Err((parsed.id, why.into()));
        }
    };
    let over = values(&parsed.env.unwrap_or_default());
    Ok((parsed.id, source, over))
}
