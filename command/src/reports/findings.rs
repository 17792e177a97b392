//! `Findings`: what a command has found, as all forms of reports show it.

use tarflume_base::{Problem, units};
use tarflume_verify::{Report, ShardCase};

/// Characters of a reason that a bounded form shows.
const LONGEST: usize = 1000;

/// What a command has found.
#[derive(Debug)]
pub(crate) struct Findings<'r> {
    /// The command: `pack verify`.
    pub(crate) tool: &'static str,
    /// The totals, a sentence.
    pub(crate) summary: String,
    /// What was looked into by which check, a sentence.
    pub(crate) coverage: Option<String>,
    /// True if there is no problem, and all that was asked for was checked.
    pub(crate) is_passed: bool,
    pub(crate) problems: &'r [Problem],
    pub(crate) warnings: &'r [Problem],
    /// Number of problems that are not in the list.
    pub(crate) unlisted: u64,
    /// What was asked for and not checked, a sentence each.
    pub(crate) unchecked: Vec<String>,
    /// The shards that were verified.
    pub(crate) cases: &'r [ShardCase],
}

impl<'r> Findings<'r> {
    /// Returns what a verification has found.
    pub(crate) fn of(report: &'r Report) -> Findings<'r> {
        let unchecked = report.unchecked.iter();
        Findings {
            tool: "pack verify",
            summary: report.summary().text(),
            coverage: report.coverage().map(|line| line.text()),
            is_passed: report.is_passed(),
            problems: &report.problems,
            warnings: &report.warnings,
            unlisted: report.unlisted,
            unchecked: unchecked.map(|what| format!("not checked: {}", what.text())).collect(),
            cases: &report.cases,
        }
    }

    /// Returns the problems, those that cost most first. Those of one severity keep their order.
    pub(super) fn worst_problems(&self) -> Vec<&'r Problem> {
        worst(self.problems)
    }

    /// As [`Findings::worst_problems`], of the warnings.
    pub(super) fn worst_warnings(&self) -> Vec<&'r Problem> {
        worst(self.warnings)
    }

    /// Returns the number of problems that a form does not show, as a sentence: those beyond `shown`, and those that are
    /// not in the list. `None` if it shows all.
    pub(super) fn left_out(&self, shown: usize) -> Option<String> {
        let more = self.problems.len().saturating_sub(shown) as u64 + self.unlisted;
        let all = if self.unlisted > 0 { "" } else { "; the form json has all" };
        let least = if self.unlisted > 0 { "at least " } else { "" };
        (more > 0).then(|| {
            let more = units::counted(more, "more problem is", "more problems are");
            format!("{least}{more} not listed here{all}")
        })
    }

    /// Returns the number of warnings beyond `shown`, as a sentence.
    pub(super) fn more_warnings(&self, shown: usize) -> Option<String> {
        let more = self.warnings.len().saturating_sub(shown);
        (more > 0).then(|| {
            let more = units::counted(more as u64, "more warning is", "more warnings are");
            format!("{more} not listed here")
        })
    }
}

fn worst(list: &[Problem]) -> Vec<&Problem> {
    let mut sorted: Vec<&Problem> = list.iter().collect();
    sorted.sort_by_key(|problem| problem.kind.severity());
    sorted
}

/// Returns byte, key and reason of a problem, without its path.
pub(super) fn place_and_reason(problem: &Problem) -> String {
    let mut text = String::new();
    if let Some(byte) = problem.byte {
        text.push_str(&format!("byte {byte}: "));
    }
    if let Some(key) = &problem.key {
        text.push_str(&format!("key {key}: "));
    }
    text.push_str(&problem.reason.text());
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
