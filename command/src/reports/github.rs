//! GitHub Actions: workflow commands, which become annotations.

use tarflume_base::Problem;

use super::findings::{Findings, place_and_reason};

/// Annotations of each level. GitHub shows ten of a step; more would hide the log.
const SHOWN: usize = 100;

/// Makes a line with the totals, and one for each of the worst problems and warnings.
pub(crate) fn github(findings: &Findings<'_>) -> String {
    let title = property(findings.tool);
    let mut text = format!("::notice title={title}::{}\n", data(&findings.summary));
    text.extend(
        findings.coverage.iter().map(|line| format!("::notice title={title}::{}\n", data(line))),
    );
    for what in findings.unchecked.iter().chain(&findings.left_out(SHOWN)) {
        text.push_str(&format!("::error title={title}::{}\n", data(what)));
    }
    for problem in findings.worst_problems().into_iter().take(SHOWN) {
        text.push_str(&annotation("error", problem));
    }
    for warning in findings.worst_warnings().into_iter().take(SHOWN) {
        text.push_str(&annotation("warning", warning));
    }
    let more = findings.more_warnings(SHOWN);
    text.extend(more.map(|more| format!("::warning title={title}::{more}\n")));
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
