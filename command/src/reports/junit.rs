//! JUnit's XML, as Jenkins' schema describes it: a test case for each shard, with its problems as failures.

use std::collections::BTreeMap;

use tarflume_packer::verify::Report;
use tarflume_packer::{Choice, Problem, units};

use super::texts::{place_and_reason, unlisted};

/// Makes one suite. Files with problems are failed cases; the shards without problems are one passed case.
pub(crate) fn junit(report: &Report) -> String {
    let mut files: BTreeMap<&str, Vec<&Problem>> = BTreeMap::new();
    for problem in &report.problems {
        files.entry(&problem.path).or_default().push(problem);
    }
    let failed = files.len() as u64;
    let whole = report.shards.saturating_sub(failed);
    let passed = u64::from(whole > 0 || failed == 0);
    let (tests, level) = (failed + passed, report.level.word());
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  \
         <testsuite name=\"pack verify\" tests=\"{tests}\" failures=\"{failed}\" errors=\"0\" skipped=\"0\" time=\"0\">\n"
    );
    for (path, problems) in files {
        text.push_str(&format!(
            "    <testcase classname=\"{level}\" name=\"{}\" time=\"0\">\n",
            escaped(path)
        ));
        let lines: Vec<String> = problems
            .iter()
            .map(|problem| format!("{}: {}", problem.kind, place_and_reason(problem)))
            .collect();
        let message = match lines.as_slice() {
            [line] => line.clone(),
            lines => format!("{} problems; the first: {}", lines.len(), lines[0]),
        };
        text.push_str(&format!(
            "      <failure message=\"{}\" type=\"{}\">{}</failure>\n    </testcase>\n",
            escaped(&message),
            problems[0].kind,
            escaped(&lines.join("\n"))
        ));
    }
    if passed > 0 {
        let shards = units::counted(whole, "other shard", "other shards");
        text.push_str(&format!(
            "    <testcase classname=\"{level}\" name=\"{shards}\" time=\"0\"/>\n"
        ));
    }
    let mut out = report.summary();
    if let Some(more) = unlisted(report) {
        out.push_str(&format!("\n{more}"));
    }
    out.extend(report.warnings.iter().map(|warning| format!("\nwarning: {warning}")));
    text.push_str(&format!(
        "    <system-out>{}</system-out>\n  </testsuite>\n</testsuites>\n",
        escaped(&out)
    ));
    text
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
