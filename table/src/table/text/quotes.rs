//! `Quotes`: passes the text of separated fields on, and finds quotes that would change fields in silence.
//!
//! The parser accepts every text: a quote that is never closed makes one field of the rest of the
//! file, and text after a closing quote joins the field. Both are faults here. A quote inside a field
//! that does not begin with one is text, for every parser.

use std::error::Error;
use std::fmt;
use std::io::{self, Read};

use crate::table::text::stream::LongRow;

/// Where the text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the first byte of a record.
    Record,
    /// Before the first byte of a field.
    Field,
    /// In a field without quotes, or behind a fault.
    Plain,
    /// In a field that began with a quote.
    Quoted,
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
    separator: u8,
    place: Place,
    at: Opened,
    opened: Opened,
    /// The byte before, if it was a carriage return.
    is_return: bool,
    fault: Option<QuoteFault>,
}

impl<R: Read> Quotes<R> {
    /// Begins at the first byte of `text`, which is on line `line`.
    pub fn new(text: R, separator: u8, line: u64) -> Quotes<R> {
        let at = Opened { record: 0, line, byte: 0 };
        Quotes {
            text,
            separator,
            place: Place::Record,
            at,
            opened: at,
            is_return: false,
            fault: None,
        }
    }

    /// Returns the place of a quote that is not closed yet.
    fn open(&self) -> Option<Opened> {
        (self.place == Place::Quoted).then_some(self.opened)
    }

    fn see(&mut self, byte: u8) {
        let is_end = matches!(byte, b'\n' | b'\r');
        self.place = match (self.place, byte) {
            (Place::Record | Place::Field, b'"') => {
                self.opened = self.at;
                Place::Quoted
            }
            (Place::Quoted, b'"') => Place::Quote,
            (Place::Quoted, _) => Place::Quoted,
            (Place::Quote, b'"') => Place::Quoted,
            (_, byte) if byte == self.separator => Place::Field,
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
        let reason = format!(
            "{found} follows the closing quote of a field {lines}; write a quote that belongs to the \
             text twice (\"\"), or close the field before"
        );
        self.fault = Some(QuoteFault { opened: self.opened, reason });
    }

    fn end(&mut self) {
        if let (Some(opened), None) = (self.open(), &self.fault) {
            let reason = format!(
                "the quote here, on line {}, is never closed, so the rest of the file would be one \
                 field; close it, or write a quote that belongs to the text twice (\"\")",
                opened.line
            );
            self.fault = Some(QuoteFault { opened, reason });
        }
    }

    /// Returns a row that is too long as a fault of the quote that is open, if one is.
    fn within(&self, error: io::Error) -> io::Error {
        match self.open().filter(|_| LongRow::is(&error)) {
            Some(opened) => {
                let reason = format!("{error}; a quote is open since line {}", opened.line);
                io::Error::new(error.kind(), QuoteFault { opened, reason })
            }
            None => error,
        }
    }
}

impl<R: Read> Read for Quotes<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(into).map_err(|error| self.within(error))?;
        into[..read].iter().for_each(|&byte| self.see(byte));
        if read == 0 && !into.is_empty() {
            self.end();
        }
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
        let mut quotes = Quotes::new(text.as_bytes(), b',', 1);
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
}
