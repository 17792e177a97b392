//! GitLab's code quality: a list of issues, as its documentation describes the artifact `codequality`.

use serde_json::{Value, json};
use tarflume_base::{Problem, Severity};

use super::findings::{Findings, place_and_reason};
use super::fingerprints::Fingerprints;
use super::places::Repository;

/// Issues of each level.
const LISTED: usize = 5_000;

/// Makes an issue for each of the worst problems and warnings, for what was not checked, and for what is left out.
pub(crate) fn gitlab(findings: &Findings<'_>, repository: &Repository) -> String {
    let notes = findings.unchecked.iter().map(|what| note(findings, "unchecked", what));
    let more = findings.left_out(LISTED).into_iter().chain(findings.more_warnings(LISTED));
    let more: Vec<Value> = more.map(|more| note(findings, "left-out", &more)).collect();
    let mut issues: Vec<Value> = notes.chain(more).collect();
    let mut fingerprints = Fingerprints::default();
    for problem in findings.worst_problems().into_iter().take(LISTED) {
        issues.push(issue(problem, severity(problem), &mut fingerprints, repository));
    }
    for warning in findings.worst_warnings().into_iter().take(LISTED) {
        issues.push(issue(warning, "info", &mut fingerprints, repository));
    }
    let list = Value::Array(issues);
    format!("{list:#}\n")
}

fn severity(problem: &Problem) -> &'static str {
    match problem.kind.severity() {
        Severity::Lost => "blocker",
        Severity::Wrong => "critical",
        Severity::Structure => "major",
        Severity::Advice => "minor",
    }
}

fn issue(
    problem: &Problem,
    severity: &str,
    fingerprints: &mut Fingerprints,
    repository: &Repository,
) -> Value {
    let print = fingerprints.next(problem);
    json!({
        "description": place_and_reason(problem), "check_name": problem.kind.to_string(),
        "fingerprint": format!("{}{:08x}", print.digest, print.number), "severity": severity,
        "location": {"path": repository.path(&problem.path), "lines": {"begin": 1}},
    })
}

/// Returns an issue that is about no file: an issue must have one, and this one is named after the command.
fn note(findings: &Findings<'_>, name: &str, text: &str) -> Value {
    let digest = blake3::hash(format!("{name}\n{text}").as_bytes()).to_hex();
    json!({
        "description": text, "check_name": name, "fingerprint": digest[..24], "severity": "blocker",
        "location": {"path": findings.tool, "lines": {"begin": 1}},
    })
}
