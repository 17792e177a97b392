//! Reports with names that would break each format.

use std::collections::BTreeMap;

use serde_json::Value;
use std::time::Duration;

use tarflume_base::{Problem, ProblemKind, counts, units};
use tarflume_verify::{Level, PartChecks, Report, ShardCase};

use super::places::Repository;
use super::rules::{address, texts};
use super::{Findings, ReportForm};

fn github(report: &Report) -> String {
    super::github(&Findings::of(report))
}

fn markdown(report: &Report) -> String {
    super::markdown(&Findings::of(report))
}

fn junit(report: &Report) -> String {
    super::junit(&Findings::of(report))
}

fn sarif(report: &Report) -> String {
    super::sarif(&Findings::of(report), &Repository::default())
}

fn gitlab(report: &Report) -> String {
    super::gitlab(&Findings::of(report), &Repository::default())
}

pub(crate) fn report(problems: Vec<Problem>) -> Report {
    Report {
        whole: problems.is_empty(),
        finished: true,
        level: Level::Full,
        shards: 3,
        samples: 30,
        bytes: 3000,
        extensions: BTreeMap::new(),
        checked: PartChecks::default(),
        cases: Vec::new(),
        unchecked: Vec::new(),
        shards_without_checksums: 0,
        shards_of_append: 0,
        notes: Vec::new(),
        warnings: Vec::new(),
        coverage: None,
        not_pulled: 0,
        sets: Vec::new(),
        irregular_jpegs: Default::default(),
        found: tarflume_verify::expect::Expect::default(),
        counts: counts(&problems),
        unlisted: 0,
        sifted: Default::default(),
        problems,
    }
}

fn hostile() -> Report {
    report(vec![
        Problem::new(
            ProblemKind::Checksum,
            "a b/100%|,:<x>.tar",
            "bytes `differ`\n| & \"more\"\u{1}",
        )
        .at(512)
        .of("k|1"),
        Problem::new(ProblemKind::MissingPart, "a b/100%|,:<x>.tar", "no json"),
        Problem::new(ProblemKind::Truncated, "/data/b.tar", "it was cut"),
    ])
}

#[test]
fn annotations_of_github_are_one_line_each() {
    let text = github(&hostile());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(
        lines[1],
        "::error file=a b/100%25|%2C%3A<x>.tar,title=checksum::byte 512: key k|1: bytes `differ`%0A| & \"more\"\u{1}"
    );
    assert!(
        lines[0].starts_with("::notice title=pack verify::3 shards, 30 samples"),
        "{}",
        lines[0]
    );
}

#[test]
fn a_table_of_markdown_has_three_cells_a_row() {
    let text = markdown(&hostile());
    let rows = text.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    for row in rows {
        let plain = row.replace("\\|", "").replace("\\`", "");
        assert_eq!(plain.matches('|').count(), 4, "{row}");
    }
    assert!(text.contains("&lt;") || !text.contains("<x> "));
    assert_eq!(markdown(&report(Vec::new())), "✅ 3 shards, 30 samples, 3.0 kB: whole\n");
}

#[test]
fn each_form_is_bounded_and_states_first_how_much_it_leaves_out() {
    let problem = |n: u32| {
        let reason = "x".repeat(if n == 0 { 5000 } else { 100 });
        Problem::new(ProblemKind::Schema, format!("{}.tar", n % 7), reason).of(format!("k{n}"))
    };
    let report = Report {
        warnings: (0..500).map(problem).collect(),
        unlisted: 1,
        ..report((0..60_002).map(problem).collect())
    };
    for (name, text, most, left_out) in [
        ("github", github(&report), 50_000, 59_903),
        ("markdown", markdown(&report), 64 * 1024, 59_803),
        ("junit", junit(&report), 3_000_000, 50_003),
        ("sarif", sarif(&report), 25_000_000, 35_003),
        ("gitlab", gitlab(&report), 5_000_000, 55_003),
    ] {
        assert!(text.len() < most, "{name}: {} bytes", text.len());
        let left_out =
            format!("at least {} more problems are not listed here", units::count(left_out));
        let place = text.find(&left_out).unwrap_or_else(|| panic!("{name}: {left_out}"));
        assert!(place < 2000, "{name}: byte {place}");
        let has_totals = text.contains("3 shards, 30 samples");
        assert!(has_totals || name == "gitlab", "{name}");
    }
    let log: Value = serde_json::from_str(&sarif(&report)).unwrap();
    assert_eq!(log["runs"][0]["results"].as_array().unwrap().len(), 25_000);
}

