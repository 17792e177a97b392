//! Entry points of JPEGs: which commands write and add them, which damage that reveals, and how
//! `verify` detects wrong ones.

use std::fs;

use serde_json::Value;
use tarflume_fixtures::{Folder, Photo, PhotoKind};
use tarflume_formats::index_path;

use crate::harness::{JSON, Place, crc32c, entry_points, members_of, section, sum_again, tool};

const SHARD: &str = "shard-000000.tar";

/// A folder of pairs of all kinds and sizes.
fn mixed() -> Place {
    let place = Place::new();
    Folder::new(7).pairs(28).mixed_kinds().write(&place.at("photos")).unwrap();
    place
}

fn photo(seed: u64) -> Vec<u8> {
    Photo::new(320, 240, PhotoKind::Yuv420).encode(seed).unwrap()
}

/// A photograph whose structure is intact, but not its codes.
fn damaged() -> Vec<u8> {
    let mut bytes = photo(7);
    let middle = bytes.len() / 2;
    let end = bytes.len() - 2;
    bytes.drain(middle..end);
    bytes
}

fn info(place: &Place, set: &str) -> Value {
    let run = place.pack(&format!("info --format json {set}")).succeeds();
    serde_json::from_str(&run.stdout).unwrap()
}

fn sidecar(place: &Place, tar: &str) -> Vec<u8> {
    fs::read(index_path(place.at(tar))).unwrap()
}

/// The bytes of both sections.
fn sections(place: &Place, tar: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let bytes = sidecar(place, tar);
    let of = |name| section(&bytes, name).map(|at| bytes[at].to_vec());
    of("jpgs").zip(of("jpgb"))
}

/// Returns kinds, bytes and keys of the problems that a verification finds.
fn verify(place: &Place, words: &str) -> Vec<(String, u64, String)> {
    let run = place.pack(&format!("verify --format json {words}"));
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["whole"], run.exit == 0, "{run:#?}");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let problem = |p: &Value| (text(&p["kind"]), p["byte"].as_u64().unwrap(), text(&p["key"]));
    report["problems"].as_array().unwrap().iter().map(problem).collect()
}

#[test]
fn a_build_writes_entry_points_and_the_tar_does_not_depend_on_them() {
    let place = mixed();
    place.pack("build photos -o with --shards 2").succeeds();
    place.pack("build photos -o without --shards 2 --no-entry-points").succeeds();
    place.pack("build photos -o unchecked --shards 2 --check none").succeeds();
    for name in [SHARD, "shard-000001.tar"] {
        assert_eq!(place.tree("with")[name], place.tree("without")[name], "{name}");
        let index = name.replace(".tar", ".index");
        assert_eq!(place.tree("without")[&index], place.tree("unchecked")[&index]);
        assert!(sections(&place, &format!("with/{name}")).is_some());
        assert!(sections(&place, &format!("without/{name}")).is_none());
    }
    // Of the fourteen kinds, the progressive one and that of four components have none.
    assert_eq!(info(&place, "with")["entry_points"]["parts"], 24);
    assert_eq!(info(&place, "without").get("entry_points"), None);
    assert_eq!(place.manifest("with")["plan"], place.manifest("without")["plan"]);
    for set in ["with", "without"] {
        for level in ["quick", "full", "decode"] {
            assert_eq!(verify(&place, &format!("{set} --level {level}")), [], "{set} {level}");
        }
    }
}

#[test]
fn each_blob_names_the_bytes_that_it_belongs_to() {
    let place = Place::new();
    place.photos("photos", 12).pack("build photos -o out").succeeds();
    let tar = members_of(&fs::read(place.at("out").join(SHARD)).unwrap());
    let sidecar = sidecar(&place, &format!("out/{SHARD}"));
    let points = entry_points(&sidecar);
    assert_eq!(points.len(), tar.len());
    for (member, points) in tar.iter().zip(points) {
        let blob = &sidecar[points];
        assert_eq!(blob.is_empty(), member.name.ends_with(".json"), "{}", member.name);
        if let [_, _, _, _, _, _, _, _, length, more, _, _, a, b, c, d, ..] = *blob {
            assert_eq!(usize::from(length) + 256 * usize::from(more), member.data.len());
            assert_eq!(u32::from_le_bytes([a, b, c, d]), crc32c(&member.data));
        }
    }
}

