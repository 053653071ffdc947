use serde_json::{Value, json};

use super::*;

mod made;
mod merge;
mod random;
mod readers;

fn update(key: &str, value: Value) -> Update {
    Update {
        key: key.into(),
        value,
    }
}

fn edited(text: &str, key: &str, value: impl Into<Value>) -> Result<String, String> {
    set(text, &[update(key, value.into())]).map_err(|error| error.to_string())
}

fn read_12(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// (case, file, key, value, file after)
#[test]
fn only_the_bytes_of_the_value_change() {
    let cases: Vec<(&str, &str, &str, Value, &str)> = vec![
        (
            "C01 dot",
            "labels:\n  app.example.org/rev: r1\n",
            r"labels.app\.example\.org/rev",
            json!("r2"),
            "labels:\n  app.example.org/rev: r2\n",
        ),
        ("C01 backslash", "a\\b: 1\n", r"a\\b", json!(2), "a\\b: 2\n"),
        (
            "C01 trailing backslash",
            "a\\: 1\n",
            "a\\",
            json!(2),
            "a\\: 2\n",
        ),
        (
            "C02 string",
            "build: old\n",
            "build",
            json!("20250514"),
            "build: \"20250514\"\n",
        ),
        (
            "C02 number",
            "build: old\n",
            "build",
            json!(20250514),
            "build: 20250514\n",
        ),
        (
            "C02 number as float",
            "build: old\n",
            "build",
            json!(20250514.0),
            "build: 20250514\n",
        ),
        (
            "C04 dot form",
            "charts:\n- {name: a}\n- name: b\n  version: 1.0.0\n",
            "charts.1.version",
            json!("1.1.0"),
            "charts:\n- {name: a}\n- name: b\n  version: 1.1.0\n",
        ),
        (
            "C04 brackets as a part of their own",
            "charts:\n- name: a\n",
            "charts.[0].name",
            json!("x"),
            "charts:\n- name: x\n",
        ),
        (
            "C05",
            "spec:\n  template:\n    spec:\n      containers:\n      - name: t\n        image: app:1.0   # pinned\n",
            "spec.template.spec.containers.0.image",
            json!("app:1.1"),
            "spec:\n  template:\n    spec:\n      containers:\n      - name: t\n        image: app:1.1   # pinned\n",
        ),
        (
            "C08 literal",
            "note: |\n  one\n  two\nafter: x\n",
            "note",
            json!("v2"),
            "note: v2\nafter: x\n",
        ),
        (
            "C08 folded, comment, strip",
            "note: >-  # why\n  one\n\n  two\n\nafter: x\n",
            "note",
            json!("v2"),
            "note: v2  # why\n\nafter: x\n",
        ),
        (
            "C08 keep",
            "note: |+\n  one\n\nafter: x\n",
            "note",
            json!("v2"),
            "note: v2\nafter: x\n",
        ),
        (
            "C08 anchored block",
            "note: &n !!str |\n  one\nb: *n\n",
            "note",
            json!("v2"),
            "note: &n !!str v2\nb: *n\n",
        ),
        (
            "C08 last, no newline",
            "a:\n  - |\n    one",
            "a.0",
            json!("x"),
            "a:\n  - x",
        ),
        (
            "block stays a block",
            "a:\n  note: |  # why\n     one\n\n  b: 1\n",
            "a.note",
            json!("x\n  # y\n\nz: 1\n"),
            "a:\n  note: |  # why\n     x\n       # y\n\n     z: 1\n\n  b: 1\n",
        ),
        (
            "block, other end",
            "a: |\r\n  one\r\nb: 1\r\n",
            "a",
            json!("x\ny"),
            "a: |-\r\n  x\r\n  y\r\nb: 1\r\n",
        ),
        (
            "no block for spaces at the ends",
            "a: |\n  one\n",
            "a",
            json!("x \ny"),
            "a: \"x \\ny\"\n",
        ),
        (
            "no block for a first space",
            "a: |\n  one\n",
            "a",
            json!(" x\ny"),
            "a: \" x\\ny\"\n",
        ),
        (
            "no block at the end",
            "a: |\n  one",
            "a",
            json!("x\ny\n"),
            "a: \"x\\ny\\n\"\n".trim_end(),
        ),
        (
            "C10",
            "tag: &t v1\ncopy: *t\n",
            "tag",
            json!("v2"),
            "tag: &t v2\ncopy: *t\n",
        ),
        (
            "C10 with tag",
            "tag: !!str &t 'v1'\ncopy: *t\n",
            "tag",
            json!("12"),
            "tag: !!str &t '12'\ncopy: *t\n",
        ),
        (
            "alias itself",
            "tag: &t v1\ncopy: *t # c\n",
            "copy",
            json!("v2"),
            "tag: &t v1\ncopy: v2 # c\n",
        ),
        (
            "C13",
            "a: 1\r\nb: old\r\nc: 3\r\n",
            "b",
            json!("new"),
            "a: 1\r\nb: new\r\nc: 3\r\n",
        ),
        (
            "C13 block",
            "a: |\r\n  x\r\n  y\r\nc: 3\r\n",
            "a",
            json!("new"),
            "a: new\r\nc: 3\r\n",
        ),
        ("C14", "a: 1\nb: 2", "a", json!(9), "a: 9\nb: 2"),
        ("C14 last", "a: 1\nb: 2", "b", json!("x"), "a: 1\nb: x"),
        (
            "C16",
            "\u{feff}tag: v1\n",
            "tag",
            json!("v2"),
            "\u{feff}tag: v2\n",
        ),
        (
            "C17",
            "top: 1\n\n# lone remark\nlist:\n    - a\n\nimage: app:1\n",
            "image",
            json!("app:2"),
            "top: 1\n\n# lone remark\nlist:\n    - a\n\nimage: app:2\n",
        ),
        (
            "C23 mapping",
            "byPort:\n  8080: old\nlist: [x, y]\n",
            "byPort.8080",
            json!("new"),
            "byPort:\n  8080: new\nlist: [x, y]\n",
        ),
        (
            "C23 list",
            "byPort:\n  8080: old\nlist: [x, y]\n",
            "list.1",
            json!("z"),
            "byPort:\n  8080: old\nlist: [x, z]\n",
        ),
        (
            "C23 Kargo's colon",
            "root:\n  0: old\n",
            "root.:0",
            json!("new"),
            "root:\n  0: new\n",
        ),
        (
            "wide characters before",
            "ü: 'ß' # ☃\nkey: \"🚀 x\"   # naïve\nz: 1\n",
            "key",
            json!("é"),
            "ü: 'ß' # ☃\nkey: \"é\"   # naïve\nz: 1\n",
        ),
        (
            "quoted key, spaces before the colon",
            "'a b' : \"x\" # c\n",
            "a b",
            json!("y"),
            "'a b' : \"y\" # c\n",
        ),
        (
            "comment like quote",
            "a: 'x' # it's\nb: 1\n",
            "a",
            json!("y"),
            "a: 'y' # it's\nb: 1\n",
        ),
        (
            "doubled quote",
            "a: 'it''s' # x\n",
            "a",
            json!("that's"),
            "a: 'that''s' # x\n",
        ),
        (
            "escaped quote",
            "a: \"b\\\"c\" # x\n",
            "a",
            json!("d\"e"),
            "a: \"d\\\"e\" # x\n",
        ),
        (
            "missing value",
            "a:\nb: 1\n",
            "a",
            json!("x"),
            "a: x\nb: 1\n",
        ),
        (
            "missing value, comment",
            "a: # todo\nb: 1\n",
            "a",
            json!("x"),
            "a: x # todo\nb: 1\n",
        ),
        ("missing value, end of file", "a:", "a", json!("x"), "a: x"),
        (
            "missing value in flow",
            "{a:, b: 1}\n",
            "a",
            json!("x"),
            "{a: x, b: 1}\n",
        ),
        (
            "key alone in flow",
            "{a, b: 1}\n",
            "a",
            json!("x"),
            "{a: x, b: 1}\n",
        ),
        (
            "missing item",
            "- \n-\n- x\n",
            "1",
            json!("v"),
            "- \n- v\n- x\n",
        ),
        ("null to string", "a: ~\n", "a", json!("x"), "a: x\n"),
        (
            "string to null",
            "a: 'x' # c\n",
            "a",
            json!(null),
            "a: null # c\n",
        ),
        (
            "quoted to bool",
            "a: \"x\"\n",
            "a",
            json!(true),
            "a: true\n",
        ),
        ("small float", "a: 1\n", "a", json!(1e-7), "a: 1.0e-7\n"),
        ("large float", "a: 1\n", "a", json!(1e21), "a: 1.0e+21\n"),
        (
            "all digits",
            "a: 1\n",
            "a",
            json!(12345678901234567890u64),
            "a: 12345678901234567890\n",
        ),
        (
            "flow in flow",
            "a: [{b: c, d: [e, 'f']}, g] # h\n",
            "a.0.d.1",
            json!("x,y"),
            "a: [{b: c, d: [e, 'x,y']}, g] # h\n",
        ),
        (
            "flow needs quotes",
            "a: [b, c]\n",
            "a.0",
            json!("x, y"),
            "a: [\"x, y\", c]\n",
        ),
        (
            "flow over lines with comments",
            "a: [\n  b, # one\n  c  # two\n]\n",
            "a.1",
            json!("d"),
            "a: [\n  b, # one\n  d  # two\n]\n",
        ),
        (
            "pair in a flow list",
            "a: [b: c, d]\n",
            "a.0.b",
            json!("e"),
            "a: [b: e, d]\n",
        ),
        (
            "commas before brackets",
            "- {\n    a: b,\n    c: [d, ] ,  # x\n  }\n- {e: f,}\n",
            "1.e",
            json!("g"),
            "- {\n    a: b,\n    c: [d, ] ,  # x\n  }\n- {e: g,}\n",
        ),
        (
            "multi-line plain",
            "a: one\n  two\n  three\nb: 1\n",
            "a",
            json!("x"),
            "a: x\nb: 1\n",
        ),
        (
            "multi-line quoted",
            "a: \"one\n\n  two\" # c\nb: 1\n",
            "a",
            json!("x"),
            "a: \"x\" # c\nb: 1\n",
        ),
        (
            "second document",
            "a: 1\n---\nb: 2\n...\n---\nc: 3\n",
            "b",
            json!(5),
            "a: 1\n---\nb: 5\n...\n---\nc: 3\n",
        ),
        (
            "first document wins",
            "a: 1\n---\na: 2\n",
            "a",
            json!(5),
            "a: 5\n---\na: 2\n",
        ),
        (
            "directives",
            "%YAML 1.2\n---\na: 1\n",
            "a",
            json!(5),
            "%YAML 1.2\n---\na: 5\n",
        ),
        (
            "root on the marker's line",
            "--- {a: b}\n",
            "a",
            json!("c"),
            "--- {a: c}\n",
        ),
        (
            "explicit key",
            "? a\n: b\n? c\n: d\n",
            "c",
            json!("e"),
            "? a\n: b\n? c\n: e\n",
        ),
        (
            "value on the next line",
            "a:\n  # why\n  b\nc: d\n",
            "a",
            json!("e"),
            "a:\n  # why\n  e\nc: d\n",
        ),
        (
            "lists in lists",
            "- - a\n  - - b\n    - c\n",
            "0.1.1",
            json!("d"),
            "- - a\n  - - b\n    - d\n",
        ),
        (
            "tabs before a comment",
            "a: b\t# c\n",
            "a",
            json!("d"),
            "a: d\t# c\n",
        ),
        (
            "local tag",
            "a: !vault |\n  x\n  y\nb: !env NAME\n",
            "b",
            json!("OTHER"),
            "a: !vault |\n  x\n  y\nb: !env OTHER\n",
        ),
        (
            "a key with brackets",
            "x[0]: a\n",
            "x[0]",
            json!("b"),
            "x[0]: b\n",
        ),
        (
            "document end",
            "a: b\n...\n",
            "a",
            json!("c"),
            "a: c\n...\n",
        ),
        (
            "no space after a flow key",
            "{\"a\":1}\n",
            "a",
            json!("c"),
            "{\"a\":c}\n",
        ),
    ];
    for (case, text, key, value, after) in cases {
        assert_eq!(edited(text, key, value).as_deref(), Ok(after), "{case}");
    }
}

/// Found by fuzzing: a `:` behind such a key made a mapping of the key, and its line read alone looked right.
#[test]
fn nothing_is_put_behind_a_key_that_has_no_colon() {
    for text in ["? a\n", "? #0\n a # c", "x: 1\n? a\n? b\n"] {
        let update = Update {
            key: "a".into(),
            value: "v".into(),
        };
        let error = set(text, &[update]).unwrap_err().to_string();
        assert!(error.contains("no `:`"), "{text:?}: {error}");
    }
    let update = Update {
        key: "a".into(),
        value: "v".into(),
    };
    assert_eq!(set("{a, b}\n", &[update]).as_deref(), Ok("{a: v, b}\n"));
}

#[test]
fn what_cannot_be_set_is_refused_and_says_what_to_do() {
    let cases: Vec<(&str, &str, &str, Value, &[&str])> = vec![
        (
            "C04 brackets",
            "charts:\n- {name: a}\n- name: b\n",
            "charts[1].name",
            json!("x"),
            &["charts[1]", "charts.1"],
        ),
        (
            "C07",
            "a: 1\n",
            "missing.key",
            json!(3),
            &["missing.key", "`a`"],
        ),
        (
            "nearest",
            "image:\n  tag: x\n  repository: y\n",
            "image.tga",
            json!("x"),
            &["image.tga", "`tag`"],
        ),
        (
            "C11",
            "base: &b {tag: v1}\nprod: *b\n",
            "prod.tag",
            json!("v2"),
            &["`prod` is an alias of `base`"],
        ),
        (
            "merge",
            "base: &b {tag: v1}\nprod:\n  <<: *b\n  x: 1\n",
            "prod.tag",
            json!("v2"),
            &["prod", "`base`"],
        ),
        ("list place", "a: [1]\n", "a.1", json!(2), &["1 items"]),
        (
            "list name",
            "a: [1]\n",
            "a.first",
            json!(2),
            &["`first`", "list"],
        ),
        ("negative", "a: [1]\n", "a.-1", json!(2), &["`-1`"]),
        (
            "below a scalar",
            "a: 1\n",
            "a.b",
            json!(2),
            &["`a` is a single value"],
        ),
        ("mapping", "a: {b: 1}\n", "a", json!(2), &["mapping"]),
        ("list", "a: [1]\n", "a", json!(2), &["list"]),
        ("twice", "a: 1\na: 2\n", "a", json!(3), &["twice"]),
        ("empty file", "# nothing\n", "a", json!(3), &["no content"]),
        ("empty key", "a: 1\n", "", json!(3), &["empty key"]),
        (
            "empty part",
            "a: 1\n",
            "a..b",
            json!(3),
            &["empty key part"],
        ),
        (
            "tab",
            "a:\n- b: 1\n\tc: 2\n",
            "a",
            json!(3),
            &["not YAML", "line 2"],
        ),
        ("tagged int", "a: !!int 1\n", "a", json!("x"), &["!!int"]),
        ("local tag", "a: !ref b\n", "a", json!(1), &["`!ref`"]),
        ("list as value", "a: 1\n", "a", json!([1]), &["single"]),
    ];
    for (case, text, key, value, said) in cases {
        let error = edited(text, key, value).expect_err(case);
        for words in said {
            assert!(error.contains(words), "{case}: {error:?} lacks {words:?}");
        }
    }
}

#[test]
fn all_updates_or_none() {
    let done = set(
        "a: 1\nb: 2\n",
        &[
            update("a", json!(2)),
            update("b", json!("x")),
            update("a", json!(3)),
        ],
    );
    assert_eq!(done.as_deref(), Ok("a: 3\nb: x\n"));
    assert!(
        set(
            "a: 1\n",
            &[update("a", json!(2)), update("missing.key", json!(3))]
        )
        .is_err(),
        "C07"
    );
}

#[test]
fn the_same_update_again_changes_nothing() {
    let text = "image:\n  tag: v1\nnote: \"one\n\n  two\"\nfold: >\n  a\n\n  b\n";
    let once = edited(text, "image.tag", "v2").unwrap();
    let mut again = once.clone();
    for _ in 0..10 {
        again = edited(&again, "image.tag", "v2").unwrap();
    }
    assert_eq!(once, again, "C19");
    for (text, value) in [
        ("a: True\n", json!(true)),
        ("a: 'x'\n", json!("x")),
        ("a: 0x10\n", json!(16)),
        ("a: 1.10\n", json!(1.1)),
        ("a: one\n  two\n", json!("one two")),
    ] {
        assert_eq!(
            edited(text, "a", value).as_deref(),
            Ok(text),
            "reads the same already"
        );
    }
    assert_eq!(
        edited("a: on\n", "a", "on").as_deref(),
        Ok("a: \"on\"\n"),
        "a reader of YAML 1.1 sees a bool"
    );
}

const RETYPED: &[&str] = &[
    "1.10",
    "3.0",
    "012",
    "018",
    "0x1F",
    "0b11",
    "1_000",
    "+1",
    ".5",
    "1e5",
    "0e12",
    "on",
    "no",
    "y",
    "null",
    "~",
    "true",
    "2024-01-02",
    "12:30",
    ".inf",
    "",
    "-1",
    "0o17",
    "1.",
    "2001-12-14t21:59:43.10-05:00",
    "190:20:30.15",
    "-.inf",
    ".NaN",
    "Yes",
    "OFF",
    "N",
    "=",
    "<<",
    "1_0.5",
    "12e03",
    "7",
    "2024-1-2 10:00:00",
    ".",
    "._",
];

#[test]
fn strings_that_a_reader_would_retype_are_quoted_in_the_style_that_is_there() {
    for text in RETYPED {
        assert_eq!(
            edited("v: 'old'\n", "v", *text),
            Ok(format!("v: '{text}'\n")),
            "C20 {text}"
        );
        assert_eq!(
            edited("v: old\n", "v", *text),
            Ok(format!("v: \"{text}\"\n")),
            "C20 {text}"
        );
    }
    for text in [
        "v1",
        "1.9.1",
        "main",
        "app:1.1",
        "a/b@sha256:0",
        "1.2.3-rc.1+5",
        "x_y",
        "feature-1",
        "e5",
        "2024-01-02-3",
    ] {
        assert_eq!(
            edited("v: old\n", "v", text),
            Ok(format!("v: {text}\n")),
            "C20 {text}"
        );
    }
}

const PUNCTUATION: &[&str] = &[
    "feat: x #1",
    "*star",
    "&amp",
    "@x",
    "%d",
    "- dash",
    "a: ",
    "\"q\"",
    "it's",
    "{x",
    " lead",
    "two\nlines",
    "🚀",
    "#x",
    "---",
    "...",
    "? x",
    "a:",
    "!x",
    "`x`",
    "|",
    ">",
    "tail ",
    "tab\there",
    "nul\0",
    "bell\u{7}",
    "nel\u{85}",
    "ls\u{2028}",
    "a\nb\n",
    "a\n\n b\n#c",
    "a\n\n",
    "\na\nb",
    "a\n\tb",
    "a\n \nb",
    "bom\u{feff}",
    "\\",
    "\r\n",
    "]",
    ",",
    "a]b",
    "a,b",
    "x #y",
    "x#y",
    "'",
    "''",
    "a'b\"c",
    "\u{e000}",
    "\u{1f680}\u{200d}",
    ":",
    "::",
    "[a]",
    "null ",
    "\u{fffe}",
    "1:2:x",
    // Some readers see an indicator before the comma or bracket that follows in flow style.
    "T -",
];

/// C22 as a property: every value, in every place of many files, reads back; nothing else moves.
#[test]
fn every_string_reads_back_in_every_style_and_nothing_else_changes() {
    let places = [
        "k: old\nz: 1\n",
        "k: 'old' # c\nz: 1\n",
        "k: \"old\"\nz: 1\n",
        "k: |\n  a\n  b\nz: 1\n",
        "k:\nz: 1\n",
        "{k: old, z: 1}\n",
        "{k: 'old', z: 1}",
        "k: &a old\nz: *a\n",
        "k: >+\n  a\n\n\nz: 1\n",
        "k: a\n  b\nz: 1\n",
    ];
    for text in places {
        for value in RETYPED.iter().chain(PUNCTUATION) {
            let after = edited(text, "k", *value)
                .unwrap_or_else(|error| panic!("{error}: {value:?} in {text:?}"));
            let (read, before) = (read_12(&after), read_12(text));
            assert_eq!(
                read["k"],
                json!(value),
                "{value:?} in {text:?} became {after:?}"
            );
            if !text.contains('*') {
                assert_eq!(
                    read["z"], before["z"],
                    "{value:?} in {text:?} became {after:?}"
                );
            }
        }
        for value in [
            json!(null),
            json!(true),
            json!(0),
            json!(-1),
            json!(1.5),
            json!(1e300),
            json!(u64::MAX),
            json!(i64::MIN),
        ] {
            let after = edited(text, "k", value.clone()).unwrap();
            assert_eq!(read_12(&after)["k"], value, "{after:?}");
        }
    }
}

/// A file made from a number: every shape nested in every other, with comments, styles and odd spacing.
struct Made {
    seed: u64,
    text: String,
    keys: Vec<(String, Value)>,
}

impl Made {
    fn pick(&mut self, of: u64) -> u64 {
        // xorshift: the same files in every run.
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed % of
    }

    fn push(&mut self, one_of: &[&str]) {
        let chosen = self.pick(one_of.len() as u64) as usize;
        self.text.push_str(one_of[chosen]);
    }

    fn file(seed: u64) -> Self {
        let mut made = Self {
            seed: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            text: String::new(),
            keys: Vec::new(),
        };
        if made.pick(4) == 0 {
            made.text.push_str("# head\n---\n");
        }
        made.block(0, "", 0);
        if made.pick(4) == 0 {
            let shorter = made.text.trim_end().len();
            if !made.text.ends_with("+\n\n") {
                made.text.truncate(shorter);
            }
        }
        if made.pick(3) == 0 {
            made.text = made.text.replace('\n', "\r\n");
        }
        made
    }

    fn block(&mut self, indent: usize, key: &str, depth: usize) {
        let list = depth > 0 && self.pick(3) == 0;
        for number in 0..1 + self.pick(3) {
            if self.pick(4) == 0 {
                self.push(&["\n", "# free\n", "# it's: \"x\" #\n"]);
            }
            let name = if list {
                number.to_string()
            } else {
                format!("{}{number}", ["k", "ü", "9", "a b"][self.pick(4) as usize])
            };
            self.text.push_str(&" ".repeat(indent));
            if list {
                self.text.push('-');
            } else if self.pick(4) == 0 {
                self.text.push_str(&format!("\"{name}\":"));
            } else {
                self.text.push_str(&format!("{name}:"));
            }
            let path = if key.is_empty() {
                name
            } else {
                format!("{key}.{name}")
            };
            if depth < 4 && self.pick(2) == 0 {
                self.push(&["\n", " # below\n"]);
                let deeper = indent + 1 + self.pick(3) as usize;
                self.block(deeper, &path, depth + 1);
            } else if self.pick(4) == 0 {
                self.text.push(' ');
                self.flow(&path, depth + 1);
                self.text.push('\n');
            } else {
                self.scalar(indent, &path);
            }
        }
    }

    fn scalar(&mut self, indent: usize, path: &str) {
        let pad = " ".repeat(indent + 2);
        let comment = ["", " # c", "   # don't \"x\""][self.pick(3) as usize];
        let (written, value) = match self.pick(9) {
            0 => (String::new(), json!(null)),
            1 => (" 1.50".into(), json!(1.5)),
            2 => (" 'it''s'".into(), json!("it's")),
            3 => (" \"a\\\"é\\n\"".into(), json!("a\"é\n")),
            4 => (
                format!(" |{comment}\n{pad}one\n{pad}# two"),
                json!("one\n# two\n"),
            ),
            5 => (format!(" >-\n{pad}one\n\n{pad}two"), json!("one\ntwo")),
            6 => (format!(" one\n{pad}two"), json!("one two")),
            7 => (" &x b".into(), json!("b")),
            _ => (" plain ü x".into(), json!("plain ü x")),
        };
        self.text.push_str(&written);
        if !written.contains('\n') {
            self.text.push_str(comment);
        }
        self.text.push('\n');
        self.keys.push((path.into(), value));
    }

    fn flow(&mut self, path: &str, depth: usize) {
        let list = self.pick(2) == 0;
        self.text.push_str(if list { "[" } else { "{ " });
        for number in 0..1 + self.pick(3) {
            if number > 0 {
                self.push(&[", ", ",", " , "]);
            }
            let name = if list {
                number.to_string()
            } else {
                format!("f{number}")
            };
            if !list {
                self.text.push_str(&format!("{name}: "));
            }
            let below = format!("{path}.{name}");
            if depth < 5 && self.pick(3) == 0 {
                self.flow(&below, depth + 1);
            } else {
                let (written, value) = [
                    ("x", json!("x")),
                    ("'y, z'", json!("y, z")),
                    ("\"q]\"", json!("q]")),
                    ("7", json!(7)),
                ][self.pick(4) as usize]
                    .clone();
                self.text.push_str(written);
                self.keys.push((below, value));
            }
        }
        self.push(&["", " ", ", "]);
        self.text.push(if list { ']' } else { '}' });
    }
}

fn point<'v>(value: &'v mut Value, key: &str) -> &'v mut Value {
    key.split('.').fold(value, |value, part| match value {
        Value::Array(items) => &mut items[part.parse::<usize>().unwrap()],
        other => &mut other[part],
    })
}

