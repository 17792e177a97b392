//! `--exclude @FILE`: a list of keys whose samples `build` and `plan` leave out.

use std::fs;

use tarflume::{Image, Loader, OnBad, RandomResizedCrop};
use tarflume_fixtures::Fault;

use crate::harness::Place;

/// Returns the keys of the data set in `name`, in order.
fn keys(place: &Place, name: &str) -> Vec<String> {
    let members = place.members(name).into_iter();
    let mut keys: Vec<_> =
        members.map(|member| member.split('.').next().unwrap().to_string()).collect();
    keys.dedup();
    keys
}

#[test]
fn listed_samples_are_left_out_as_if_they_were_not_there() {
    let place = Place::new();
    for key in ["a", "b/c", "b/d", "e"] {
        place.pair(&format!("photos/{key}"));
    }
    place.file("list", "b/c\n\ne\r\n");
    place
        .pack("build photos -o out --exclude @list")
        .succeeds()
        .prints("out: published 2 samples, 1 shard, 5.1 kB\n", "2 samples in 1 shard\n");
    assert_eq!(keys(&place, "out"), ["a", "b/d"]);
    fs::remove_dir_all(place.at("photos/b")).unwrap();
    place.pair("photos/b/d");
    fs::remove_file(place.at("photos/e.jpg")).unwrap();
    fs::remove_file(place.at("photos/e.json")).unwrap();
    place.pack("build photos -o less").succeeds();
    assert_eq!(place.tree("out")["shard-000000.tar"], place.tree("less")["shard-000000.tar"]);
}

