//! `Error`: the error type of this crate, with a kind, a place and one line of text.
//!
//! The place is that of `formats`: path, byte, key. The text never repeats the source error, so that a
//! caller that prints the chain prints each part once.

use std::error;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

pub use tarflume_formats::Place;
use tarflume_formats::message::{Face, Message, Phrase};
use tarflume_formats::{self as formats, Blame, message};
use tarflume_order as order;
use tarflume_order::{Advice, ErrorPart};

/// The kind of an error, for callers that handle kinds differently.
///
/// ```
/// use tarflume::{Error, ErrorKind};
///
/// fn is_worth_a_retry(error: &Error) -> bool {
///     matches!(error.kind(), ErrorKind::Machine | ErrorKind::Network)
/// }
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The arguments are invalid. Nothing was read.
    Usage,
    /// The operating system refused a read for a reason that holds on any machine: no such file, no permission.
    Io,
    /// The machine failed (I/O error, stale handle, too many open files, out of memory, no thread). The data
    /// may be intact, so no policy for bad samples applies.
    Machine,
    /// A store or the network failed: no connection, no answer, or one that the protocol does not allow. As
    /// [`ErrorKind::Machine`], a later try may succeed.
    Network,
    /// A store refuses: credentials or permissions. No policy for bad samples applies.
    Refused,
    /// A file ends before the bytes that it declares.
    Truncated,
    /// Stored bytes do not match their checksum or contradict each other.
    Damaged,
    /// A file does not have the expected format, or has a newer version of it.
    WrongFormat,
    /// A shard, sidecar or saved state belongs to a different version of the data set.
    Stale,
    /// A sample lacks a part that a column needs.
    MissingPart,
    /// A part cannot be decoded.
    Decode,
    /// A picture of a kind that this crate does not decode. The part may be whole.
    Unsupported,
    /// A size exceeds the available memory or a limit that was set.
    Limit,
    /// More bad samples than the budget allows.
    TooManyBad,
    /// Code supplied by the user panicked.
    Panicked,
    /// A GPU or its driver returned an error, or no GPU is available.
    Device,
}

/// An error with its kind and its place. A clone has the same text, place and source.
#[derive(Clone)]
///
/// ```
/// use tarflume::Loader;
///
/// let error = Loader::builder("no/such/folder").build().unwrap_err();
/// println!("{:?}: {error}", error.kind()); // one line: the place, what was found, what to do
/// ```
pub struct Error(Box<ErrorFields>);

#[derive(Clone)]
struct ErrorFields {
    kind: ErrorKind,
    place: Place,
    message: Message,
    /// The message in the words of the crates.
    text: String,
    /// Shared, because errors of the operating system can't be cloned.
    source: Option<Arc<dyn error::Error + Send + Sync>>,
    fault: DecodeFault,
}

