//! The plan: what every shard will hold, decided once, before a byte of a shard is written.
//!
//! [`mod@write`] encodes it while samples stream by, [`mod@read`] maps it; a worker that packs shard i
//! touches the footer and that shard's chunks alone. FORMAT.md is the specification. How samples
//! are found and dealt over shards is the packer's business.

mod contents;
pub mod read;
pub mod write;

pub use contents::{MAGIC, PlanFoot, PlannedExt, PlannedPart, PlannedSample, PlannedShard, SCHEMA};
pub use read::{Plan, PlannedSamples};
pub use write::PlanWriter;
