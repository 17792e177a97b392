//! Levels of rules, chosen rules, and accepted problems.

use super::{finds, labeled, verify};

/// A data set with two problems of a policy: the widths of 00 and 01.
const NARROW: &str = "[fields.\"/width\"]\nmin = 100\n";

#[test]
fn levels_make_problems_warnings_and_warnings_problems() {
    let place = labeled();
    finds(&place, &format!("{NARROW}[rules]\npolicy-field = \"off\"\n"), &[]);
    place.file("pack.toml", format!("{NARROW}[rules]\npolicy-field = \"warning\"\n"));
    place.pack("verify shards").succeeds().says("warning: policy-field").says("; 2 warnings");
    place.pack("index --headers --force shards").succeeds();
    place.file("pack.toml", "");
    place.pack("verify shards").succeeds().says("warning: no-checksum");
    place.file("pack.toml", "[rules]\nno-checksum = \"error\"\n");
    place.pack("verify shards").exits(1).says("no-checksum: shards/shard-000000.tar");
    place.file("pack.toml", "checksums = \"required\"\n");
    place.pack("verify shards").exits(1);
}

#[test]
fn rules_are_chosen_for_one_run() {
    let place = labeled();
    place.file("pack.toml", format!("{NARROW}[total]\nsamples = 9\n"));
    assert_eq!(verify(&place, "shards").1.len(), 3);
    assert_eq!(verify(&place, "--ignore policy-total shards").1.len(), 2);
    assert_eq!(verify(&place, "--select policy-total shards").1.len(), 1);
    assert_eq!(verify(&place, "--select digest,checksum shards").0, 0);
    let run = place.pack("verify --select policy-totl shards").exits(2);
    run.says("there is no rule 'policy-totl'; did you mean 'policy-total'?");
}

/// A policy that accepts the narrow pictures with these keys.
fn accept(keys: &str, until: &str) -> String {
    format!(
        "{NARROW}[[accept]]\nrule = \"policy-field\"\nkeys = [{keys}]\npath = \"shards/*.tar\"\n\
         reason = \"old cameras\"\nuntil = {until}\n"
    )
}

#[test]
fn an_accepted_problem_is_counted_until_its_day() {
    let place = labeled();
    place.file("pack.toml", accept("\"00\", \"01\"", "2999-01-01"));
    place.pack("verify shards").succeeds().says("no new problem; 2 accepted");
    finds(&place, &accept("\"00\"", "2999-01-01"), &["policy-field shards/shard-000000.tar 01"]);
    finds(
        &place,
        &accept("\"00\", \"01\"", "2020-01-01"),
        &[
            "policy-field shards/shard-000000.tar 00",
            "policy-field shards/shard-000000.tar 01",
            "policy-acceptance pack.toml: pack.toml:3: accept: 'policy-field' was accepted until 2020-01-01 (old cameras)",
        ],
    );
    place.file("pack.toml", accept("\"07\"", "2999-01-01"));
    let run = place.pack("verify shards").exits(1);
    run.says("warning: policy-acceptance: pack.toml: pack.toml:3: accept: no problem of 'policy-field' matches it");
    let run = place.pack("verify --select digest shards").succeeds();
    assert!(!run.stdout.contains("matches it") && !run.stderr.contains("matches it"), "{run:#?}");
}

#[test]
fn options_come_before_the_policy_which_is_found_above_or_named() {
    let place = labeled();
    place.file(
        "pack.toml",
        "[verify]\nlevel = \"quick\"\nrequire = [\"txt\"]\n[total]\nsamples = 9\n",
    );
    assert_eq!(verify(&place, "shards").1.len(), 13, "12 parts and a total");
    assert_eq!(verify(&place, "--require jpg shards").1.len(), 1);
    assert_eq!(verify(&place, "--no-policy shards").1.len(), 0);
    place.file("other.toml", "[total]\nsamples = 12\n");
    place
        .pack("verify --policy other.toml shards")
        .succeeds()
        .says("the rules are those of other.toml");
    place.file("shards/pack.toml", "[total]\nsamples = 1\n");
    std::fs::remove_file(place.at("pack.toml")).unwrap();
    let run = place.pack("verify shards").succeeds();
    assert!(!run.stdout.contains("pack.toml"), "the data do not bring their policy: {run:#?}");
    place
        .pack("verify --policy none.toml shards")
        .exits(2)
        .says("--policy none.toml: there is no such file");
}

#[test]
fn a_fault_of_the_policy_names_its_line_before_the_data_are_read() {
    let place = labeled();
    place.file("pack.toml", "[verify]\nlevel = \"thorough\"\n");
    place
        .pack("verify shards")
        .exits(2)
        .says("pack.toml:2:1: verify.level: 'thorough' is not known");
    place.file("pack.toml", "[rules]\nbad-jpg = \"off\"\n");
    place
        .pack("verify shards")
        .exits(2)
        .says("pack.toml:2:1: rules.bad-jpg: there is no rule 'bad-jpg'; did you mean 'bad-jpeg'?");
}
