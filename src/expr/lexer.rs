//! Text to tokens.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::CharIndices;
use std::sync::LazyLock;

use regex::Regex;

use super::error::Span;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Identifier,
    Number,
    String,
    Bytes,
    Operator,
    Bracket,
    Eof,
}

#[derive(Clone, Debug)]
pub(super) struct Token<'s> {
    pub kind: Kind,
    pub value: Cow<'s, str>,
    /// Of a literal of bytes.
    pub bytes: Vec<u8>,
    pub span: Span,
}

impl Token<'_> {
    pub fn is(&self, kind: Kind, value: &str) -> bool {
        self.kind == kind && self.value == value
    }

    pub fn describe(&self) -> String {
        match self.kind {
            Kind::Eof => "EOF".to_owned(),
            kind => format!("{kind:?}({:?})", self.value),
        }
    }
}

/// A message at a place; the caller knows the source and makes the public error.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub message: String,
    pub span: Span,
}

impl Fault {
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            span,
        }
    }
}

const KEYWORDS: [&str; 11] = [
    "not",
    "in",
    "or",
    "and",
    "matches",
    "contains",
    "startsWith",
    "endsWith",
    "let",
    "if",
    "else",
];

/// More than any tree within the parser's limits is made of.
const MOST_TOKENS: usize = 100_000;

/// The largest code of a character.
const MOST_CODE: u32 = 0x0010_FFFF;

/// A part of a literal, as text and bytes read it differently.
enum Piece {
    Char(char),
    /// Written as a short escape or as `\xNN`: in text the character of that number.
    Byte(u8),
    Octal(u32),
    /// Written as `\u` or `\U`: text only.
    Code(u32),
}

pub(super) fn lex(source: &str) -> Result<Vec<Token<'_>>, Fault> {
    let mut lexer = Lexer {
        source,
        chars: source.char_indices().peekable(),
        start: 0,
        tokens: Vec::new(),
    };
    while lexer.step()? {
        if lexer.tokens.len() > MOST_TOKENS {
            return Err(lexer.fault("the expression has too many parts"));
        }
    }
    // Like the original, the end is reported at the last character, not after it.
    let end = source.char_indices().next_back().map_or(0, |(at, _)| at);
    lexer.tokens.push(Token {
        kind: Kind::Eof,
        value: Cow::Borrowed(""),
        bytes: Vec::new(),
        span: Span::new(end, source.len()),
    });
    Ok(lexer.tokens)
}

/// Letters and decimal digits: other numbers and marks are none, as in Go.
pub(super) fn is_word_char(c: char) -> bool {
    static WORD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{L}\p{Nd}]$").ok());
    if c.is_ascii() {
        return c == '_' || c == '$' || c.is_ascii_alphanumeric();
    }
    let mut buffer = [0; 4];
    let text = c.encode_utf8(&mut buffer);
    WORD.as_ref().is_some_and(|word| word.is_match(text))
}

struct Lexer<'s> {
    source: &'s str,
    chars: Peekable<CharIndices<'s>>,
    start: usize,
    tokens: Vec<Token<'s>>,
}

impl<'s> Lexer<'s> {
    fn position(&mut self) -> usize {
        self.chars.peek().map_or(self.source.len(), |(at, _)| *at)
    }

    fn peek(&mut self) -> Option<char> {
        self.chars.peek().map(|(_, c)| *c)
    }

    fn next(&mut self) -> Option<char> {
        self.chars.next().map(|(_, c)| c)
    }

    fn accept(&mut self, set: &str) -> bool {
        self.chars.next_if(|(_, c)| set.contains(*c)).is_some()
    }

    fn accept_run(&mut self, set: &str) {
        while self.accept(set) {}
    }

