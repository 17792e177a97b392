//! `pack verify`: a published data set is damaged in every known way; what is found, where, and
//! with which exit code. (`false_claims` has tars that are invalid from the start.)

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use tarflume_fixtures::TarBytes;

use crate::harness::{Member, Place, members_of};

/// A published data set `out` of three shards with ten samples each.
fn published() -> Place {
    let place = Place::new();
    place.folder("photos", 30);
    place.pack("build photos -o out --shard-samples 10").succeeds();
    place
}

/// Returns exit code and problems (kind, file, byte, key) of a verification.
fn verify(place: &Place, words: &str) -> (i32, Vec<String>) {
    let run = place.pack(&format!("verify {words} --format json"));
    let report: Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:#?}"));
    assert_eq!(report["whole"], run.exit == 0, "{run:#?}");
    let text = |problem: &Value| {
        let file = PathBuf::from(problem["path"].as_str().unwrap());
        let file = file.file_name().unwrap().to_string_lossy().into_owned();
        let byte = problem["byte"].as_u64().map(|byte| format!("@{byte}")).unwrap_or_default();
        let key = problem["key"].as_str().map(|key| format!(" {key}")).unwrap_or_default();
        format!("{} {file}{byte}{key}", problem["kind"].as_str().unwrap())
    };
    (run.exit, report["problems"].as_array().unwrap().iter().map(text).collect())
}

/// Changes the bytes of a file of the data set.
fn change(place: &Place, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let path = place.at("out").join(name);
    let mut bytes = fs::read(&path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
    if name.ends_with(".tar") {
        place.renew(&format!("out/{name}"));
    }
}

const SHARD: &str = "shard-000001.tar";

/// The fifth member of the second shard.
fn member(place: &Place) -> Member {
    members_of(&fs::read(place.at("out").join(SHARD)).unwrap()).remove(4)
}

/// Damages a data set: exit 1 and these problems, both quickly and by reading every byte.
#[track_caller]
fn found(damage: impl FnOnce(&Place), quick: &[&str], full: &[&str]) {
    let place = published();
    damage(&place);
    let expected = |list: &[&str]| {
        let list: Vec<_> = list.iter().map(|text| text.to_string()).collect();
        (i32::from(!list.is_empty()), list)
    };
    assert_eq!(verify(&place, "out --level quick"), expected(quick), "quick");
    assert_eq!(verify(&place, "out"), expected(full), "full");
}

#[test]
fn a_published_data_set_is_whole_at_every_level() {
    let place = published();
    for words in [
        "out",
        "out --level quick",
        "out --level decode",
        "out --require jpg,json",
        "out/shard-000001.tar",
    ] {
        assert_eq!(verify(&place, words), (0, vec![]), "{words}");
    }
    place.pack("verify out").succeeds().prints("3 shards, 30 samples, 79.9 kB: whole\n", "");
    place.pack("verify out --quiet").succeeds().prints("", "");
    let run = place.pack("verify out --format json").succeeds();
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&report["shards"], &report["samples"]), (&3.into(), &30.into()));
    assert_eq!(report["extensions"], serde_json::json!({"jpg": 30, "json": 30}));
}

#[test]
fn the_name_of_a_sidecar_stands_for_its_tar() {
    let place = published();
    let sidecar = "out/shard-000001.index";
    place.pack(&format!("verify {sidecar}")).succeeds().says("1 shard, 10 samples");
    place.pack(&format!("index {sidecar}")).succeeds().says("shard-000001.tar: kept: 10 samples");
    let rows = place.pack(&format!("ls {sidecar}")).succeeds();
    assert_eq!(rows.stdout, place.pack("ls out/shard-000001.tar").succeeds().stdout);
    fs::remove_file(place.at("out").join(SHARD)).unwrap();
    for command in ["verify", "ls", "index"] {
        place.pack(&format!("{command} {sidecar}")).exits(2).says("whose tar").says("is not there");
    }
}

#[test]
fn an_unverifiable_set_exits_with_2() {
    let place = published();
    place.pack("verify nowhere").exits(2).says("nowhere");
    place.pack("verify photos").exits(2).says("not a data set");
    place.pack("verify").exits(2);
    place.pack("verify out --level deep").exits(2);
}

#[test]
fn a_flipped_bit_is_found_in_data_in_a_header_and_in_padding() {
    found(
        |place| change(place, SHARD, |tar| tar[member(place).at + 3] ^= 1),
        &[],
        &["checksum shard-000001.tar@5632 c0001/s000007", "digest shard-000001.tar"],
    );
    found(
        |place| change(place, SHARD, |tar| tar[member(place).header + 3] ^= 1),
        &["bad-header shard-000001.tar@5120 c0001/s000007"],
        &["bad-header shard-000001.tar@5120 c0001/s000007", "digest shard-000001.tar"],
    );
    found(
        |place| {
            let Member { at, data, .. } = member(place);
            change(place, SHARD, |tar| tar[at + data.len() + 2] ^= 1);
        },
        &[],
        &["digest shard-000001.tar"],
    );
}

