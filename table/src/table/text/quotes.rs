//! `Quotes`: passes the text of separated fields on, and finds quotes that would change fields in silence.
//!
//! The parser accepts every text: a quote that is never closed makes one field of the rest of the
//! file, and text after a closing quote joins the field. Both are faults here. A quote inside a field
//! that does not begin with one is text, for every parser. Where blanks are left out, those before the quote of a field
//! are put behind it, so that the parser sees the quote first.

use std::error::Error;
use std::fmt;
use std::io::{self, Read};

use crate::table::quoting::Quoting;
use crate::table::text::stream::LongRow;

/// Bytes that are read at a time where blanks move.
const PIECE: usize = 16 << 10;

/// What separates fields, and what quotes mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldRules {
    /// Between fields.
    pub separator: u8,
    /// What quotes mean.
    pub quoting: Quoting,
    /// Whether a field may have blanks before its quote.
    pub(crate) trims: bool,
}

impl FieldRules {
    /// The rules of RFC 4180.
    pub fn usual(separator: u8) -> FieldRules {
        FieldRules { separator, quoting: Quoting::Doubled, trims: false }
    }

    fn is_blank(self, byte: u8) -> bool {
        matches!(byte, b' ' | b'\t') && byte != self.separator
    }
}

/// Where the text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the first byte of a record.
    Record,
    /// Before the first byte of a field.
    Field,
    /// In blanks at the begin of a field, which may be before a quote.
    Lead,
    /// In a field without quotes, or behind a fault.
    Plain,
    /// In a field that began with a quote.
    Quoted,
    /// After a backslash in such a field.
    Escape,
    /// After a quote in such a field: it ends the field, or is the first of two.
    Quote,
    /// After blanks behind the closing quote.
    Blank,
}

/// A place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    /// The number of the record, from 0. Blank lines are none.
    pub record: u64,
    /// The line, from 1.
    pub(crate) line: u64,
    /// The byte of the text.
    pub byte: u64,
}

/// What is wrong with a quoted field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuoteFault {
    /// The quote with which the field begins.
    pub opened: Opened,
    /// What was found, and what to do.
    pub reason: String,
}

impl QuoteFault {
    /// Returns the fault that an error of [`Quotes`] is.
    pub fn of(error: &io::Error) -> Option<&QuoteFault> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for QuoteFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl Error for QuoteFault {}

/// Reads the text of separated fields. A fault is an error of a read: see [`QuoteFault::of`].
#[derive(Debug)]
pub struct Quotes<R> {
    text: R,
    rules: FieldRules,
    place: Place,
    at: Opened,
    opened: Opened,
    /// The byte before, if it was a carriage return.
    is_return: bool,
    /// Whether a backslash is before the quote that may end the field.
    is_escaped: bool,
    fault: Option<QuoteFault>,
    /// Bytes for which a caller had no room.
    rest: Vec<u8>,
    /// Blanks at the begin of a field, of which is not known what follows.
    lead: Vec<u8>,
}

impl<R: Read> Quotes<R> {
    /// Begins at the first byte of `text`, which is on line `line`.
    pub fn new(text: R, rules: FieldRules, line: u64) -> Quotes<R> {
        let at = Opened { record: 0, line, byte: 0 };
        Quotes {
            text,
            rules,
            place: Place::Record,
            at,
            opened: at,
            is_return: false,
            is_escaped: false,
            fault: None,
            rest: Vec::new(),
            lead: Vec::new(),
        }
    }

    /// Returns the place of a quote that is not closed yet.
    fn open(&self) -> Option<Opened> {
        matches!(self.place, Place::Quoted | Place::Escape).then_some(self.opened)
    }