#[test]
fn the_plan_fixes_the_options_of_all_machines_and_resumes() {
    let place = Place::new();
    place.photos("photos", 40).pack("build photos -o with --shards 4").succeeds();
    place.pack("build photos -o without --shards 4 --no-entry-points").succeeds();
    for (choice, other, same) in
        [("", " --no-entry-points", "with"), (" --no-entry-points", "", "without")]
    {
        let plan = format!("photos -o out{} --shards 4", same);
        place.pack(&format!("plan {plan}{choice}")).succeeds();
        place.pack(&format!("run out{same} --shards 1..3")).succeeds();
        let refused = place.pack(&format!("build {plan}{other}")).exits(2);
        refused.says("--no-entry-points was ").says("--fresh").says("2 of 4 shards");
        place.pack(&format!("run out{same} --rank 0 --of 2")).succeeds();
        place.pack(&format!("build {plan}{choice}")).succeeds();
        place.same(&format!("out{same}"), same);
    }
}

#[test]
fn a_data_set_without_entry_points_is_reported_with_the_command_that_adds_them() {
    let place = Place::new();
    place.photos("photos", 5).pack("build photos -o out --no-entry-points").succeeds();
    let again = place.pack("build photos -o out").succeeds();
    again.says("published already").says("pack index --entry-points out");
    place.pack("index --entry-points out").succeeds();
    let again = place.pack("build photos -o out").succeeds();
    assert!(!again.stderr.contains("entry points"), "{again:#?}");
    let none = place.pack("build photos -o out --no-entry-points").succeeds();
    none.says("published already");
}

#[test]
fn reading_every_code_finds_damage_that_no_marker_shows() {
    let place = Place::new();
    place.photos("photos", 8);
    place.file("photos/bad.jpg", damaged()).file("photos/bad.json", JSON);
    for options in ["", "--check decode", "--no-entry-points --check decode"] {
        let run = place.pack(&format!("build photos -o fail {options} --fresh")).exits(1);
        run.says("bad-jpeg: PLACE/photos/bad.jpg: byte ").says("in MCU row ");
        let found = &place.problems("fail")[0];
        let byte = found["byte"].as_u64().unwrap() as usize;
        assert!(byte.abs_diff(photo(7).len() / 2) < 16, "{options}: {found}");
        assert_eq!(found["key"], "bad");
    }
    place.pack("build photos -o skip --on-problem skip").succeeds().says("bad-jpeg 1");
    assert_eq!(place.manifest("skip")["samples"], 8);
    place.pack("build photos -o aside --on-problem quarantine").succeeds();
    assert!(place.at("aside/quarantine/bad.jpg").exists());
    for options in ["--no-entry-points", "--check none"] {
        place.pack(&format!("build photos -o out {options}")).succeeds();
        let [(kind, _, key)] = &verify(&place, "out --level decode")[..] else { panic!() };
        assert_eq!((kind.as_str(), key.as_str()), ("bad-jpeg", "bad"));
        fs::remove_dir_all(place.at("out")).unwrap();
    }
}

#[test]
fn problems_are_in_the_order_of_the_plan_for_any_grouping_of_reads() {
    let place = Place::new();
    place.photos("photos", 6);
    for (name, jpeg, json) in [
        ("a", photo(1), "no JSON"),
        ("b", damaged(), "{}"),
        ("c", b"no JPEG".to_vec(), "{}"),
        ("d", damaged(), "neither"),
        ("e", photo(2), "no JSON"),
    ] {
        place.file(format!("photos/{name}.jpg"), jpeg).file(format!("photos/{name}.json"), json);
    }
    for jobs in [1, 3] {
        let out = format!("out{jobs}");
        place.pack(&format!("build photos -o {out} --on-problem skip --jobs {jobs}")).succeeds();
        let found: Vec<_> = place.problems(&out).iter().map(|p| p["kind"].to_string()).collect();
        let kinds = ["bad-json", "bad-jpeg", "bad-jpeg", "bad-jpeg", "bad-json", "bad-json"];
        assert_eq!(found, kinds.map(|kind| format!("\"{kind}\"")));
    }
    place.same("out1", "out3");
}

