//! YAML files made from a tape of choices, with the place and the value of everything in them, known without a parser.

use std::{collections::BTreeMap, ops::Range};

use serde_json::{Map, Value, json};

/// A value of a file.
pub struct Leaf {
    /// How an update addresses it.
    pub key: String,
    /// Its bytes, without anchor, tag and comment; empty behind the colon where nothing is written.
    pub place: Range<usize>,
    /// Tagged as a string.
    pub text_only: bool,
    value: Value,
    alias_of: Option<usize>,
}

enum Model {
    Leaf(usize),
    Map(Vec<(String, Model)>),
    Seq(Vec<Model>),
}

/// A file of one or more documents.
#[derive(Default)]
pub struct Made {
    pub text: String,
    pub leaves: Vec<Leaf>,
    documents: Vec<Model>,
    anchors: Vec<usize>,
    newline: &'static str,
    /// The text so far ends in a block that keeps the blank lines behind it.
    keeps: bool,
    /// It ends in a block, so that spaces in the line behind it would be part of that.
    blocked: bool,
}

/// Choices, one after the other; the first one for ever when they are used up.
pub struct Tape<'a>(pub &'a [u8]);

impl Tape<'_> {
    pub fn pick(&mut self, of: usize) -> usize {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                usize::from(*first) % of
            }
            None => 0,
        }
    }

    fn rarely(&mut self) -> bool {
        self.pick(5) == 4
    }

    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.pick(of.len())]
    }
}

const DEEPEST: usize = 7;
const COMMENTS: &[&str] = &["", "", " # c", "   # don't \"x\": [", "\t# ü {", " #"];

impl Made {
    pub fn new(tape: &mut Tape<'_>) -> Self {
        let mut made = Self {
            newline: if tape.rarely() { "\r\n" } else { "\n" },
            ..Self::default()
        };
        let documents = 1 + if tape.rarely() { tape.pick(3) } else { 0 };
        for number in 0..documents {
            made.document(number, tape);
        }
        if tape.rarely() && !made.keeps {
            let end = made.text.trim_end_matches(['\r', '\n']).len();
            made.text.truncate(end);
        }
        made
    }

    /// What the documents hold when some leaves have other values.
    pub fn values(&self, changed: &BTreeMap<usize, Value>) -> Vec<Value> {
        self.documents
            .iter()
            .map(|root| self.value(root, changed))
            .collect()
    }