/// What an error of a decoder is about. It decides what a loader does with the sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DecodeFault {
    /// The sample: the policy for bad samples applies.
    #[default]
    Sample,
    /// An excerpt of the sample's part: the whole part may be decoded.
    Excerpt,
    /// The decoder, which reserves memory in a way that could block other threads. No sample is bad.
    Decoder,
}

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Creates an error of `kind` with the message `text`. Callers add the place as it becomes known.
    pub fn new(kind: ErrorKind, text: impl Into<Message>) -> Self {
        let message = text.into();
        let text = message.in_face(Face::Rust);
        Error(Box::new(ErrorFields {
            kind,
            place: Place::default(),
            message,
            text,
            source: None,
            fault: DecodeFault::Sample,
        }))
    }

    /// Changes the message.
    fn said(mut self, message: Message) -> Self {
        self.0.text = message.in_face(Face::Rust);
        self.0.message = message;
        self
    }

    /// Creates a usage error. `text` states what is invalid and what to pass instead.
    pub fn usage(text: impl Into<Message>) -> Self {
        Error::new(ErrorKind::Usage, text)
    }

    /// Adds the cause. An [`ErrorKind::Io`] becomes [`ErrorKind::Machine`] if its cause is an
    /// [`io::Error`] that [`Blame`] assigns to the machine.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn error::Error + Send + Sync>>) -> Self {
        let source = self.0.source.get_or_insert_with(|| Arc::from(source.into()));
        if self.0.kind == ErrorKind::Io
            && let Some(cause) = source.downcast_ref::<io::Error>()
            && Blame::of(cause).is_machine()
        {
            self.0.kind = ErrorKind::Machine;
        }
        self
    }

    /// Adds the path, unless the error already has one.
    #[must_use]
    pub fn with_path(mut self, path: impl AsRef<Path>) -> Self {
        self.0.place.path.get_or_insert_with(|| path.as_ref().to_path_buf());
        self
    }

    /// Adds the byte, unless the error already has one.
    #[must_use]
    pub fn with_byte(mut self, byte: u64) -> Self {
        self.0.place.byte.get_or_insert(byte);
        self
    }

    /// Adds the key, unless the error already has one.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.0.place.key.get_or_insert_with(|| key.into());
        self
    }

    /// States what the error of a decoder is about. A mistake of the decoder stays one.
    #[doc(hidden)]
    pub fn with_fault(mut self, fault: DecodeFault) -> Self {
        if self.fault() != DecodeFault::Decoder {
            self.0.fault = fault;
        }
        self
    }

    /// What the error of a decoder is about: itself, or the error of this type below it, as a decoder that wraps another
    /// one returns it.
    #[doc(hidden)]
    pub fn fault(&self) -> DecodeFault {
        let mut below = error::Error::source(self);
        while let Some(error) = below.filter(|_| self.0.fault == DecodeFault::Sample) {
            if let Some(inner) = error.downcast_ref::<Error>() {
                return inner.fault();
            }
            below = error.source();
        }
        self.0.fault
    }

    /// Prefixes the text with the name of the column.
    #[doc(hidden)]
    pub fn of_column(self, name: &str) -> Self {
        let message = message!("column '{name}': {text}"; text = &self.0.message);
        self.said(message)
    }

    /// Adds what to do to the text.
    #[doc(hidden)]
    pub fn and_advice(self, advice: impl Into<Message>) -> Self {
        let message = message!("{text}: {advice}"; text = &self.0.message, advice = advice);
        self.said(message)
    }

    /// Converts a byte offset in a part into one in the shard. `start` is the first byte of the part.
    #[doc(hidden)]
    pub fn in_part(mut self, start: u64) -> Self {
        self.0.place.byte = Some(start + self.0.place.byte.unwrap_or(0));
        self
    }

    /// True if the machine or the network failed, not the data: a later try may succeed. An [`ErrorKind::Io`] without
    /// a cause, as a custom source may return it, counts as the machine's, because nothing proves that the data is bad.
    pub fn is_machine(&self) -> bool {
        match self.0.kind {
            ErrorKind::Machine | ErrorKind::Network => true,
            ErrorKind::Io => self.0.source.is_none(),
            _ => false,
        }
    }

    /// True if the error proves nothing about a sample: the machine failed, a store refuses, or a whole shard is
    /// missing. No policy for bad samples applies.
    #[doc(hidden)]
    pub fn spares_samples(&self) -> bool {
        let cause = self.0.source.as_ref().and_then(|cause| cause.downcast_ref::<io::Error>());
        let is_missing = cause.is_some_and(|cause| cause.kind() == io::ErrorKind::NotFound);
        self.is_machine() || is_missing || self.0.kind == ErrorKind::Refused
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The path, byte and key.
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// The message without the place, whose settings and commands are data.
    #[doc(hidden)]
    pub fn message(&self) -> &Message {
        &self.0.message
    }

    /// The place and the message as one face writes them, without the causes.
    #[doc(hidden)]
    pub fn in_face(&self, face: Face) -> String {
        let text = self.0.message.in_face(face);
        let text = formats::shown::message(&text);
        if self.0.place.is_empty() { text.to_string() } else { format!("{}: {text}", self.0.place) }
    }

    /// The message without the place.
    pub fn text(&self) -> &str {
        &self.0.text
    }
}

