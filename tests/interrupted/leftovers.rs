//! Temporary files of killed commands: the next run removes them, and those of a running one stay.

use std::fs;

use crate::harness::{Place, assert_same, sampled};
use crate::interrupted::faults::{Class, Deed, judged};
use crate::interrupted::kills::Kills;

/// Returns the temporary files under `folder`.
fn temporary(place: &Place, folder: &str) -> Vec<String> {
    let names = place.names(folder).into_iter();
    names.filter(|name| name.ends_with(".tmp")).collect()
}

#[test]
fn the_next_run_removes_the_temporary_files_of_a_killed_command() {
    let place = Place::new();
    place.folder("photos", 8).pack("build photos -o set --shards 2").succeeds();
    fs::create_dir(place.at("tars")).unwrap();
    fs::copy(place.at("set/shard-000000.tar"), place.at("tars/a.tar")).unwrap();
    place.file("text.jsonl", "{\"text\": \"one\"}\n").file("tokenizer.json", TOKENIZER);
    for folder in ["tables", "reports", "lists", "scans"] {
        fs::create_dir(place.at(folder)).unwrap();
    }
    for (folder, words) in [
        ("copy", "sync set copy --jobs 1"),
        ("tars", "index tars --jobs 1"),
        (
            "cache",
            "tokens text.jsonl --tokenizer tokenizer.json -o blocks --length 8 --cache cache",
        ),
        ("tables", "export set --to csv -o tables/a.csv"),
        ("reports", "verify set --report junit=reports/a.xml"),
        ("reports", "verify set --write-expect reports/a.json"),
        ("reports", "view set --force -o reports/a.html"),
        ("lists", "dedupe set --exclude-list lists/a.jsonl"),
        ("scans", "scan photos -o scans --subtree 0/2"),
    ] {
        let mut left = Vec::new();
        let ran = judged(&place, words, |call| {
            let is_name = call.class == Class::Name && call.path.starts_with(&format!("{folder}/"));
            if is_name && !temporary(&place, folder).is_empty() {
                left = temporary(&place, folder);
                Deed::Kill
            } else {
                Deed::Go
            }
        });
        let Some(ran) = ran else { return };
        assert_eq!(ran.exit, 137, "{words}: {}", ran.stderr);
        assert_eq!(temporary(&place, folder), left, "{words}");
        // Of another machine: it may be running.
        let other = format!("{folder}/.other.elsewhere-1-2-3.tmp");
        place.file(&other, "part");
        place.pack(words).succeeds();
        assert_eq!(temporary(&place, folder), [".other.elsewhere-1-2-3.tmp"], "{words}");
        fs::remove_file(place.at(&other)).unwrap();
    }
    place.same("set", "copy");
}

/// A tokenizer with one word.
const TOKENIZER: &str = r#"{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
    "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
    "model": {"type": "WordLevel", "vocab": {"<unk>": 0, "one": 1}, "unk_token": "<unk>"}}"#;

#[test]
fn a_running_command_keeps_its_temporary_files() {
    let place = Place::new();
    place.folder("photos", 4).pack("build photos -o set").succeeds();
    let mut others = 0;
    let ran = judged(&place, "sync set copy --jobs 1", |call| {
        // The file is open here, and not yet renamed.
        if call.class == Class::Name && call.path.starts_with("copy/") && others == 0 {
            let left = temporary(&place, "copy");
            if !left.is_empty() {
                others += 1;
                place.pack("verify set --report junit=copy/a.xml").succeeds();
                assert_eq!(temporary(&place, "copy"), left);
                fs::remove_file(place.at("copy/a.xml")).unwrap();
            }
        }
        Deed::Go
    });
    let Some(ran) = ran else { return };
    assert_eq!((ran.exit, others), (0, 1), "{}", ran.stderr);
    place.same("set", "copy");
}

#[test]
fn an_unpack_that_was_killed_goes_on() {
    let place = Place::new();
    place.photos("photos", 30).pack("build photos -o set --shards 4").succeeds();
    let Some(mut attempts) = Kills::of(&place, "unpack set -o undisturbed") else { return };
    let expected = place.tree("undisturbed");
    assert_same(&expected, &place.tree("photos"));
    while attempts.killed < sampled(12) {
        let _ = fs::remove_dir_all(place.at("back"));
        let mut late = attempts.flip();
        while attempts.killed < sampled(12) && attempts.kill(&place, "unpack set -o back", late) {
            late = false;
            let mut found = place.tree("back");
            found.retain(|name, _| !name.starts_with(".pack-unpack/"));
            assert!(found.iter().all(|(name, digest)| expected.get(name) == Some(digest)));
        }
        if place.tree("back") != expected {
            place.pack("unpack set -o back").succeeds().says("60 files");
        }
        assert_same(&place.tree("back"), &expected);
    }
}