#[test]
fn large_photographs_are_read_separately_and_get_entry_points() {
    let place = Place::new();
    let mut large = photo(3);
    // A comment segment of maximal length, again and again, before all the rest.
    let comment = [&[0xff, 0xfe, 0xff, 0xff][..], &[7; 65_533]].concat();
    large.splice(2..2, comment.repeat(140));
    assert!(large.len() > 8 << 20);
    place.file("photos/b.jpg", &large).file("photos/b.json", JSON);
    for (name, seed) in [("a", 1), ("c", 2)] {
        place.file(format!("photos/{name}.jpg"), photo(seed));
        place.file(format!("photos/{name}.json"), JSON);
    }
    place.pack("build photos -o out").succeeds();
    assert_eq!(info(&place, "out")["entry_points"]["parts"], 3);
    assert_eq!(verify(&place, "out --level decode"), []);
    let packed = sections(&place, &format!("out/{SHARD}"));
    place.pack("index --entry-points --force out").succeeds();
    assert_eq!(sections(&place, &format!("out/{SHARD}")), packed);
}

#[test]
fn tars_of_gnu_tar_get_what_packing_would_have_given_them() {
    let place = mixed();
    place.pack("build photos -o out").succeeds();
    fs::create_dir_all(place.at("set")).unwrap();
    let words = ["--format=gnu", "--sort=name", "-cf", "set/foreign.tar", "-C", "photos", "."];
    tool(&place, "tar", &words).succeeds();
    place.pack("index set").succeeds();
    assert!(sections(&place, "set/foreign.tar").is_none(), "not unless they are asked for");
    place.pack("index --entry-points set").succeeds().says("entry points of 24 JPEGs");
    assert_eq!(sections(&place, "set/foreign.tar"), sections(&place, &format!("out/{SHARD}")));
    assert_eq!(verify(&place, "set --level decode"), []);
    place.pack("index --entry-points set").succeeds().says("kept: 28 samples");
    place
        .pack("index --force set")
        .succeeds()
        .says("the sidecar that is replaced had entry points");
    assert!(sections(&place, "set/foreign.tar").is_none());
    place.pack("index --entry-points --headers set").exits(2);
}

#[test]
fn entry_points_added_later_equal_those_of_a_build_byte_for_byte() {
    let place = mixed();
    place.pack("build photos -o with --shards 3").succeeds();
    place.pack("build photos -o out --shards 3 --no-entry-points").succeeds();
    // One shard was finished before the kill.
    place.pack("index --entry-points out/shard-000001.tar").succeeds();
    place.pack("index --entry-points out").succeeds();
    place.same("out", "with");
    fs::remove_file(place.at("out/shard-000001.tar")).unwrap();
    fs::copy(place.at("out").join(SHARD), place.at("out/shard-000001.tar")).unwrap();
    place.pack("index --entry-points out").exits(65).says("--force");
}