#[test]
fn globs_and_lists_can_be_combined() {
    let place = Place::new();
    for key in ["a", "b", "raw/c", "d"] {
        place.pair(&format!("photos/{key}"));
    }
    place.file("one", "a").file("two", r#"{"key":"d","reason":"blurred"}"#);
    let words = "--exclude raw --exclude @one --exclude @two";
    place.pack(&format!("plan photos -o out {words}")).succeeds();
    place.pack("run out").succeeds();
    place.pack("finalize out").succeeds();
    assert_eq!(keys(&place, "out"), ["b"]);
}

#[test]
fn unknown_keys_are_reported_and_no_fault() {
    let place = Place::new();
    place.pair("photos/a").pair("photos/b").file("list", "zebra\nb\nyak\n");
    let message =
        "notice: 2 keys are in the exclude list but in no source folder, the first is 'zebra'\n";
    let run = place.pack("build photos -o out --exclude @list").succeeds().says(message);
    assert!(run.stderr.starts_with(message), "{run:#?}");
    assert_eq!(place.names("out").len(), 3, "no problems.jsonl");
    place.pack("build photos -o dry --exclude @list --dry-run").succeeds().says(message);
    place.pack("plan photos -o planned --exclude @list").succeeds().says(message);
    place.pack("build photos -o quiet --exclude @list -q").succeeds().prints("", "");
    let run = place.pack("build photos -o json --exclude @list --format json").succeeds();
    assert!(run.stderr.contains(r#"{"event":"absent-keys","first":"zebra","keys":2}"#), "{run:#?}");
}

#[test]
fn the_plan_has_the_list_and_not_its_path() {
    let place = Place::new();
    place.folder("photos", 6).file("list", "c0000/s000000\nc0001/s000001\n");
    place.pack("build photos -o out --exclude @list").succeeds();
    place.file("elsewhere/moved", "c0001/s000001\nc0000/s000000\nc0000/s000000\n");
    place
        .pack("build photos -o out --exclude @elsewhere/moved")
        .succeeds()
        .says("published already: 4 samples");
    place.file("list", "c0000/s000000\n");
    place.pack("build photos -o out --exclude @list").exits(2).says("other options");
    place.pack("plan photos -o planned").succeeds();
    place.pack("plan photos -o planned --exclude @list").exits(2).says("--exclude was");
}

#[test]
fn keys_are_those_in_the_shard() {
    let place = Place::new();
    place.pair("photos/one two").pair("photos/Cat").pair("photos/cat").pair("photos/dog");
    place.pack("build photos -o all --names replace").succeeds();
    let all = keys(&place, "all");
    assert_eq!(all.len(), 4, "{all:?}");
    for left_out in &all {
        place.file("list", left_out);
        let out = format!("without-{left_out}");
        let run = place.pack(&format!("build photos -o {out} --names replace --exclude @list"));
        assert!(!run.succeeds().stderr.contains("notice"));
        let left = keys(&place, &out);
        assert!(left.len() == 3 && !left.contains(left_out), "{left_out}: {left:?}");
    }
}

#[test]
fn pack_accepts_its_own_reports() {
    let place = Place::new();
    place.folder("photos", 12);
    let faults = [
        Fault::OrphanImage,
        Fault::SpaceName,
        Fault::NoExtension,
        Fault::NonUtf8Name,
        Fault::LongName,
    ];
    for fault in faults {
        fault.plant(&place.at("photos")).unwrap();
    }
    place.pack("build photos -o out").exits(1);
    assert_eq!(place.problems("out").len(), faults.len());
    let run = place.pack("build photos -o good --exclude @out/problems.jsonl").succeeds();
    assert!(!run.stderr.contains("notice"), "{run:#?}");
    assert_eq!(keys(&place, "good").len(), 12);
    assert!(place.problems("good").is_empty());
}

#[test]
fn the_reasons_of_a_quarantine_are_a_list() {
    let place = Place::new();
    place.folder("photos", 12);
    for fault in [Fault::BadJson, Fault::OrphanJson] {
        fault.plant(&place.at("photos")).unwrap();
    }
    place.pack("build photos -o out --on-problem quarantine").succeeds();
    let reasons = place.names("out").into_iter().filter(|name| name.ends_with(".reason.json"));
    let reasons: Vec<_> =
        reasons.map(|name| fs::read_to_string(place.at("out").join(name)).unwrap()).collect();
    assert_eq!(reasons.len(), 3);
    place.file("reasons", reasons.concat());
    place.pack("build photos -o good --exclude @reasons").succeeds();
    assert_eq!(keys(&place, "good"), keys(&place, "out"));
}

#[test]
fn a_report_of_a_training_run_excludes_its_bad_samples_from_the_next_build() {
    let place = Place::new();
    place.folder("photos", 12);
    for key in ["c0000/bad", "worse"] {
        place
            .file(format!("photos/{key}.jpg"), "no image")
            .file(format!("photos/{key}.json"), "{}");
    }
    place.pack("build photos -o out --check none").succeeds();
    let bad_in = |name: &str, list: &str| {
        let loader = Loader::builder(place.at(name))
            .column("image", Image::new("jpg", RandomResizedCrop::new(8)))
            .on_bad(OnBad::Skip)
            .build()
            .unwrap();
        let samples: usize = loader.epoch(0).map(|batch| batch.unwrap().len()).sum();
        loader.write_bad_samples(place.at(list)).unwrap();
        (samples, loader.bad_samples().len())
    };
    assert_eq!(bad_in("out", "bad.jsonl"), (12, 2));
    place.pack("build photos -o good --check none --exclude @bad.jsonl").succeeds();
    assert_eq!(bad_in("good", "none.jsonl"), (12, 0));
    place.pack("build photos -o same --check none --exclude @none.jsonl").succeeds();
    assert_eq!(place.tree("same"), place.tree("out"), "an empty list leaves nothing out");
}

#[test]
fn invalid_exclude_lists_are_refused() {
    let place = Place::new();
    place.pair("photos/a").file("broken", "{\"key\":\"a\"}\n{\"key\":");
    place.pack("build photos -o out --exclude @nowhere").exits(2).says("--exclude @nowhere");
    place.pack("build photos -o out --exclude @").exits(2).says("--exclude @keys.txt");
    place.pack("build photos -o out --exclude @broken").exits(2).says("line 2");
    assert!(!place.at("out").exists());
    place.file("all", "a\n");
    place.pack("build photos -o out --exclude @all").exits(2).says("no samples");
}

#[test]
fn a_glob_without_a_slash_is_of_names_in_any_folder() {
    let place = Place::new();
    for key in ["a", "x/skip/b", "x/c", "skip/d", "x/raw/e", "raw/f"] {
        place.pair(&format!("photos/{key}"));
    }
    place.file("photos/x/notes.txt", "notes").file("photos/notes.txt", "notes");
    let words = "--exclude skip --exclude notes.txt --exclude raw/**";
    place.pack(&format!("build photos -o out {words}")).succeeds();
    assert_eq!(keys(&place, "out"), ["a", "x/c", "x/raw/e"]);
    place.pair("photos/y/skip/g");
    place.pack("append photos -o out").succeeds().says("nothing new");
}
