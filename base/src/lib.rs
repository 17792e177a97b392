//! What the crates of the packer share: failures, problems, checks of contents, and what a data set records.
//!
//! | item | task |
//! |---|---|
//! | [`Failure`], [`Exit`] | why a task failed, and the exit code that follows |
//! | [`Problem`], [`Problems`] | faults of the data |
//! | [`check`] | checks the content of parts |
//! | [`Stop`] | ends a task at its next sample |
//! | [`Choice`] | choices with a fixed word for each value |
//! | [`collide`] | finds keys that are repeated, or differ only in case |
//! | [`Columns`], [`compress`], [`json_rules`], [`Unplanned`] | what a data set records beside its samples |
//! | [`array_note`] | types and shapes of arrays among the parts of an export |
//! | [`packed_shard`] | compressed shards as plain tars |
//! | [`WorkFolder`] | a temporary folder for the shards in work |
//! | [`size`], [`units`], [`split_names`] | texts for people, and what people write |
#![warn(missing_docs)]

pub mod array_note;
pub mod check;
pub mod collide;
mod columns;
mod failure;
mod options;
pub mod packed_shard;
mod problem;
mod stop;
pub mod units;
mod unplanned;
mod work_folder;

pub use self::options::compress;
pub use self::options::json_rules;
pub use self::options::size;
pub use self::options::split_names;
pub use columns::Columns;
pub use failure::exit::Exit;
pub use failure::{Failure, FailureKind, Outcome};
pub use options::choice::Choice;
pub use problem::listed::{LISTED_MAX, Problems, Sieve, Verdict};
pub use problem::severity::Severity;
pub use problem::{Problem, ProblemKind, counts};
pub use stop::Stop;
pub use unplanned::{Unplanned, check_of};
pub use work_folder::WorkFolder;
