//! SARIF 2.1.0, the OASIS format of results of static analysis.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tarflume_packer::verify::Report;
use tarflume_packer::{Problem, ProblemKind};

use super::texts::{place_and_reason, unlisted};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
const HOME: &str = "https://github.com/tarflume/tarflume";

/// Makes a log with one run: a rule for each kind of problem, a result for each problem and warning.
pub(crate) fn sarif(report: &Report) -> String {
    let all = || report.problems.iter().chain(&report.warnings);
    let kinds: BTreeSet<ProblemKind> = all().map(|problem| problem.kind).collect();
    let rules: Vec<Value> = kinds.iter().map(|kind| rule(*kind)).collect();
    let errors = report.problems.iter().map(|problem| result(problem, "error"));
    let warnings = report.warnings.iter().map(|warning| result(warning, "warning"));
    let results: Vec<Value> = errors.chain(warnings).collect();
    let mut invocation = json!({"executionSuccessful": true});
    if let Some(more) = unlisted(report) {
        let note = json!({"level": "warning", "message": {"text": more}});
        invocation["toolExecutionNotifications"] = json!([note]);
    }
    let driver = json!({
        "name": "pack verify", "version": env!("CARGO_PKG_VERSION"), "informationUri": HOME, "rules": rules,
    });
    let run = json!({
        "tool": {"driver": driver}, "invocations": [invocation], "results": results,
        "properties": {"summary": report.summary()},
    });
    let log = json!({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]});
    format!("{log:#}\n")
}

fn rule(kind: ProblemKind) -> Value {
    let id = kind.to_string();
    let text = id.replace('-', " ");
    json!({"id": id, "shortDescription": {"text": text}})
}

fn result(problem: &Problem, level: &str) -> Value {
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
    })
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