/// The proof inside `set` uses the parser that found the place; here another parser judges.
#[test]
fn generated_files_change_at_the_key_and_nowhere_else() {
    let values = [
        json!("v2"),
        json!("two\nlines: #x"),
        json!("1.10"),
        json!(42),
        json!(null),
        json!("a, b]"),
    ];
    let mut edits = 0;
    for seed in 0..150 {
        let made = Made::file(seed);
        let before = read_12(&made.text);
        for (number, (key, was)) in made.keys.iter().enumerate() {
            let mut expected = before.clone();
            assert_eq!(
                &*point(&mut expected, key),
                was,
                "the generator is wrong: {key}\n{}",
                made.text
            );
            let value = &values[(number + seed as usize) % values.len()];
            *point(&mut expected, key) = value.clone();
            let after = edited(&made.text, key, value.clone())
                .unwrap_or_else(|error| panic!("{error}\n{}", made.text));
            assert_eq!(
                read_12(&after),
                expected,
                "{key} = {value}\n{}\n---\n{after}",
                made.text
            );
            let comments = |text: &str| {
                text.matches('#').count()
                    - text.matches("# two").count()
                    - text.matches(": #x").count()
            };
            assert_eq!(
                comments(&made.text),
                comments(&after),
                "{key}\n{}\n---\n{after}",
                made.text
            );
            edits += 1;
        }
    }
    assert!(edits > 1000, "{edits}");
}

