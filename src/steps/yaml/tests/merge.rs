use serde_json::{Value, json};

use super::{super::*, read_12};

fn merged(files: &[&str]) -> Result<String, String> {
    merge(files)
        .map(|merged| merged.text)
        .map_err(|unmerged| format!("{}: {}", unmerged.file, unmerged.error))
}

/// (case, below, above, merged)
#[test]
fn the_file_below_keeps_its_bytes() {
    let cases = [
        (
            "scalar",
            "a: 1 # one\nb: 2\n",
            "a: 3\n",
            "a: 3 # one\nb: 2\n",
        ),
        ("quotes stay", "a: 'x' # one\n", "a: z\n", "a: 'z' # one\n"),
        ("types come along", "a: 'x'\n", "a: 1.10\n", "a: 1.10\n"),
        ("an ambiguous word", "a: 'x'\n", "a: on\n", "a: on\n"),
        ("a word in quotes", "a: 'x'\n", "a: \"on\"\n", "a: 'on'\n"),
        ("text to text", "a: x\n", "a: '1'\n", "a: \"1\"\n"),
        ("null", "a: {b: 1}\nc: 2\n", "a:\n", "a: null\nc: 2\n"),
        (
            "null that is there",
            "a: ~ # c\n",
            "a: null\n",
            "a: ~ # c\n",
        ),
        (
            "equal",
            "a: [1,2]\nb: 'x'\n",
            "a:\n- 1\n- 2\nb: \"x\"\n",
            "a: [1,2]\nb: 'x'\n",
        ),
        (
            "nested",
            "a:\n    b:\n        c: 1 # c\n        d: 2\ne: 3\n",
            "a:\n  b:\n    c: 9\n",
            "a:\n    b:\n        c: 9 # c\n        d: 2\ne: 3\n",
        ),
        (
            "new entries, with their comments, at the ends of their mappings",
            "a:\n    b:\n        c: 1\n\n# tail\ne: 3",
            "a:\n  # why\n  n: # list\n  - x # ex\n  - y\n  b:\n    d:\n      deep: |\n        one\n          two\nz: 1\n",
            "a:\n    b:\n        c: 1\n        d:\n          deep: |\n            one\n              two\n    # why\n    n: # list\n    - x # ex\n    - y\n\n# tail\ne: 3\nz: 1",
        ),
        (
            "lists are replaced",
            "a:\n  - 1 # one\n  - 2\nb: 1\n",
            "a:\n- x\n",
            "a:\n- x\nb: 1\n",
        ),
        (
            "list for scalar, with its comments",
            "m:\n    a: 1\nb: 1\n",
            "m:\n  a: # list\n    # first\n    - x\n\n    - y # last\n",
            "m:\n    a: # list\n      # first\n      - x\n\n      - y # last\nb: 1\n",
        ),
        (
            "flow list for scalar",
            "a: 1 # c\nb: 1\n",
            "a: [x, y]\n",
            "a: [x, y] # c\nb: 1\n",
        ),
        (
            "scalar for mapping",
            "a:\n  x: 1 # c\n  y: 2\nb: 1\n",
            "a: none\n",
            "a: none\nb: 1\n",
        ),
        (
            "mapping for scalar",
            "a: 1\nb: 1\n",
            "a:\n   x: 1\n   y: 2\n",
            "a:\n   x: 1\n   y: 2\nb: 1\n",
        ),
        (
            "narrower",
            "a: 1\n",
            "      a:\n        x: 1\n",
            "a:\n  x: 1\n",
        ),
        (
            "into flow",
            "a: {b: 1, c: x} # c\n",
            "a:\n  b:\n  - x, y\n  - 'z'\n  d: on\n",
            "a: {b: [\"x, y\", 'z'], c: x, d: on} # c\n",
        ),
        (
            "into empty flow",
            "a: {}\n",
            "a:\n  b: 1\n  c: 2\n",
            "a: {b: 1, c: 2}\n",
        ),
        (
            "from flow",
            "a:\n  b: 1\n",
            "{a: {b: 2, c: [1, {d: e}]}, f: g}\n",
            "a:\n  b: 2\n  c: [1, {d: e}]\nf: g\n",
        ),
        ("missing value", "a:\nb: 1\n", "a: x\n", "a: x\nb: 1\n"),
        (
            "missing value, list",
            "a: # c\nb: 1\n",
            "a:\n- x\n",
            "a:\n- x\nb: 1\n",
        ),
        (
            "block text",
            "a: |\n  one\nb: 1\n",
            "a: |\n      two\n      three\n",
            "a: |\n  two\n  three\nb: 1\n",
        ),
        (
            "block text for plain",
            "m:\n    a: one # c\nb: 1\n",
            "m:\n  a: |- # two\n    two\n    three\n",
            "m:\n    a: |- # two\n      two\n      three\nb: 1\n",
        ),
        ("folded lines", "a: x\n", "a: one\n  two\n", "a: one two\n"),
        (
            "windows",
            "a: 1\r\nb:\r\n  c: 1\r\n",
            "b:\n  d:\n  - 1\n",
            "a: 1\r\nb:\r\n  c: 1\r\n  d:\r\n  - 1\r\n",
        ),
        ("mark", "\u{feff}a: 1\n", "\u{feff}a: 2\n", "\u{feff}a: 2\n"),
        (
            "anchor stays",
            "a: &a 1\nb: *a\n",
            "a: 2\n",
            "a: &a 2\nb: *a\n",
        ),
        (
            "anchored text that is the same",
            "a: &a \"one\\n\"\nb: *a\n",
            "a: |\n  one\n",
            "a: &a \"one\\n\"\nb: *a\n",
        ),
        (
            "anchor of a mapping stays",
            "a: &a {x: 1}\nb: *a\n",
            "a:\n  x: 2\n  y: 3\n",
            "a: &a {x: 2, y: 3}\nb: *a\n",
        ),
        (
            "anchor of a list stays",
            "a: &a\n- x\nb: *a\n",
            "a:\n- y\n- z\n",
            "a: &a\n- y\n- z\nb: *a\n",
        ),
        ("tag goes", "a: !x 1\n", "a: 2\n", "a: 2\n"),
        ("tag comes", "a: 1\n", "a: !x 2\n", "a: !x 2\n"),
        (
            "alias is replaced",
            "a: &a {x: 1}\nb: *a\n",
            "b:\n  y: 1\n",
            "a: &a {x: 1}\nb:\n  y: 1\n",
        ),
        (
            "aliases come along",
            "a: 1\n",
            "b: &b {x: 1}\nc:\n  <<: *b\n",
            "a: 1\nb: &b {x: 1}\nc:\n  <<: *b\n",
        ),
        (
            "below a merge key",
            "a: &a {x: 1}\nb:\n  <<: *a\n",
            "b: {x: 2}\n",
            "a: &a {x: 1}\nb:\n  <<: *a\n  x: 2\n",
        ),
        ("nothing below", "", "a: 1 # c\n", "a: 1 # c\n"),
        ("only comments below", "# c\n", "a: 1\n", "a: 1\n"),
        ("nothing above", "a:  1", "# c\n---\n", "a:  1"),
        ("another kind", "a: 1\n", "- 1\n", "- 1\n"),
        ("null above", "a: 1\n", "null\n", "null\n"),
        (
            "other documents stay",
            "a: 1\n---\na: 2\n",
            "a: 3\n---\na: 4\n",
            "a: 3\n---\na: 2\n",
        ),
        (
            "in a list's item nothing is merged",
            "a:\n- {x: 1}\n",
            "a:\n- {y: 1}\n",
            "a:\n- {y: 1}\n",
        ),
        (
            "keep and more",
            "a: |+\n  x\n\n",
            "b: 1\n",
            "a: |+\n  x\n\nb: 1\n",
        ),
        (
            "keep above",
            "a:\n  x: 1\n\n\nz: 1\n",
            "a:\n  y: |+\n    t\n\n",
            "a:\n  x: 1\n  y: \"t\\n\\n\"\n\n\nz: 1\n",
        ),
        ("explicit key", "a: 1\n", "? b\n: c\n", "a: 1\nb: c\n"),
        ("quoted key", "a: 1\n", "'b c' : 1\n", "a: 1\n'b c' : 1\n"),
    ];
    for (case, below, above, wanted) in cases {
        let once = merged(&[below, above]);
        assert_eq!(once.as_deref(), Ok(wanted), "{case}");
        assert_eq!(
            merged(&[wanted, above]).as_deref(),
            Ok(wanted),
            "{case}, again"
        );
    }
}

