//! `Policy`: what a repository demands of its data sets, read from `pack.toml`; and what becomes of each problem.
//!
//! | module | task |
//! |---|---|
//! | `source` | the text, with the line of each value and the faults of reading it |
//! | `tables`, `bounds` | what is demanded of the samples |
//! | `rules` | the level of each rule |
//! | `accept`, `date` | problems that are accepted until a date |
//! | `baseline` | problems that were there before |
//! | `sift` | the one order of these: off, accepted, known, level |
//! | `document` | the whole policy, and the file of a working directory |

mod accept;
mod baseline;
pub(crate) mod bounds;
mod date;
mod document;
pub(crate) mod paths;
pub(crate) mod rules;
pub(crate) mod sift;
mod signers;
pub(crate) mod source;
mod tables;

pub use self::baseline::Baseline;
pub use self::date::Date;
pub use self::document::{DuplicateRule, FILE_NAME, Policy, find};
pub use self::rules::{names as rule_names, rule};
pub use self::sift::Rules;
pub use self::signers::Signer;
pub use self::source::PolicyFault as Fault;

#[cfg(test)]
mod tests;