#[test]
fn deep_nesting_is_refused_not_followed() {
    assert!(edited(&"[".repeat(5000), "0", 1).is_err());
    let error = edited(&format!("{}x\n", "- ".repeat(300)), "0", 1).unwrap_err();
    assert!(error.contains("levels"), "{error}");
}

#[test]
fn garbage_never_panics() {
    let pieces = [
        "a", ":", " ", "\n", "-", "[", "]", "{", "}", ",", "'", "\"", "|", ">", "&x", "*x", "!t",
        "#", "?", "ü", "\t", "\r\n", "---", "%", "\u{feff}",
    ];
    let mut seed = 7u64;
    for _ in 0..5_000 {
        let mut text = String::new();
        for _ in 0..12 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            text.push_str(pieces[(seed >> 33) as usize % pieces.len()]);
        }
        for key in ["a", "0", "a.0", "0.a"] {
            drop(edited(&text, key, "v"));
        }
    }
}

/// Entries come and go in generated files, and another parser sees only them.
#[test]
fn entries_are_added_replaced_and_removed_and_nothing_else_changes() {
    for seed in 0..300 {
        let made = Made::file(seed);
        let mut expected = read_12(&made.text);
        let mut editor = Editor::open(&made.text).unwrap();
        let mut agree = |editor: &Editor, images: Value| {
            expected["images"] = images;
            assert_eq!(
                read_12(&editor.body),
                expected,
                "{}\n---\n{}",
                made.text,
                editor.body
            );
        };
        let field = |key, value: &str| (key, value.to_owned());
        editor
            .append(0, "images", &[field("name", "a"), field("tag", "1.0")])
            .unwrap();
        agree(&editor, json!([{"name": "a", "tag": "1.0"}]));
        editor
            .append(0, "images", &[field("name", "b: c")])
            .unwrap();
        agree(
            &editor,
            json!([{"name": "a", "tag": "1.0"}, {"name": "b: c"}]),
        );
        let Some(tree::Content::Map(entries)) = editor.node(0, &[]).map(|root| &root.content)
        else {
            panic!()
        };
        let list = entries.len() - 1;
        editor.add_entry(0, &[list, 1], "tag", "x").unwrap();
        agree(
            &editor,
            json!([{"name": "a", "tag": "1.0"}, {"name": "b: c", "tag": "x"}]),
        );
        editor
            .replace_entry(0, &[list, 0], 1, "digest", "sha256:1")
            .unwrap();
        agree(
            &editor,
            json!([{"name": "a", "digest": "sha256:1"}, {"name": "b: c", "tag": "x"}]),
        );
        editor.remove_entry(0, &[list, 0], 0).unwrap();
        agree(
            &editor,
            json!([{"digest": "sha256:1"}, {"name": "b: c", "tag": "x"}]),
        );
        editor.remove_entry(0, &[list, 1], 1).unwrap();
        agree(&editor, json!([{"digest": "sha256:1"}, {"name": "b: c"}]));
    }
}