    fn rest(&mut self) -> &'s str {
        let at = self.position();
        self.source.get(at..).unwrap_or_default()
    }

    fn word(&mut self) -> &'s str {
        let end = self.position();
        self.source.get(self.start..end).unwrap_or_default()
    }

    fn emit(&mut self, kind: Kind) {
        let value = self.word();
        self.emit_value(kind, value);
    }

    fn emit_value(&mut self, kind: Kind, value: impl Into<Cow<'s, str>>) {
        let end = self.position();
        self.tokens.push(Token {
            kind,
            value: value.into(),
            bytes: Vec::new(),
            span: Span::new(self.start, end),
        });
    }

    /// Reported at the last character read, as the original does.
    fn fault(&mut self, message: impl Into<String>) -> Fault {
        let end = self.position();
        let last = self
            .source
            .get(self.start..end)
            .and_then(|word| word.char_indices().next_back())
            .map_or(self.start, |(at, _)| self.start + at);
        Fault::new(Span::new(last, end), message)
    }

    fn step(&mut self) -> Result<bool, Fault> {
        self.start = self.position();
        let Some(c) = self.next() else {
            return Ok(false);
        };
        match c {
            c if c.is_whitespace() => {}
            'b' | 'B' if matches!(self.peek(), Some('\'' | '"')) => {
                let quote = self.next().unwrap_or('"');
                self.bytes_literal(quote)?;
            }
            '\'' | '"' => {
                let text = self.string(c)?;
                self.emit_value(Kind::String, text);
            }
            '`' => self.raw_string()?,
            '0'..='9' => self.number(c)?,
            '.' if self.peek().is_some_and(|d| d.is_ascii_digit()) => self.number(c)?,
            '.' => {
                self.accept(".");
                self.emit(Kind::Operator);
            }
            '?' => self.doubled(".?"),
            '/' => self.slash()?,
            '#' => self.pointer(),
            '|' => self.doubled("|"),
            ':' => self.doubled(":"),
            '(' | ')' | '[' | ']' | '{' | '}' => self.emit(Kind::Bracket),
            ',' | ';' | '%' | '+' | '-' | '^' => self.emit(Kind::Operator),
            '&' | '!' | '=' | '*' | '<' | '>' => self.doubled("&=*"),
            c if is_word_char(c) => self.identifier(),
            c => {
                return Err(self.fault(format!(
                    "unrecognized character: U+{:04X} '{c}'",
                    u32::from(c)
                )));
            }
        }
        Ok(true)
    }

    fn doubled(&mut self, seconds: &str) {
        self.accept(seconds);
        self.emit(Kind::Operator);
    }

    fn slash(&mut self) -> Result<(), Fault> {
        if self.accept("/") {
            while self.next().is_some_and(|c| c != '\n') {}
            return Ok(());
        }
        if !self.accept("*") {
            self.emit(Kind::Operator);
            return Ok(());
        }
        loop {
            match self.next() {
                None => return Err(self.fault("unclosed comment")),
                Some('*') if self.accept("/") => return Ok(()),
                Some(_) => {}
            }
        }
    }

    fn pointer(&mut self) {
        self.emit(Kind::Operator);
        self.start = self.position();
        if self.peek().is_some_and(is_word_char) {
            while self.chars.next_if(|(_, c)| is_word_char(*c)).is_some() {}
            self.emit(Kind::Identifier);
        }
    }

    fn identifier(&mut self) {
        while self.chars.next_if(|(_, c)| is_word_char(*c)).is_some() {}
        let word = self.word();
        let kind = if KEYWORDS.contains(&word) {
            Kind::Operator
        } else {
            Kind::Identifier
        };
        self.emit_value(kind, word);
    }

    fn number(&mut self, first: char) -> Result<(), Fault> {
        let mut digits = "0123456789_";
        if first == '0' {
            if self.accept("xX") {
                digits = "0123456789abcdefABCDEF_";
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        self.accept_run(digits);
        // `1..2` is a range, not a number with two dots.
        if first != '.' && self.peek() == Some('.') && !self.rest().starts_with("..") {
            self.accept(".");
            self.accept_run(digits);
        }
        if self.accept("eE") {
            self.accept("+-");
            self.accept_run(digits);
        }
        if self.peek().is_some_and(is_word_char) {
            self.next();
            let word = self.word();
            return Err(self.fault(format!("bad number syntax: {word:?}")));
        }
        self.emit(Kind::Number);
        Ok(())
    }

    /// Two backticks inside are one.
    fn raw_string(&mut self) -> Result<(), Fault> {
        let mut text = String::new();
        loop {
            match self.next() {
                None => return Err(self.fault("literal not terminated")),
                Some('`') if self.accept("`") => text.push('`'),
                Some('`') => break,
                Some(c) => text.push(c),
            }
        }
        self.emit_value(Kind::String, text);
        Ok(())
    }

    fn string(&mut self, quote: char) -> Result<String, Fault> {
        let mut text = String::new();
        let mut refused = None;
        while let Some(piece) = self.piece(quote)? {
            match piece {
                Piece::Char(c) => text.push(c),
                // Half of a surrogate pair is no character, and two halves do not make one here.
                Piece::Code(code) if code <= MOST_CODE => {
                    text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                Piece::Octal(code) if code < 0o400 => {
                    text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                Piece::Byte(code) => text.push(char::from(code)),
                Piece::Octal(_) | Piece::Code(_) => refused = Some("unable to unescape string"),
            }
        }
        match refused {
            Some(message) => Err(self.fault(message)),
            None => Ok(text),
        }
    }

    fn bytes_literal(&mut self, quote: char) -> Result<(), Fault> {
        let mut bytes = Vec::new();
        let mut refused = None;
        while let Some(piece) = self.piece(quote)? {
            match piece {
                Piece::Char(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                Piece::Byte(byte) => bytes.push(byte),
                Piece::Octal(code) if code < 0o400 => bytes.extend(u8::try_from(code)),
                Piece::Octal(_) | Piece::Code(_) => refused = Some("unable to unescape string"),
            }
        }
        if let Some(message) = refused {
            return Err(self.fault(message));
        }
        self.emit(Kind::Bytes);
        if let Some(token) = self.tokens.last_mut() {
            token.bytes = bytes;
        }
        Ok(())
    }

    /// The next character of a literal; `None` at its end.
    fn piece(&mut self, quote: char) -> Result<Option<Piece>, Fault> {
        match self.next() {
            None | Some('\n') => Err(self.fault("literal not terminated")),
            Some(c) if c == quote => Ok(None),
            Some('\\') => self.escape(quote).map(Some),
            // Line ends of other systems become the usual one.
            Some('\r') => Ok(Some(Piece::Char('\n'))),
            Some(c) => Ok(Some(Piece::Char(c))),
        }
    }

    fn escape(&mut self, quote: char) -> Result<Piece, Fault> {
        let Some(c) = self.next() else {
            return Err(self.fault("invalid char escape"));
        };
        Ok(match c {
            'a' => Piece::Byte(7),
            'b' => Piece::Byte(8),
            'f' => Piece::Byte(12),
            'n' => Piece::Byte(10),
            'r' => Piece::Byte(13),
            't' => Piece::Byte(9),
            'v' => Piece::Byte(11),
            '\\' => Piece::Byte(b'\\'),
            c if c == quote => Piece::Char(c),
            'x' => match u8::try_from(self.digits(0, 16, 2)?) {
                Ok(byte) => Piece::Byte(byte),
                Err(_) => return Err(self.fault("invalid char escape")),
            },
            'u' if self.accept("{") => Piece::Code(self.braced_hex()?),
            'u' => Piece::Code(self.digits(0, 16, 4)?),
            'U' => Piece::Code(self.digits(0, 16, 8)?),
            '0'..='7' => Piece::Octal(self.digits(c.to_digit(8).unwrap_or_default(), 8, 2)?),
            _ => return Err(self.fault("invalid char escape")),
        })
    }

    fn digits(&mut self, first: u32, base: u32, count: usize) -> Result<u32, Fault> {
        let mut code = first;
        for _ in 0..count {
            let digit = self.next().and_then(|c| c.to_digit(base));
            let digit = digit.ok_or_else(|| self.fault("invalid char escape"))?;
            code = code.saturating_mul(base).saturating_add(digit);
        }
        Ok(code)
    }

    fn braced_hex(&mut self) -> Result<u32, Fault> {
        let mut code: u32 = 0;
        let mut count = 0;
        loop {
            match self.next() {
                Some('}') if count > 0 => return Ok(code),
                Some(c) if c.is_ascii_hexdigit() && count < 6 => {
                    code = code * 16 + c.to_digit(16).unwrap_or_default();
                    count += 1;
                }
                _ => return Err(self.fault("invalid char escape")),
            }
        }
    }
}
