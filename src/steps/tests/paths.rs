//! C64 and C67: paths, for every step that there is, found by asking each for its fields.

use serde_json::{Map, Value, json};

use super::bench::Bench;
use crate::{
    engine::step::{Plan, Registry},
    git::tree::Mode,
};

/// Fields with a path in some step, whatever else is like them.
fn is_path(field: &str) -> bool {
    ["path", "paths"].contains(&field)
        || field.ends_with("Path")
        || field.ends_with("Paths")
        || field.ends_with("File")
        || field.ends_with("Files")
}

/// Values that a check alone does not lead to.
fn known(kind: &str, field: &str) -> Option<Value> {
    match (kind, field) {
        ("http" | "http-download", "url") => Some(json!("http://127.0.0.1:1/x")),
        ("wait-for-approval", _) => None,
        (_, "repoURL") => Some(json!("https://example.com/a.git")),
        (_, "imageRef" | "srcRef" | "destRef") => Some(json!("127.0.0.1:1/x:1")),
        _ => None,
    }
}

/// The field that a problem is about, as a pointer into the configuration, and what it says.
fn parsed(problem: &str) -> (Vec<String>, &str) {
    let (at, says) = problem.split_once(": ").unwrap();
    let parts = at.split('.').filter(|part| *part != "(root)");
    (parts.map(str::to_owned).collect(), says)
}

fn at<'v>(config: &'v mut Value, path: &[String]) -> &'v mut Value {
    path.iter()
        .fold(config, |value, part| match part.parse::<usize>() {
            Ok(index) => &mut value[index],
            Err(_) => &mut value[part.as_str()],
        })
}

/// A configuration that the step accepts, made of what its check says.
fn accepted(kind: &str, check: impl Fn(&Value) -> Vec<String>) -> Value {
    let mut config = json!({});
    for _ in 0..60 {
        let problems = check(&config);
        let Some(problem) = problems.first() else {
            return config;
        };
        let (path, says) = parsed(problem);
        let value = at(&mut config, &path);
        if let Some(name) = says.strip_suffix(" is required") {
            value[name] = known(kind, name).unwrap_or(json!("x"));
        } else if says.contains("Expected: array") {
            *value = json!(["x"]);
        } else if says.contains("Expected: object") {
            *value = json!({});
        } else if says.contains("Expected: boolean") {
            *value = json!(true);
        } else if says.contains("Expected: integer") {
            *value = json!(1);
        } else if says.contains("at least 1 items") {
            value.as_array_mut().unwrap().push(json!("x"));
        } else if says.contains("at least 1 properties") {
            value["x"] = json!("x");
        } else if says.contains("email") {
            *value = json!("a@example.com");
        } else if let Some((_, names)) = says.split_once("give one of ") {
            let name = names.split(", ").next().unwrap();
            value[name] = json!("x");
        } else if let Some((_, names)) = says.split_once("must be one of the following: ") {
            *value = json!(names.split(", ").next().unwrap().trim_matches('"'));
        } else {
            panic!("{kind}: no value found for {problem:?}; add one to `known`");
        }
    }
    panic!(
        "{kind}: no configuration found: {config} {:?}",
        check(&config)
    );
}

/// The fields of the object at `path`, as the check lists them.
fn fields(config: &Value, path: &[String], check: impl Fn(&Value) -> Vec<String>) -> Vec<String> {
    let mut config = config.clone();
    at(&mut config, path)["\u{1}\u{2}"] = json!(1);
    let problems = check(&config);
    let listed = problems
        .iter()
        .find_map(|problem| problem.split_once("; fields: "));
    listed
        .map(|(_, names)| names.split(", ").map(str::to_owned).collect())
        .unwrap_or_default()
}

fn objects(value: &Value, path: &[String], found: &mut Vec<Vec<String>>) {
    let mut below = |name: &str, value: &Value| {
        let path: Vec<String> = path.iter().cloned().chain([name.to_owned()]).collect();
        objects(value, &path, found);
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                below(name, value);
            }
            found.push(path.to_vec());
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                below(&index.to_string(), value);
            }
        }
        _ => {}
    }
}

/// Every configuration of a step with one path in it that is `bad`.
fn with_path(
    base: &Value,
    bad: &str,
    check: impl Fn(&Value) -> Vec<String>,
) -> Vec<(String, Value)> {
    let (mut all, mut configs) = (Vec::new(), Vec::new());
    objects(base, &[], &mut all);
    for object in all {
        for field in fields(base, &object, &check)
            .into_iter()
            .filter(|field| is_path(field))
        {
            for value in [json!(bad), json!([bad])] {
                let mut config = base.clone();
                at(&mut config, &object)[field.as_str()] = value;
                // Of two that exclude each other the other one goes.
                for other in ["path", "paths", "body"] {
                    if other != field && !check(&config).is_empty() {
                        at(&mut config, &object)
                            .as_object_mut()
                            .map(|fields| fields.remove(other));
                    }
                }
                if check(&config).is_empty() {
                    configs.push((field.clone(), config));
                }
            }
        }
    }
    configs
}

/// Kinds without any path; whichever else has none is a mistake of this test or of the step's fields.
const WITHOUT: [&str; 7] = [
    "compose-output",
    "fail",
    "http",
    "set-metadata",
    "set-freight-alias",
    "wait-for-approval",
    "git-push",
];

