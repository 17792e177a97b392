//! GitHub Actions: workflow commands, which become annotations.

use tarflume_packer::Problem;
use tarflume_packer::verify::Report;

use super::texts::{place_and_reason, unlisted};

/// Makes a line for each problem and warning, and one with the totals.
pub(crate) fn github(report: &Report) -> String {
    let mut text = String::new();
    for problem in &report.problems {
        text.push_str(&annotation("error", problem));
    }
    for warning in &report.warnings {
        text.push_str(&annotation("warning", warning));
    }
    if let Some(more) = unlisted(report) {
        text.push_str(&format!("::error::{}\n", data(&more)));
    }
    text.push_str(&format!("::notice title=pack verify::{}\n", data(&report.summary())));
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
