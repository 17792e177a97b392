//! SARIF 2.1.0, the OASIS format of results of static analysis.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};
use tarflume_base::{Problem, ProblemKind};
use tarflume_verify::Report;

use super::rules::{address, texts};
use super::texts::{left_out, place_and_reason, unchecked};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
const HOME: &str = "https://github.com/tarflume/tarflume";
/// Results of a run: GitHub refuses a file with more.
const RESULTS: usize = 25_000;
/// The name of the fingerprint by which GitHub recognizes a result of an earlier run.
const FINGERPRINT: &str = "primaryLocationLineHash";

/// Makes a log with one run: a rule for each kind of problem, a result for each of the first problems and warnings.
pub(crate) fn sarif(report: &Report) -> String {
    let mut fingerprints = Fingerprints::default();
    let errors = report.problems.iter().map(|problem| (problem, "error"));
    let warnings = report.warnings.iter().map(|warning| (warning, "warning"));
    let all: Vec<(&Problem, &str)> = errors.chain(warnings).take(RESULTS).collect();
    let kinds: BTreeSet<ProblemKind> = all.iter().map(|(problem, _)| problem.kind).collect();
    let rules: Vec<Value> = kinds.iter().map(|kind| rule(*kind)).collect();
    let results: Vec<Value> =
        all.iter().map(|(problem, level)| result(problem, level, &mut fingerprints)).collect();
    let is_complete = report.unchecked.is_empty();
    let notes: Vec<Value> = unchecked(report)
        .map(|what| note("error", what))
        .chain(left_out(report, RESULTS).map(|more| note("warning", more)))
        .collect();
    let mut invocation = json!({"executionSuccessful": is_complete});
    if !notes.is_empty() {
        invocation["toolExecutionNotifications"] = notes.into();
    }
    let driver = json!({
        "name": "pack verify", "version": env!("CARGO_PKG_VERSION"), "informationUri": HOME, "rules": rules,
    });
    let run = json!({
        "tool": {"driver": driver}, "invocations": [invocation], "results": results,
        "properties": {"summary": report.summary().text()},
    });
    let log = json!({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]});
    format!("{log:#}\n")
}

fn note(level: &str, text: String) -> Value {
    json!({"level": level, "message": {"text": text}})
}

fn rule(kind: ProblemKind) -> Value {
    let id = kind.to_string();
    let text = id.replace('-', " ");
    let texts = texts(kind);
    let help = json!({"text": texts.text(), "markdown": texts.markdown()});
    json!({
        "id": id, "shortDescription": {"text": text}, "fullDescription": {"text": kind.meaning()},
        "help": help, "helpUri": address(kind),
    })
}

fn result(problem: &Problem, level: &str, fingerprints: &mut Fingerprints) -> Value {
    let mut place = json!({"artifactLocation": {"uri": uri(&problem.path)}});
    if let Some(byte) = problem.byte {
        place["region"] = json!({"byteOffset": byte});
    }
    let mut location = json!({"physicalLocation": place});
    if let Some(key) = &problem.key {
        location["logicalLocations"] = json!([{"name": key, "kind": "member"}]);
    }
    json!({
        "ruleId": problem.kind.to_string(), "level": level,
        "message": {"text": place_and_reason(problem)}, "locations": [location],
        "partialFingerprints": {FINGERPRINT: fingerprints.next(problem)},
    })
}

/// The fingerprints of the results before.
#[derive(Default)]
struct Fingerprints(HashMap<String, u64>);

impl Fingerprints {
    /// Returns the fingerprint of a problem: a digest of kind, path and key, which stay the same if bytes before it move,
    /// and the number of the problem among those with the same ones.
    fn next(&mut self, problem: &Problem) -> String {
        let mut hasher = blake3::Hasher::new();
        let kind = problem.kind.to_string();
        for text in [kind.as_str(), &problem.path, problem.key.as_deref().unwrap_or_default()] {
            hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        }
        let digest = hasher.finalize().to_hex()[..16].to_string();
        let number = self.0.entry(digest.clone()).or_default();
        *number += 1;
        format!("{digest}:{number}")
    }
}

/// Makes a URI reference of a path: relative paths stay relative.
fn uri(path: &str) -> String {
    if path.contains("://") {
        return path.to_string();
    }
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(byte as char)
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    if path.starts_with('/') { format!("file://{uri}") } else { uri }
}