#[test]
fn what_cannot_be_merged_is_refused_by_file() {
    let cases: [(&str, &[&str], &[&str]); 11] = [
        (
            "anchored empty key",
            &["{a: 1}\n", "{ &d }\n"],
            &["1:", "empty"],
        ),
        ("bare key", &["? a\n", "a: 1\n"], &["1:", "key a", "`?`"]),
        (
            "twice in what is new",
            &["a: 1\n", "b:\n  c: 1\n  c: 2\n"],
            &["1:", "key c", "twice"],
        ),
        ("empty key", &[":"], &["0:", "without a key"]),
        ("broken", &["a: 1\n", "a: [\n"], &["1:", "not YAML"]),
        ("twice above", &["a: 1\n", "b: 1\nb: 2\n"], &["1:", "twice"]),
        ("twice below", &["a: 1\na: 2\n", "a: 3\n"], &["1:", "twice"]),
        (
            "key that is a list",
            &["a: 1\n", "? [x]\n: 1\n"],
            &["1:", "list"],
        ),
        (
            "alias of what is merged",
            &["a: {x: 1}\n", "a: &a {y: 1}\nb: *a\n"],
            &["1:", "`b`", "alias"],
        ),
        (
            "an anchor that hides another",
            &["a: &x 1\nb: {}\nc: *x\n", "b: {d: &x 2}\n"],
            &["1:"],
        ),
        (
            "documents would go",
            &["a: 1\n---\nb: 1\n", "- 1\n"],
            &["1:", "others follow"],
        ),
    ];
    for (case, files, said) in cases {
        let error = merged(files).expect_err(case);
        for words in said {
            let words = words.replace('`', "");
            assert!(error.contains(&words), "{case}: {error:?} lacks {words:?}");
        }
    }
}

