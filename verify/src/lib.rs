//! Verifies shards, sidecars and manifests.
//!
//! | module | task |
//! |---|---|
//! | [`verify()`] | checks data sets and shards, and continues after each problem |
//! | [`expect`] | totals and digests of a data set in a file, and what differs from them |
//! | [`policy`] | what a repository demands, and what becomes of each problem |
//! | [`schema`] | checks the JSON of samples; needs the feature `schema` |
#![warn(missing_docs)]

mod class_field;
pub mod expect;
pub mod policy;
pub mod schema;
mod verify;

pub use policy::Rules;
pub use verify::{ClassField, Level, Options, Profile, Report, Sifted, verify};
