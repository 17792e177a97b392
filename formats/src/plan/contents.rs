//! The contents of a plan (shards, samples, parts) and the constants of the format.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::records::about::About;
use crate::text::shown::Quoted;

/// The first eight bytes of a plan, and the last.
pub const MAGIC: [u8; 8] = *b"\x89TFPLN\r\n";
/// The newest schema this program reads. A plan of files alone has schema 1; one with other
/// [locations](Location) has schema 2.
pub const SCHEMA: u32 = 2;
/// The schema of plans in which every part is a file of its own.
pub(super) const FILES_SCHEMA: u32 = 1;
/// A chunk is closed once it reaches this many bytes before compression.
pub(super) const CHUNK: usize = 256 * 1024;
/// Limit on a chunk before compression: one sample more than [`CHUNK`].
pub(super) const MAX_CHUNK: usize = 8 * 1024 * 1024;
/// Limit on a path under a root, in bytes. Each sample repeats the start of the one before it, and
/// decoding a hostile plan must not cost more than reading it.
pub(super) const NAME_MAX: usize = 64 * 1024;
/// Bytes of the trailer: the footer's position, length and crc32c, zeros, magic.
pub(super) const TRAILER: usize = 32;

/// A planned sample.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PlannedSample {
    /// The number of the root that holds its files.
    pub root: u32,
    /// Path under the root up to the dot before the extension; the key if no part is a file.
    pub source: Vec<u8>,
    /// Its key in the shard.
    pub key: Vec<u8>,
    /// Its parts in their order in the shard.
    pub parts: Vec<PlannedPart>,
    /// The bytes of parts with [`Location::Text`], and the paths of those with [`Location::Path`].
    pub text: Vec<u8>,
}

impl PlannedSample {
    /// Returns the bytes of a part with [`Location::Text`]; `None` for another place.
    pub fn text_of(&self, part: &PlannedPart) -> Option<&[u8]> {
        let Location::Text { at } = part.location else { return None };
        let at = at as usize;
        let size = usize::try_from(part.size).ok()?;
        self.text.get(at..at.checked_add(size)?)
    }

    /// Returns the path under the root of a part with [`Location::Path`]; `None` for another place.
    pub fn path_of(&self, part: &PlannedPart) -> Option<&[u8]> {
        let Location::Path { at, length, .. } = part.location else { return None };
        self.text.get(at as usize..(at as usize).checked_add(length as usize)?)
    }
}

impl fmt::Debug for PlannedSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlannedSample")
            .field("root", &self.root)
            .field("source", &Quoted(&self.source))
            .field("key", &Quoted(&self.key))
            .field("parts", &self.parts)
            .field("text", &Quoted(&self.text))
            .finish()
    }
}

/// A planned part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedPart {
    /// Its number in [`PlanFoot::exts`].
    pub ext: u16,
    /// Bytes.
    pub size: u64,
    /// The location of its bytes.
    pub location: Location,
}

/// The location of a part's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// The file `source.ext` under the root.
    File {
        /// A digest of its modification time; detects a change of content at equal size.
        stamp: u32,
    },
    /// A file with a path of its own under the root: a table names it. Its extension has
    /// [`PlannedExt::has_paths`].
    Path {
        /// A digest of its modification time.
        stamp: u32,
        /// Start of the path in [`PlannedSample::text`].
        at: u32,
        /// Bytes of the path.
        length: u32,
    },
    /// The plan itself: text that was made from tables and names while planning.
    Text {
        /// Start in [`PlannedSample::text`].
        at: u32,
    },
    /// A range of bytes of a source file.
    Range {
        /// Its number in [`PlanFoot::sources`].
        source: u32,
        /// The first byte.
        at: u64,
    },
    /// A value that the source's reader decodes: a row group's or a chunk's.
    Cell {
        /// Its number in [`PlanFoot::sources`].
        source: u32,
        /// Row, from 0.
        row: u64,
        /// Column, as the source's reader numbers them.
        column: u16,
    },
}

/// A source file that holds parts of many samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedSource {
    /// The number of the root that it is, or is under.
    pub root: u32,
    /// Path under the root; empty if the root is this file.
    pub path: String,
    /// The reader of its cells: `parquet`, `hdf5`; `bytes` if it has none.
    pub kind: String,
    /// The reader's options; any JSON.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub options: serde_json::Value,
    /// Bytes.
    pub bytes: u64,
    /// A digest of its modification time.
    pub stamp: u32,
}

/// An extension in the source folder and in shards.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PlannedExt {
    /// In the source folder.
    pub source: String,
    /// In the shard.
    pub shard: String,
    /// Whether the plan has the path of each of its files; absent if files are `source.ext`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_paths: bool,
}

/// The plan's footer: everything but the samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanFoot {
    /// See [`SCHEMA`].
    pub schema: u32,
    /// Program and version that wrote the plan.
    pub tool: String,
    /// Content hash in hex: of the options and of the contents of every shard, but not of source
    /// paths or file times.
    pub content: String,
    /// The source folders as given, made absolute.
    pub roots: Vec<String>,
    /// The options that determine the shards, as written by the packer.
    pub options: serde_json::Value,
    /// Whether sidecars get JPEG entry points; omitted if not. No tar and no hash depends on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub entry_points: bool,
    /// Extensions; parts refer to them by position.
    pub exts: Vec<PlannedExt>,
    /// Source files that hold parts of many samples; locations refer to them by position.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<PlannedSource>,
    /// The classes and columns of the samples, for the manifest.
    #[serde(default, skip_serializing_if = "About::is_empty")]
    pub about: About,
    /// The blake3 in hex of the manifest whose data set gets the shards; absent for a new data set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Samples in all shards.
    pub samples: u64,
    /// Bytes of all tars to come.
    pub bytes: u64,
    /// The shards in order.
    pub shards: Vec<PlannedShard>,
    /// The problems of the scan, one JSON object each.
    pub problems: Vec<serde_json::Value>,
}

/// One shard to come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedShard {
    /// File name of the tar.
    pub name: String,
    /// The split that it belongs to, if the data set has splits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// Samples.
    pub samples: u64,
    /// Bytes of source files.
    pub source_bytes: u64,
    /// Bytes of source files that become JPEGs; absent if none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub jpeg_bytes: u64,
    /// Bytes of the tar if no sample is left out.
    pub bytes: u64,
    /// Start of its chunks in the plan.
    pub at: u64,
    /// Bytes of its chunks.
    pub length: u64,
    /// blake3 in hex of the shard's contents: keys, extensions, sizes.
    pub content: String,
    /// blake3 in hex of its sources: paths and modification times, too.
    pub sources: String,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
