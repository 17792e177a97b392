//! Baselines: what was there is known, and what is new is not.

use std::fs;

use super::{labeled, verify};
use crate::harness::{Place, members_of};

/// Changes a byte of the data of the member `at` of a shard.
fn damage(place: &Place, shard: &str, at: usize, with: u8) {
    let path = place.at("shards").join(shard);
    let mut bytes = fs::read(&path).unwrap();
    let member = members_of(&bytes).remove(at);
    bytes[member.at + 5] ^= with;
    fs::write(&path, bytes).unwrap();
    place.renew(&format!("shards/{shard}"));
}

#[test]
fn what_is_in_the_baseline_is_known_and_all_else_fails() {
    let place = labeled();
    damage(&place, "shard-000000.tar", 0, 1);
    let (exit, found) = verify(&place, "shards");
    assert_eq!((exit, found.len()), (1, 2), "a checksum and a digest: {found:?}");
    place.pack("verify --write-baseline known.json shards").succeeds().says("2 known");
    place.pack("verify --baseline known.json shards").succeeds().says("no new problem; 2 known");
    let text = fs::read_to_string(place.at("known.json")).unwrap();
    assert_eq!(text.lines().filter(|line| line.contains("\"path\"")).count(), 2, "{text}");
    assert!(text.contains("\"path\":\"shards/shard-000000.tar\""), "{text}");
    assert!(!text.contains(&place.at("").display().to_string()), "{text}");
    // From another folder, and with an absolute path.
    let whole = place.at("shards").display().to_string();
    place.pack(&format!("verify --baseline known.json {whole}")).succeeds();

    damage(&place, "shard-000001.tar", 0, 1);
    let (_, found) = verify(&place, "--baseline known.json shards");
    assert_eq!(found.len(), 2, "another shard: {found:?}");
    assert!(found.iter().all(|found| found.contains("shard-000001.tar")), "{found:?}");
    damage(&place, "shard-000001.tar", 0, 1);
    place.pack("verify --baseline known.json shards").succeeds();

    // Another damage of the same part has another checksum.
    damage(&place, "shard-000000.tar", 0, 3);
    assert_eq!(verify(&place, "--baseline known.json shards").1.len(), 2);
    damage(&place, "shard-000000.tar", 0, 2);
    let run = place.pack("verify --baseline known.json shards").succeeds();
    run.says("2 problems of the baseline are gone: write it again with --write-baseline");
}

#[test]
fn a_policy_names_the_baseline_and_a_new_one_has_all_again() {
    let place = labeled();
    damage(&place, "shard-000000.tar", 0, 1);
    place.file("pack.toml", "[verify]\nbaseline = \"ci/known.json\"\n");
    fs::create_dir(place.at("ci")).unwrap();
    place.pack("verify shards").exits(2).says("known.json").says("--write-baseline writes one");
    place.pack("verify --write-baseline ci/known.json shards").succeeds();
    let first = fs::read_to_string(place.at("ci/known.json")).unwrap();
    assert!(first.contains("\"../shards") || first.contains("/shards/shard-000000.tar"), "{first}");
    place.pack("verify shards").succeeds().says("2 known");
    place.pack("verify --write-baseline ci/known.json shards").succeeds();
    assert_eq!(fs::read_to_string(place.at("ci/known.json")).unwrap(), first);
}

#[test]
fn a_file_that_is_no_baseline_is_refused_and_not_replaced() {
    let place = labeled();
    place.file("notes.json", "{\"mine\": 1}");
    place.pack("verify --baseline notes.json shards").exits(2).says("this is no baseline");
    place.pack("verify --write-baseline notes.json shards").exits(2);
    assert_eq!(fs::read_to_string(place.at("notes.json")).unwrap(), "{\"mine\": 1}");
    place.pack("verify --baseline none.json shards").exits(2).says("there is no such baseline");
}
