//! JPEGs that break rules of their format without losing a pixel: every command packs and passes them, counts them, and
//! names the first. They are no problem.

use serde_json::Value;
use tarflume_fixtures::{Photo, PhotoKind};

use crate::harness::{JSON, Place, Run};

const TWO: &str = "notice: 2 JPEGs break rules of their format without losing a pixel";

fn jpeg(seed: u64) -> Vec<u8> {
    Photo::new(64, 48, PhotoKind::Yuv420).encode(seed).unwrap()
}

/// A JPEG with two bytes behind its first marker that belong to nothing.
fn stray(seed: u64) -> Vec<u8> {
    let mut bytes = jpeg(seed);
    bytes.splice(2..2, *b"\x55\x55");
    bytes
}

/// Folders of four pairs, of which b and d are irregular: one has stray bytes, one lacks its end.
fn place() -> Place {
    let place = Place::new();
    let mut cut = jpeg(4);
    cut.truncate(cut.len() - 2);
    for (key, bytes) in [("a", jpeg(1)), ("b", stray(2)), ("c", jpeg(3)), ("d", cut)] {
        place.file(format!("photos/{key}.jpg"), bytes).file(format!("photos/{key}.json"), JSON);
    }
    place
}

/// The irregular JPEGs of a result in JSON.
fn counted(run: &Run) -> Value {
    let value: Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:#?}"));
    value["irregular_jpegs"].clone()
}

#[test]
fn a_build_counts_them_and_names_the_first() {
    let place = place();
    let run = place.pack("build photos -o out").succeeds().says(TWO);
    run.says("the first is PLACE/photos/b.jpg: byte 2: key b: ").says("4 samples");
    let found = counted(&place.pack("build photos -o json --format json").succeeds());
    assert_eq!(found["count"], 2, "{found}");
    assert_eq!((&found["first"]["key"], &found["first"]["byte"]), (&"b".into(), &2.into()));
    let quiet = place.pack("build photos -o quiet --quiet").succeeds();
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    // A large file is read alone, one of another name by its content.
    place.file("others/x.png", stray(5)).file("others/x.json", JSON);
    let one = "1 JPEG breaks rules";
    place.pack("build others -o others-out").succeeds().says(one).says("key x");
    let without = place.pack("build photos -o plain --no-entry-points --check decode");
    without.succeeds().says(TWO);
}

#[test]
fn shards_that_were_finished_before_count_again() {
    let place = place();
    place.pack("plan photos -o out").succeeds();
    for _ in 0..2 {
        place.pack("run out").succeeds().says(TWO);
    }
    place.pack("finalize out").succeeds();
}

#[test]
fn samples_that_are_left_out_do_not_count() {
    let place = place();
    place.file("photos/b.json", "{").file("photos/d.json", "[");
    let run = place.pack("build photos -o out --on-problem skip").succeeds();
    assert!(!(run.stdout + &run.stderr).contains("rules of their format"));
}

#[test]
fn reshard_append_verify_and_index_count_them_too() {
    let place = place();
    place.pack("build photos -o out").succeeds();
    let run = place.pack("reshard out -o again").succeeds().says(TWO);
    run.says("the first is PLACE/out/shard-000000.tar: byte ").says("key b: ");
    place.file("more/e.jpg", stray(6)).file("more/e.json", JSON);
    place.pack("append more -o again").succeeds().says("1 JPEG breaks rules").says("key e");
    let three = "note: 3 JPEGs break rules of their format";
    place.pack("verify --level decode again").succeeds().says(three).says("key b: ").says("whole");
    let found = counted(&place.pack("verify --level decode --format json again").succeeds());
    assert_eq!((&found["count"], &found["first"]["key"]), (&3.into(), &"b".into()));
    let full = place.pack("verify again").succeeds();
    assert!(!full.stdout.contains("rules of their format"), "level full reads no code: {full:#?}");
    place.pack("index --force --entry-points out").succeeds().says("2 JPEGs break rules");
}
