//! `Scan`: walks over the tokens of a JSON text and decides what is JSON.

use std::borrow::Cow;
use std::ops::Range;

use super::escapes::{is_high, is_low, unescaped, unit};
use super::names::Names;
use super::number::Number;
use super::rules::{JsonFault, JsonRules};
use crate::parts::content::Content;
use crate::text::shown;

/// Maximum number of lists and objects that are open at one place. Deeper texts would exhaust the stack.
pub const MAX_DEPTH: u32 = 128;
/// Characters of a name that an error quotes.
const SHOWN: usize = 60;

/// The type of the next value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// `null`.
    Null,
    /// `true`.
    True,
    /// `false`.
    False,
    /// A number, or one of Python's words for one.
    Number,
    /// A string.
    String,
    /// `[`.
    Array,
    /// `{`.
    Object,
}

/// A place in a JSON text.
#[derive(Debug, Clone)]
pub struct Scan<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    rules: JsonRules,
    /// Whether an object may have a name twice.
    accepts_repeats: bool,
}

impl<'a> Scan<'a> {
    /// Begins at the first byte.
    ///
    /// # Errors
    /// Returns an error for a byte order mark, for compressed data, and if the text is not UTF-8.
    pub fn new(bytes: &'a [u8], rules: JsonRules) -> Result<Scan<'a>, JsonFault> {
        fn plain(byte: usize, what: &str) -> JsonFault {
            JsonFault { byte, what: what.into(), is_python: false, is_repeated_name: false }
        }
        if bytes.starts_with(b"\xef\xbb\xbf") {
            let what = "it begins with a byte order mark, which JSON forbids; remove it";
            return Err(plain(0, what));
        }
        if let Some(found) = Content::of(bytes).filter(|found| found.is_compressed()) {
            let name = found.name;
            return Err(plain(
                0,
                &format!("it is {name}, not JSON; decompress it before it is packed"),
            ));
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|e| plain(e.valid_up_to(), "it is not UTF-8, as JSON must be"))?;
        let accepts_repeats = rules == JsonRules::Python;
        Ok(Scan { text, at: 0, depth: 0, rules, accepts_repeats })
    }

    /// Accepts an object that has a name twice, whatever the rules are.
    #[must_use]
    pub fn with_repeats(self) -> Scan<'a> {
        Scan { accepts_repeats: true, ..self }
    }

    /// Returns the rules.
    pub fn rules(&self) -> JsonRules {
        self.rules
    }

    /// Returns the byte of the next token.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns an error at this place.
    pub fn fault(&self, what: impl Into<String>) -> JsonFault {
        let what = what.into();
        JsonFault { byte: self.at, what, is_python: false, is_repeated_name: false }
    }

