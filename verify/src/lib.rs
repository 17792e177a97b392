//! Verifies shards, sidecars and manifests.
//!
//! | module | task |
//! |---|---|
//! | [`verify()`] | checks data sets and shards, and continues after each problem |
//! | [`expect`] | totals and digests of a data set in a file, and what differs from them |
//! | [`scope`] | what of the data sets is read: a slice, as much as there is time for, what a change touches |
//! | [`cache`] | results of sound shards, which are not read again |
//! | [`schema`] | checks the JSON of samples; needs the feature `schema` |
#![warn(missing_docs)]

pub mod cache;
mod class_field;
pub mod expect;
mod pointers;
pub mod schema;
pub mod scope;
mod verify;

pub use verify::{ClassField, Level, Options, Profile, Report, verify};