#[test]
fn several_files_and_those_cut_short() {
    let files = [
        "",
        "a: 1\nb: 1\n",
        "# none\n",
        "b: 2\n---\nc: 1\n",
        "d: 3\n",
    ];
    let done = merge(&files).unwrap();
    assert_eq!(done.text, "a: 1\nb: 2\nd: 3\n");
    assert_eq!(done.cut, [3]);
    let done = merge(&["--- # empty\n---\na: 1\n", "b: 2\n"]).unwrap();
    assert_eq!((done.text.as_str(), done.cut), ("b: 2\n", vec![0]));
    assert_eq!(merge::<&str>(&[]).unwrap().text, "");
}

/// What Kargo's merge means, on plain values.
fn meant(below: &Value, above: &Value) -> Value {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            let mut both = below.clone();
            for (key, value) in above {
                let value = match below.get(key) {
                    Some(old) => meant(old, value),
                    None => value.clone(),
                };
                both.insert(key.clone(), value);
            }
            Value::Object(both)
        }
        (_, above) => above.clone(),
    }
}

#[test]
fn generated_files_merge_as_plain_values_do() {
    assert_eq!(
        meant(&json!({"a": {"b": 1}}), &json!({"a": {"c": 2}})),
        json!({"a": {"b": 1, "c": 2}})
    );
    let mut changed = 0;
    for seed in 0..400 {
        let (below, above) = (
            super::Made::file(seed).text,
            super::Made::file(seed + 1000).text,
        );
        let wanted = meant(&read_12(&below), &read_12(&above));
        let done = merged(&[&below, &above])
            .unwrap_or_else(|error| panic!("{error}\n{below}\n=== {above}"));
        assert_eq!(read_12(&done), wanted, "{below}\n=== {above}\n=== {done}");
        assert_eq!(
            merged(&[&done, &above]).as_ref(),
            Ok(&done),
            "{below}\n=== {above}"
        );
        changed += usize::from(done != below);
    }
    assert!(changed > 300, "{changed}");
}

/// Found by fuzzing: the first merge took the second file whole, and the next one refused its keys.
#[test]
fn keys_that_cannot_be_merged_are_none_of_a_merge_that_changes_nothing() {
    for above in ["{a: 1, [p]: }\n", "k: {[p]: 1}\n", "? {a: 1}\n: 2\n"] {
        let once = merged(&["# only a remark\n", above]).unwrap();
        assert_eq!(merged(&[&once, above]), Ok(once.clone()), "{above}");
    }
}