    /// Checks that nothing follows.
    ///
    /// # Errors
    /// Returns an error with the first byte that follows.
    pub fn end(&mut self) -> Result<(), JsonFault> {
        self.blank();
        if self.at < self.text.len() {
            Err(self.fault("unexpected text after the JSON value"))
        } else {
            Ok(())
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Skips white space, and `byte` if it follows. Returns whether it did.
    fn pass(&mut self, byte: u8) -> bool {
        self.blank();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsonFault> {
        if self.pass(byte) {
            return Ok(());
        }
        let what = if self.at < self.text.len() { "" } else { "the text ends, " };
        Err(self.fault(format!("{what}expected {:?}", char::from(byte))))
    }

    /// Skips white space and returns the type of the next value.
    ///
    /// # Errors
    /// Returns an error if no value follows.
    pub fn token(&mut self) -> Result<Token, JsonFault> {
        self.blank();
        let words = [("true", Token::True), ("false", Token::False), ("null", Token::Null)];
        Ok(match self.peek() {
            Some(b'{') => Token::Object,
            Some(b'[') => Token::Array,
            Some(b'"') => Token::String,
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => Token::Number,
            Some(_) => {
                let rest = &self.text[self.at..];
                let found = words.iter().find(|(word, _)| rest.starts_with(word));
                found.ok_or_else(|| self.fault("expected a JSON value"))?.1
            }
            None => return Err(self.fault("the text ends, expected a JSON value")),
        })
    }

    /// Skips a value.
    ///
    /// # Errors
    /// Returns the first fault in it.
    pub fn skip(&mut self) -> Result<(), JsonFault> {
        match self.token()? {
            Token::Object => self.object(|scan, _| scan.skip()),
            Token::Array => self.array(|scan, _| scan.skip()),
            Token::String => self.string().map(drop),
            Token::Number => self.number().map(drop),
            token => {
                self.word(token);
                Ok(())
            }
        }
    }

    /// Skips `true`, `false` or `null`, which [`Scan::token`] has found.
    pub fn word(&mut self, token: Token) {
        self.at += if token == Token::False { 5 } else { 4 };
    }

    /// Walks over an object: calls `member` with the bytes of each name, quotes included, at its value, which `member`
    /// takes.
    ///
    /// # Errors
    /// Returns the first fault, and the errors of `member`.
    pub fn object<E: From<JsonFault>>(
        &mut self,
        mut member: impl FnMut(&mut Self, Range<usize>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.open(b'{')?;
        if self.pass(b'}') {
            self.close();
            return Ok(());
        }
        let mut names = (!self.accepts_repeats).then(Names::default);
        loop {
            self.blank();
            let name = self.string()?;
            if let Some(names) = &mut names
                && !names.add(self.piece(name.clone()))
            {
                return Err(self.repeated(name).into());
            }
            self.expect(b':')?;
            member(self, name)?;
            if self.pass(b'}') {
                self.close();
                return Ok(());
            }
            self.comma(b'}')?;
        }
    }

    /// Walks over a list: calls `element` with the number of each element, from 0, at the element, which `element`
    /// takes.
    ///
    /// # Errors
    /// Returns the first fault, and the errors of `element`.
    pub fn array<E: From<JsonFault>>(
        &mut self,
        mut element: impl FnMut(&mut Self, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        self.open(b'[')?;
        if self.pass(b']') {
            self.close();
            return Ok(());
        }
        for number in 0.. {
            element(self, number)?;
            if self.pass(b']') {
                break;
            }
            self.comma(b']')?;
        }
        self.close();
        Ok(())
    }

    /// Returns the error for a name that an object has twice.
    fn repeated(&self, at: Range<usize>) -> JsonFault {
        let text = unescaped(self.piece(at.clone()));
        let text: String = text.chars().take(SHOWN).collect();
        let what = format!(
            "'{}' occurs twice in one object, and readers differ in which value they take",
            shown::text(&text)
        );
        JsonFault { byte: at.start, what, is_python: true, is_repeated_name: true }
    }

    fn open(&mut self, byte: u8) -> Result<(), JsonFault> {
        self.expect(byte)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            Err(self
                .fault(format!("the JSON is nested too deeply; {MAX_DEPTH} levels are the limit")))
        } else {
            Ok(())
        }
    }

    fn close(&mut self) {
        self.depth -= 1;
    }

    /// Skips a comma, after which the end of the list or object may not follow.
    fn comma(&mut self, end: u8) -> Result<(), JsonFault> {
        self.expect(b',')?;
        self.blank();
        if self.peek() == Some(end) {
            return Err(self.fault("trailing comma"));
        }
        Ok(())
    }

    /// Skips a string. Returns its bytes, quotes included; [`unescaped`] gives its text.
    ///
    /// # Errors
    /// Returns an error if no string follows, and for a fault in it.
    pub fn string(&mut self) -> Result<Range<usize>, JsonFault> {
        let start = self.at;
        self.expect(b'"')?;
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            self.at += rest.iter().take_while(|&&b| b != b'"' && b != b'\\' && b >= 0x20).count();
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(start..self.at);
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.fault("a control character in a string")),
                None => return Err(self.fault("the text ends inside a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), JsonFault> {
        let rest = &self.text.as_bytes()[self.at + 1..];
        if let [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] = rest {
            self.at += 2;
            return Ok(());
        }
        let Some(unit) = unit(&self.text.as_bytes()[self.at..]) else {
            return Err(self.fault("this escape is not valid in JSON"));
        };
        let next = self.text.as_bytes().get(self.at + 6..).and_then(self::unit);
        let is_pair = is_high(unit) && next.is_some_and(is_low);
        if !is_pair && (is_high(unit) || is_low(unit)) && self.rules == JsonRules::Strict {
            let what =
                format!("'\\u{unit:04x}' is half of a character: a surrogate without its pair");
            return Err(JsonFault { is_python: true, ..self.fault(what) });
        }
        self.at += if is_pair { 12 } else { 6 };
        Ok(())
    }

    /// Skips a number. Returns its bytes.
    ///
    /// # Errors
    /// Returns an error if it is not written as JSON writes numbers, and for a word of Python that the rules refuse.
    pub fn number(&mut self) -> Result<Range<usize>, JsonFault> {
        let start = self.at;
        let words = ["NaN", "Infinity", "-Infinity"];
        if let Some(word) = words.iter().find(|word| self.text[start..].starts_with(**word)) {
            if self.rules == JsonRules::Strict {
                let what = format!("'{word}' is not a number of JSON");
                return Err(JsonFault { is_python: true, ..self.fault(what) });
            }
            self.at += word.len();
            return Ok(start..self.at);
        }
        self.at += usize::from(self.peek() == Some(b'-'));
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'N' | b'I') => return Err(self.fault("expected a JSON value")),
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(start..self.at)
    }

    /// Skips a number and returns it.
    ///
    /// # Errors
    /// Returns the errors of [`Scan::number`].
    pub fn take_number(&mut self) -> Result<Number<'a>, JsonFault> {
        let at = self.number()?;
        Ok(Number::scanned(&self.text[at]))
    }

    /// Skips a string and returns its text.
    ///
    /// # Errors
    /// Returns the errors of [`Scan::string`].
    pub fn take_string(&mut self) -> Result<Cow<'a, str>, JsonFault> {
        let at = self.string()?;
        Ok(unescaped(&self.text[at]))
    }

    /// Returns a piece of the text.
    pub fn piece(&self, at: Range<usize>) -> &'a str {
        &self.text[at]
    }

    fn digits(&mut self) -> Result<(), JsonFault> {
        let rest = &self.text.as_bytes()[self.at..];
        let count = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(self.fault("expected a digit")) } else { Ok(()) }
    }
}

impl<'a> Number<'a> {
    /// Takes a text with the grammar of JSON's numbers.
    pub fn parse(text: &'a str) -> Option<Number<'a>> {
        let mut scan = Scan::new(text.as_bytes(), JsonRules::Strict).ok()?;
        let number = scan.take_number().ok()?;
        (number.text().len() == text.len()).then_some(number)
    }
}
