//! `Rows`: the samples of a span one after the other, each with its parts by column and the tar
//! that they are read from.

use tarflume_base::{Failure, json_rules};
use tarflume_formats::index::{Part, Sample};
use tarflume_formats::json::{JsonRules, Object};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Name, Task};
use tarflume_formats::name;
use tarflume_formats::{Error, ErrorKind};
use tarflume_shards::listing::Shard;

use crate::export::columns::Columns;
use crate::export::job::Job;
use crate::export::out_file::OutFile;
use crate::export::values::encoding::Encoding;
use crate::export::values::json;
use crate::export::values::spans::{self, Span};
use crate::export::values::window::TarWindow;

/// Limit on a part of text, JSON or a number, which is held whole.
pub(super) const MAX_TEXT: u64 = 64 << 20;

/// Walks over the samples of a span.
pub(super) struct Rows<'a> {
    job: &'a Job<'a>,
    samples: Box<dyn Iterator<Item = Result<(usize, Sample<'a>), Failure>> + 'a>,
    /// The tar of this shard is open.
    tar: Option<(usize, TarWindow<'a>)>,
    parts: Vec<Option<Part<'a>>>,
}

/// One sample.
pub(super) struct ExportRow<'r, 'a> {
    /// Its rows in the sidecar.
    pub(super) sample: Sample<'a>,
    /// Its parts, by column; `None` for a missing one.
    pub(super) parts: &'r [Option<Part<'a>>],
    /// Their bytes.
    pub(super) bytes: u64,
    /// Whether names are cleaned where they become paths.
    pub(super) clean_names: bool,
    columns: &'a Columns,
    rules: JsonRules,
    tar: &'r mut TarWindow<'a>,
}

impl<'a> Rows<'a> {
    /// Creates a walk over the samples of `span`.
    pub(super) fn of(job: &'a Job<'a>, span: Span) -> Rows<'a> {
        let samples = Box::new(spans::samples(job.listing, span));
        Rows { job, samples, tar: None, parts: Vec::new() }
    }

    /// Returns the next sample.
    ///
    /// # Errors
    /// Returns an error if the export is interrupted, if a sidecar is damaged, or if the operating
    /// system refuses to open a tar.
    pub(super) fn next(&mut self) -> Result<Option<ExportRow<'_, 'a>>, Failure> {
        let Some(found) = self.samples.next() else { return Ok(None) };
        let (number, sample) = found?;
        self.job.go_on()?;
        let shard = &self.job.listing.shards[number];
        let bytes = self.job.columns.parts_of(shard, &sample, &mut self.parts)?;
        let open = match self.tar.take() {
            Some((open, tar)) if open == number => (open, tar),
            _ => (number, TarWindow::open(shard)?),
        };
        let (_, tar) = self.tar.insert(open);
        let clean_names = self.job.options.clean_names;
        let columns = &self.job.columns;
        let rules = self.job.rules();
        Ok(Some(ExportRow { sample, bytes, parts: &self.parts, clean_names, columns, rules, tar }))
    }
}

