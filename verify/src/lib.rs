//! Verifies, signs and repairs shards, sidecars and manifests.
//!
//! | module | task |
//! |---|---|
//! | [`verify()`] | checks data sets and shards, and continues after each problem |
//! | [`expect`] | totals and digests of a data set in a file, and what differs from them |
//! | [`repair`](mod@repair) | replaces damaged bytes by those of copies |
//! | [`signature`] | signs manifests, and checks their signatures |
//! | [`scope`] | what of the data sets is read: a slice, as much as there is time for, what a change touches |
//! | [`cache`] | results of sound shards, which are not read again |
//! | [`policy`] | what a repository demands, and what becomes of each problem |
//! | [`schema`] | checks the JSON of samples; needs the feature `schema` |
#![warn(missing_docs)]

pub mod cache;
mod class_field;
pub mod expect;
mod pointers;
pub mod policy;
pub mod repair;
pub mod schema;
pub mod scope;
pub mod signature;
mod verify;

pub use policy::Rules;
pub use verify::{
    ClassField, ExtChecks, Level, Options, PartChecks, PartOptions, Profile, Report, ShardCase,
    Sifted, UniqueField, VerifiedShard, Watch, verify,
};
