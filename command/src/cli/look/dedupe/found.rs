//! `Listed`: duplicates as problems, for the forms of reports that `pack verify` has, too.

use std::path::PathBuf;

use tarflume_base::{LISTED_MAX, Problem, ProblemKind};
use tarflume_inspect::dedupe::Duplicate;

use crate::reports::{Findings, ReportForm};

/// The duplicates that a report lists.
#[derive(Debug, Default)]
pub(super) struct Listed {
    problems: Vec<Problem>,
}

impl Listed {
    /// Adds a duplicate among data sets at these paths, with the text about it.
    pub(super) fn add(&mut self, found: &Duplicate, text: String, paths: &[PathBuf]) {
        if self.problems.len() == LISTED_MAX {
            return; // counted as one that is not listed
        }
        let shard = &found.sample.shard;
        let path = match paths.get(found.sample.dataset) {
            Some(path) if path.ends_with(shard) => path.display().to_string(),
            Some(path) => path.join(shard).display().to_string(),
            None => shard.clone(),
        };
        let problem = Problem::new(ProblemKind::Duplicate, path, text);
        self.problems.push(problem.of(found.sample.key.clone()));
    }

    /// Returns the report in a form; `None` for text and JSON.
    pub(super) fn report(
        &self,
        form: ReportForm,
        summary: &str,
        duplicates: u64,
    ) -> Option<String> {
        let unlisted = duplicates.saturating_sub(self.problems.len() as u64);
        form.of(&Findings {
            tool: "pack dedupe",
            summary: summary.into(),
            coverage: None,
            is_passed: duplicates == 0,
            problems: &self.problems,
            warnings: &[],
            unlisted,
            unchecked: Vec::new(),
            cases: &[],
        })
    }
}