#[test]
fn a_cut_is_found_even_between_two_members() {
    found(
        |place| change(place, SHARD, |tar| tar.truncate(member(place).header)),
        &["truncated shard-000001.tar@5120"],
        &["truncated shard-000001.tar@5120 c0001/s000007"],
    );
    found(
        |place| change(place, SHARD, |tar| tar.truncate(tar.len() - 1024)),
        &["truncated shard-000001.tar@25600"],
        &["truncated shard-000001.tar@25600"],
    );
    found(
        |place| change(place, SHARD, |tar| tar.truncate(tar.len() - 512)),
        &["truncated shard-000001.tar@26112"],
        &["truncated shard-000001.tar@25600"],
    );
    found(
        |place| change(place, SHARD, Vec::clear),
        &["truncated shard-000001.tar@0"],
        &["truncated shard-000001.tar@0 c0001/s000001"],
    );
}

#[test]
fn appended_bytes_are_found() {
    found(
        |place| change(place, SHARD, |tar| tar.push(b'x')),
        &["stale-index shard-000001.index"],
        &[
            "gap shard-000001.tar@26624",
            "stale-index shard-000001.index",
            "stale-manifest shard-000001.tar",
        ],
    );
    found(
        |place| change(place, SHARD, |tar| tar.extend_from_slice(&[0; 512])),
        &["stale-index shard-000001.index"],
        &["stale-index shard-000001.index", "stale-manifest shard-000001.tar"],
    );
}

#[test]
fn exchanged_shards_are_found() {
    let place = published();
    let shards = ["shard-000000.tar", SHARD].map(|name| place.at("out").join(name));
    fs::rename(&shards[0], place.at("kept")).unwrap();
    fs::rename(&shards[1], &shards[0]).unwrap();
    fs::rename(place.at("kept"), &shards[1]).unwrap();
    for words in ["out --level quick", "out"] {
        let (exit, problems) = verify(&place, words);
        assert_eq!(exit, 1);
        for shard in ["shard-000000", "shard-000001"] {
            let stale = format!("stale-index {shard}.index@0 ");
            assert!(problems.iter().any(|p| p.starts_with(&stale)), "{words}: {problems:#?}");
        }
    }
}

#[test]
fn a_damaged_truncated_missing_or_foreign_sidecar_is_found() {
    let sidecar = "shard-000001.index";
    let flip = |index: &mut Vec<u8>| {
        let middle = index.len() / 2;
        index[middle] ^= 1;
    };
    let damaged = |place: &Place, change_it: &dyn Fn(&mut Vec<u8>)| {
        change(place, sidecar, change_it);
        for words in ["out --level quick", "out"] {
            let (exit, problems) = verify(place, words);
            assert_eq!((exit, problems.len()), (1, 1), "{problems:?}");
            assert!(problems[0].starts_with("damaged-index shard-000001.index"), "{problems:?}");
        }
    };
    damaged(&published(), &flip);
    damaged(&published(), &|index| index.truncate(index.len() / 2));
    damaged(&published(), &|index| index.truncate(0));
    damaged(&published(), &|index| index.push(0));
    let missing: &[&str] = &["missing-index shard-000001.index"];
    found(|place| fs::remove_file(place.at("out").join(sidecar)).unwrap(), missing, missing);
    let place = published();
    fs::copy(place.at("out/shard-000000.index"), place.at("out").join(sidecar)).unwrap();
    for words in ["out --level quick", "out"] {
        let (exit, problems) = verify(&place, words);
        assert!(exit == 1 && problems.iter().any(|p| p.starts_with("stale-index")), "{problems:?}");
    }
}

#[test]
fn every_command_rejects_a_stale_sidecar() {
    let place = published();
    fs::copy(place.at("out/shard-000000.index"), place.at("out/shard-000001.index")).unwrap();
    // The tar of another pack has another length.
    place.pack("build photos -o other --shard-samples 9").succeeds();
    fs::copy(place.at("other/shard-000001.tar"), place.at("out/shard-000001.tar")).unwrap();
    for words in ["ls out", "info out", "cat out c0001/s000001.jpg", "unpack out -o back"] {
        let run = place.pack(words);
        assert!(run.exit == 65, "{run:#?}");
    }
}

#[test]
fn a_damaged_missing_or_foreign_manifest_is_found() {
    let damaged: &[&str] = &["damaged-manifest dataset.json"];
    found(
        |place| change(place, "dataset.json", |json| json.truncate(json.len() / 2)),
        damaged,
        damaged,
    );
    let missing: &[&str] = &["missing-shard dataset.json"];
    found(|place| fs::remove_file(place.at("out/dataset.json")).unwrap(), missing, missing);
    let stale: &[&str] = &["stale-manifest shard-000002.tar"];
    found(
        |place| {
            place.pack("build photos -o other --shard-samples 10 --limit 29").succeeds();
            fs::copy(place.at("other/dataset.json"), place.at("out/dataset.json")).unwrap();
        },
        stale,
        stale,
    );
}

