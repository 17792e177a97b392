//! The plan: the contents of every shard, decided once, before a byte of a shard is written.
//!
//! [`PlanWriter`] encodes it while samples stream by; [`Plan`] maps it, so that a worker that
//! packs shard i touches only the footer and that shard's chunks. FORMAT.md is the specification.
//! The packer finds the samples and assigns them to shards.

mod contents;
mod read;
mod write;

pub use contents::{
    Location, MAGIC, PlanFoot, PlannedExt, PlannedPart, PlannedSample, PlannedShard, PlannedSource,
    SCHEMA,
};
pub use read::{Plan, PlannedSamples};
pub use write::PlanWriter;
