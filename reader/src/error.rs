//! The one error of this crate: what kind, where, and one line of text.
//!
//! The place is that of `formats`: path, byte, key. The text never repeats the source error; a caller
//! that prints the chain prints each part once.

use std::error;
use std::fmt;
use std::path::Path;

use tarflume_formats::error as formats;
pub use tarflume_formats::place::Place;

/// What went wrong, for callers that act on it.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The loader was asked for something impossible; nothing was read yet.
    Usage,
    /// The operating system refused a read.
    Io,
    /// A file ends before the bytes it promised.
    Truncated,
    /// Stored bytes do not match their checksum, or lie.
    Damaged,
    /// A file is not of the format its name or use promises, or of a newer version.
    WrongFormat,
    /// A shard, sidecar or saved state belongs to another state of the data set.
    Stale,
    /// A sample lacks a part that a column needs.
    MissingPart,
    /// A part can't be decoded.
    Decode,
    /// Something is larger than the memory or the limit that was set.
    Limit,
    /// More bad samples than the budget allows.
    TooManyBad,
    /// Code that a user handed in panicked.
    Panicked,
    /// A GPU or its driver refused something, or there is none.
    Device,
}

/// An error with its kind and its place.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    place: Place,
    text: String,
    source: Option<Box<dyn error::Error + Send + Sync>>,
}

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `kind` that says `text`; the place is added as it becomes known.
    pub fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        Error(Box::new(Inner { kind, place: Place::default(), text: text.into(), source: None }))
    }

    /// A request that can't be met, and what to ask instead.
    pub fn usage(text: impl Into<String>) -> Self {
        Error::new(ErrorKind::Usage, text)
    }

    /// Adds what caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn error::Error + Send + Sync>>) -> Self {
        self.0.source.get_or_insert_with(|| source.into());
        self
    }

    /// Adds the file, unless one is known already.
    #[must_use]
    pub fn with_path(mut self, path: impl AsRef<Path>) -> Self {
        self.0.place.path.get_or_insert_with(|| path.as_ref().to_path_buf());
        self
    }

    /// Adds the byte, unless one is known already.
    #[must_use]
    pub fn with_byte(mut self, byte: u64) -> Self {
        self.0.place.byte.get_or_insert(byte);
        self
    }

    /// Adds the key, unless one is known already.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.0.place.key.get_or_insert_with(|| key.into());
        self
    }

    /// The text begins with the column that it is about.
    pub(crate) fn of_column(mut self, name: &str) -> Self {
        self.0.text = format!("column '{name}': {}", self.0.text);
        self
    }

    /// A byte counted from the start of a part becomes one counted from the start of the shard.
    pub(crate) fn in_part(mut self, start: u64) -> Self {
        self.0.place.byte = Some(start + self.0.place.byte.unwrap_or(0));
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Where it went wrong.
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// The sentence alone, without the place.
    pub fn text(&self) -> &str {
        &self.0.text
    }
}

impl From<formats::Error> for Error {
    fn from(error: formats::Error) -> Self {
        use formats::ErrorKind as F;
        let kind = match error.kind() {
            F::Truncated | F::MissingEnd => ErrorKind::Truncated,
            F::Damaged | F::BadHeader | F::Repeated => ErrorKind::Damaged,
            F::Stale => ErrorKind::Stale,
            F::WrongFormat | F::Version | F::Unsupported | F::BadName => ErrorKind::WrongFormat,
            F::Limit => ErrorKind::Limit,
            _ => ErrorKind::Io,
        };
        let source = error.io_error().map(|e| {
            // An operating-system error can't be cloned; its code or its words can.
            let copy = e.raw_os_error().map(std::io::Error::from_raw_os_error);
            copy.unwrap_or_else(|| std::io::Error::new(e.kind(), e.to_string())).into()
        });
        let (place, text) = (error.place().clone(), error.text().to_string());
        Error(Box::new(Inner { kind, place, text, source }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.place.is_empty() {
            write!(f, "{}: ", self.0.place)?;
        }
        write!(f, "{}", tarflume_formats::shown::message(&self.0.text))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("place", &self.0.place)
            .field("text", &self.0.text)
            .field("source", &self.0.source)
            .finish()
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.0.source.as_ref().map(|e| e.as_ref() as _)
    }
}
