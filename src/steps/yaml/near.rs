//! Proving an edit by its surroundings: a large file need not be read again for one value.

use super::{
    place::Text,
    proof::Proof,
    set::{Wanted, spliced},
    tree::{self, Content, Node},
};

/// An entry of a block mapping or list with lines of its own.
struct Entry<'n> {
    start: usize,
    end: usize,
    /// The white space before it.
    indent: &'n str,
    content: Kind<'n>,
}

enum Kind<'n> {
    Pair(&'n (Node, Node)),
    Item(&'n Node),
}

/// The entry that would come next: it must be found as such, so nothing before it is left open.
const NEXT: &str = "\"next entry\"";

/// Whether the entries around the edits, read alone, are what `expected` has there. What cannot be read alone, such as
/// an alias of something outside, is not proved.
pub(super) fn proved(body: &str, expected: &[Node], wanted: &[Wanted<'_>]) -> bool {
    let text = Text::new(body);
    let mut rest = wanted;
    while let Some(first) = rest.first() {
        // Of entries in entries the outermost counts; it may end behind several edits.
        let Some(root) = expected.get(first.document) else {
            return false;
        };
        let Some(mut entry) = around(&text, root, &first.route) else {
            return false;
        };
        loop {
            let inside = rest
                .iter()
                .take_while(|wanted| wanted.edit.start < entry.end);
            let cut = inside
                .clone()
                .filter_map(|wanted| around(&text, root, &wanted.route))
                .find(|other| other.start < entry.start);
            match cut {
                Some(outer) => entry = outer,
                None => break,
            }
        }
        let count = rest
            .iter()
            .take_while(|wanted| wanted.edit.start < entry.end)
            .count();
        let (inside, after) = rest.split_at(count.max(1));
        if !entry.proved(body, inside) {
            return false;
        }
        rest = after;
    }
    true
}

/// The smallest entry with lines of its own around the node at `route`.
fn around<'n>(text: &Text<'n>, root: &'n Node, route: &[usize]) -> Option<Entry<'n>> {
    let mut node = root;
    let mut end = past_comments(text, root.bytes.end);
    let mut found = None;
    for index in route {
        if node.flow {
            break;
        }
        let (place, next, content, below, dash) = match &node.content {
            Content::Map(entries) => {
                let entry = entries.get(*index)?;
                let next = entries.get(index + 1).map(|(key, _)| key.outer);
                (entry.0.outer, next, Kind::Pair(entry), &entry.1, "")
            }
            Content::Seq(items) => {
                let item = items.get(*index)?;
                let next = items.get(index + 1).map(|item| item.outer);
                (item.outer, next, Kind::Item(item), item, "-")
            }
            _ => break,
        };
        if let Some(next) = next {
            match own_line(text, next, dash) {
                Some((start, _)) => end = start,
                None => break,
            }
        }
        if let Some((start, indent)) = own_line(text, place, dash) {
            found = Some(Entry {
                start,
                end,
                indent,
                content,
            });
        }
        node = below;
    }
    found
}

/// The start of the line in which only white space and `dash` stand before `at`, and that white space.
fn own_line<'n>(text: &Text<'n>, at: usize, dash: &str) -> Option<(usize, &'n str)> {
    let before = text.before(at);
    let indent = before.trim_start_matches(' ');
    let marks = indent.strip_prefix(dash)?;
    let indent = before.get(..before.len() - indent.len())?;
    marks
        .trim_matches(' ')
        .is_empty()
        .then(|| (text.line_start(at), indent))
}

/// The end of the line of `at` and of the blank and comment lines behind it.
fn past_comments(text: &Text<'_>, at: usize) -> usize {
    let rest = text.from(at);
    let mut end = at;
    for (number, line) in rest.split_inclusive('\n').enumerate() {
        let content = line.trim_start();
        if number > 0 && !content.is_empty() && !content.starts_with('#') {
            break;
        }
        end += line.len();
    }
    end
}

impl Entry<'_> {
    fn proved(&self, body: &str, inside: &[Wanted<'_>]) -> bool {
        let moved: Option<Vec<_>> = inside
            .iter()
            .map(|wanted| wanted.edit.moved(self.start))
            .collect();
        let alone = body.get(self.start..self.end).zip(moved);
        let Some(mut alone) = alone.and_then(|(alone, edits)| {
            let edits: Vec<_> = edits.iter().collect();
            spliced(alone, &edits)
        }) else {
            return false;
        };
        let last = self.end == body.len();
        if !last {
            alone.push_str(self.indent);
            alone.push_str(match self.content {
                Kind::Pair(_) => NEXT,
                Kind::Item(_) => "- ",
            });
            alone.push_str(match self.content {
                Kind::Pair(_) => ":\n",
                Kind::Item(_) => NEXT,
            });
        }
        let Ok(read) = tree::parse(&alone) else {
            return false;
        };
        let [root] = read.as_slice() else {
            return false;
        };
        let mut proof = Proof::default();
        let is_next = |node: Option<&Node>| match node {
            Some(node) => !last && node.text() == Some(NEXT.trim_matches('"')),
            None => last,
        };
        match (&root.content, &self.content) {
            (Content::Map(entries), Kind::Pair((key, value))) => {
                entries.len() <= 2
                    && is_next(entries.get(1).map(|(key, _)| key))
                    && entries.first().is_some_and(|(read_key, read_value)| {
                        proof.same(read_key, key) && proof.same(read_value, value)
                    })
            }
            (Content::Seq(items), Kind::Item(item)) => {
                items.len() <= 2
                    && is_next(items.get(1))
                    && items.first().is_some_and(|read| proof.same(read, item))
            }
            _ => false,
        }
    }
}
