//! Verifies, signs and repairs shards, sidecars and manifests.
//!
//! | module | task |
//! |---|---|
//! | [`verify()`] | checks data sets and shards, and continues after each problem |
//! | [`expect`] | totals and digests of a data set in a file, and what differs from them |
//! | [`repair`](mod@repair) | replaces damaged bytes by those of copies |
//! | [`signature`] | signs manifests, and checks their signatures |
//! | [`schema`] | checks the JSON of samples; needs the feature `schema` |
#![warn(missing_docs)]

mod class_field;
pub mod expect;
pub mod repair;
pub mod schema;
pub mod signature;
mod verify;

pub use verify::{ClassField, Level, Options, Profile, Report, verify};