#[test]
fn a_shard_too_few_or_too_many_is_found() {
    let missing: &[&str] = &["missing-shard shard-000001.tar"];
    found(|place| fs::remove_file(place.at("out").join(SHARD)).unwrap(), missing, missing);
    let place = published();
    fs::copy(place.at("out").join(SHARD), place.at("out/extra.tar")).unwrap();
    let (exit, problems) = verify(&place, "out");
    assert_eq!((exit, problems[0].as_str()), (1, "stale-manifest extra.tar"));
    let repeated = problems.iter().filter(|p| p.starts_with("repeated-key extra.tar@")).count();
    assert_eq!(repeated, 10, "each key of the copy stands in another shard too: {problems:#?}");
}

#[test]
fn after_one_problem_all_others_are_found() {
    let place = published();
    change(&place, "shard-000000.tar", |tar| tar[512] ^= 1);
    let at = member(&place).at;
    change(&place, SHARD, |tar| tar[at] ^= 1);
    fs::remove_file(place.at("out/shard-000002.index")).unwrap();
    let (exit, problems) = verify(&place, "out");
    let expected = [
        "checksum shard-000000.tar@512 c0000/s000000",
        "digest shard-000000.tar",
        "checksum shard-000001.tar@5632 c0001/s000007",
        "digest shard-000001.tar",
        "missing-index shard-000002.index",
    ];
    assert_eq!((exit, problems), (1, expected.map(str::to_string).to_vec()));
    let run = place.pack("verify out").exits(1);
    run.says("checksum: out/shard-000000.tar: byte 512: key c0000/s000000: ");
}

#[test]
fn decoding_proves_images_that_were_packed_unchecked() {
    let place = Place::new();
    place
        .folder("photos", 6)
        .file("photos/c0001/s000001.jpg", "no picture")
        .file("photos/c0001/s000004.json", "[");
    place.pack("build photos -o out --check none").succeeds();
    assert_eq!(verify(&place, "out"), (0, vec![]), "the shard is whole as a shard");
    let (exit, problems) = verify(&place, "out --level decode");
    let starts = ["bad-jpeg shard-000000.tar@", "bad-json shard-000000.tar@"];
    assert_eq!((exit, problems.len()), (1, 2), "{problems:?}");
    assert!(problems.iter().zip(starts).all(|(p, start)| p.starts_with(start)), "{problems:?}");
}

#[test]
fn a_sample_that_lacks_a_part_is_found() {
    let place = Place::new();
    place.folder("photos", 30).file("photos/lonely.jpg", tarflume_fixtures::flat_jpeg(b"x"));
    place.pack("build photos -o out --require jpg").succeeds();
    assert_eq!(verify(&place, "out --require ''"), (0, vec![]));
    let missing = (1, vec!["missing-part shard-000000.tar@76800 lonely".to_string()]);
    assert_eq!(verify(&place, "out --require jpg,json"), missing);
    // Packing did not require it, so it is a warning.
    assert_eq!(verify(&place, "out"), (0, vec![]));
    let run = place.pack("verify out").succeeds();
    run.says("warning: missing-part: out/shard-000000.tar: byte 76800: key lonely: ")
        .says("no part 'json'; the rest of the 31 samples have it. --require json")
        .says("whole; 1 warning");
    let json = place.pack("verify out --format json").succeeds();
    let report: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(report["warnings"][0]["kind"], "missing-part");
    assert_eq!(report["counts"], serde_json::json!({}));
    place
        .pack("verify out --format github")
        .succeeds()
        .says("::warning file=out/shard-000000.tar,");
    place.pack("verify out --level quick").succeeds();
}

/// Lookups in a sample are made once per part, not once per pair of parts: with 40,000 of them a
/// search for each would exceed the harness's time limit.
#[test]
fn a_sample_of_very_many_parts_is_listed_and_verified() {
    let place = Place::new();
    let mut tar = TarBytes::new();
    for part in 0..40_000 {
        tar.member(format!("s.p{part:05}").as_bytes(), b"x");
    }
    tar.member(b"t.p00000", b"x").member(b"s.more", b"x");
    place.file("many.tar", tar.ended());
    place.pack("verify many.tar").exits(1).says("split-sample");
    place.pack("index many.tar").succeeds().says("1 sample comes back after another one");
    place.pack("verify many.tar").exits(1).says("split-sample");
    assert_eq!(place.pack("ls many.tar").succeeds().stdout.lines().count(), 3);
}
