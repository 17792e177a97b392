//! The order of the rules: off, accepted, known, level.

use std::path::Path;

use super::*;
use crate::verify::Level;

const POLICY: &str = r#"
[rules]
gap = "off"
class-name = "warning"
no-checksum = "error"

[[accept]]
rule = "bad-jpeg"
path = "data/*.tar"
key = "cats/*"
reason = "the originals are lost"
until = 2027-03-01

[[accept]]
rule = "class-name"
keys = ["k1"]
reason = "renamed"
until = 2027-03-01
"#;

fn sift(select: &[ProblemKind], ignore: &[ProblemKind], known: &[Problem], today: &str) -> Sift {
    let policy = Policy::parse(Path::new("/repo/pack.toml"), POLICY).unwrap();
    let baseline = Baseline::of(known, Level::Full, Path::new("/repo/base.json")).unwrap();
    let rules = Rules::new(Some(policy), select.into(), ignore.into(), Some(baseline));
    Sift::new(&rules, Date::parse(today).unwrap())
}

fn problem(kind: ProblemKind, key: &str) -> Problem {
    Problem::new(kind, "/repo/data/a.tar", "it is so").of(key)
}

#[test]
fn each_step_takes_what_is_its_own() {
    let known = [problem(ProblemKind::Checksum, "a"), problem(ProblemKind::ClassName, "k2")];
    let sift = sift(&[], &[], &known, "2027-03-01");
    for (found, expected) in [
        (problem(ProblemKind::Gap, "a"), Verdict::Dropped),
        (problem(ProblemKind::BadJpeg, "cats/1"), Verdict::Dropped),
        (problem(ProblemKind::BadJpeg, "dogs/1"), Verdict::Problem),
        (problem(ProblemKind::Checksum, "a"), Verdict::Dropped),
        (problem(ProblemKind::Checksum, "a"), Verdict::Problem),
        (problem(ProblemKind::ClassName, "k1"), Verdict::Dropped),
        (problem(ProblemKind::ClassName, "k2"), Verdict::Dropped),
        (problem(ProblemKind::ClassName, "k2"), Verdict::Warning),
        (problem(ProblemKind::Digest, "a"), Verdict::Problem),
    ] {
        assert_eq!(sift.verdict(&found), expected, "{found}");
    }
    assert_eq!((sift.accepted(), sift.known()), (2, 2));
}

#[test]
fn a_stated_level_makes_a_warning_a_problem() {
    let sift = sift(&[], &[], &[], "2027-03-01");
    assert_eq!(
        sift.decide(&problem(ProblemKind::NoChecksum, "x"), RuleLevel::Warning),
        Verdict::Problem
    );
    assert_eq!(
        sift.decide(&problem(ProblemKind::MissingPart, "x"), RuleLevel::Warning),
        Verdict::Warning
    );
    assert_eq!(sift.decide(&problem(ProblemKind::Gap, "x"), RuleLevel::Warning), Verdict::Dropped);
}

#[test]
fn an_acceptance_ends_after_its_day() {
    let sift = sift(&[], &[], &[], "2027-03-02");
    assert_eq!(sift.verdict(&problem(ProblemKind::BadJpeg, "cats/1")), Verdict::Problem);
}

#[test]
fn selected_and_ignored_rules_are_before_all_others() {
    let selected = sift(&[ProblemKind::BadJpeg], &[], &[], "2027-01-01");
    assert_eq!(selected.verdict(&problem(ProblemKind::Digest, "a")), Verdict::Dropped);
    assert_eq!(selected.verdict(&problem(ProblemKind::BadJpeg, "a")), Verdict::Problem);
    let ignored = sift(&[], &[ProblemKind::BadJpeg], &[], "2027-01-01");
    assert_eq!(ignored.verdict(&problem(ProblemKind::BadJpeg, "cats/1")), Verdict::Dropped);
    assert_eq!(ignored.accepted(), 0, "it was not looked at");
}

#[test]
fn a_rule_that_is_off_takes_no_place_in_a_bounded_list() {
    let mut problems =
        tarflume_base::Problems::through(Arc::new(sift(&[], &[], &[], "2027-01-01")));
    for _ in 0..tarflume_base::LISTED_MAX + 1 {
        problems.push(Problem::new(ProblemKind::Gap, "a", ""));
    }
    problems.push(problem(ProblemKind::Digest, "a"));
    assert_eq!((problems.listed.len(), problems.unlisted), (1, 0));
}
