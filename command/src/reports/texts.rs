//! Texts that all forms share.

use tarflume_base::{Problem, units};
use tarflume_verify::Report;

/// Characters of a reason that a bounded form shows.
const LONGEST: usize = 1000;

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

/// Returns the number of problems that a form does not show, as a sentence: those beyond `shown`, and those that the
/// report itself does not list. `None` if it shows all.
pub(super) fn left_out(report: &Report, shown: usize) -> Option<String> {
    let more = report.problems.len().saturating_sub(shown) as u64 + report.unlisted;
    let all = if report.unlisted > 0 { "" } else { "; --report json=FILE has all" };
    let least = if report.unlisted > 0 { "at least " } else { "" };
    (more > 0).then(|| {
        let more = units::counted(more, "more problem is", "more problems are");
        format!("{least}{more} not listed here{all}")
    })
}

/// Returns what was asked for and not checked, a sentence each.
pub(super) fn unchecked(report: &Report) -> impl Iterator<Item = String> + '_ {
    report.unchecked.iter().map(|what| format!("not checked: {}", what.text()))
}
