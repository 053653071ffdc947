//! Every expression on versions that the oracle in `tests/oracle` gave a value or an error to.

use serde_json::Value as Json;

use super::{FreightView, Functions, NoLookups};
use crate::expr::{Env, Value, evaluate};

const RESULTS: &str = include_str!("../../../tests/oracle/versions.json");

/// Where ours differs, and why ours is right.
const DIFFERENT: [(&str, &str); 3] = [
    (
        "-semverParse('5.0.0').Major()",
        "Go wraps an unsigned number round to 18446744073709551611; here it is -5",
    ),
    (
        r#"let v = semverParse("9223372036854775808.0.0"); [v.Major(), v.Minor(), v.Patch(), v.Prerelease(), v.Metadata(), v.String(), v.Original()]"#,
        "there are no unsigned numbers here; a part beyond 2^63 reads as the largest int",
    ),
    (
        r#"let v = semverParse("18446744073709551615.1.2"); [v.Major(), v.Minor(), v.Patch(), v.Prerelease(), v.Metadata(), v.String(), v.Original()]"#,
        "the same",
    ),
];

fn check(row: &Json) -> Result<(), String> {
    let freight = FreightView::default();
    let functions = Functions::new(&freight, &NoLookups);
    let env = Env::new().with_host(&functions);
    let got = evaluate(row["expr"].as_str().unwrap(), &env)
        .map_err(|why| why.to_string())
        .and_then(|value: Value| value.to_json());
    match (got, row["json"].as_str(), row["error"].as_str()) {
        (Ok(got), Some(want), _) if got == serde_json::from_str::<Json>(want).unwrap() => Ok(()),
        (Err(_), None, Some(_)) => Ok(()),
        (got, ..) => Err(format!("{got:?} where Go gives {row}")),
    }
}

#[test]
fn versions_are_what_go_makes_of_them() {
    let rows: Vec<Json> = serde_json::from_str(RESULTS).unwrap();
    assert!(rows.len() > 500);
    let mut failures = Vec::new();
    for row in &rows {
        let source = row["expr"].as_str().unwrap();
        let excused = DIFFERENT.iter().any(|(known, _)| *known == source);
        match check(row) {
            Err(why) if !excused => failures.push(why),
            Ok(()) if excused => failures.push(format!("{source} agrees by now")),
            _ => {}
        }
    }
    let agree = rows.len() - failures.len() - DIFFERENT.len();
    println!("oracle versions: {agree} of {} agree", rows.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