/// C64.
#[test]
fn a_path_that_leaves_the_workspace_is_refused_by_every_step_that_there_is() {
    let mut bench = Bench::new();
    bench.put("x", "k: v\n");
    let kinds = bench.steps.kinds();
    let mut tried: Map<String, Value> = Map::new();
    for kind in &kinds {
        let step = bench.steps.find(kind).unwrap();
        let check = |config: &Value| step.check(config);
        if kind.as_str() == "compose-output" {
            continue; // takes any fields, as values
        }
        let base = accepted(kind.as_str(), check);
        if step.plan(&base) != Plan::Run {
            continue; // the engine does it, and resolves its path as a checkout's
        }
        for bad in [
            "../x",
            "/etc/passwd",
            "a/../../x",
            "./.git/config",
            "a/.GIT/x",
            "a\0b",
            "a/..\\..\\x",
        ] {
            for (field, config) in with_path(&base, bad, check) {
                let said = bench.refused(kind.as_str(), &config);
                assert!(
                    said.contains(&format!("{bad:?}")),
                    "{kind} {field} {bad:?}: {said}"
                );
                tried.entry(kind.to_string()).or_insert_with(|| json!({}))[field] = json!(true);
            }
        }
    }
    for kind in kinds {
        assert!(
            tried.contains_key(kind.as_str()) || WITHOUT.contains(&kind.as_str()),
            "{kind}: no field with a path was found"
        );
    }
    for (kind, field) in [
        ("copy", "inPath"),
        ("copy", "outPath"),
        ("delete", "paths"),
        ("git-clone", "path"),
        ("helm-template", "valuesFiles"),
        ("tar", "outPath"),
        ("untar", "inPath"),
    ] {
        assert!(
            tried[kind][field] == json!(true),
            "{kind} {field} was not tried: {tried:?}"
        );
    }
}

/// C64: what is inside is fine, and a name is a name.
#[test]
fn a_path_inside_is_fine_however_it_is_written() {
    let mut bench = Bench::new();
    for name in [
        "-rf",
        "--help",
        "two\nlines",
        "ü 🚢",
        "A",
        "a",
        "trailing/",
        "...",
        " lead",
    ] {
        let plain = name.trim_end_matches('/');
        bench.put(&format!("in/{plain}"), plain);
        bench
            .run(
                "copy",
                &json!({"inPath": format!("./x/../in//{name}"), "outPath": format!("out/{name}")}),
            )
            .unwrap();
        assert_eq!(bench.get(&format!("out/{plain}")), plain);
        bench
            .run(
                "delete",
                &json!({"path": format!("in/{name}"), "strict": true}),
            )
            .unwrap();
    }
    assert_eq!(bench.all().len(), 9, "names that differ by case are two");
}

/// C65: links to links, and loops.
#[test]
fn links_to_links_are_followed_inside_and_loops_are_refused() {
    let mut bench = Bench::new();
    bench.put("real/f", "1");
    for (at, to) in [
        ("l1", "l2"),
        ("l2", "./real"),
        ("loop", "pool"),
        ("pool", "loop"),
        ("self", "self"),
        ("far", "l1/../../../etc"),
    ] {
        bench.write(at, to, Some(Mode::Link)).unwrap();
    }
    bench
        .run("tar", &json!({"inPath": "l1", "outPath": "l1/a.tar"}))
        .unwrap();
    assert!(bench.exists("real/a.tar"));
    bench
        .run("untar", &json!({"inPath": "l2/a.tar", "outPath": "l1/sub"}))
        .unwrap();
    assert_eq!(bench.get("real/sub/f"), "1");
    bench
        .run("file-write", &json!({"path": "l1/g", "contents": "2"}))
        .unwrap();
    assert_eq!(bench.get("real/g"), "2");
    for bad in ["loop", "self", "far"] {
        for (uses, config) in [
            ("copy", json!({"inPath": bad, "outPath": "y"})),
            (
                "copy",
                json!({"inPath": "real", "outPath": format!("{bad}/y")}),
            ),
            ("tar", json!({"inPath": bad, "outPath": "y"})),
            ("untar", json!({"inPath": "real/a.tar", "outPath": bad})),
            ("untar", json!({"inPath": bad, "outPath": "y"})),
            (
                "file-write",
                json!({"path": format!("{bad}/y"), "contents": ""}),
            ),
            ("delete", json!({"path": format!("{bad}/y")})),
            ("helm-update-chart", json!({"path": bad})),
        ] {
            let said = bench.refused(uses, &config);
            assert!(said.contains("link"), "{uses} {bad}: {said}");
        }
    }
    bench
        .run("delete", &json!({"path": "loop", "strict": true}))
        .unwrap();
    bench
        .run("delete", &json!({"path": "l1", "strict": true}))
        .unwrap();
    assert!(bench.exists("real/f"), "a link goes, not what it leads to");
}

/// C67: directories that Git would not keep, a file over a directory and the other way round.
#[test]
fn copy_merges_and_never_replaces_a_directory_by_a_file() {
    let mut bench = Bench::new();
    bench.put("in/a/b", "1");
    bench.put("in/only/skip.tmp", "1");
    bench.put("out/a", "a file");
    let said = bench.refused("copy", &json!({"inPath": "in", "outPath": "out"}));
    assert!(said.contains("out/a is not a directory"), "{said}");
    let said = bench.refused("copy", &json!({"inPath": "out/a", "outPath": "in/a"}));
    assert!(said.contains("in/a is a directory"), "{said}");
    bench
        .run(
            "copy",
            &json!({"inPath": "in/", "outPath": "new/", "ignore": "*.tmp"}),
        )
        .unwrap();
    let copied: Vec<String> = bench
        .all()
        .into_iter()
        .filter(|path| path.starts_with("new/"))
        .collect();
    assert_eq!(copied, ["new/a/b"]);
}
