//! `Records`: the records of a text: fields separated by a character, as RFC 4180 describes them, by blanks, or lines.
//!
//! A first line `sep=;`, as Excel writes it, names the separator.

use std::io::Read;
use std::path::Path;

use tarflume_base::Failure;

use crate::table::TableOptions;
use crate::table::header::Header;
use crate::table::quoting::Quoting;
use crate::table::separator::Separator;
use crate::table::text::quotes::{FieldRules, Quotes};
use crate::table::text::stream::{self, Budget, Origin, Text};
use crate::table::text::words::{Fields, WordReader};

/// Bytes that are read at a time.
const BUFFER: usize = 256 << 10;
/// Bytes of the longest first line that names the separator: `"sep=;"` and a line end.
const DECLARED: usize = 9;

/// Reads records.
pub(crate) enum Records {
    /// With one byte between fields.
    Separated(Box<::csv::Reader<Quotes<Text>>>),
    /// With blanks between fields, or with one field.
    Words(WordReader<Text>),
}

impl Records {
    /// Reads the next record; returns false at the end.
    ///
    /// # Errors
    /// Returns the errors of reading.
    pub(crate) fn read(&mut self, record: &mut ::csv::ByteRecord) -> ::csv::Result<bool> {
        match self {
            Records::Separated(reader) => reader.read_byte_record(record),
            Records::Words(reader) => Ok(reader.read(record)?),
        }
    }
}

/// A text whose records can be read.
pub(crate) struct Opened {
    pub(crate) records: Records,
    pub(crate) budget: Budget,
    pub(crate) origin: Origin,
    /// What separates its fields.
    pub(crate) separator: Separator,
}

/// Opens a table's text before its first record.
///
/// # Errors
/// Returns the errors of reading.
pub(crate) fn opened(
    path: &Path,
    usual: Separator,
    options: &TableOptions,
) -> Result<Opened, Failure> {
    let stream::OpenText { mut text, budget, mut origin } = stream::open_with(path, options)?;
    let head = text.peek(DECLARED).map_err(|e| origin.refused(e, 0))?;
    let declared = declared(&head);
    let found = declared.map(|found| Separator::Byte(found.separator));
    let separator = options.separator.or(found).unwrap_or(usual);
    if let Some(Declared { length, .. }) = declared {
        let mut line = [0; DECLARED];
        text.read_exact(&mut line[..length]).map_err(|e| origin.refused(e, 0))?;
        origin = origin.after(length as u64);
    }
    let before = options.skip + u64::from(declared.is_some());
    let records = match separator {
        Separator::Byte(byte) => {
            let quoting = options.quoting.unwrap_or_default();
            let rules = FieldRules { separator: byte, quoting, trims: options.trims };
            let reader = ::csv::ReaderBuilder::new()
                .delimiter(byte)
                .quoting(quoting != Quoting::Literal)
                .escape((quoting == Quoting::Escaped).then_some(b'\\'))
                .has_headers(false)
                .flexible(true) // `CsvTable` checks the number of fields
                .buffer_capacity(BUFFER)
                .from_reader(Quotes::new(text, rules, 1 + before));
            Records::Separated(Box::new(reader))
        }
        Separator::Blanks | Separator::Lines if has_quotes(options) => {
            return Err(Failure::usage(
                "quote= is an option of fields that a character separates; between blanks, and in lines of one field, quotes are text",
            )
            .in_file(path));
        }
        Separator::Blanks => Records::Words(WordReader::new(text, words(&options.header))),
        Separator::Lines => Records::Words(WordReader::new(text, Fields::Line)),
    };
    Ok(Opened { records, budget, origin, separator })
}

/// Whether the options state that quotes are no text.
fn has_quotes(options: &TableOptions) -> bool {
    options.quoting.is_some_and(|quoting| quoting != Quoting::Literal)
}

/// How the words of a line are fields.
fn words(header: &Header) -> Fields {
    match header {
        Header::Names(names) if header.has_rest() => Fields::WordsAndRest(names.len()),
        _ => Fields::Words,
    }
}

/// A first line that names the separator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Declared {
    separator: u8,
    /// Bytes of the line with its end.
    length: usize,
}

/// Returns the separator that the first line of a text names, as Excel writes it: `sep=;`, also in quotes.
fn declared(head: &[u8]) -> Option<Declared> {
    let inner = head.strip_prefix(b"\"");
    let line = inner.unwrap_or(head);
    let (word, rest) = line.split_at_checked(4)?;
    let (&separator, rest) = rest.split_first()?;
    if !word.eq_ignore_ascii_case(b"sep=") || matches!(separator, b'\r' | b'\n' | b'"') {
        return None;
    }
    let rest = if inner.is_some() { rest.strip_prefix(b"\"")? } else { rest };
    let end = match rest {
        [] => 0,
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => return None,
    };
    Some(Declared { separator, length: head.len() - rest.len() + end })
}
