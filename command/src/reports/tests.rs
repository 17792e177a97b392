//! Reports with names that would break each format.

use std::collections::BTreeMap;

use serde_json::Value;
use tarflume_base::{Problem, ProblemKind, counts, units};
use tarflume_verify::{Level, Report};

use super::remedies::remedy;
use super::*;

pub(crate) fn report(problems: Vec<Problem>) -> Report {
    Report {
        whole: problems.is_empty(),
        level: Level::Full,
        shards: 3,
        samples: 30,
        bytes: 3000,
        extensions: BTreeMap::new(),
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
    ] {
        assert!(text.len() < most, "{name}: {} bytes", text.len());
        let left_out =
            format!("at least {} more problems are not listed here", units::count(left_out));
        let place = text.find(&left_out).unwrap_or_else(|| panic!("{name}: {left_out}"));
        assert!(place < 2000, "{name}: byte {place}");
        assert!(text.find("3 shards, 30 samples").is_some(), "{name}");
    }
    let log: Value = serde_json::from_str(&sarif(&report)).unwrap();
    assert_eq!(log["runs"][0]["results"].as_array().unwrap().len(), 25_000);
}

#[test]
fn what_was_not_checked_is_in_each_form() {
    let what = "no part 'nope' was found for its schema";
    let report = Report { unchecked: vec![what.into()], whole: false, ..report(Vec::new()) };
    for text in
        [github(&report), markdown(&report), junit(&report), sarif(&report), report.to_string()]
    {
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
        assert_eq!(rule["help"]["text"], remedy(ProblemKind::Checksum));
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

#[test]
fn junit_has_a_failed_case_for_each_file_and_one_for_the_others() {
    let text = junit(&hostile());
    assert!(text.contains("tests=\"3\" failures=\"2\""), "{text}");
    assert_eq!(text.matches("<testcase ").count(), 3);
    assert_eq!(text.matches("<failure ").count(), 2);
    assert!(text.contains("name=\"1 other shard\""), "{text}");
    assert!(!text.contains('\u{1}') && text.contains("\u{fffd}"));
    let whole = junit(&report(Vec::new()));
    assert!(
        whole.contains("tests=\"1\" failures=\"0\"") && whole.contains("name=\"3 other shards\""),
        "{whole}"
    );
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