    fn value(&self, model: &Model, changed: &BTreeMap<usize, Value>) -> Value {
        match model {
            Model::Leaf(number) => self.leaf_value(*number, changed),
            Model::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|(key, value)| (key.clone(), self.value(value, changed)))
                    .collect::<Map<_, _>>(),
            ),
            Model::Seq(items) => items.iter().map(|item| self.value(item, changed)).collect(),
        }
    }

    fn leaf_value(&self, number: usize, changed: &BTreeMap<usize, Value>) -> Value {
        let leaf = &self.leaves[number];
        match (changed.get(&number), leaf.alias_of) {
            (Some(value), _) => value.clone(),
            (None, Some(anchor)) => self.leaf_value(anchor, changed),
            (None, None) => leaf.value.clone(),
        }
    }

    fn line(&mut self) {
        self.text.push_str(self.newline);
    }

    fn document(&mut self, number: usize, tape: &mut Tape<'_>) {
        self.anchors.clear();
        if number > 0 || tape.rarely() {
            let directive = number == 0 && tape.rarely();
            let before: &[&str] = match (number, directive) {
                (0, true) => &["# head", "%YAML 1.2"],
                (0, false) => &["# head", ""],
                _ if self.keeps => &[],
                _ => tape.one(&[&[][..], &["...", "# between"], &["", "# between"]]),
            };
            for line in before {
                self.text.push_str(line);
                self.line();
            }
            self.text.push_str(tape.one(&["---", "--- # start"]));
            self.line();
        }
        (self.keeps, self.blocked) = (false, false);
        // Other names in each document, since a key means the first that has it.
        let name = format!("d{number}");
        let root = match tape.pick(6) {
            5 if number == 0 => self.block_seq(0, "", 0, false, tape),
            4 => {
                self.text.push_str("{ ");
                self.text.push_str(&name);
                self.text.push_str(": ");
                let flow = self.flow(&name, 1, 0, tape);
                self.text.push_str(tape.one(&["}", " ,}", " }"]));
                self.line();
                Model::Map(vec![(name, flow)])
            }
            _ if number == 0 => self.block_map(0, "", 0, false, tape),
            _ => {
                let indent = tape.one(&[0, 0, 3]);
                self.text.push_str(&" ".repeat(indent));
                self.text.push_str(&name);
                self.text.push(':');
                let value = self.behind(indent, &name, 1, true, tape);
                Model::Map(vec![(name, value)])
            }
        };
        self.documents.push(root);
    }

    /// Blank lines and comments before an entry.
    fn filler(&mut self, indent: usize, tape: &mut Tape<'_>) {
        if !tape.rarely() {
            return;
        }
        if !self.keeps && tape.pick(2) == 0 {
            let blank = tape.one(&["", "", "  "]);
            self.text.push_str(if self.blocked { "" } else { blank });
            self.line();
        }
        if tape.pick(2) == 0 {
            // Never further in than the entry, or it would belong to a block before it.
            self.text
                .push_str(&" ".repeat(tape.one(&[indent, 0, indent / 2])));
            self.text
                .push_str(tape.one(&["# free", "# it's: \"x\" #", "#- a: |", "#"]));
            self.line();
        }
    }

    fn block_map(
        &mut self,
        indent: usize,
        path: &str,
        depth: usize,
        inline: bool,
        tape: &mut Tape<'_>,
    ) -> Model {
        let mut entries = Vec::new();
        for number in 0..1 + tape.pick(4) {
            if number > 0 || !inline {
                self.filler(indent, tape);
                self.text.push_str(&" ".repeat(indent));
            }
            (self.keeps, self.blocked) = (false, false);
            let (written, name) = key(number, tape);
            let path = below(path, &name);
            let explicit = tape.pick(12) == 11;
            if explicit {
                self.text.push_str("? ");
                self.text.push_str(&written);
                self.text.push_str(tape.one(COMMENTS));
                self.line();
                self.text.push_str(&" ".repeat(indent));
            } else {
                self.text.push_str(&written);
                self.text.push_str(tape.one(&["", "", "", " "]));
            }
            self.text.push(':');
            let value = self.behind(indent, &path, depth + 1, !explicit, tape);
            entries.push((name, value));
        }
        Model::Map(entries)
    }

    fn block_seq(
        &mut self,
        indent: usize,
        path: &str,
        depth: usize,
        inline: bool,
        tape: &mut Tape<'_>,
    ) -> Model {
        let mut items = Vec::new();
        for number in 0..1 + tape.pick(3) {
            if number > 0 || !inline {
                self.filler(indent, tape);
                self.text.push_str(&" ".repeat(indent));
            }
            (self.keeps, self.blocked) = (false, false);
            self.text.push('-');
            let path = below(path, &number.to_string());
            let wide = 1 + tape.one(&[0, 0, 2]);
            let item = match tape.pick(4) {
                0 if depth < DEEPEST => {
                    self.text.push_str(&" ".repeat(wide));
                    self.block_map(indent + 1 + wide, &path, depth + 1, true, tape)
                }
                1 if depth < DEEPEST => {
                    self.text.push_str(&" ".repeat(wide));
                    self.block_seq(indent + 1 + wide, &path, depth + 1, true, tape)
                }
                _ => self.behind(indent, &path, depth + 1, false, tape),
            };
            items.push(item);
        }
        Model::Seq(items)
    }

    /// What stands behind a colon or a dash, to the end of its line or lines.
    fn behind(
        &mut self,
        indent: usize,
        path: &str,
        depth: usize,
        flush_list: bool,
        tape: &mut Tape<'_>,
    ) -> Model {
        match tape.pick(9) {
            0 if depth < DEEPEST => {
                self.below(tape);
                let deeper = indent + 1 + tape.pick(4);
                self.block_map(deeper, path, depth, false, tape)
            }
            1 if depth < DEEPEST => {
                self.below(tape);
                let deeper = indent + usize::from(!flush_list) + tape.pick(3);
                self.block_seq(deeper, path, depth, false, tape)
            }
            2 => {
                self.text.push(' ');
                let flow = self.flow(path, depth, indent, tape);
                self.text.push_str(tape.one(COMMENTS));
                self.line();
                flow
            }
            3 => self.block_scalar(indent, path, tape),
            _ => {
                let leaf = self.scalar(path, indent, false, tape);
                self.text.push_str(tape.one(COMMENTS));
                self.line();
                leaf
            }
        }
    }

    fn below(&mut self, tape: &mut Tape<'_>) {
        self.text
            .push_str(tape.one(&["", "", "", " # below", " !!x", " &unused # c"]));
        self.line();
    }

    fn leaf(&mut self, path: &str, start: usize, value: Value, text_only: bool) -> Model {
        self.leaves.push(Leaf {
            key: path.to_owned(),
            place: start..self.text.len(),
            text_only,
            value,
            alias_of: None,
        });
        Model::Leaf(self.leaves.len() - 1)
    }

    fn scalar(&mut self, path: &str, indent: usize, in_flow: bool, tape: &mut Tape<'_>) -> Model {
        let gap = tape.one(&[" ", " ", "  "]);
        if !self.anchors.is_empty() && tape.pick(10) == 9 {
            let number = tape.one(&self.anchors);
            let start = self.text.len() + gap.len();
            self.text.push_str(&format!("{gap}*a{number}"));
            let leaf = self.leaf(path, start, Value::Null, false);
            if let Some(last) = self.leaves.last_mut() {
                last.alias_of = Some(number);
            }
            if in_flow {
                self.text.push(' ');
            }
            return leaf;
        }
        let number = self.leaves.len();
        let tagged = tape.pick(12) == 11;
        let anchored = tape.pick(8) == 7;
        let mut before = String::new();
        if anchored {
            before.push_str(&format!("{gap}&a{number}"));
            self.anchors.push(number);
        }
        if tagged {
            before.push_str(" !!str");
        }
        let fold = format!("{}{}", self.newline, " ".repeat(indent + 1 + tape.pick(3)));
        let (written, value) = match tape.pick(14) {
            // The tag would make a text of it, in some readers.
            0 | 1 if tagged => ("x".to_owned(), json!("x")),
            0 => (String::new(), Value::Null),
            1 => {
                let (written, value) = tape.one(&[
                    ("~", "null"),
                    ("1.50", "1.5"),
                    ("-7", "-7"),
                    ("true", "true"),
                    ("0x1f", "31"),
                ]);
                (written.into(), serde_json::from_str(value).unwrap())
            }
            2 => ("'it''s'".into(), json!("it's")),
            3 => ("\"a\\\"é\\n\\u263a\"".into(), json!("a\"é\n☺")),
            4 => ("''".into(), json!("")),
            5 => (format!("\"one{fold}two\""), json!("one two")),
            6 => (format!("'one{}{fold}two'", self.newline), json!("one\ntwo")),
            7 if !in_flow => (
                format!("one{fold}two{fold}x#three"),
                json!("one two x#three"),
            ),
            8 => ("\"# x: [ ]\"".into(), json!("# x: [ ]")),
            9 => ("üñ ☃🚀 x".into(), json!("üñ ☃🚀 x")),
            10 if !in_flow => ("a:b, c] it's#1x".into(), json!("a:b, c] it's#1x")),
            11 => ("v1.2.3-rc.1+5".into(), json!("v1.2.3-rc.1+5")),
            12 if !in_flow => (format!("one{}{fold}two", self.newline), json!("one\ntwo")),
            _ => ("plain x".into(), json!("plain x")),
        };
        self.text.push_str(&before);
        if !written.is_empty() {
            self.text.push_str(gap);
        }
        let start = self.text.len();
        self.text.push_str(&written);
        self.leaf(path, start, value, tagged)
    }

    fn block_scalar(&mut self, indent: usize, path: &str, tape: &mut Tape<'_>) -> Model {
        let folded = tape.pick(3) == 2;
        let deeper = 1 + tape.pick(4);
        let pad = " ".repeat(indent + deeper);
        let chomp = tape.one(&["", "-", "+"]);
        let lead = tape.rarely() && !folded;
        let lines: &[&str] = match folded {
            true => tape.one(&[&["one", "two"][..], &["one", "", "two"], &["#x", "y: z"]]),
            false => tape.one(&[&["one", "# two"][..], &["a: b", "", "  - c"], &["one"]]),
        };
        self.text.push(' ');
        let start = self.text.len();
        self.text.push(if folded { '>' } else { '|' });
        let number = if lead {
            deeper.to_string()
        } else {
            String::new()
        };
        self.text.push_str(&match tape.pick(2) {
            0 => format!("{number}{chomp}"),
            _ => format!("{chomp}{number}"),
        });
        self.text.push_str(tape.one(&["", "", " # why"]));
        let mut value = String::new();
        for (at, line) in lines.iter().enumerate() {
            self.line();
            let lead = if lead && at == 0 { "  " } else { "" };
            if !line.is_empty() {
                self.text.push_str(&format!("{pad}{lead}{line}"));
            }
            let join = match (
                folded,
                value.is_empty(),
                line.is_empty(),
                value.ends_with('\n'),
            ) {
                (_, true, _, _) => "",
                (true, _, true, _) => "\n",
                (true, _, false, true) => "",
                (true, ..) => " ",
                (false, ..) => "\n",
            };
            value.push_str(join);
            value.push_str(&format!("{lead}{line}"));
        }
        let blank = tape.one(&[0, 0, 1, 2]);
        match chomp {
            "" => value.push('\n'),
            "+" => value.push_str(&"\n".repeat(1 + blank)),
            _ => {}
        }
        let mut end = self.text.len();
        self.line();
        for _ in 0..blank {
            end = if chomp == "+" { self.text.len() } else { end };
            self.line();
        }
        (self.keeps, self.blocked) = (chomp == "+", true);
        let leaf = self.leaf(path, start, json!(value), false);
        if let Some(last) = self.leaves.last_mut() {
            last.place.end = end;
        }
        leaf
    }

    /// A list or mapping in brackets, or a scalar in one.
    fn flow(&mut self, path: &str, depth: usize, indent: usize, tape: &mut Tape<'_>) -> Model {
        let list = tape.pick(2) == 0;
        let gap = match tape.pick(6) {
            0 => format!("{}{}", self.newline, " ".repeat(indent + 1)),
            1 => format!(" # in flow ]{}{}", self.newline, " ".repeat(indent + 2)),
            _ => String::new(),
        };
        self.text.push(if list { '[' } else { '{' });
        self.text.push_str(&gap);
        let (mut items, mut entries) = (Vec::new(), Vec::new());
        for number in 0..tape.pick(4) {
            if number > 0 {
                self.text.push_str(tape.one(&[", ", " , ", ",  "]));
            }
            let name = if list {
                number.to_string()
            } else {
                let (written, name) = flow_key(number, tape);
                self.text.push_str(&written);
                self.text.push(':');
                name
            };
            let path = below(path, &name);
            let inner = if depth < DEEPEST && tape.pick(3) == 2 {
                self.text.push(' ');
                self.flow(&path, depth + 1, indent, tape)
            } else {
                let before = self.text.len();
                let leaf = self.scalar(&path, indent, true, tape);
                if list && self.text.len() == before {
                    // Between commas nothing is no item.
                    self.text.push('x');
                    let last = self.leaves.len() - 1;
                    self.leaves[last].value = json!("x");
                    self.leaves[last].place = before..before + 1;
                }
                leaf
            };
            self.text.push_str(tape.one(&["", "", "", " "]));
            if list {
                items.push(inner);
            } else {
                entries.push((name, inner));
            }
        }
        if !(items.is_empty() && entries.is_empty()) && tape.rarely() {
            self.text.push(',');
        }
        self.text.push_str(&gap);
        self.text.push(if list { ']' } else { '}' });
        match list {
            true => Model::Seq(items),
            false => Model::Map(entries),
        }
    }
}

