//! The contents of a plan (shards, samples, parts) and the constants of the format.

use serde::{Deserialize, Serialize};

/// The first eight bytes of a plan, and the last.
pub const MAGIC: [u8; 8] = *b"\x89TFPLN\r\n";
/// The newest schema this program reads, and the one it writes.
pub const SCHEMA: u32 = 1;
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlannedSample {
    /// The number of the root that holds its files.
    pub root: u32,
    /// Path under the root up to the dot before the extension.
    pub source: Vec<u8>,
    /// Its key in the shard.
    pub key: Vec<u8>,
    /// Its parts in their order in the shard.
    pub parts: Vec<PlannedPart>,
}

/// A planned part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedPart {
    /// Its number in [`PlanFoot::exts`].
    pub ext: u16,
    /// Bytes.
    pub size: u64,
    /// A digest of the file's modification time; detects a change of content at equal size.
    pub stamp: u32,
}

/// An extension in the source folder and in shards.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PlannedExt {
    /// In the source folder.
    pub source: String,
    /// In the shard.
    pub shard: String,
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
    /// Samples.
    pub samples: u64,
    /// Bytes of source files.
    pub source_bytes: u64,
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
