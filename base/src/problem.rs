//! Problems of an input or a shard. `listed` collects them for reports.
//!
//! A [`Problem`] is data: it is written to `problems.jsonl`, carried in a shard's record, printed.
//! Failures of the machine (a full disk, an unreadable output) are errors, not problems. `kind_texts` has what each kind
//! means, `severity` what it costs.

mod kind_texts;
pub(crate) mod listed;
pub(crate) mod severity;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tarflume_formats::message;
use tarflume_formats::message::{Face, Message};
use tarflume_formats::{Place, shown};

/// The kind of a problem; reports contain its text form, whose meaning never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ProblemKind {
    /// A sample lacks a required part, or one that the other samples have.
    MissingPart,
    /// A file without extension, which cannot be part of a sample.
    NoExtension,
    /// A name that some reader would misread and that the rules refuse.
    BadName,
    /// Two files map to the same part of the same sample.
    RepeatedPart,
    /// Two samples have the same key.
    RepeatedKey,
    /// Two keys differ only in case.
    CaseCollision,
    /// A file or member of zero bytes.
    Empty,
    /// The operating system refused to read a file.
    Unreadable,
    /// A file differs from the state recorded in the plan.
    Changed,
    /// A JPEG whose structure or pixels are damaged.
    BadJpeg,
    /// Another image that cannot be read.
    BadImage,
    /// JSON that is malformed or not an object, or that has a field which a label would replace.
    BadJson,
    /// A sample that is in no folder with the name of its class.
    NoClass,
    /// A folder that is not in the list of classes.
    UnknownClass,
    /// The name of a class that stands for several folders, or for all samples.
    AmbiguousClass,
    /// The folder of a class without files.
    EmptyClass,
    /// A sample of several pictures, of which nothing says that they belong together.
    SeveralPictures,
    /// A sample that belongs to no split.
    NoSplit,
    /// Not a regular file: a link that was not followed, a device, a pipe.
    NotRegular,
    /// The same image bytes as in another sample, left out by `--dedupe`.
    Duplicate,
    /// A sample's files differ from those in the data set, which `pack append` leaves as they are.
    Differs,
    /// A row of a table that no sample matches.
    OrphanRow,
    /// A sample that no row of a table matches.
    MissingRow,
    /// A row of a table for a sample that an earlier row matches.
    RepeatedRow,
    /// A row of a table that several samples match.
    AmbiguousRow,
    /// A shard ends before its data does.
    Truncated,
    /// A shard has no end marker.
    MissingEnd,
    /// A tar header is damaged or inconsistent.
    BadHeader,
    /// A tar feature that readers of shards cannot handle.
    Unsupported,
    /// Bytes between members, or after the end marker, that belong to nothing.
    Gap,
    /// A part's bytes do not match the checksum in the sidecar.
    Checksum,
    /// The tar's bytes do not match the digest in the sidecar or manifest.
    Digest,
    /// Members of one sample are not adjacent.
    SplitSample,
    /// The sidecar is missing.
    MissingIndex,
    /// The sidecar describes another tar.
    StaleIndex,
    /// The sidecar's own bytes are damaged.
    DamagedIndex,
    /// Entry points in the sidecar do not belong to their JPEG.
    BadEntryPoints,
    /// The manifest is missing, or a shard that it lists.
    MissingShard,
    /// The manifest describes other shards.
    StaleManifest,
    /// The manifest's own bytes are damaged.
    DamagedManifest,
    /// The index file of another reader does not match its tar.
    ForeignIndex,
    /// The manifest gives the class of a sample another name than the sample does.
    ClassName,
    /// A shard's data, or the manifest, has no checksum although `--require-checksums` asks for it.
    NoChecksum,
    /// A JSON part breaks a rule of its schema.
    Schema,
    /// The data set differs from the file that states what is expected.
    Unexpected,
    /// A reader of a chosen profile misreads or drops a file, although the tar is whole.
    Misread,
    /// A box that is not four numbers, or has no area.
    BadBox,
    /// A box that reaches beyond its picture.
    BoxOutside,
    /// An object whose class is not in the class table.
    WrongClass,
    /// A polygon with too few or with halves of points.
    BadPolygon,
    /// A region of run lengths that do not add up to its pixels.
    BadRegion,
    /// A mask, a region or stated dimensions of another size than the picture.
    SizeMismatch,
    /// An object with another number of keypoints than stated.
    BadKeypoints,
    /// Lists of a sample's objects that differ in length.
    UnequalLists,
    /// A data set without a signature, although one is required.
    NoSignature,
    /// A signature of another key, or of another manifest.
    BadSignature,
    /// A part other than a decoded picture or JSON whose structure is damaged.
    BadPart,
    /// A picture all pixels of which are equal.
    ConstantPicture,
    /// Two samples with the same value in a field whose values should differ.
    RepeatedValue,
    /// A sample whose class is null, negative or not in the class table.
    UnlistedClass,
    /// Fewer samples have a part than the policy demands.
    PolicyPart,
    /// A value of a sample is outside of what the policy allows, or too few samples have it.
    PolicyField,
    /// The shares or counts of classes are outside of what the policy allows.
    PolicyClass,
    /// The dimensions or the bytes of a picture are outside of what the policy allows.
    PolicyPicture,
    /// A shard is outside of what the policy allows.
    PolicyShards,
    /// The totals of a data set are outside of what the policy allows.
    PolicyTotal,
    /// A picture is in two sets that the policy keeps apart.
    PolicyDuplicate,
    /// An accepted problem of the policy whose date has passed, or that no longer occurs.
    PolicyAcceptance,
}

