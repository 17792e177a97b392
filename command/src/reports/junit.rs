//! JUnit's XML, as Jenkins' schema describes it: a test case for each shard, with its problems as failures.

use std::collections::BTreeMap;

use tarflume_base::{Choice, Problem, units};
use tarflume_verify::Report;

use super::texts::{left_out, place_and_reason, unchecked};

/// Problems that are listed, each on a line.
const LINES: usize = 10_000;

/// Makes one suite. Files with problems are failed cases; the shards without problems are one passed case. What was not
/// checked is an error.
pub(crate) fn junit(report: &Report) -> String {
    let mut files: BTreeMap<&str, Vec<&Problem>> = BTreeMap::new();
    for problem in report.problems.iter().take(LINES) {
        files.entry(&problem.path).or_default().push(problem);
    }
    let failed = files.len() as u64;
    let errors = report.unchecked.len() as u64;
    let whole = report.shards.saturating_sub(failed);
    // Of shards whose problems are left out, none is known to be whole.
    let is_complete = report.problems.len() <= LINES;
    let passed = u64::from(is_complete && (whole > 0 || failed + errors == 0));
    let tests = failed + passed + errors;
    let level = report.level.word();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  \
         <testsuite name=\"pack verify\" tests=\"{tests}\" failures=\"{failed}\" errors=\"{errors}\" skipped=\"0\" \
         time=\"0\">\n    <system-out>{}</system-out>\n",
        escaped(&totals(report))
    );
    for (path, problems) in files {
        let name = format!("classname=\"{level}\" name=\"{}\" time=\"0\"", escaped(path));
        text.push_str(&format!("    <testcase {name}>\n{}    </testcase>\n", failure(&problems)));
    }
    for what in unchecked(report) {
        let what = escaped(&what);
        text.push_str(&format!(
            "    <testcase classname=\"{level}\" name=\"{what}\" time=\"0\">\n      \
             <error message=\"{what}\" type=\"unchecked\"/>\n    </testcase>\n"
        ));
    }
    if passed > 0 {
        let shards = units::counted(whole, "other shard", "other shards");
        text.push_str(&format!(
            "    <testcase classname=\"{level}\" name=\"{shards}\" time=\"0\"/>\n"
        ));
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// Returns the totals, what is left out, and the warnings.
fn totals(report: &Report) -> String {
    let mut out = report.summary().text();
    out.extend(left_out(report, LINES).map(|more| format!("\n{more}")));
    let warnings = report.warnings.iter().take(LINES);
    out.extend(warnings.map(|warning| format!("\nwarning: {warning}")));
    let more = report.warnings.len().saturating_sub(LINES);
    if more > 0 {
        out.push_str(&format!("\n{more} more warnings are not listed here"));
    }
    out
}

/// Returns the failure of a file with these problems.
fn failure(problems: &[&Problem]) -> String {
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| format!("{}: {}", problem.kind, place_and_reason(problem)))
        .collect();
    let message = match lines.as_slice() {
        [line] => line.clone(),
        lines => format!("{} problems; the first: {}", lines.len(), lines[0]),
    };
    format!(
        "      <failure message=\"{}\" type=\"{}\">{}</failure>\n",
        escaped(&message),
        problems[0].kind,
        escaped(&lines.join("\n"))
    )
}

/// Escapes text for XML, and replaces the characters that XML 1.0 does not have.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' => safe.push_str("&#10;"),
            '\t' => safe.push_str("&#9;"),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            _ => safe.push(letter),
        }
    }
    safe
}
