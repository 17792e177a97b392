//! The error of this crate: what kind, one line of text, and its cause.
//!
//! It has no place: an order knows no file. What a caller writes otherwise, such as the name of a shuffle, is an
//! [`Advice`] in its text.

use std::error;
use std::fmt;
use std::sync::Arc;

/// The kind of an [`Error`], for callers that act on it.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// An argument, or a combination of arguments, is impossible. The text names what is possible.
    Usage,
    /// A text is not a [`LoaderState`](crate::LoaderState), or was written by a newer version.
    WrongFormat,
    /// A state belongs to another data set, selection, shuffle or number of ranks.
    Stale,
    /// A selection needs more memory than the machine has.
    Limit,
}

/// A part of the text of an [`Error`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorPart {
    /// Words.
    Text(String),
    /// What to set.
    Advice(Advice),
}

/// What the text of an [`Error`] advises to set. Exhaustive: a caller with words of another language needs all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Advice {
    /// [`Shuffle::Full`](crate::Shuffle::Full).
    FullShuffle,
    /// [`Shuffle::Blocks`](crate::Shuffle::Blocks).
    BlockShuffle,
    /// [`Shuffle::Shards`](crate::Shuffle::Shards).
    ShardShuffle,
    /// [`Shuffle::Blocks`](crate::Shuffle::Blocks) of a usual size.
    UsualBlocks,
    /// A split by position, which is the default.
    SplitByPosition,
    /// [`Split::by_shard`](crate::Split::by_shard).
    SplitByShard,
    /// No [`Split::by_shard`](crate::Split::by_shard).
    NoSplitByShard,
    /// A rank alone, without the number of ranks.
    Rank,
    /// A rank and the number of ranks.
    Ranks,
    /// The same, as an example: rank 0 of 8.
    RanksExample,
    /// The number of ranks alone.
    WorldSize,
    /// The number of the jobs of an array, whose launcher provides the rank alone.
    JobCount,
}

impl Advice {
    /// Returns the words of Rust.
    fn rust(self) -> &'static str {
        match self {
            Advice::FullShuffle => "Shuffle::Full",
            Advice::BlockShuffle => "Shuffle::Blocks",
            Advice::ShardShuffle => "Shuffle::Shards",
            Advice::UsualBlocks => "Blocks { block: 64, window: 16, .. }",
            Advice::SplitByPosition => "split by position",
            Advice::SplitByShard => "add by_shard() to the split",
            Advice::NoSplitByShard => "leave out by_shard()",
            Advice::Rank => "a rank",
            Advice::Ranks => "Split::new(rank, world)",
            Advice::RanksExample => "Split::new(0, 8)",
            Advice::WorldSize => "a world size",
            Advice::JobCount => "Split::new(rank, world)",
        }
    }
}

/// An error of an order, a selection, a split or a state. Clones share its cause.
///
/// ```
/// use tarflume_order::{ErrorKind, Split};
///
/// let error = Split::new(4, 4).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Usage);
/// assert_eq!(error.text(), "rank 4 of 4 does not exist; ranks begin with 0");
/// ```
#[derive(Debug, Clone)]
pub struct Error {
    kind: ErrorKind,
    parts: Vec<ErrorPart>,
    /// The parts in the words of Rust.
    text: String,
    cause: Option<Arc<dyn error::Error + Send + Sync>>,
}

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn new(kind: ErrorKind, text: impl Into<String>) -> Error {
        let text = text.into();
        Error { kind, parts: vec![ErrorPart::Text(text.clone())], text, cause: None }
    }

    /// Appends an advice to the text.
    pub(crate) fn advise(mut self, advice: Advice) -> Error {
        self.text.push_str(advice.rust());
        self.parts.push(ErrorPart::Advice(advice));
        self
    }

    /// Appends words to the text.
    pub(crate) fn and(mut self, text: &str) -> Error {
        self.text.push_str(text);
        self.parts.push(ErrorPart::Text(text.into()));
        self
    }

    pub(crate) fn usage(text: impl Into<String>) -> Error {
        Error::new(ErrorKind::Usage, text)
    }

    pub(crate) fn with_source(self, cause: impl error::Error + Send + Sync + 'static) -> Error {
        Error { cause: Some(Arc::new(cause)), ..self }
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The message without its cause, as it was written: it may contain control characters of a damaged state.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The message in parts, for a caller that has other words for an [`Advice`].
    pub fn parts(&self) -> &[ErrorPart] {
        &self.parts
    }

    /// The cause, to attach to an error of another type.
    pub fn cause(&self) -> Option<Arc<dyn error::Error + Send + Sync>> {
        self.cause.clone()
    }
}

/// The text. Control characters are escaped, because a state that was read from a file can contain any.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.chars().try_for_each(|c| {
            if c.is_control() { write!(f, "{}", c.escape_default()) } else { write!(f, "{c}") }
        })
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_its_text_without_control_characters_and_has_its_cause() {
        let cause = "x".parse::<u64>().unwrap_err();
        let error = Error::usage("a \u{1b}[31mred state").with_source(cause.clone());
        assert_eq!(error.to_string(), "a \\u{1b}[31mred state");
        assert_eq!(error.text(), "a \u{1b}[31mred state");
        let shown = error::Error::source(&error.clone()).unwrap().to_string();
        assert_eq!(shown, cause.to_string());
    }
}
