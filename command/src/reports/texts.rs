//! Texts that all forms share.

use tarflume_packer::Problem;
use tarflume_packer::verify::Report;

/// Returns byte, key and reason of a problem, without its path.
pub(super) fn place_and_reason(problem: &Problem) -> String {
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
pub(super) fn unlisted(report: &Report) -> Option<String> {
    (report.unlisted > 0).then(|| {
        format!(
            "at least {} more problems are not listed",
            tarflume_packer::units::count(report.unlisted)
        )
    })
}
