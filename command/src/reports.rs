//! A verification's report in the forms that CI systems read. Pure functions from a [`Report`] to text.
//!
//! | form | read by |
//! |---|---|
//! | `junit` | Jenkins, GitLab, Azure Pipelines, Buildkite: a test case for each shard |
//! | `sarif` | GitHub code scanning and editors: SARIF 2.1.0 |
//! | `github` | GitHub Actions: an annotation for each problem |
//! | `markdown` | the summary of a job, a comment in a pull request |

mod github;
mod junit;
mod markdown;
mod sarif;

pub(crate) use github::github;
pub(crate) use junit::junit;
pub(crate) use markdown::markdown;
pub(crate) use sarif::sarif;

use tarflume_packer::Problem;
use tarflume_packer::verify::Report;

/// Returns byte, key and reason of a problem, without its path.
fn place_and_reason(problem: &Problem) -> String {
    let mut text = String::new();
    if let Some(byte) = problem.byte {
        text.push_str(&format!("byte {byte}: "));
    }
    if let Some(key) = &problem.key {
        text.push_str(&format!("key {key}: "));
    }
    text.push_str(&problem.reason);
    text
}

/// Returns the number of problems that the report does not list, as a sentence.
fn unlisted(report: &Report) -> Option<String> {
    (report.unlisted > 0).then(|| {
        format!(
            "at least {} more problems are not listed",
            tarflume_packer::units::count(report.unlisted)
        )
    })
}

#[cfg(test)]
mod tests;
