//! GitHub Actions: workflow commands, which become annotations.

use tarflume_base::Problem;
use tarflume_verify::Report;

use super::texts::{left_out, place_and_reason, unchecked};

/// Annotations of each level. GitHub shows ten of a step; more would hide the log.
const SHOWN: usize = 100;

/// Makes a line with the totals, and one for each of the first problems and warnings.
pub(crate) fn github(report: &Report) -> String {
    let mut text = format!("::notice title=pack verify::{}\n", data(&report.summary().text()));
    for what in unchecked(report).chain(left_out(report, SHOWN)) {
        text.push_str(&format!("::error title=pack verify::{}\n", data(&what)));
    }
    text.extend(report.problems.iter().take(SHOWN).map(|problem| annotation("error", problem)));
    text.extend(report.warnings.iter().take(SHOWN).map(|warning| annotation("warning", warning)));
    let more = report.warnings.len().saturating_sub(SHOWN);
    if more > 0 {
        text.push_str(&format!(
            "::warning title=pack verify::{more} more warnings are not listed here\n"
        ));
    }
    text
}

fn annotation(level: &str, problem: &Problem) -> String {
    format!(
        "::{level} file={},title={}::{}\n",
        property(&problem.path),
        property(&problem.kind.to_string()),
        data(&place_and_reason(problem))
    )
}

/// Escapes the text of a command, as GitHub's toolkit does.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
