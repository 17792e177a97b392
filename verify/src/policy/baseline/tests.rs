//! What a baseline knows, and what is new.

use std::collections::HashMap;

use proptest::prelude::*;
use tarflume_base::Verdict;

use super::*;
use crate::policy::rules::RuleLevel;
use crate::policy::sift::Sift;
use crate::policy::{Date, Rules};
use crate::verify::Level;

const KINDS: [ProblemKind; 3] =
    [ProblemKind::BadJpeg, ProblemKind::Checksum, ProblemKind::MissingPart];

fn baseline(problems: &[Problem]) -> Baseline {
    let made = Baseline::of(problems, Level::Full, Path::new("/repo/baseline.json")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("baseline.json");
    std::fs::write(&path, made.to_text()).unwrap();
    let read = Baseline::read(&path).unwrap();
    assert_eq!(read.to_text(), made.to_text());
    Baseline { base: made.base, ..read }
}

/// Returns the problems that are new, and the number of known ones.
fn sifted(known: &[Problem], found: &[Problem]) -> Vec<Problem> {
    let rules = Rules::new(None, Vec::new(), Vec::new(), Some(baseline(known)));
    let sift = Sift::new(&rules, Date::parse("2026-01-01").unwrap());
    let new: Vec<Problem> = found
        .iter()
        .filter(|problem| sift.decide(problem, RuleLevel::Error) == Verdict::Problem)
        .cloned()
        .collect();
    assert_eq!(sift.known() as usize + new.len(), found.len());
    new
}

fn problem() -> impl Strategy<Value = Problem> {
    let key = prop::option::of(0..3u8);
    (0..KINDS.len(), 0..3u8, key, 0..3u8, prop::option::of(0..5u64)).prop_map(
        |(kind, file, key, reason, byte)| {
            let path = format!("/repo/data/{file}.tar");
            let reason = format!("the data has checksum {reason}, at byte {}", byte.unwrap_or(9));
            let problem = Problem::new(KINDS[kind], path, reason).at(byte);
            match key {
                Some(key) => problem.of(format!("k{key}")),
                None => problem,
            }
        },
    )
}

/// What makes two problems the same, said another way than in the code.
fn same(problem: &Problem) -> String {
    let Problem { kind, path, key, reason, .. } = problem;
    let reason = reason.text();
    let (reason, _) = reason.split_once(", at byte").unwrap();
    format!("{kind} {path} {key:?} {reason}")
}

fn counted(problems: &[Problem]) -> HashMap<String, u64> {
    let mut counts = HashMap::new();
    problems.iter().for_each(|problem| *counts.entry(same(problem)).or_default() += 1);
    counts
}

proptest! {
    #[test]
    fn what_is_new_is_never_hidden(
        known in prop::collection::vec(problem(), 0..12),
        found in prop::collection::vec(problem(), 0..12),
    ) {
        let new = counted(&sifted(&known, &found));
        let known = counted(&known);
        for (identity, count) in counted(&found) {
            let expected = count.saturating_sub(known.get(&identity).copied().unwrap_or(0));
            prop_assert_eq!(new.get(&identity).copied().unwrap_or(0), expected, "{}", identity);
        }
    }

    #[test]
    fn what_was_written_is_known_in_any_order(
        found in prop::collection::vec(problem(), 0..12).prop_shuffle(),
    ) {
        let mut known = found.clone();
        known.reverse();
        prop_assert!(sifted(&known, &found).is_empty());
        prop_assert_eq!(baseline(&known).to_text(), baseline(&found).to_text());
    }

    #[test]
    fn damaged_files_are_refused_and_no_panics(text in "\\PC{0,60}") {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &text).unwrap();
        prop_assert!(Baseline::read(file.path()).is_err());
    }
}

/// A part of a shard with the checksum `sum`.
fn at(path: &str, sum: &str, byte: u64) -> Problem {
    let reason = format!("part 'jpg' has {sum}, at byte {byte}");
    Problem::new(ProblemKind::Checksum, path, reason).at(byte).of("a")
}

/// A value above the bound `max` in a line of the policy.
fn broken(line: u32, max: u32) -> Problem {
    let reason = format!("pack.toml:{line}: fields.\"/a\".max = {max}: 9 is above it");
    Problem::new(ProblemKind::PolicyField, "/repo/a.tar", reason).of("a")
}

#[test]
fn another_checksum_a_second_problem_and_another_shard_are_new() {
    let known = [at("/repo/a.tar", "1f", 512)];
    assert!(sifted(&known, &[at("/repo/a.tar", "1f", 9216)]).is_empty(), "it moved in its shard");
    assert_eq!(sifted(&known, &[at("/repo/a.tar", "2f", 512)]).len(), 1, "another damage");
    assert_eq!(sifted(&known, &[at("/repo/b.tar", "1f", 512)]).len(), 1, "another shard");
    let twice = [at("/repo/a.tar", "1f", 512), at("/repo/a.tar", "1f", 512)];
    assert_eq!(sifted(&known, &twice).len(), 1, "a second one");
}

#[test]
fn a_line_above_the_bound_changes_nothing_and_another_bound_does() {
    assert!(sifted(&[broken(3, 5)], &[broken(7, 5)]).is_empty());
    assert_eq!(sifted(&[broken(3, 5)], &[broken(3, 6)]).len(), 1);
}

#[test]
fn values_of_the_data_are_no_offsets() {
    assert_eq!(without_offsets("cut at byte 512: it ends"), "cut at byte : it ends");
    assert_eq!(without_offsets("/note: \"byte 7\" is no number"), "/note: \"byte 7\" is no number");
}

#[test]
fn a_baseline_of_a_later_version_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let text = r#"{"tarflume_baseline": 2, "level": "full", "problems": []}"#;
    std::fs::write(file.path(), text).unwrap();
    assert!(Baseline::read(file.path()).unwrap_err().text().contains("a later version"));
}
