//! `Cursor`: walks over a JSON text that is read as a stream. Holds one value at most.

use std::io::{BufRead, BufReader};
use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::Place;
use tarflume_formats::json::{JsonFault, JsonRules, Scan};
use tarflume_formats::message;
use tarflume_formats::message::Message;

use crate::table::text::stream::{self, OpenText, Origin, Text};
use crate::table::{MAX_ROW, TableOptions};

/// Bytes that are read at a time.
const BUFFER: usize = 256 << 10;
/// Limit on lists and objects that are open at one place, as in [`Scan`].
const MAX_DEPTH: u32 = 128;

/// A place in a JSON text.
pub(crate) struct Cursor {
    reader: BufReader<Text>,
    origin: Origin,
    rules: JsonRules,
    /// The byte of the text that is next.
    at: u64,
    /// Memory for a name or a word that is skipped.
    scratch: Vec<u8>,
}

/// What a piece of a value is, so that its end can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// A number or a word: it ends before a blank, a comma or a bracket.
    Word,
    /// A list or an object, outside of its strings.
    Brackets,
    String,
    /// Behind a backslash in a string.
    Escape,
}

impl Cursor {
    /// Opens the text at `path`, which may be compressed, before its first value; the options name its encoding.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(crate) fn open(path: &Path, options: &TableOptions) -> Result<Cursor, Failure> {
        let OpenText { text, budget, origin } = stream::open_with(path, options)?;
        budget.lift(); // what is kept is counted by [`Cursor::take`]
        let reader = BufReader::with_capacity(BUFFER, text);
        Ok(Cursor { reader, origin, rules: options.rules, at: 0, scratch: Vec::new() })
    }

    /// Returns where the text is.
    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Returns the byte of the text that is next.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Returns an error of the text at a byte.
    pub(crate) fn fault(&self, at: u64, what: impl Into<Message>) -> Failure {
        let byte = self.origin.byte(at);
        let place = byte.map_or(String::new(), |byte| format!("byte {byte}: "));
        let found = Place { path: Some(self.origin.path.clone()), byte, key: None };
        let text = message!("{path}: {place}{what}"; path = &self.origin.path, what = what.into());
        Failure::bad_data(text).with_place(found)
    }

    /// Returns the bytes that are at hand; none at the end.
    fn piece(&mut self) -> Result<&[u8], Failure> {
        let Cursor { reader, origin, .. } = self;
        reader.fill_buf().map_err(|error| origin.refused(error, 1))
    }

    fn pass_bytes(&mut self, bytes: usize) {
        self.reader.consume(bytes);
        self.at += bytes as u64;
    }

    /// Skips white space and returns the next byte; `None` at the end.
    ///
    /// # Errors
    /// Returns the errors of reading.
    pub(crate) fn peek(&mut self) -> Result<Option<u8>, Failure> {
        loop {
            let piece = self.piece()?;
            let blank = piece.iter().take_while(|byte| is_blank(**byte)).count();
            let found = piece.get(blank).copied();
            let is_over = piece.is_empty();
            self.pass_bytes(blank);
            if found.is_some() || is_over {
                return Ok(found);
            }
        }
    }

    /// Skips white space, and `byte` if it follows. Returns whether it did.
    ///
    /// # Errors
    /// Returns the errors of reading.
    pub(crate) fn pass(&mut self, byte: u8) -> Result<bool, Failure> {
        let found = self.peek()? == Some(byte);
        self.pass_bytes(usize::from(found));
        Ok(found)
    }

    /// Skips `byte`.
    ///
    /// # Errors
    /// Returns an error if another byte follows.
    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), Failure> {
        if self.pass(byte)? {
            return Ok(());
        }
        let what = if self.peek()?.is_some() { "" } else { "the text ends, " };
        Err(self.fault(self.at, format!("{what}expected {:?}", char::from(byte))))
    }

    /// Passes what is between two members of a list or an object that ends with `end`. Returns false at its end.
    ///
    /// # Errors
    /// Returns an error for another byte than a comma or the end.
    pub(crate) fn next_member(&mut self, is_first: bool, end: u8) -> Result<bool, Failure> {
        if self.pass(end)? {
            return Ok(false);
        }
        if !is_first {
            self.expect(b',')?;
            if self.peek()? == Some(end) {
                return Err(self.fault(self.at, "trailing comma"));
            }
        }
        Ok(true)
    }

    /// Reads the name of a member, and the colon behind it.
    ///
    /// # Errors
    /// Returns an error if there is none.
    pub(crate) fn name(&mut self) -> Result<String, Failure> {
        if self.peek()? != Some(b'"') {
            return Err(self.fault(self.at, "expected the name of a member"));
        }
        let start = self.at;
        let mut bytes = std::mem::take(&mut self.scratch);
        self.take(&mut bytes)?;
        let name = Scan::new(&bytes, self.rules)
            .and_then(|mut scan| Ok(scan.take_string()?.into_owned()))
            .map_err(|fault| self.json_fault(start, &fault));
        self.scratch = bytes;
        self.expect(b':')?;
        name
    }

    /// Returns the error for a fault in a value that begins at `start`.
    fn json_fault(&self, start: u64, fault: &JsonFault) -> Failure {
        self.fault(start + fault.byte as u64, fault.what.clone())
    }

    /// Takes the bytes of the next value, up to its end: the value itself is not checked.
    ///
    /// # Errors
    /// Returns an error for a value longer than a row may be, and for a text that ends in it.
    pub(crate) fn take(&mut self, value: &mut Vec<u8>) -> Result<(), Failure> {
        value.clear();
        let mut inside = match self.peek()? {
            Some(b'"') => Inside::String,
            Some(b'{' | b'[') => Inside::Brackets,
            Some(b',' | b':' | b'}' | b']') => {
                return Err(self.fault(self.at, "expected a JSON value"));
            }
            _ => Inside::Word,
        };
        let start = self.at;
        let is_string = inside == Inside::String;
        let mut depth = 0u64;
        let mut is_begun = false;
        loop {
            let piece = self.piece()?;
            if piece.is_empty() {
                if inside == Inside::Word && is_begun {
                    return Ok(());
                }
                return Err(self.fault(self.at, "the text ends, expected the rest of a JSON value"));
            }
            let mut used = 0;
            let mut is_over = false;
            for &byte in piece {
                let is_quote = byte == b'"' && is_begun;
                match inside {
                    Inside::Word if is_blank(byte) || b",]}".contains(&byte) => {
                        is_over = true;
                        break;
                    }
                    Inside::Word => {}
                    Inside::Escape => inside = Inside::String,
                    Inside::String if byte == b'\\' => inside = Inside::Escape,
                    Inside::String if is_quote && is_string => is_over = true,
                    Inside::String if is_quote => inside = Inside::Brackets,
                    Inside::String => {}
                    Inside::Brackets => match byte {
                        b'"' => inside = Inside::String,
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => {
                            depth -= 1;
                            is_over = depth == 0;
                        }
                        _ => {}
                    },
                }
                is_begun = true;
                used += 1;
                if is_over {
                    break;
                }
            }
            value.extend_from_slice(&piece[..used]);
            self.pass_bytes(used);
            if value.len() > MAX_ROW {
                let what = format!("the value is longer than {} MiB", MAX_ROW >> 20);
                return Err(self.fault(start, what));
            }
            if is_over {
                return Ok(());
            }
        }
    }

    /// Skips a value and checks its form. Keeps none of its lists, objects and strings.
    ///
    /// # Errors
    /// Returns an error for a text that is no JSON.
    pub(crate) fn skip(&mut self) -> Result<(), Failure> {
        self.skip_at(0)
    }

    fn skip_at(&mut self, depth: u32) -> Result<(), Failure> {
        if depth > MAX_DEPTH {
            let what = format!("the JSON is nested too deeply; {MAX_DEPTH} levels are the limit");
            return Err(self.fault(self.at, what));
        }
        match self.peek()? {
            Some(b'"') => self.skip_string(),
            Some(open @ (b'{' | b'[')) => {
                let end = if open == b'{' { b'}' } else { b']' };
                self.expect(open)?;
                let mut is_first = true;
                while self.next_member(is_first, end)? {
                    is_first = false;
                    if open == b'{' {
                        self.name()?;
                    }
                    self.skip_at(depth + 1)?;
                }
                Ok(())
            }
            _ => {
                let start = self.at;
                let mut bytes = std::mem::take(&mut self.scratch);
                self.take(&mut bytes)?;
                let read = Scan::new(&bytes, self.rules).and_then(|mut scan| {
                    scan.skip()?;
                    scan.end()
                });
                let read = read.map_err(|fault| self.json_fault(start, &fault));
                self.scratch = bytes;
                read
            }
        }
    }

    fn skip_string(&mut self) -> Result<(), Failure> {
        self.expect(b'"')?;
        let mut is_escaped = false;
        loop {
            let piece = self.piece()?;
            if piece.is_empty() {
                return Err(self.fault(self.at, "the text ends inside a string"));
            }
            let end = piece.iter().position(|&byte| {
                let is_end = byte == b'"' && !is_escaped;
                is_escaped = byte == b'\\' && !is_escaped;
                is_end
            });
            let used = end.map_or(piece.len(), |end| end + 1);
            self.pass_bytes(used);
            if end.is_some() {
                return Ok(());
            }
        }
    }

    /// Checks that nothing follows.
    ///
    /// # Errors
    /// Returns an error with the first byte that follows.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        match self.peek()? {
            None => Ok(()),
            Some(_) => Err(self.fault(self.at, "unexpected text after the JSON value")),
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}
