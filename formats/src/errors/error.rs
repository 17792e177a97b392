//! The error type of this crate: a kind, a place, and one line of text.
//!
//! The text never repeats the source error, so a caller that prints the chain prints each part
//! once.

use std::error;
use std::fmt;
use std::io;
use std::path::Path;

use crate::errors::blame::Blame;
use crate::errors::place::Place;
use crate::message::Message;
use crate::text::shown::message;

/// What went wrong, for callers that act on it.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The operating system refused a read, a write or a rename.
    Io,
    /// A file ends before its declared length.
    Truncated,
    /// The end-of-archive marker (two blocks of zeros) is missing.
    MissingEnd,
    /// More than zeros follows the end-of-archive marker: another tar, or bytes of no tar.
    AfterEnd,
    /// A block is not a valid tar header.
    BadHeader,
    /// A tar feature that no reader of shards handles (sparse files, several volumes), or zstd data in a program that was
    /// compiled without zstd.
    Unsupported,
    /// A file does not have the format that its name or use implies.
    WrongFormat,
    /// A file has a newer version than this program reads.
    Version,
    /// Stored bytes do not match their checksum.
    Damaged,
    /// A sidecar, manifest or plan is intact but describes another state of its files.
    Stale,
    /// A member name cannot be part of a sample, or is unsafe as a path.
    BadName,
    /// A number exceeds a limit of the format.
    Limit,
    /// A key or part appears twice where readers require it once.
    Repeated,
    /// The file to be written already exists.
    Exists,
}

/// An error with its kind and place.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    place: Place,
    message: Message,
    /// The message in the words of the command.
    text: String,
    source: Option<io::Error>,
}

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Creates an error of `kind` with a message; the place is added by the `with_`
    /// methods.
    pub fn new(kind: ErrorKind, message: impl Into<Message>) -> Self {
        let message = message.into();
        let text = message.text();
        Error(Box::new(Inner { kind, place: Place::default(), message, text, source: None }))
    }

    /// Creates an error of the operating system while `doing` something ("read", "rename") with
    /// `path`.
    pub fn io(source: io::Error, doing: impl Into<Message>, path: impl AsRef<Path>) -> Self {
        let kind = match source.kind() {
            io::ErrorKind::AlreadyExists => ErrorKind::Exists,
            io::ErrorKind::UnexpectedEof => ErrorKind::Truncated,
            _ => ErrorKind::Io,
        };
        let mut message = Message::words("cannot ");
        message.push(doing);
        Error::new(kind, message).with_path(path).with_cause(source)
    }

    /// Adds the causing error of the operating system, unless one is set.
    #[must_use]
    pub fn with_cause(mut self, cause: io::Error) -> Self {
        self.0.source.get_or_insert(cause);
        self
    }

    /// Adds the file, unless one is set.
    #[must_use]
    pub fn with_path(mut self, path: impl AsRef<Path>) -> Self {
        self.0.place.path.get_or_insert_with(|| path.as_ref().to_path_buf());
        self
    }

    /// Adds the byte, unless one is set.
    #[must_use]
    pub fn with_byte(mut self, byte: u64) -> Self {
        self.0.place.byte.get_or_insert(byte);
        self
    }

    /// Adds the key, unless one is set.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.0.place.key.get_or_insert_with(|| key.into());
        self
    }

    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the place.
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// Returns the message without the place, whose settings and commands are data.
    #[doc(hidden)]
    pub fn message(&self) -> &Message {
        &self.0.message
    }

    /// Returns the place and the message as data.
    #[doc(hidden)]
    pub fn placed(&self) -> Message {
        if self.0.place.is_empty() {
            return self.0.message.clone();
        }
        crate::message!("{place}: {message}"; place = &self.0.place, message = &self.0.message)
    }

    /// Returns the message without the place.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Returns the blame: the machine's only if the operating system's own error says so, otherwise
    /// the data's.
    pub fn blame(&self) -> Blame {
        match (self.kind(), self.io_error()) {
            (ErrorKind::Io, Some(error)) => Blame::of(error),
            _ => Blame::Data,
        }
    }

    /// Returns true if the operating system reported a missing file or folder.
    pub fn is_missing(&self) -> bool {
        self.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    /// Returns the operating system's own error, if there is one.
    pub fn io_error(&self) -> Option<&io::Error> {
        self.0.source.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.place.is_empty() {
            write!(f, "{}: ", self.0.place)?;
        }
        write!(f, "{}", message(&self.0.text))
    }
}

/// One line for people with the causes at its end: printed by a `main` that returns the error, and
/// by `unwrap`. `{:#?}` shows the fields.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return f
                .debug_struct("Error")
                .field("kind", &self.0.kind)
                .field("place", &self.0.place)
                .field("text", &self.0.text)
                .field("source", &self.0.source)
                .finish();
        }
        write!(f, "{self}")?;
        let mut cause = error::Error::source(self);
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.0.source.as_ref().map(|e| e as _)
    }
}
