//! What a plan says: shards, samples, parts; and the numbers that both sides of the format share.

use serde::{Deserialize, Serialize};

/// The first eight bytes of a plan, and the last.
pub const MAGIC: [u8; 8] = *b"\x89TFPLN\r\n";
/// The newest schema this program reads, and the one it writes.
pub const SCHEMA: u32 = 1;
/// A chunk is closed when it has grown to this many bytes before compression.
pub(super) const CHUNK: usize = 256 * 1024;
/// No chunk is larger than this before compression: one sample more than [`CHUNK`] at most.
pub(super) const MAX_CHUNK: usize = 8 * 1024 * 1024;
/// No path under a root is longer, in bytes: each sample repeats the start of the one before it, and
/// a hostile plan must not make that cost more than reading it.
pub(super) const NAME_MAX: usize = 64 * 1024;
/// Bytes of the trailer: footer's place, length and crc32c, zeros, magic.
pub(super) const TRAILER: usize = 32;

/// A sample, as planned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlannedSample {
    /// Which of the plan's roots its files stand under.
    pub root: u32,
    /// Path under the root up to the dot before the extension.
    pub source: Vec<u8>,
    /// Its key in the shard.
    pub key: Vec<u8>,
    /// Its parts in the order in which they will stand in the shard.
    pub parts: Vec<PlannedPart>,
}

/// A part, as planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedPart {
    /// Its number in [`PlanFoot::exts`].
    pub ext: u16,
    /// Bytes.
    pub size: u64,
    /// A digest of the file's modification time, to notice a change of content at equal size.
    pub stamp: u32,
}

/// An extension as files have it, and as shards will.
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
    /// Program and version that planned.
    pub tool: String,
    /// Content hash in hex: of the options and of what every shard holds; neither of where the
    /// sources stand nor of their times.
    pub content: String,
    /// The source folders as they were given, made absolute.
    pub roots: Vec<String>,
    /// The options that shape the shards, as the packer wrote them.
    pub options: serde_json::Value,
    /// Whether sidecars get JPEG entry points; left out if not. No tar depends on it, and no hash.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub entry_points: bool,
    /// Extensions, numbered by their place.
    pub exts: Vec<PlannedExt>,
    /// Samples in all shards.
    pub samples: u64,
    /// Bytes of all tars to come.
    pub bytes: u64,
    /// The shards in order.
    pub shards: Vec<PlannedShard>,
    /// What the scan found wrong and left out, one JSON object each.
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
    /// Bytes of the tar, if no sample must be left out.
    pub bytes: u64,
    /// Where its chunks begin in the plan.
    pub at: u64,
    /// Bytes of its chunks.
    pub length: u64,
    /// blake3 in hex of what the shard will hold: keys, extensions, sizes.
    pub content: String,
    /// blake3 in hex of where it comes from: paths and modification times, too.
    pub sources: String,
}
