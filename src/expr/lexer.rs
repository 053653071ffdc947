//! Text to tokens.

use std::iter::Peekable;
use std::str::CharIndices;

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
pub(super) struct Token {
    pub kind: Kind,
    pub value: String,
    pub bytes: Vec<u8>,
    pub span: Span,
}

impl Token {
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

pub(super) fn lex(source: &str) -> Result<Vec<Token>, Fault> {
    let mut lexer = Lexer {
        source,
        chars: source.char_indices().peekable(),
        start: 0,
        tokens: Vec::new(),
    };
    while lexer.step()? {}
    // Like the original, the end is reported at the last character, not after it.
    let end = source.char_indices().next_back().map_or(0, |(at, _)| at);
    lexer.tokens.push(Token {
        kind: Kind::Eof,
        value: String::new(),
        bytes: Vec::new(),
        span: Span::new(end, source.len()),
    });
    Ok(lexer.tokens)
}

pub(super) fn is_word_char(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphanumeric()
}

struct Lexer<'s> {
    source: &'s str,
    chars: Peekable<CharIndices<'s>>,
    start: usize,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
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

    fn rest(&mut self) -> &str {
        let at = self.position();
        self.source.get(at..).unwrap_or_default()
    }

    fn word(&mut self) -> String {
        let end = self.position();
        self.source
            .get(self.start..end)
            .unwrap_or_default()
            .to_owned()
    }

    fn emit(&mut self, kind: Kind) {
        let value = self.word();
        self.emit_value(kind, value);
    }

    fn emit_value(&mut self, kind: Kind, value: String) {
        let end = self.position();
        self.tokens.push(Token {
            kind,
            value,
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
            'b' if matches!(self.peek(), Some('\'' | '"')) => {
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
            '?' => self.question(),
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

    /// `?`, `??` and `?.`; but `a ?.5 : 1` is a ternary with a number.
    fn question(&mut self) {
        let mut ahead = self.rest().chars();
        let number_follows =
            ahead.next() == Some('.') && ahead.next().is_some_and(|c| c.is_ascii_digit());
        if !number_follows {
            self.accept(".?");
        }
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
        let kind = if KEYWORDS.contains(&word.as_str()) {
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

    fn raw_string(&mut self) -> Result<(), Fault> {
        let mut text = String::new();
        loop {
            match self.next() {
                None => return Err(self.fault("literal not terminated")),
                Some('`') => break,
                Some(c) => text.push(c),
            }
        }
        self.emit_value(Kind::String, text);
        Ok(())
    }

    fn string(&mut self, quote: char) -> Result<String, Fault> {
        let mut text = String::new();
        loop {
            match self.next() {
                None | Some('\n') => return Err(self.fault("literal not terminated")),
                Some(c) if c == quote => return Ok(text),
                Some('\\') => {
                    let code = self.escape(true)?;
                    let code = self.join_surrogates(code)?;
                    let c = char::from_u32(code)
                        .ok_or_else(|| self.fault("unable to unescape string"))?;
                    text.push(c);
                }
                Some(c) => text.push(c),
            }
        }
    }

    fn bytes_literal(&mut self, quote: char) -> Result<(), Fault> {
        let mut bytes = Vec::new();
        loop {
            match self.next() {
                None | Some('\n') => return Err(self.fault("literal not terminated")),
                Some(c) if c == quote => break,
                Some('\\') => {
                    let code = self.escape(false)?;
                    let byte =
                        u8::try_from(code).map_err(|_| self.fault("unable to unescape bytes"))?;
                    bytes.push(byte);
                }
                Some(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        self.emit(Kind::Bytes);
        if let Some(token) = self.tokens.last_mut() {
            token.bytes = bytes;
        }
        Ok(())
    }

    fn escape(&mut self, unicode: bool) -> Result<u32, Fault> {
        let Some(c) = self.next() else {
            return Err(self.fault("literal not terminated"));
        };
        let code = match c {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            '\\' | '\'' | '"' | '`' | '?' => u32::from(c),
            'x' | 'X' => self.hex(2)?,
            'u' if unicode && self.accept("{") => {
                let code = self.braced_hex()?;
                return Ok(code);
            }
            'u' if unicode => self.hex(4)?,
            'U' if unicode => self.hex(8)?,
            '0'..='3' => self.octal(c)?,
            _ => return Err(self.fault(format!("unable to unescape string: \\{c}"))),
        };
        Ok(code)
    }

    fn hex(&mut self, count: usize) -> Result<u32, Fault> {
        let mut code: u32 = 0;
        for _ in 0..count {
            let digit = self.next().and_then(|c| c.to_digit(16));
            let digit = digit.ok_or_else(|| self.fault("unable to unescape string"))?;
            code = code.wrapping_mul(16).wrapping_add(digit);
        }
        Ok(code)
    }

    fn braced_hex(&mut self) -> Result<u32, Fault> {
        let mut code: u32 = 0;
        let mut count = 0;
        loop {
            match self.next() {
                Some('}') if (1..=6).contains(&count) => return Ok(code),
                Some(c) if c.is_ascii_hexdigit() && count < 6 => {
                    code = code * 16 + c.to_digit(16).unwrap_or_default();
                    count += 1;
                }
                _ => return Err(self.fault("unable to unescape string")),
            }
        }
    }

    fn octal(&mut self, first: char) -> Result<u32, Fault> {
        let mut code = first.to_digit(8).unwrap_or_default();
        for _ in 0..2 {
            let digit = self.next().and_then(|c| c.to_digit(8));
            let digit = digit.ok_or_else(|| self.fault("unable to unescape octal sequence"))?;
            code = code * 8 + digit;
        }
        Ok(code)
    }

    /// JSON writes characters beyond U+FFFF as two escapes.
    fn join_surrogates(&mut self, high: u32) -> Result<u32, Fault> {
        if !(0xD800..0xDC00).contains(&high) {
            return Ok(high);
        }
        if !(self.accept("\\") && self.accept("u")) {
            return Err(self.fault("unable to unescape string"));
        }
        let low = self.hex(4)?;
        if !(0xDC00..0xE000).contains(&low) {
            return Err(self.fault("unable to unescape string"));
        }
        Ok(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    }
}