impl ProblemKind {
    /// Returns true for a notice: it is reported, but changes no exit code.
    pub fn is_notice(self) -> bool {
        matches!(self, ProblemKind::Duplicate | ProblemKind::Differs)
    }
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The text form is the serialized form: kebab-case.
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(text)) => f.pad(&text),
            _ => Err(fmt::Error),
        }
    }
}

/// The field of a stored problem with the pieces of its reason.
const PIECES: &str = "pieces";

/// A problem with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The kind.
    pub kind: ProblemKind,
    /// The file: a source file, a shard, a sidecar.
    pub path: String,
    /// Byte of that file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte: Option<u64>,
    /// The sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The fault and the remedy, one line.
    pub reason: Message,
}

impl Problem {
    /// Creates a problem of `kind` in the file `path`.
    pub fn new(kind: ProblemKind, path: impl Into<String>, reason: impl Into<Message>) -> Problem {
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

    /// Converts an error of the formats crate that was found in a file.
    pub fn from_error(kind: ProblemKind, error: &tarflume_formats::Error) -> Problem {
        let Place { path, byte, key } = error.place().clone();
        let path = path.map(|p| p.display().to_string()).unwrap_or_default();
        let reason = match error.io_error() {
            Some(io) => message!("{text}: {io}"; text = error.message()),
            None => error.message().clone(),
        };
        Problem { kind, path, byte, key, reason }
    }

    /// Returns the problem as one line in the words of a face: kind, place and reason.
    pub fn text_in(&self, face: Face) -> String {
        let Problem { kind, path, reason, .. } = self;
        let reason = reason.in_face(face);
        format!("{kind}: {}: {}{}", shown::text(path), Within(self), shown::text(&reason))
    }

    /// Returns the problem as one message: kind, place and reason.
    pub fn message(&self) -> Message {
        let Problem { kind, path, reason, .. } = self;
        message!("{kind}: {path}: {}{reason}", Within(self); path = Path::new(path), reason = reason)
    }

    /// Names another path if `mapped` returns one for it. Words stay as they are.
    #[must_use]
    pub fn map_paths(mut self, mapped: impl Fn(&Path) -> Option<PathBuf>) -> Problem {
        if let Some(other) = mapped(Path::new(&self.path)) {
            self.path = other.display().to_string();
        }
        self.reason.map_paths(mapped);
        self
    }

    /// Returns the problem as a JSON value for a file that [`Problem::of_stored`] reads again: the reason also as data.
    pub fn to_stored(&self) -> serde_json::Value {
        let mut value = self.to_value(Face::Command);
        if let Some(pieces) = self.reason.to_pieces() {
            value[PIECES] = pieces;
        }
        value
    }

    /// Reads what [`Problem::to_stored`] has written. Earlier versions have no pieces: the reason is then its text.
    ///
    /// # Errors
    /// Returns an error if this version cannot read the value as a problem.
    pub fn of_stored(value: &serde_json::Value) -> Result<Problem, serde_json::Error> {
        let mut problem = Problem::deserialize(value)?;
        if let Some(reason) = value.get(PIECES).and_then(Message::of_pieces) {
            problem.reason = reason;
        }
        Ok(problem)
    }

    /// Returns stored problems as lines of JSON, for lists that people and programs read: without the pieces of their
    /// reasons.
    pub fn lines(stored: &[serde_json::Value]) -> String {
        let listed = stored.iter().cloned().map(Problem::without_pieces);
        listed.map(|problem| shown::json(&problem) + "\n").collect()
    }

    fn without_pieces(mut stored: serde_json::Value) -> serde_json::Value {
        if let Some(fields) = stored.as_object_mut() {
            fields.remove(PIECES);
        }
        stored
    }

    /// Returns the problem as a JSON value, with the reason in the words of a face. Lists for people have the words of the
    /// command.
    pub fn to_value(&self, face: Face) -> serde_json::Value {
        let mut value = serde_json::to_value(self).expect("texts and numbers serialize");
        value["reason"] = self.reason.in_face(face).into();
        value
    }
}

impl std::error::Error for Problem {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text_in(Face::Command))
    }
}

/// Displays the place within the file: byte and key.
struct Within<'p>(&'p Problem);

impl fmt::Display for Within<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { byte, key, .. } = self.0;
        if let Some(byte) = byte {
            write!(f, "byte {byte}: ")?;
        }
        if let Some(key) = key {
            write!(f, "key {}: ", shown::text(key))?;
        }
        Ok(())
    }
}

/// Counts problems by kind, for the terminal's summary.
pub fn counts<'a>(problems: impl IntoIterator<Item = &'a Problem>) -> BTreeMap<ProblemKind, u64> {
    let mut counts = BTreeMap::new();
    for problem in problems {
        *counts.entry(problem.kind).or_insert(0) += 1;
    }
    counts
}

#[cfg(test)]
mod tests;
