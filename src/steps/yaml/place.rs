//! Where things are in the text: the parser's marks count characters and are loose at some ends, so places are found
//! by walking forward from the one before, with the parser saying what comes.

/// The text with its byte offsets by character.
pub(super) struct Text<'a> {
    pub(super) all: &'a str,
    /// Byte offset of each character and of the end; empty where every character is one byte.
    offsets: Vec<usize>,
}

impl<'a> Text<'a> {
    pub(super) fn new(all: &'a str) -> Self {
        let offsets = if all.is_ascii() {
            Vec::new()
        } else {
            all.char_indices()
                .map(|(at, _)| at)
                .chain([all.len()])
                .collect()
        };
        Self { all, offsets }
    }

    /// The byte offset of the character with this index; the end for those beyond it.
    pub(super) fn byte(&self, index: usize) -> usize {
        if self.offsets.is_empty() {
            index.min(self.all.len())
        } else {
            self.offsets.get(index).copied().unwrap_or(self.all.len())
        }
    }

    pub(super) fn from(&self, at: usize) -> &'a str {
        self.all.get(at..).unwrap_or("")
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &'a str {
        self.all.get(start..end).unwrap_or("")
    }

    /// The line of a byte offset, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        self.slice(0, at).matches('\n').count() + 1
    }

    pub(super) fn at(&self, at: usize, c: char) -> bool {
        self.from(at).starts_with(c)
    }

    /// Whether an indicator such as `?` or `-` stands here: it does only before white space or the end.
    pub(super) fn indicator(&self, at: usize, c: char) -> bool {
        self.from(at)
            .strip_prefix(c)
            .is_some_and(|rest| rest.chars().next().is_none_or(char::is_whitespace))
    }

    /// Past white space, line breaks and comments.
    pub(super) fn skip_space(&self, mut at: usize) -> usize {
        loop {
            let rest = self.from(at);
            let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n']);
            at += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') || !self.may_comment(at) {
                return at;
            }
            at = self.line_end(at);
        }
    }

    fn may_comment(&self, at: usize) -> bool {
        self.slice(0, at)
            .chars()
            .next_back()
            .is_none_or(|c| c.is_whitespace() || ",[]{}:".contains(c))
    }

    /// Past one anchor or tag that starts here.
    pub(super) fn skip_property(&self, at: usize) -> usize {
        let rest = self.from(at);
        if rest.starts_with("!<") {
            return at + rest.find('>').map_or(rest.len(), |end| end + 1);
        }
        at + rest
            .find(|c: char| c.is_whitespace() || ",[]{}".contains(c))
            .unwrap_or(rest.len())
    }

    /// Past the closing quote of the quoted text that starts here; none where it does not start or end.
    pub(super) fn quoted_end(&self, at: usize) -> Option<usize> {
        let rest = self.from(at);
        let quote = rest.chars().next().filter(|c| ['"', '\''].contains(c))?;
        let mut chars = rest.char_indices().skip(1).peekable();
        while let Some((offset, c)) = chars.next() {
            if quote == '"' && c == '\\' {
                chars.next();
            } else if c == quote {
                if quote == '\'' && chars.peek().is_some_and(|(_, next)| *next == '\'') {
                    chars.next();
                } else {
                    return Some(at + offset + 1);
                }
            }
        }
        None
    }

    /// The end of the line that `at` is in, before its line break (and before the `\r` of one).
    pub(super) fn line_end(&self, at: usize) -> usize {
        let rest = self.from(at);
        let line = rest.split('\n').next().unwrap_or(rest);
        at + if line.len() < rest.len() {
            line.strip_suffix('\r').unwrap_or(line).len()
        } else {
            line.len()
        }
    }

    /// The start of the line that `at` is in.
    pub(super) fn line_start(&self, at: usize) -> usize {
        self.slice(0, at).rfind('\n').map_or(0, |before| before + 1)
    }

    /// What stands between the start of the line and `at`.
    pub(super) fn before(&self, at: usize) -> &'a str {
        self.slice(self.line_start(at), at)
    }

    /// The line break that the file uses.
    pub(super) fn newline(&self) -> &'static str {
        match self.all.find('\n') {
            Some(at) if self.slice(0, at).ends_with('\r') => "\r\n",
            _ => "\n",
        }
    }
}
