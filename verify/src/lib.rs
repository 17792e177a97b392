//! Verifies shards, sidecars and manifests.
//!
//! | module | task |
//! |---|---|
//! | [`verify()`] | checks data sets and shards, and continues after each problem |
//! | [`expect`] | totals and digests of a data set in a file, and what differs from them |
//! | [`schema`] | checks the JSON of samples; needs the feature `schema` |
#![warn(missing_docs)]

mod class_field;
pub mod expect;
pub mod schema;
mod verify;

pub use verify::{
    ClassField, Coverage, ExtCoverage, Level, Options, PartOptions, Profile, Report, ShardCase,
    UniqueField, VerifiedShard, Watch, verify,
};
