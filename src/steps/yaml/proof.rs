//! Whether a text reads as it should after an edit.

use std::collections::HashMap;

use super::{
    scalar,
    tree::{Content, Node, Style},
};

/// Compares what was read with what was expected. Anchors are numbered by each reading, so it is kept which is which.
#[derive(Clone, Default)]
pub(super) struct Proof {
    pub(super) anchors: HashMap<usize, usize>,
}

/// Whether whole files are the same.
pub(super) fn same_files(read: &[Node], expected: &[Node]) -> bool {
    let mut proof = Proof::default();
    read.len() == expected.len()
        && read
            .iter()
            .zip(expected)
            .all(|(read, expected)| proof.same(read, expected))
}

impl Proof {
    /// The same in content, style, anchors and tags, wherever it stands.
    pub(super) fn same(&mut self, read: &Node, expected: &Node) -> bool {
        if let Content::Copied(copied) = &expected.content {
            return read.tag == expected.tag
                && self.anchor(read.anchor, expected.anchor)
                && self.alike_content(read, copied);
        }
        if !self.anchor(read.anchor, expected.anchor) || read.tag != expected.tag {
            return false;
        }
        match (&read.content, &expected.content) {
            (_, Content::Written(value)) => scalar::reads_as(read, value),
            (Content::Scalar { text: a, style: b }, Content::Scalar { text: x, style: y }) => {
                a == x && b == y
            }
            (Content::Alias(a), Content::Alias(x)) => self.anchors.get(a) == Some(x),
            (Content::Seq(a), Content::Seq(x)) => {
                read.flow == expected.flow
                    && a.len() == x.len()
                    && a.iter().zip(x).all(|(a, x)| self.same(a, x))
            }
            (Content::Map(a), Content::Map(x)) => {
                read.flow == expected.flow
                    && a.len() == x.len()
                    && a.iter()
                        .zip(x)
                        .all(|((ak, av), (xk, xv))| self.same(ak, xk) && self.same(av, xv))
            }
            _ => false,
        }
    }

    /// The same in meaning, in whatever style.
    pub(super) fn alike(&mut self, read: &Node, other: &Node) -> bool {
        self.anchor(read.anchor, other.anchor)
            && read.tag == other.tag
            && self.alike_content(read, other)
    }

    /// The same without regard to their own anchors and tags.
    pub(super) fn alike_content(&mut self, read: &Node, other: &Node) -> bool {
        match (&read.content, &other.content) {
            (Content::Scalar { text: a, style: b }, Content::Scalar { text: x, style: y }) => {
                let bare = |style: &Style| matches!(style, Style::Plain | Style::Missing);
                let null = |node: &Node| scalar::read(node) == Some(serde_json::Value::Null);
                let sure = read.tag.is_some() || scalar::safe_bare(a, false);
                a == x && (bare(b) == bare(y) || sure) || null(read) && null(other)
            }
            (Content::Alias(a), Content::Alias(x)) => self.anchors.get(a) == Some(x),
            (Content::Seq(a), Content::Seq(x)) => {
                a.len() == x.len() && a.iter().zip(x).all(|(a, x)| self.alike(a, x))
            }
            (Content::Map(a), Content::Map(x)) => {
                a.len() == x.len()
                    && a.iter()
                        .zip(x)
                        .all(|((ak, av), (xk, xv))| self.alike(ak, xk) && self.alike(av, xv))
            }
            _ => false,
        }
    }

    /// Takes two anchors for each other; one alone is a difference.
    pub(super) fn anchor(&mut self, read: usize, expected: usize) -> bool {
        if read > 0 && expected > 0 {
            self.anchors.insert(read, expected);
        }
        (read > 0) == (expected > 0)
    }
}
