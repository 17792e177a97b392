//! The one error of this crate: what kind, where, and one line of text.
//!
//! The place is that of `formats`: path, byte, key. The text never repeats the source error; a caller
//! that prints the chain prints each part once.

use std::error;
use std::fmt;
use std::io;
use std::path::Path;

use tarflume_formats::Blame;
use tarflume_formats::error as formats;
pub use tarflume_formats::place::Place;
use tarflume_order as order;

/// What went wrong, for callers that act on it.
///
/// ```
/// use tarflume::{Error, ErrorKind};
///
/// fn is_worth_a_retry(error: &Error) -> bool {
///     error.kind() == ErrorKind::Machine
/// }
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The loader was asked for something impossible; nothing was read yet.
    Usage,
    /// The operating system refused a read, as it would on any machine: no such file, no permission.
    Io,
    /// The machine failed (I/O error, stale handle, too many open files, no memory, no thread): nothing is
    /// known of the data, so no policy for bad samples applies.
    Machine,
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
///
/// ```
/// use tarflume::Loader;
///
/// let error = Loader::builder("no/such/folder").build().unwrap_err();
/// println!("{:?}: {error}", error.kind()); // one line: the place, what was found, what to do
/// ```
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

    /// Adds what caused it. An [`ErrorKind::Io`] whose cause is an [`io::Error`] of the machine, as
    /// [`Blame`] says, becomes [`ErrorKind::Machine`].
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn error::Error + Send + Sync>>) -> Self {
        let source = self.0.source.get_or_insert_with(|| source.into());
        if self.0.kind == ErrorKind::Io
            && let Some(cause) = source.downcast_ref::<io::Error>()
            && Blame::of(cause).is_machine()
        {
            self.0.kind = ErrorKind::Machine;
        }
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

    /// True if it tells of the machine and not of the data. A refusal without its cause, as sources of
    /// others may give it, counts as the machine's: nobody knows that the data is at fault.
    pub fn is_machine(&self) -> bool {
        match self.0.kind {
            ErrorKind::Machine => true,
            ErrorKind::Io => self.0.source.is_none(),
            _ => false,
        }
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
            _ if error.blame().is_machine() => ErrorKind::Machine,
            _ => ErrorKind::Io,
        };
        let source = error.io_error().map(|e| {
            // An operating-system error can't be cloned; its code or its words can.
            let copy = e.raw_os_error().map(io::Error::from_raw_os_error);
            copy.unwrap_or_else(|| io::Error::new(e.kind(), e.to_string())).into()
        });
        let (place, text) = (error.place().clone(), error.text().to_string());
        Error(Box::new(Inner { kind, place, text, source }))
    }
}

impl From<order::Error> for Error {
    fn from(error: order::Error) -> Self {
        use order::ErrorKind as O;
        let kind = match error.kind() {
            O::WrongFormat => ErrorKind::WrongFormat,
            O::Stale => ErrorKind::Stale,
            O::Limit => ErrorKind::Limit,
            _ => ErrorKind::Usage,
        };
        let made = Error::new(kind, error.text());
        match error.cause() {
            Some(cause) => made.with_source(cause),
            None => made,
        }
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

/// One line for people, the causes behind it: what `main` prints that returns it, and `unwrap`. `{:#?}` shows the
/// fields.
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
        self.0.source.as_ref().map(|e| e.as_ref() as _)
    }
}

#[cfg(test)]
mod tests {
    use tarflume_formats::dataset as formats_dataset;

    use super::*;

    #[test]
    fn debug_is_one_line_for_people_with_its_causes() {
        let cause = io::Error::from_raw_os_error(2);
        let error = Error::new(ErrorKind::Io, "cannot open").with_path("a.tar").with_source(cause);
        let line = "a.tar: cannot open: No such file or directory (os error 2)";
        assert_eq!(format!("{error:?}"), line);
        let boxed: Box<dyn error::Error> = error.into();
        assert_eq!(format!("{boxed:?}"), line, "what `main` prints that returns it");
        let plain = Error::usage("a batch has at least one row");
        assert_eq!(format!("{plain:?}"), plain.to_string());
        assert!(format!("{plain:#?}").contains("kind: Usage"));
    }

    #[test]
    fn a_missing_manifest_is_the_datas() {
        let folder = tempfile::tempdir().unwrap();
        let missing = formats_dataset::read_manifest(&folder.path().join("dataset.json"));
        let missing = missing.unwrap_err();
        assert!(missing.text().contains("there is no manifest here"), "{missing}");
        assert_eq!(missing.io_error().unwrap().raw_os_error(), Some(2));
        let error = Error::from(missing);
        assert_eq!((error.kind(), error.is_machine()), (ErrorKind::Io, false));
    }

    #[test]
    fn refusals_are_the_datas_or_the_machines_as_the_table_says() {
        for (code, kind) in [
            (2, ErrorKind::Io),
            (13, ErrorKind::Io),
            (5, ErrorKind::Machine),
            (12, ErrorKind::Machine),
            (24, ErrorKind::Machine),
            (116, ErrorKind::Machine),
            (4000, ErrorKind::Machine),
        ] {
            let cause = || io::Error::from_raw_os_error(code);
            let made = Error::new(ErrorKind::Io, "cannot read").with_source(cause());
            let passed = Error::from(formats::Error::io(cause(), "read", "a.tar"));
            for error in [made, passed] {
                assert_eq!(error.kind(), kind, "{code}");
                assert_eq!(error.is_machine(), kind == ErrorKind::Machine, "{code}");
            }
        }
        assert!(Error::new(ErrorKind::Io, "a store's words").is_machine());
        let decode = Error::new(ErrorKind::Decode, "no JPEG");
        assert!(!decode.with_source(io::Error::from_raw_os_error(5)).is_machine());
    }
}
