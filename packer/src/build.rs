//! A build: options -> request -> plan in place -> packed shards -> published data set.
//!
//! Packing itself is in `running`; this folder decides what is packed and what is published.

pub mod finalize;
pub mod options;
pub mod prepare;
pub mod publish;
mod replan;
mod sources;