impl<'a> ExportRow<'_, 'a> {
    /// Returns the shard.
    pub(super) fn shard(&self) -> &'a Shard {
        self.tar.shard()
    }

    /// Returns the key as text.
    ///
    /// # Errors
    /// Returns the errors of [`key_text`].
    pub(super) fn key(&self) -> Result<&'a str, Failure> {
        Ok(key_text(self.tar.shard(), &self.sample)?)
    }

    /// Passes the bytes of a part to `take`, in pieces.
    ///
    /// # Errors
    /// Returns the errors of `take`, and an error if the part is damaged or cannot be read.
    pub(super) fn copy(
        &mut self,
        part: &Part<'_>,
        take: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.tar.copy(self.sample.key, part, take)
    }

    /// Returns the bytes of a small part.
    ///
    /// # Errors
    /// Returns an error if the part is larger than [`MAX_TEXT`], damaged, or cannot be read.
    pub(super) fn whole(&mut self, part: &Part<'_>) -> Result<&[u8], Failure> {
        let remedy = message!("export it as bytes with {encodings}"; encodings = Name::Encodings.pairs([&*format!("{}=bytes", name::shown(part.ext))]));
        self.tar.whole(self.sample.key, part, MAX_TEXT, &remedy)
    }

    /// Returns the bytes of a small part of UTF-8.
    ///
    /// # Errors
    /// Returns the errors of [`ExportRow::whole`], and an error if the part is not UTF-8.
    pub(super) fn text(&mut self, part: &Part<'_>) -> Result<&str, Failure> {
        let bytes = self.whole(part)?;
        let Err(error) = std::str::from_utf8(bytes) else {
            // Checked again because the borrow of the error's branch would last.
            return Ok(std::str::from_utf8(self.whole(part)?).expect("it was UTF-8 before"));
        };
        let byte = part.offset + error.valid_up_to() as u64;
        let ext = name::shown(part.ext);
        let text = message!("part '{ext}' is not UTF-8; export it as bytes with {encodings}"; encodings = Name::Encodings.pairs([&*format!("{ext}=bytes")]));
        Err(self.error(ErrorKind::WrongFormat, text, byte).into())
    }

    /// Returns the number that a part contains as text.
    ///
    /// # Errors
    /// Returns the errors of [`ExportRow::whole`], and an error if the part is not an integer.
    pub(super) fn integer(&mut self, part: &Part<'_>) -> Result<i64, Failure> {
        let text = String::from_utf8_lossy(self.whole(part)?).trim().to_string();
        // An id with leading zeros would lose them.
        let found = text.parse().ok().filter(|number: &i64| number.to_string() == text);
        found.ok_or_else(|| {
            let ext = name::shown(part.ext);
            let text = name::shown(text.as_bytes());
            let text = message!("part '{ext}' is '{text:.40}', which an integer of 64 bits does not keep; export it as it is \
                     with {encodings}"; encodings = Name::Encodings.pairs([&*format!("{ext}=bytes")]));
            self.error(ErrorKind::WrongFormat, text, part.offset).into()
        })
    }

    /// Returns the encoding of a column.
    pub(super) fn encoding(&self, column: usize) -> Encoding {
        self.columns.list[column].encoding
    }

    /// Returns the extension of a column.
    pub(super) fn ext(&self, column: usize) -> &'a str {
        &self.columns.list[column].ext
    }

    /// Returns true for the part whose fields are columns.
    pub(super) fn is_fields(&self, column: usize) -> bool {
        self.columns.json == Some(column)
    }

    /// Writes the bytes of a part: an integer as 8 bytes, little-endian, and every other part as it
    /// is. Text is checked.
    ///
    /// # Errors
    /// Returns an error if the part is not what its encoding states, damaged, or cannot be read.
    pub(super) fn put(&mut self, column: usize, to: &mut OutFile) -> Result<(), Failure> {
        let Some(part) = self.parts[column] else { return Ok(()) };
        match self.encoding(column) {
            Encoding::Int => to.put(&self.integer(&part)?.to_le_bytes()),
            Encoding::Text | Encoding::Json => to.put(self.text(&part)?.as_bytes()),
            Encoding::Bytes | Encoding::Jpeg | Encoding::Png => {
                self.copy(&part, |piece| to.put(piece))
            }
        }
    }

    /// Returns the object in the part `json`; an empty one if the sample has none.
    ///
    /// # Errors
    /// Returns the errors of [`ExportRow::whole`], and an error if the part is not a JSON object.
    pub(super) fn object(&mut self) -> Result<Object, Failure> {
        let Some(part) = self.columns.json.and_then(|column| self.parts[column]) else {
            return Ok(Object::new());
        };
        let rules = self.rules;
        let parsed = json::object(self.whole(&part)?, rules);
        parsed.map_err(|fault| {
            let text = message!("bad JSON: {why}; export the JSON as it is with {json}"; why = fault.advised(json_rules::remedy()), json = Name::Json.is("text"));
            self.error(ErrorKind::WrongFormat, text, part.offset + fault.byte as u64).into()
        })
    }

    /// Returns an error with the place of the sample.
    pub(super) fn error(&self, kind: ErrorKind, text: impl Into<Message>, byte: u64) -> Error {
        self.tar.error(kind, text.into(), self.sample.key, byte)
    }
}

/// Returns the key of a sample as text.
///
/// # Errors
/// Returns an error if it is not UTF-8, or if the sidecar changed.
pub(super) fn key_text<'a>(shard: &Shard, sample: &Sample<'a>) -> Result<&'a str, Error> {
    shard.index.intact()?;
    std::str::from_utf8(sample.key).map_err(|_| {
        let text = message!("the key is not UTF-8, and the format stores keys as text; rename the files and pack them again, \
             export with {to}, or write the files with `{unpack}`"; unpack = Call::of(Task::Unpack), to = Name::To.is("tfrecord"));
        Error::new(ErrorKind::BadName, text)
            .with_path(&shard.tar)
            .with_byte(sample.first)
            .with_key(sample.shown_key())
    })
}