#[test]
fn what_was_not_checked_is_in_each_form() {
    let what = "no part 'nope' was found for its schema";
    let report = Report { unchecked: vec![what.into()], whole: false, ..report(Vec::new()) };
    for text in [
        github(&report),
        markdown(&report),
        junit(&report),
        sarif(&report),
        gitlab(&report),
        report.to_string(),
    ] {
        assert!(text.contains(&format!("not checked: {what}")), "{text}");
        assert!(!text.contains(": whole"), "{text}");
    }
    assert!(junit(&report).contains("failures=\"0\" errors=\"1\""));
    let log: Value = serde_json::from_str(&sarif(&report)).unwrap();
    assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], false);
}

#[test]
fn results_of_sarif_have_fingerprints_that_do_not_depend_on_bytes_and_rules_have_help() {
    let problem =
        |key: &str, byte: u64| Problem::new(ProblemKind::Checksum, "a.tar", "why").at(byte).of(key);
    let prints = |problems: Vec<Problem>| -> Vec<String> {
        let log: Value = serde_json::from_str(&sarif(&report(problems))).unwrap();
        let rule = &log["runs"][0]["tool"]["driver"]["rules"][0];
        assert_eq!(rule["fullDescription"]["text"], ProblemKind::Checksum.meaning());
        assert_eq!(rule["help"]["text"], texts(ProblemKind::Checksum).text());
        assert_eq!(rule["helpUri"], address(ProblemKind::Checksum));
        let results = log["runs"][0]["results"].as_array().unwrap();
        results
            .iter()
            .map(|result| {
                result["partialFingerprints"]["primaryLocationLineHash"]
                    .as_str()
                    .unwrap()
                    .to_string()
            })
            .collect()
    };
    let before = prints(vec![problem("a", 0), problem("a", 512), problem("b", 1024)]);
    let after = prints(vec![problem("a", 7), problem("a", 600), problem("b", 2048)]);
    assert_eq!(before, after);
    assert!(before[0].ends_with(":1") && before[1].ends_with(":2") && before[2].ends_with(":1"));
    assert_ne!(before[0].split(':').next(), before[2].split(':').next());
}

