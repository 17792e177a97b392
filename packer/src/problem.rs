//! What can be wrong with an input or a shard, and the report that collects it.
//!
//! A [`Problem`] is data: it is written to `problems.jsonl`, carried in a shard's record, printed.
//! Failures of the machine (a full disk, an unreadable output) are errors, not problems.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use tarflume_formats::{Place, shown};

/// What kind of problem; reports contain its text form, whose meaning never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ProblemKind {
    /// A sample lacks a part that is required, or that the other samples have.
    MissingPart,
    /// A file without extension, which can't be part of a sample.
    NoExtension,
    /// A name that some reader would misread, and that the rules refuse.
    BadName,
    /// Two files give the same part of the same sample.
    RepeatedPart,
    /// Two samples have the same key.
    RepeatedKey,
    /// Two keys differ only in case.
    CaseCollision,
    /// A file or member of zero bytes.
    Empty,
    /// The operating system refused to read a file.
    Unreadable,
    /// A file is not what it was when it was planned.
    Changed,
    /// A JPEG whose structure or pixels are damaged.
    BadJpeg,
    /// Another image that can't be read.
    BadImage,
    /// JSON that is not well-formed, or no object.
    BadJson,
    /// Not a regular file: a link that was not followed, a device, a pipe.
    NotRegular,
    /// The same image bytes as in another sample; left out because `--dedupe` asked for it.
    Duplicate,
    /// A shard ends before its data does.
    Truncated,
    /// A shard has no end marker.
    MissingEnd,
    /// A tar header is damaged or lies.
    BadHeader,
    /// A tar feature that readers of shards can't handle.
    Unsupported,
    /// Bytes between members, or behind the end marker, that belong to nothing.
    Gap,
    /// A part's bytes do not have the checksum that the sidecar states.
    Checksum,
    /// The tar's bytes do not have the digest that the sidecar or manifest states.
    Digest,
    /// Members of one sample are not neighbors.
    SplitSample,
    /// There is no sidecar.
    MissingIndex,
    /// The sidecar describes another tar.
    StaleIndex,
    /// The sidecar's own bytes are damaged.
    DamagedIndex,
    /// Entry points in the sidecar are not those of the JPEG that they stand for.
    BadEntryPoints,
    /// There is no manifest, or no shard that it lists.
    MissingShard,
    /// The manifest describes other shards.
    StaleManifest,
    /// The manifest's own bytes are damaged.
    DamagedManifest,
}

impl ProblemKind {
    /// True for a notice: it is reported, and changes no exit code.
    pub fn is_notice(self) -> bool {
        self == ProblemKind::Duplicate
    }
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The serialized form is the one form: kebab-case.
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(text)) => f.pad(&text),
            _ => Err(fmt::Error),
        }
    }
}

/// Something wrong with an input or a shard, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// What kind.
    pub kind: ProblemKind,
    /// The file: a source file, a shard, a sidecar.
    pub path: String,
    /// Byte of that file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte: Option<u64>,
    /// The sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What is wrong and what to do, one line.
    pub reason: String,
}

impl Problem {
    /// A problem of `kind` in the file `path`.
    pub fn new(kind: ProblemKind, path: impl Into<String>, reason: impl Into<String>) -> Problem {
        Problem { kind, path: path.into(), byte: None, key: None, reason: reason.into() }
    }

    /// Adds the byte.
    #[must_use]
    pub fn at(mut self, byte: impl Into<Option<u64>>) -> Problem {
        self.byte = byte.into();
        self
    }

    /// Adds the key.
    #[must_use]
    pub fn of(mut self, key: impl Into<String>) -> Problem {
        self.key = Some(key.into());
        self
    }

    /// A problem for what the formats crate found wrong in a file.
    pub fn from_error(kind: ProblemKind, error: &tarflume_formats::Error) -> Problem {
        let Place { path, byte, key } = error.place().clone();
        let path = path.map(|p| p.display().to_string()).unwrap_or_default();
        let reason = match error.io_error() {
            Some(io) => format!("{}: {io}", error.text()),
            None => error.text().to_string(),
        };
        Problem { kind, path, byte, key, reason }
    }

    /// The problem as a JSON value.
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default() // strings and numbers only
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, shown::text(&self.path))?;
        if let Some(byte) = self.byte {
            write!(f, ": byte {byte}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ": key {}", shown::text(key))?;
        }
        write!(f, ": {}", shown::text(&self.reason))
    }
}

/// How many problems of which kind: the terminal's summary.
pub fn counts<'a>(problems: impl IntoIterator<Item = &'a Problem>) -> BTreeMap<ProblemKind, u64> {
    let mut counts = BTreeMap::new();
    for problem in problems {
        *counts.entry(problem.kind).or_insert(0) += 1;
    }
    counts
}

/// Problems listed for one shard, and for one set, at most; the rest is counted.
pub(crate) const LISTED_MAX: usize = 100_000;

/// Problems up to a number, and a count of the rest: a hopeless shard can't fill the memory with them.
#[derive(Debug, Default)]
pub struct Problems {
    /// Those that are listed.
    pub listed: Vec<Problem>,
    /// How many are not.
    pub unlisted: u64,
}

impl Problems {
    /// Adds one.
    pub fn push(&mut self, problem: Problem) {
        if self.listed.len() < LISTED_MAX {
            self.listed.push(problem);
        } else {
            self.unlisted += 1;
        }
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }
}
