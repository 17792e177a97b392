//! Splits by patterns of the files that have the samples: `--split-by file:test=test_batch*,train=*`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::harness::Place;

/// Returns the number of samples of each split.
fn counts(place: &Place, out: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for shard in place.manifest(out)["shards"].as_array().unwrap() {
        let split = shard["split"].as_str().unwrap_or("none").to_string();
        *counts.entry(split).or_insert(0) += shard["samples"].as_u64().unwrap();
    }
    counts
}

fn counted(splits: &[(&str, u64)]) -> BTreeMap<String, u64> {
    splits.iter().map(|(split, count)| (split.to_string(), *count)).collect()
}

/// Writes files of records, as CIFAR-10 has them: a label, and a picture of three channels.
fn batches(place: &Place) {
    for (name, records) in [("data_batch_1", 3), ("data_batch_2", 2), ("test_batch", 4_u8)] {
        let all = (0..records).flat_map(|n| [vec![n], vec![n * 16 + records; 12]].concat());
        place.file(format!("c/{name}.bin"), all.collect::<Vec<u8>>());
    }
}

const CIFAR: &str = "build raw:c/*.bin?record=label:u1,x:3x2x2u1&png=x&layout=chw";

#[test]
fn patterns_of_files_name_splits() {
    let place = Place::new();
    batches(&place);
    let run = place.pack(&format!("{CIFAR} -o one")).succeeds();
    run.says("the names of some files state splits (test 1), those of 2 other files state none")
        .says("--split-by 'file:test=*test*,train=*' divides them");
    place.pack(&format!("{CIFAR} -o out --split-by file:test=test_*,train=*")).succeeds();
    assert_eq!(counts(&place, "out"), counted(&[("test", 4), ("train", 5)]));
    let test = place.shards("out")[0].clone();
    let labels: Vec<Value> = test
        .iter()
        .filter(|member| member.name.ends_with(".json"))
        .map(|member| serde_json::from_slice::<Value>(&member.data).unwrap()["label"].clone())
        .collect();
    assert_eq!(labels, [0, 1, 2, 3]);
    // The order of patterns does not matter, and a slash is of a folder.
    let words = "--split-by file:train=*,val=data_batch_2*,test=c/test_*";
    place.pack(&format!("{CIFAR} -o three {words}")).succeeds();
    assert_eq!(counts(&place, "three"), counted(&[("test", 4), ("train", 3), ("val", 2)]));
}

#[test]
fn samples_of_a_file_without_split_are_one_problem() {
    let place = Place::new();
    batches(&place);
    let run = place.pack(&format!("{CIFAR} -o out --split-by file")).exits(1);
    run.says(
        "no-split: PLACE/c/data_batch_1.bin: 3 samples belong to no split: no data set states",
    )
    .says("--split-by 'file:test=*test*,train=*'), give --split")
    .says("2 problems: no-split 2;");
    let words = "--split-by file:test=test_*,val=data_batch_2*";
    let run = place.pack(&format!("{CIFAR} -o out {words}")).exits(1);
    run.says("3 samples belong to no split: no pattern of --split-by matches the name of the file")
        .says("no-split 1;");
    place.pack(&format!("{CIFAR} -o skipped {words} --on-problem skip")).succeeds();
    assert_eq!(counts(&place, "skipped"), counted(&[("test", 4), ("val", 2)]));
}

#[test]
fn patterns_that_decide_nothing_are_refused() {
    let place = Place::new();
    batches(&place);
    place.folder("photos", 3);
    for (words, text) in [
        (format!("{CIFAR} -o out --split-by file:test=tset*,train=*"), "no file of the sources"),
        (format!("{CIFAR} -o out --split-by file:test=*batch*,train=data*"), "both match"),
        (format!("{CIFAR} -o out --split-by file:train=*"), "no pattern besides *"),
        ("build photos -o out --split-by file".into(), "the sources are folders; give --split-by"),
        ("build photos -o out --split-by file:test=t*".into(), "the sources are folders"),
    ] {
        place.pack(&words).exits(2).says(text);
    }
    assert!(!place.at("out").exists());
}

#[test]
fn files_that_are_appended_have_the_patterns_of_the_first_build() {
    let place = Place::new();
    for (name, row) in [("t/a_test", "x"), ("t/b", "y"), ("more/c", "z")] {
        place.file(format!("{name}.csv"), format!("name\n{row}\n"));
    }
    let words = "--split-by file:test=*_test.csv,train=*";
    place.pack(&format!("build csv:t/*.csv?key=name&txt=name -o out {words}")).succeeds();
    place.pack("append csv:more/c.csv?key=name&txt=name -o out").succeeds();
    assert_eq!(counts(&place, "out"), counted(&[("test", 1), ("train", 2)]));
    // Packed shards are files of a source, too.
    place.pack("reshard out -o again --split-by file:eval=test-*,train=*").succeeds();
    assert_eq!(counts(&place, "again"), counted(&[("eval", 1), ("train", 2)]));
}
