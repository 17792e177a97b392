//! A scan in a file: what one machine found, for the machine that plans.
//!
//! ```text
//! magic | encoded samples, run by run | table of runs | footer (JSON) | trailer
//! ```
//!
//! The trailer has the footer's start, length and crc32c, as that of a plan. The footer has the crc32c of all
//! bytes before it. FORMAT.md is the specification.

pub mod read;
pub mod write;

use serde::{Deserialize, Serialize};
use tarflume_base::Problem;
use tarflume_formats::plan::PlannedExt;

use crate::options::Cause;

/// The first eight bytes of a file, and the last.
const MAGIC: [u8; 8] = *b"\x89TFSCN\r\n";
/// The newest schema this program reads.
const SCHEMA: u32 = 1;
/// Bytes of the trailer.
const TRAILER: usize = 32;

/// Everything but the samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Foot {
    schema: u32,
    tool: String,
    /// The source folders.
    roots: Vec<String>,
    /// The options that determine names and samples.
    options: serde_json::Value,
    /// The part's number, and the number of parts.
    part: u64,
    count: u64,
    /// A digest of the upper folders.
    tree: String,
    exts: Vec<PlannedExt>,
    problems: Vec<StoredProblem>,
    /// Tables of metadata: the root's number, the folder and the name, as text.
    tables: Vec<(u32, String, String)>,
    /// Folders without files: the root's number and the path, as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    empty: Vec<(u32, String)>,
    skipped: u64,
    renamed: u64,
    newest: i64,
    samples: u64,
    runs: u64,
    /// Start and length of the table of runs.
    table: (u64, u64),
    /// Of all bytes before the footer.
    crc: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct StoredProblem {
    #[serde(with = "as_stored")]
    problem: Problem,
    root: u32,
    /// The files that it leaves out. A path that is not UTF-8 is absent: the quarantine does without it.
    files: Vec<String>,
    /// Absent in the files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<Cause>,
}

/// A problem with its reason as data, or as text in the files of earlier versions.
mod as_stored {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;
    use tarflume_base::Problem;

    pub(super) fn serialize<S: Serializer>(
        problem: &Problem,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        problem.to_stored().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Problem, D::Error> {
        Problem::of_stored(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