    fn see(&mut self, byte: u8) {
        let is_end = matches!(byte, b'\n' | b'\r');
        let begins = matches!(self.place, Place::Record | Place::Field | Place::Lead);
        self.place = match (self.place, byte) {
            _ if begins && byte == b'"' => {
                self.opened = self.at;
                Place::Quoted
            }
            (Place::Quoted, b'"') => Place::Quote,
            (Place::Quoted, b'\\') if self.rules.quoting == Quoting::Escaped => Place::Escape,
            (Place::Quoted | Place::Escape, _) => Place::Quoted,
            (Place::Quote, b'"') => Place::Quoted,
            (_, byte) if byte == self.rules.separator => Place::Field,
            _ if begins && self.rules.trims && self.rules.is_blank(byte) => Place::Lead,
            (Place::Record, _) if is_end => Place::Record,
            _ if is_end => {
                self.at.record += 1;
                Place::Record
            }
            (Place::Quote | Place::Blank, b' ' | b'\t') => Place::Blank,
            (Place::Quote | Place::Blank, _) => {
                self.follows(byte);
                Place::Plain
            }
            _ => Place::Plain,
        };
        if self.place == Place::Quoted {
            self.is_escaped = byte == b'\\';
        }
        let is_new_line = byte == b'\r' || (byte == b'\n' && !self.is_return);
        self.is_return = byte == b'\r';
        self.at.line += u64::from(is_new_line);
        self.at.byte += 1;
    }

    /// Notes a fault: `byte` follows a closing quote.
    fn follows(&mut self, byte: u8) {
        if self.fault.is_some() {
            return;
        }
        let found = if byte.is_ascii_graphic() {
            format!("'{}'", char::from(byte))
        } else {
            "more text".into()
        };
        let lines = if self.at.line == self.opened.line {
            format!("on line {}", self.at.line)
        } else {
            format!("on line {}, which began on line {}", self.at.line, self.opened.line)
        };
        let remedy = if self.is_escaped {
            "quote=backslash reads a backslash before a quote, as in \\\""
        } else {
            "write a quote that belongs to the text twice (\"\"), close the field before, or read quotes as text with quote=none"
        };
        let reason = format!("{found} follows the closing quote of a field {lines}; {remedy}");
        self.fault = Some(QuoteFault { opened: self.opened, reason });
    }

    fn end(&mut self) {
        if let (Some(opened), None) = (self.open(), &self.fault) {
            let reason = format!(
                "the quote here, on line {}, is never closed, so the rest of the file would be one \
                 field; close it, write a quote that belongs to the text twice (\"\"), or read quotes as text with \
                 quote=none",
                opened.line
            );
            self.fault = Some(QuoteFault { opened, reason });
        }
    }

    /// Returns a row that is too long as a fault of the quote that is open, if one is.
    fn within(&self, error: io::Error) -> io::Error {
        match self.open().filter(|_| LongRow::is(&error)) {
            Some(opened) => {
                let reason = format!(
                    "{error}; a quote is open since line {}, and quote=none reads quotes as text",
                    opened.line
                );
                io::Error::new(error.kind(), QuoteFault { opened, reason })
            }
            None => error,
        }
    }
}

impl<R: Read> Quotes<R> {
    /// Passes a byte on. Blanks at the begin of a field wait for the byte after them.
    fn pass(&mut self, byte: u8) {
        self.see(byte);
        match self.place {
            Place::Lead => self.lead.push(byte),
            Place::Quoted if !self.lead.is_empty() => {
                self.rest.push(byte);
                self.rest.append(&mut self.lead);
            }
            _ => {
                self.rest.append(&mut self.lead);
                self.rest.push(byte);
            }
        }
    }

    /// Reads bytes of which blanks move.
    fn read_moved(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut piece = [0; PIECE];
        while self.rest.is_empty() && !into.is_empty() && self.fault.is_none() {
            let read = self.text.read(&mut piece).map_err(|error| self.within(error))?;
            piece[..read].iter().for_each(|&byte| self.pass(byte));
            if read == 0 {
                self.rest.append(&mut self.lead);
                self.end();
                break;
            }
        }
        let count = self.rest.len().min(into.len());
        into[..count].copy_from_slice(&self.rest[..count]);
        self.rest.drain(..count);
        Ok(count)
    }
}

impl<R: Read> Read for Quotes<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = match self.rules {
            FieldRules { quoting: Quoting::Literal, .. } => return self.text.read(into),
            FieldRules { trims: true, .. } => self.read_moved(into)?,
            FieldRules { trims: false, .. } => {
                let read = self.text.read(into).map_err(|error| self.within(error))?;
                into[..read].iter().for_each(|&byte| self.see(byte));
                if read == 0 && !into.is_empty() {
                    self.end();
                }
                read
            }
        };
        match &self.fault {
            Some(fault) => Err(io::Error::new(io::ErrorKind::InvalidData, fault.clone())),
            None => Ok(read),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns record, line and byte of the quote that a text is refused for.
    fn fault(text: &str) -> Option<(u64, u64, u64)> {
        fault_by(FieldRules::usual(b','), text)
    }

    fn fault_by(rules: FieldRules, text: &str) -> Option<(u64, u64, u64)> {
        let mut quotes = Quotes::new(text.as_bytes(), rules, 1);
        // In small pieces, as a stream delivers them.
        let mut piece = [0; 3];
        loop {
            match quotes.read(&mut piece) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => {
                    let Opened { record, line, byte } = QuoteFault::of(&error).unwrap().opened;
                    return Some((record, line, byte));
                }
            }
        }
    }

