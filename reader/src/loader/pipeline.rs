//! The queue of batches between planner, workers and consumer, for indexed shards and streams alike.
//!
//! Knows neither shards nor orders: planners and workers are traits here.

pub(crate) mod columns;
pub(crate) mod machine;
pub(crate) mod memory_budget;
pub(crate) mod panics;
pub(crate) mod pending_batch;
pub(crate) mod queue;
pub(crate) mod receiver;
pub(crate) mod stream_samples;