/// As written, and what it is.
fn key(number: usize, tape: &mut Tape<'_>) -> (String, String) {
    let (written, name) = tape.one(&[
        ("k", "k"),
        ("k", "k"),
        ("9", "9"),
        ("a b", "a b"),
        ("ü.☃", "ü.☃"),
        ("a\\", "a\\"),
        ("'q''s: ", "q's: "),
        ("\"d\\\"\\u00e9", "d\"é"),
        ("-x", "-x"),
        ("a:b", "a:b"),
        ("x[0]", "x[0]"),
    ]);
    let quote = written.chars().next().filter(|c| "'\"".contains(*c));
    let quote = quote.map_or(String::new(), String::from);
    (
        format!("{written}{number}{quote}"),
        format!("{name}{number}"),
    )
}

fn flow_key(number: usize, tape: &mut Tape<'_>) -> (String, String) {
    let (written, name) = tape.one(&[("f", "f"), ("'f, ", "f, "), ("\"f]", "f]"), ("é.x", "é.x")]);
    let quote = written.chars().next().filter(|c| "'\"".contains(*c));
    let quote = quote.map_or(String::new(), String::from);
    (
        format!("{written}{number}{quote}"),
        format!("{name}{number}"),
    )
}

fn below(path: &str, name: &str) -> String {
    let escaped = name.replace('\\', "\\\\").replace('.', "\\.");
    if path.is_empty() {
        escaped
    } else {
        format!("{path}.{escaped}")
    }
}
