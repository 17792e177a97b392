//! The queue of batches between planner, workers and consumer, for indexed shards and streams alike.
//!
//! Knows neither shards nor orders: [`source`] has the trait that both kinds of source implement.

pub(crate) mod columns;
pub(crate) mod draws;
pub(crate) mod machine;
pub(crate) mod memory_budget;
pub(crate) mod mixer;
pub(crate) mod oversize;
pub(crate) mod panics;
pub(crate) mod pending_batch;
pub(crate) mod queue;
pub(crate) mod receiver;
pub(crate) mod source;
pub(crate) mod worker;
