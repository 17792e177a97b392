//! SARIF 2.1.0, the OASIS format of results of static analysis.
//!
//! The limits are those that GitHub documents for uploads to code scanning ("SARIF support for code scanning"): 25,000
//! results of a run, of which the 5,000 with the highest severity are shown; 10 MB compressed by gzip; each result a
//! rule that the run lists, a place with `startLine`, and a fingerprint.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tarflume_base::{Problem, ProblemKind, counts, units};

use super::findings::{Findings, place_and_reason};
use super::fingerprints::Fingerprints;
use super::places::Repository;
use super::rules::{address, texts};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
const HOME: &str = "https://github.com/tarflume/tarflume";
/// Results of a run: GitHub refuses a file with more.
const RESULTS: usize = 25_000;
/// Bytes of the texts of all results. What else a result has is the same in all of them, and compresses to little.
const TEXTS: usize = 8_000_000;
/// The name of the fingerprint by which GitHub recognizes a result of an earlier run.
const FINGERPRINT: &str = "primaryLocationLineHash";

/// Makes a log with one run: a rule for each kind of problem, a result for each of the worst problems and warnings.
pub(crate) fn sarif(findings: &Findings<'_>, repository: &Repository) -> String {
    let chosen = Chosen::of(findings);
    let kinds: BTreeSet<ProblemKind> = chosen.all().map(|problem| problem.kind).collect();
    let rules: Vec<Value> = kinds.iter().map(|kind| rule(*kind)).collect();
    let mut fingerprints = Fingerprints::default();
    let mut results = Vec::with_capacity(chosen.problems.len() + chosen.warnings.len());
    for (list, level) in [(&chosen.problems, "error"), (&chosen.warnings, "warning")] {
        results.extend(
            list.iter().map(|problem| result(problem, level, &mut fingerprints, repository)),
        );
    }
    let mut invocation = json!({"executionSuccessful": findings.unchecked.is_empty()});
    let notes = notes(findings, &chosen);
    if !notes.is_empty() {
        invocation["toolExecutionNotifications"] = notes.into();
    }
    let driver = json!({
        "name": findings.tool, "version": env!("CARGO_PKG_VERSION"), "informationUri": HOME, "rules": rules,
    });
    let run = json!({
        "tool": {"driver": driver}, "invocations": [invocation], "results": results,
        "properties": properties(findings),
    });
    let log = json!({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]});
    format!("{log:#}\n")
}

/// The results that a file has room for, the worst first.
struct Chosen<'r> {
    problems: Vec<&'r Problem>,
    warnings: Vec<&'r Problem>,
}

impl<'r> Chosen<'r> {
    fn of(findings: &Findings<'r>) -> Chosen<'r> {
        let mut room = Room { results: RESULTS, texts: TEXTS };
        let problems = room.take(findings.worst_problems());
        let warnings = room.take(findings.worst_warnings());
        Chosen { problems, warnings }
    }

    fn all(&self) -> impl Iterator<Item = &&'r Problem> {
        self.problems.iter().chain(&self.warnings)
    }
}

/// What a file has room for.
struct Room {
    results: usize,
    /// Bytes of texts.
    texts: usize,
}

impl Room {
    /// Takes the first of a list, as far as there is room.
    fn take<'r>(&mut self, mut list: Vec<&'r Problem>) -> Vec<&'r Problem> {
        let mut taken = 0;
        for problem in &list {
            let bytes = problem.path.len() + place_and_reason(problem).len();
            if self.results == 0 || bytes > self.texts {
                break;
            }
            self.results -= 1;
            self.texts -= bytes;
            taken += 1;
        }
        list.truncate(taken);
        list
    }
}

/// Returns the totals of each rule, what was not checked, and what is left out.
fn notes(findings: &Findings<'_>, chosen: &Chosen<'_>) -> Vec<Value> {
    let unchecked = findings.unchecked.iter().map(|what| note("error", what.clone()));
    let more = findings
        .left_out(chosen.problems.len())
        .into_iter()
        .chain(findings.more_warnings(chosen.warnings.len()));
    let more: Vec<Value> = more.map(|more| note("warning", more)).collect();
    // The totals are of interest where not all results are there.
    let totals = counts(findings.problems).into_iter().filter(|_| !more.is_empty());
    let totals = totals.map(|(kind, count)| {
        note("note", format!("{kind}: {}", units::counted(count, "problem", "problems")))
    });
    unchecked.chain(more.iter().cloned()).chain(totals).collect()
}

fn properties(findings: &Findings<'_>) -> Value {
    let mut properties = json!({
        "summary": findings.summary, "problems": named(findings.problems), "warnings": named(findings.warnings),
    });
    if let Some(coverage) = &findings.coverage {
        properties["coverage"] = coverage.clone().into();
    }
    properties
}

fn named(list: &[Problem]) -> BTreeMap<String, u64> {
    counts(list).into_iter().map(|(kind, count)| (kind.to_string(), count)).collect()
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

fn result(
    problem: &Problem,
    level: &str,
    fingerprints: &mut Fingerprints,
    repository: &Repository,
) -> Value {
    // GitHub shows no result without a line. A shard has none: the byte is the place.
    let mut region = json!({"startLine": 1});
    if let Some(byte) = problem.byte {
        region["byteOffset"] = byte.into();
    }
    let uri = repository.uri(&problem.path);
    let mut location =
        json!({"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}});
    if let Some(key) = &problem.key {
        location["logicalLocations"] = json!([{"name": key, "kind": "member"}]);
    }
    let print = fingerprints.next(problem);
    json!({
        "ruleId": problem.kind.to_string(), "level": level,
        "message": {"text": place_and_reason(problem)}, "locations": [location],
        "partialFingerprints": {FINGERPRINT: format!("{}:{}", print.digest, print.number)},
    })
}