impl From<formats::Error> for Error {
    fn from(error: formats::Error) -> Self {
        use formats::ErrorKind as F;
        let kind = match error.kind() {
            F::Truncated | F::MissingEnd => ErrorKind::Truncated,
            F::Damaged | F::BadHeader | F::Repeated | F::AfterEnd => ErrorKind::Damaged,
            F::Stale => ErrorKind::Stale,
            F::WrongFormat | F::Version | F::Unsupported | F::BadName => ErrorKind::WrongFormat,
            F::Limit => ErrorKind::Limit,
            _ if error.blame().is_machine() => ErrorKind::Machine,
            _ => ErrorKind::Io,
        };
        let source = error.io_error().map(|e| {
            // `io::Error` is not `Clone`; its code, or else its text, is copied.
            let copy = e.raw_os_error().map(io::Error::from_raw_os_error);
            let copy = copy.unwrap_or_else(|| io::Error::new(e.kind(), e.to_string()));
            Arc::new(copy) as Arc<dyn error::Error + Send + Sync>
        });
        let mut made = Error::new(kind, error.message());
        made.0.place = error.place().clone();
        made.0.source = source;
        made
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
        let made = Error::new(kind, of_order(&error));
        match error.cause() {
            Some(cause) => made.with_source(cause),
            None => made,
        }
    }
}

/// Returns the message of an error of an order.
fn of_order(error: &order::Error) -> Message {
    let mut message = Message::default();
    for part in error.parts() {
        match part {
            ErrorPart::Text(text) => message.push(text),
            ErrorPart::Advice(advice) => message.push(phrase(*advice)),
        }
    }
    message
}

fn phrase(advice: Advice) -> Phrase {
    match advice {
        Advice::FullShuffle => Phrase::FullShuffle,
        Advice::BlockShuffle => Phrase::BlockShuffle,
        Advice::ShardShuffle => Phrase::ShardShuffle,
        Advice::UsualBlocks => Phrase::UsualBlocks,
        Advice::SplitByPosition => Phrase::SplitByPosition,
        Advice::SplitByShard => Phrase::SplitByShard,
        Advice::NoSplitByShard => Phrase::NoSplitByShard,
        Advice::Rank => Phrase::Rank,
        Advice::Ranks => Phrase::Ranks,
        Advice::RanksExample => Phrase::RanksExample,
        Advice::WorldSize => Phrase::WorldSize,
        Advice::JobCount => Phrase::JobCount,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.place.is_empty() {
            write!(f, "{}: ", self.0.place)?;
        }
        write!(f, "{}", formats::shown::message(&self.0.text))
    }
}

/// Writes one line with all causes, which is what `main` and `unwrap` print. `{:#?}` writes the fields.
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
    fn a_clone_has_the_same_message_place_and_source() {
        let cause = io::Error::from_raw_os_error(5);
        let error = Error::new(ErrorKind::Io, "cannot read").with_source(cause);
        let error = error.with_path("a.tar").with_key("k").with_byte(512);
        let clone = error.clone();
        assert_eq!(format!("{error:#?}"), format!("{clone:#?}"));
        assert_eq!(format!("{error:?}"), format!("{clone:?}"));
        let source = error::Error::source(&clone).unwrap().downcast_ref::<io::Error>();
        assert_eq!(source.unwrap().raw_os_error(), Some(5));
        assert!(clone.is_machine());
    }

    #[test]
    fn the_fault_of_a_decoder_is_found_below_the_error_that_wraps_it() {
        use DecodeFault as F;
        let plain = || Error::new(ErrorKind::Decode, "no JPEG");
        assert_eq!(plain().fault(), F::Sample);
        for fault in [F::Excerpt, F::Decoder] {
            let wrapped = plain().with_source(io::Error::other(plain()));
            assert_eq!(wrapped.fault(), F::Sample);
            let inner = plain().with_fault(fault).of_column("image").with_key("k");
            assert_eq!(plain().with_source(inner).fault(), fault);
        }
        let mistake = plain().with_source(plain().with_fault(F::Decoder));
        assert_eq!(mistake.with_fault(F::Excerpt).fault(), F::Decoder);
    }

    #[test]
    fn a_missing_manifest_is_an_error_of_the_data() {
        let folder = tempfile::tempdir().unwrap();
        let missing = formats::read_manifest(folder.path().join("dataset.json"));
        let missing = missing.unwrap_err();
        assert!(missing.text().contains("there is no manifest here"), "{missing}");
        assert_eq!(missing.io_error().unwrap().raw_os_error(), Some(2));
        let error = Error::from(missing);
        assert_eq!((error.kind(), error.is_machine()), (ErrorKind::Io, false));
    }

    #[test]
    fn errors_belong_to_the_data_or_the_machine_by_the_table() {
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
        assert!(Error::new(ErrorKind::Io, "a store's message").is_machine());
        let decode = Error::new(ErrorKind::Decode, "no JPEG");
        assert!(!decode.with_source(io::Error::from_raw_os_error(5)).is_machine());
    }
}
