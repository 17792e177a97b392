//! A verification's report in the forms that CI systems read. Pure functions from a [`Report`] to text.
//!
//! | form | read by |
//! |---|---|
//! | `junit` | Jenkins, GitLab, Azure Pipelines, Buildkite: a test case for each shard |
//! | `sarif` | GitHub code scanning and editors: SARIF 2.1.0 |
//! | `github` | GitHub Actions: an annotation for each of the first problems and warnings |
//! | `markdown` | the summary of a job, a comment in a pull request |

mod github;
mod junit;
mod markdown;
pub(crate) mod rules;
mod sarif;
mod texts;

pub(crate) use github::github;
pub(crate) use junit::junit;
pub(crate) use markdown::markdown;
pub(crate) use sarif::sarif;

#[cfg(test)]
pub(crate) mod tests;
