//! What a loader counts, its statistics, and what they say limits it.

pub(crate) mod advice;
pub(crate) mod bottleneck;
pub(crate) mod clocks;
pub(crate) mod counters;
pub(crate) mod device_memory;
pub(crate) mod idle;
pub(crate) mod pack_stats;
pub(crate) mod stats;
pub(crate) mod stats_file;
mod stats_record;
pub(crate) mod waits;
pub(crate) mod warning;
