//! Rows to be joined, whatever they are read from.

use std::path::PathBuf;
use tarflume_formats::json::JsonRules;
use tarflume_formats::message::Name;

use tarflume_base::Failure;

use super::options::On;
use super::places::Place;
use super::rules::RowRules;

/// A row as the JSON of a sample.
#[derive(Debug, Default)]
pub struct JoinRow {
    /// Where it is.
    pub(crate) place: Place,
    /// The name of its sample.
    pub(crate) name: Vec<u8>,
    /// Its JSON.
    pub(crate) json: Vec<u8>,
}

/// Yields rows, in any order.
pub trait JoinRows {
    /// Reads the next row into `row`; returns false at the end.
    ///
    /// # Errors
    /// Returns an error for malformed input, and for a failure of the machine.
    fn next(&mut self, row: &mut JoinRow) -> Result<bool, Failure>;
}

/// Rows to be joined.
pub struct JoinSource {
    /// The rows.
    pub rows: Box<dyn JoinRows>,
    /// The files that places refer to.
    pub files: Vec<PathBuf>,
    /// The name of samples that rows have; found from the rows if absent.
    pub on: Option<On>,
    /// The extension of the new part.
    pub ext: String,
    /// The text of samples without row; if absent, they are problems.
    pub without: Option<Vec<u8>>,
    /// The flag, for messages.
    pub flag: Name,
    /// How rows are matched.
    pub rules: RowRules,
    /// The field with the name of the sample, if it is one of the fields.
    pub key: Option<String>,
    /// Which texts are JSON.
    pub json: JsonRules,
    /// Whether the rows are put together with those of an earlier join.
    pub merges: bool,
}
