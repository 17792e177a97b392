//! `Documents`: texts in order; `DocumentSource`: what can be opened as documents again and again.

use std::path::Path;
use std::sync::Arc;

use tarflume_base::Failure;
use tarflume_formats::message::Message;
use tarflume_formats::{Place, message};

use super::rows::Rows;

/// Limit on the bytes of a document, or of the line that holds it.
pub const LONGEST: usize = 64 << 20;

/// Why a document cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentFault {
    /// The file, and the byte or the member as far as they are known.
    pub place: Place,
    /// Path and line or byte, what is wrong, and what to do.
    pub reason: Message,
}

impl DocumentFault {
    /// Creates the fault of a file that is one document.
    pub(crate) fn of_file(path: &Path, reason: impl Into<Message>) -> DocumentFault {
        let reason = message!("{path}: {reason}"; path = path, reason = reason);
        DocumentFault { place: Place::file(path), reason }
    }
}

/// What [`Documents::next`] has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// A document.
    Text,
    /// A document that cannot be read. The ones behind it can.
    Bad(DocumentFault),
    /// The end of the source.
    End,
}

/// The documents of a source, in an order that never changes.
pub trait Documents: Send {
    /// Appends the text of the next document to `text`. After [`Next::Bad`] the caller removes what was
    /// appended.
    ///
    /// # Errors
    /// Returns an error that names path and line or byte, if no other document can be read.
    fn next(&mut self, text: &mut String) -> Result<Next, Failure>;
}

/// Opens documents.
type Opening = dyn Fn() -> Result<Box<dyn Documents>, Failure> + Send + Sync;

/// A named source of documents, which can be opened several times.
#[derive(Clone)]
pub struct DocumentSource {
    name: String,
    open: Arc<Opening>,
}

impl std::fmt::Debug for DocumentSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DocumentSource({})", self.name)
    }
}

impl DocumentSource {
    /// Creates a source. `name` is the first half of the identifiers of its documents.
    pub fn new(
        name: impl Into<String>,
        open: impl Fn() -> Result<Box<dyn Documents>, Failure> + Send + Sync + 'static,
    ) -> DocumentSource {
        DocumentSource { name: name.into(), open: Arc::new(open) }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Opens the documents from the first one.
    ///
    /// # Errors
    /// Returns an error if they cannot be opened.
    pub fn open(&self) -> Result<Box<dyn Documents>, Failure> {
        (self.open)()
    }
}

/// How the files of text are read.
#[derive(Debug, Clone)]
pub struct Reading {
    /// What a document is of a row: a text, or a conversation.
    pub rows: Rows,
    /// The field of a JSON object that holds the text.
    pub field: String,
    /// The part of a tar's samples that holds the text: JSON if it ends in `json`.
    pub part: String,
    /// Whether each line of a text file is a document.
    pub per_line: bool,
    /// Whether tars are read on behind their end markers, for tars that were joined.
    pub ignore_zeros: bool,
}

impl Default for Reading {
    fn default() -> Reading {
        let rows = Rows::Text;
        Reading {
            rows,
            field: "text".into(),
            part: "txt".into(),
            per_line: false,
            ignore_zeros: false,
        }
    }
}