    #[test]
    fn a_quote_that_is_never_closed_is_found_where_it_opened() {
        assert_eq!(fault("a,b\n1,\"x\n2,y\n"), Some((1, 2, 6)));
        assert_eq!(fault("a\n\n\r\n\"x\"\r\n\"\"\"y\n"), Some((2, 5, 10)));
        assert_eq!(fault("\"a,b\n1,2\n"), Some((0, 1, 0)));
    }

    #[test]
    fn text_after_a_closing_quote_is_found_where_the_field_began() {
        assert_eq!(fault("a,b\n1,\"x\"y\n"), Some((1, 2, 6)));
        // The quote of row 1 is closed by the first one of row 2.
        assert_eq!(fault("a,b\n1,\"x\n2,\"y\"\n3,z\n"), Some((1, 2, 6)));
        assert_eq!(fault("a\n\"say \\\"hi\\\"\"\n"), Some((1, 2, 2)));
    }

    #[test]
    fn quotes_that_change_no_field_are_no_fault() {
        for text in [
            "a,b\n\"1\",\"x \"\"y\"\" z\"\n",
            "a\n\"two\nlines\"\r\n\"\"\n\"\"\"\"\n",
            "a\n5\" pipe\nx\"y\"\n",
            "a\n \"x\"\n\"x\" \n",
            "a\n\"end\"",
            "",
        ] {
            assert_eq!(fault(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_backslash_before_a_quote_is_no_end_where_it_is_read_so() {
        let escaped = FieldRules { quoting: Quoting::Escaped, ..FieldRules::usual(b',') };
        for text in ["\"\\\"hi\\\"\",1\n", "\"a\\\\\",1\n", "\"a\"\"b\"\n", "a\\,1\n"] {
            assert_eq!(fault_by(escaped, text), None, "{text:?}");
        }
        assert_eq!(fault_by(escaped, "a\n\"x\\\""), Some((1, 2, 2)));
        let mut usual = Quotes::new(&b"\"\\\"hi\""[..], FieldRules::usual(b','), 1);
        let error = usual.read(&mut [0; 16]).unwrap_err().to_string();
        assert!(error.contains("quote=backslash"), "{error}");
    }

    #[test]
    fn blanks_before_a_quote_are_put_behind_it() {
        let trimmed = FieldRules { trims: true, ..FieldRules::usual(b',') };
        for (text, passed) in [
            ("a.png,  \"x, y\" \r\n \t\"b\", c\n", "a.png,\"  x, y\" \r\n\" \tb\", c\n"),
            ("a, b \"c\", \n  \n", "a, b \"c\", \n  \n"),
            ("\"a,  \"\"b\",  ", "\"a,  \"\"b\",  "),
        ] {
            let mut quotes = Quotes::new(text.as_bytes(), trimmed, 1);
            let mut found = Vec::new();
            let mut piece = [0; 3];
            while let count @ 1.. = quotes.read(&mut piece).unwrap() {
                found.extend_from_slice(&piece[..count]);
            }
            assert_eq!(String::from_utf8(found).unwrap(), passed);
        }
        assert_eq!(fault_by(trimmed, "a,b\n1,  \"x\n"), Some((1, 2, 8)));
    }

    #[test]
    fn quotes_that_are_text_have_no_faults() {
        let literal = FieldRules { quoting: Quoting::Literal, ..FieldRules::usual(b'\t') };
        assert_eq!(fault_by(literal, "\"a\tb\nc\"d\te\n"), None);
    }
}