#[test]
fn index_reports_damaged_jpegs_and_continues_with_the_others() {
    let place = Place::new();
    place.photos("photos", 3);
    for name in ["bad", "worse"] {
        place.file(format!("photos/{name}.json"), JSON);
    }
    place.file("photos/bad.jpg", damaged()).file("photos/worse.jpg", "no JPEG");
    place.pack("build photos -o out --check none").succeeds();
    let run = place.pack("index --entry-points out").succeeds();
    let run = run.says("entry points of 3 JPEGs").says("it gets no entry points");
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{run:#?}");
    assert!(lines[0].starts_with("warning: bad-jpeg: out/shard-000000.tar: byte "), "{lines:?}");
    assert!(lines[0].contains(": key bad: ") && lines[1].contains(": key worse: "), "{lines:?}");
    let found = verify(&place, "out --level decode");
    let bytes: Vec<_> = found.iter().map(|(_, byte, _)| format!("byte {byte}:")).collect();
    assert!(lines.iter().zip(bytes).all(|(line, byte)| line.contains(&byte)), "{found:?}");
}

/// A data set of three pictures of the same length, after its sidecar was changed and its checksums
/// corrected.
fn forge(change: impl FnOnce(&mut Vec<u8>)) -> Place {
    let place = Place::new();
    place.pair("photos/a").pair("photos/b").pair("photos/c");
    place.pack("build photos -o out").succeeds();
    let path = index_path(place.at(format!("out/{SHARD}")));
    let mut bytes = fs::read(&path).unwrap();
    change(&mut bytes);
    sum_again(&mut bytes);
    fs::write(path, bytes).unwrap();
    // The manifest would reveal it; a single tar has none.
    fs::remove_file(place.at("out/dataset.json")).unwrap();
    place
}

#[track_caller]
fn found(place: &Place, level: &str, keys: &[&str]) {
    let members = members_of(&fs::read(place.at("out").join(SHARD)).unwrap());
    let at = |key: &str| members.iter().find(|m| m.name == format!("{key}.jpg")).unwrap().at;
    let expected: Vec<_> = keys
        .iter()
        .map(|key| ("bad-entry-points".to_string(), at(key) as u64, key.to_string()))
        .collect();
    assert_eq!(verify(place, &format!("out/{SHARD} --level {level}")), expected, "{level}");
}

#[test]
fn exchanged_blobs_are_noticed_at_every_level() {
    let place = forge(|sidecar| {
        let points = entry_points(sidecar);
        let a = points[0].clone();
        let b = points[2].clone();
        let blob = sidecar[a.clone()].to_vec();
        sidecar.copy_within(b.clone(), a.start);
        sidecar[b].copy_from_slice(&blob);
    });
    for level in ["quick", "full", "decode"] {
        found(&place, level, &["a", "b"]);
    }
    let run = place.pack(&format!("verify out/{SHARD}")).exits(1);
    let run = run.says("out/shard-000000.tar: byte 512: key a: ").says("another JPEG");
    run.says("index the shard again with `pack index --entry-points");
    place.pack(&format!("index --entry-points --force out/{SHARD}")).succeeds();
    found(&place, "decode", &[]);
}

#[test]
fn invalid_blobs_are_found_at_every_level() {
    let place = forge(|sidecar| {
        let at = entry_points(sidecar)[4].clone();
        sidecar[at.start + 20] ^= 1;
    });
    for level in ["quick", "full", "decode"] {
        found(&place, level, &["c"]);
    }
}

#[test]
fn a_blob_that_leads_to_wrong_places_is_noticed_by_decoding() {
    let place = forge(|sidecar| {
        let at = entry_points(sidecar)[2].clone();
        let blob = &mut sidecar[at];
        // The first entropy-coded byte, with the blob's own checksum put right.
        blob[20] ^= 1;
        blob[16..20].fill(0);
        let sum = crc32c(blob).to_le_bytes();
        blob[16..20].copy_from_slice(&sum);
    });
    for level in ["quick", "full"] {
        found(&place, level, &[]);
    }
    found(&place, "decode", &["b"]);
}

#[test]
fn entry_points_of_a_part_that_is_no_jpeg_are_found() {
    let place = forge(|sidecar| {
        // The starts: what was the first picture's becomes the JSON's beside it.
        let at = section(sidecar, "jpgs").unwrap().start;
        sidecar.copy_within(at..at + 4, at + 4);
    });
    let found = verify(&place, &format!("out/{SHARD}"));
    let [(kind, _, key)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((kind.as_str(), key.as_str()), ("bad-entry-points", "a"));
}

#[test]
fn info_and_ls_show_them() {
    let place = Place::new();
    place.photos("photos", 4).pack("build photos -o out").succeeds();
    place.pack("info out").succeeds().says("JPEG entry points: 4 parts");
    let listed = place.pack("ls --format json out").succeeds().events();
    let bytes: u64 = listed.iter().map(|s| s["parts"][0]["entry_points"].as_u64().unwrap()).sum();
    assert_eq!(info(&place, "out")["entry_points"]["bytes"], bytes);
}
