//! What a command has found in the forms that CI systems read. Pure functions from [`Findings`] to text; `places` looks for
//! the repository.
//!
//! | form | read by |
//! |---|---|
//! | `junit` | Jenkins, GitLab, Azure Pipelines, Buildkite: a test case for each shard |
//! | `sarif` | GitHub code scanning and editors: SARIF 2.1.0 |
//! | `github` | GitHub Actions: an annotation for each of the worst problems and warnings |
//! | `gitlab` | GitLab: code quality of a merge request |
//! | `markdown` | the summary of a job, a comment in a pull request |

mod findings;
mod fingerprints;
mod form;
mod github;
mod gitlab;
mod junit;
mod markdown;
mod places;
pub(crate) mod rules;
mod sarif;

pub(crate) use findings::Findings;
pub(crate) use form::ReportForm;
pub(crate) use github::github;
pub(crate) use gitlab::gitlab;
pub(crate) use junit::junit;
pub(crate) use markdown::{cell, code, markdown};
pub(crate) use sarif::sarif;

#[cfg(test)]
pub(crate) mod tests;
