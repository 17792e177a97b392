//! `ReportForm`: the forms of reports, by their words.

use super::findings::Findings;
use super::places::Repository;
use super::{github, gitlab, junit, markdown, sarif};

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ReportForm {
    /// A line for each problem, and the totals
    Text,
    /// One JSON object
    Json,
    /// JUnit's XML, for Jenkins, GitLab, Azure Pipelines
    Junit,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub Actions
    Github,
    /// Code quality of GitLab
    Gitlab,
    /// A table for the summary of a job, or for a pull request
    Markdown,
}

impl ReportForm {
    /// Returns findings in this form; `None` for the forms that each command has for itself, text and JSON.
    pub(crate) fn of(self, findings: &Findings<'_>) -> Option<String> {
        match self {
            ReportForm::Text | ReportForm::Json => None,
            ReportForm::Junit => Some(junit(findings)),
            ReportForm::Sarif => Some(sarif(findings, &Repository::find())),
            ReportForm::Github => Some(github(findings)),
            ReportForm::Gitlab => Some(gitlab(findings, &Repository::find())),
            ReportForm::Markdown => Some(markdown(findings)),
        }
    }
}