#[test]
fn sarif_names_rules_places_and_keys() {
    let log: Value = serde_json::from_str(&sarif(&hostile())).unwrap();
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    let place = &results[0]["locations"][0];
    assert_eq!(
        place["physicalLocation"]["artifactLocation"]["uri"],
        "a%20b/100%25%7C%2C%3A%3Cx%3E.tar"
    );
    assert_eq!(place["physicalLocation"]["region"]["byteOffset"], 512);
    assert_eq!(place["physicalLocation"]["region"]["startLine"], 1);
    assert_eq!(place["logicalLocations"][0]["name"], "k|1");
    assert_eq!(
        results[2]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
        "file:///data/b.tar"
    );
    let rules: Vec<&str> = run["tool"]["driver"]["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["id"].as_str().unwrap())
        .collect();
    for result in results {
        assert!(rules.contains(&result["ruleId"].as_str().unwrap()));
    }
}

fn case(path: &str, millis: u64, is_absent: bool) -> ShardCase {
    ShardCase { path: path.into(), time: Duration::from_millis(millis), is_absent }
}

#[test]
fn junit_has_a_suite_for_each_folder_and_a_case_for_each_shard_with_its_time() {
    let text = junit(&hostile());
    assert!(text.contains("<testsuites name=\"pack verify\" tests=\"3\" failures=\"2\""), "{text}");
    assert_eq!(text.matches("<testcase ").count(), 3);
    assert_eq!(text.matches("<failure ").count(), 2);
    assert!(!text.contains('\u{1}') && text.contains("\u{fffd}"));
    let cases = vec![
        case("train/a.tar", 1500, false),
        case("train/b.tar", 20, false),
        case("val/a.tar", 7, true),
    ];
    let whole = Report { cases, ..report(Vec::new()) };
    let text = junit(&whole);
    for part in [
        "tests=\"4\" failures=\"0\" errors=\"0\" time=\"1.527\"",
        "<testsuite name=\"train\" tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"0\" time=\"1.520\">",
        "<testcase classname=\"train\" name=\"a.tar\" time=\"1.500\"/>",
        "<testsuite name=\"val\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\" time=\"0.007\">",
        "<testcase classname=\"pack verify\" name=\"finished\" time=\"0.000\"/>",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The problem of a sidecar is that of its shard.
    let sidecar = Problem::new(ProblemKind::DamagedIndex, "train/b.index", "it is damaged");
    let damaged = Report { cases: whole.cases, ..report(vec![sidecar]) };
    let text = junit(&damaged);
    assert!(text.contains("tests=\"4\" failures=\"1\""), "{text}");
    assert!(text.contains("name=\"b.tar\" time=\"0.020\">\n      <failure"), "{text}");
}

#[test]
fn what_a_form_leaves_out_is_the_least_bad() {
    let mut problems: Vec<Problem> = (0..30_000)
        .map(|n| Problem::new(ProblemKind::StaleIndex, format!("{n}.tar"), "it is stale"))
        .collect();
    problems.push(Problem::new(ProblemKind::Truncated, "last.tar", "it was cut"));
    let report = report(problems);
    for (name, text) in [
        ("github", github(&report)),
        ("markdown", markdown(&report)),
        ("junit", junit(&report)),
        ("sarif", sarif(&report)),
        ("gitlab", gitlab(&report)),
    ] {
        assert!(text.contains("it was cut"), "{name}");
    }
    let log: Value = serde_json::from_str(&sarif(&report)).unwrap();
    let run = &log["runs"][0];
    assert_eq!(run["results"][0]["ruleId"], "truncated");
    assert_eq!(run["properties"]["problems"]["stale-index"], 30_000);
    let notes = run["invocations"][0]["toolExecutionNotifications"].as_array().unwrap();
    assert!(notes.iter().any(|note| note["message"]["text"] == "stale-index: 30,000 problems"));
}

/// A problem whose text does not compress.
fn noisy(n: u32) -> Problem {
    let digests = (0..16).map(|at: u32| blake3::hash(&[n, at].map(u32::to_le_bytes).concat()));
    let noise: String = digests.map(|digest| digest.to_hex().to_string()).collect();
    Problem::new(ProblemKind::Schema, "a.tar", noise).of(format!("k{n}"))
}

#[test]
fn texts_of_sarif_fit_into_what_github_accepts() {
    let problems = (0..20_000).map(noisy).collect();
    let log: Value = serde_json::from_str(&sarif(&report(problems))).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert!((7_000..9_000).contains(&results.len()), "{}", results.len());
}

#[test]
fn issues_of_gitlab_have_what_its_documentation_requires() {
    let warning = Problem::new(ProblemKind::ConstantPicture, "a.tar", "one color").of("k");
    let twice = Problem::new(ProblemKind::Checksum, "a.tar", "why").of("k");
    let report = Report { warnings: vec![warning], ..report(vec![twice.clone(), twice]) };
    let issues: Value = serde_json::from_str(&gitlab(&report)).unwrap();
    let issues = issues.as_array().unwrap();
    let prints: Vec<&str> =
        issues.iter().map(|issue| issue["fingerprint"].as_str().unwrap()).collect();
    assert_eq!(issues.len(), 3);
    assert!(prints[0] != prints[1] && prints.iter().all(|print| print.len() == 24));
    for issue in issues {
        assert!(issue["description"].is_string() && issue["check_name"].is_string());
        assert_eq!(issue["location"]["path"], "a.tar");
        assert_eq!(issue["location"]["lines"]["begin"], 1);
    }
    assert_eq!(
        (&issues[0]["severity"], &issues[2]["severity"]),
        (&"blocker".into(), &"info".into())
    );
    assert_eq!(gitlab(&super::tests::report(Vec::new())), "[]\n");
}

#[test]
fn text_and_json_are_forms_of_each_command() {
    let report = report(Vec::new());
    let findings = Findings::of(&report);
    assert!(ReportForm::Text.of(&findings).is_none() && ReportForm::Json.of(&findings).is_none());
    assert!(ReportForm::Gitlab.of(&findings).is_some());
}

#[test]
fn warnings_are_in_each_form_and_fail_nothing() {
    let text = "no part 'json'; --require json makes this a problem";
    let warning = Problem::new(ProblemKind::MissingPart, "a.tar", text).at(512).of("k");
    let report = Report { warnings: vec![warning], ..report(Vec::new()) };
    let annotations = github(&report);
    let second = annotations.lines().nth(1).unwrap();
    assert_eq!(second, format!("::warning file=a.tar,title=missing-part::byte 512: key k: {text}"));
    assert!(markdown(&report).starts_with("✅") && markdown(&report).contains("no part 'json'"));
    let log: Value = serde_json::from_str(&sarif(&report)).unwrap();
    let run = &log["runs"][0];
    assert_eq!(run["results"][0]["level"], "warning");
    assert_eq!(run["tool"]["driver"]["rules"][0]["id"], run["results"][0]["ruleId"]);
    let suite = junit(&report);
    assert!(suite.contains("failures=\"0\"") && suite.contains("warning: missing-part: a.tar"));
    assert!(report.to_string().contains(": whole; 1 warning"), "{report}");
    assert!(report.to_string().starts_with("warning: missing-part: a.tar: byte 512: key k: "));
}
