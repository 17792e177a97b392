//! Splits: which samples are train and which are val, and that they stay there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tarflume_fixtures::flat_jpeg;

use crate::harness::Place;

/// Writes a labeled image.
fn sample(place: &Place, stem: &str, json: &str) {
    place.file(format!("{stem}.jpg"), flat_jpeg(stem.as_bytes()));
    place.file(format!("{stem}.json"), json);
}

/// Returns the split of each key, from the names of the shards.
fn splits(place: &Place, out: &str) -> BTreeMap<String, String> {
    let manifest = place.manifest(out);
    let shards = manifest["shards"].as_array().unwrap();
    let mut found = BTreeMap::new();
    for (shard, members) in shards.iter().zip(place.shards(out)) {
        let split = shard["split"].as_str().unwrap();
        assert!(shard["name"].as_str().unwrap().starts_with(split), "{shard}");
        for member in members {
            let key = member.name.split('.').next().unwrap().to_string();
            found.insert(key, split.to_string());
        }
    }
    found
}

fn count(found: &BTreeMap<String, String>, split: &str) -> usize {
    found.values().filter(|name| *name == split).count()
}

#[test]
fn shares_divide_the_keys_and_a_grown_folder_keeps_its_splits() {
    let place = Place::new();
    place.folder("photos", 400);
    let options = "--split train=0.75,val=0.25 --shard-samples 60";
    place.pack(&format!("build photos -o out {options}")).succeeds();
    place.pack("verify out").succeeds();
    let before = splits(&place, "out");
    assert_eq!(before.len(), 400);
    assert!((70..130).contains(&count(&before, "val")), "{}", count(&before, "val"));
    for n in 0..100 {
        sample(&place, &format!("photos/new/{n}"), "{}");
    }
    place.pack(&format!("build photos -o more {options}")).succeeds();
    let after = splits(&place, "more");
    assert_eq!(after.len(), 500);
    assert!(before.iter().all(|(key, split)| after[key] == *split));
    // An append finds the same splits as one build of all.
    place.pack("append photos -o out").succeeds().says("skipped 400 samples");
    assert_eq!(splits(&place, "out"), after);
    place.pack("verify out").succeeds();
}

#[test]
fn the_split_of_a_key_is_part_of_the_format() {
    let place = Place::new();
    for n in 0..10 {
        sample(&place, &format!("d/{n}"), "{}");
    }
    place.pack("build d -o out --split a=0.5,b=0.5").succeeds();
    let found = splits(&place, "out");
    let a: Vec<&str> = found.iter().filter(|(_, s)| *s == "a").map(|(k, _)| k.as_str()).collect();
    assert_eq!(a, ["1", "2", "3", "5"]);
}

#[test]
fn stratified_shares_hold_in_each_class() {
    let place = Place::new();
    for n in 0..120 {
        let class = usize::from(n >= 100);
        sample(&place, &format!("d/{n:03}"), &format!("{{\"class\": {class}}}"));
    }
    place.pack("build d -o out --split train=0.8,val=0.2 --stratify /class").succeeds();
    let found = splits(&place, "out");
    let rare: Vec<_> = found.iter().filter(|(key, _)| key.as_str() >= "100").collect();
    assert_eq!((count(&found, "val"), rare.len()), (24, 20));
    assert_eq!(rare.iter().filter(|(_, split)| *split == "val").count(), 4);
}

#[test]
fn a_field_or_a_folder_names_the_split() {
    let place = Place::new();
    for (stem, json) in [
        ("d/train/1", "{\"part\": \"train\"}"),
        ("d/train/2", "{\"part\": \"test\"}"),
        ("d/val/3", "{\"part\": \"train\"}"),
        ("d/val/4", "{\"part\": 7}"),
    ] {
        sample(&place, stem, json);
    }
    place.pack("build d -o field --split-by part").succeeds();
    let found = splits(&place, "field");
    assert_eq!((&*found["train/2"], &*found["val/3"], &*found["val/4"]), ("test", "train", "7"));
    place.pack("build d -o folder --split-by folder --shuffle 3").succeeds();
    let found = splits(&place, "folder");
    assert_eq!((count(&found, "train"), count(&found, "val")), (2, 2));
    let shards = place.manifest("folder")["shards"].clone();
    let names: Vec<&Value> =
        shards.as_array().unwrap().iter().map(|shard| &shard["name"]).collect();
    assert_eq!(names, [&json!("train-000000.tar"), &json!("val-000000.tar")]);
}

#[test]
fn a_sample_without_a_split_is_a_problem() {
    let place = Place::new();
    sample(&place, "d/1", "{\"part\": \"train\"}");
    sample(&place, "d/2", "{\"other\": 1}");
    sample(&place, "d/3", "{\"part\": \"a b\"}");
    let run = place.pack("build d -o out --split-by part").exits(1).says("no-split 2");
    run.says("its JSON has no /part").says("'a b' can't be the name of a split");
    place.pack("build d -o out --split-by part --on-problem skip").succeeds();
    assert_eq!(splits(&place, "out").len(), 1);
}

#[test]
fn splits_are_listed_and_read_alone() {
    let place = Place::new();
    place.folder("photos", 60);
    place.pack("build photos -o out --split train=0.7,val=0.3 --prefix p").succeeds();
    let found = place.manifest("out");
    assert_eq!(found["shards"][0]["name"], "p-train-000000.tar");
    let val = found["shards"][1]["samples"].as_u64().unwrap();
    let listed = place.pack("ls out --split val").succeeds();
    assert_eq!(listed.stdout.lines().count() as u64, val);
    place.pack("ls out --split test").exits(2).says("train, val");
    place.pack("info out").succeeds().says(&format!("val  {val} samples, 1 shard"));
    let info = place.pack("info out --format json").succeeds();
    let info: Value = serde_json::from_str(&info.stdout).unwrap();
    assert_eq!(info["splits"][1]["samples"], val);
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let place = Place::new();
    place.folder("photos", 5);
    for (options, text) in [
        ("--split train=0.9", "sum to 0.9"),
        ("--split train=0.9,val=x", "is no share"),
        ("--split a=1 --split-by x", "--split"),
        ("--stratify /class", "--split"),
        ("--split a=1 --shards 3", "--shards"),
        ("--split-by folder=0", "from 1"),
    ] {
        place.pack(&format!("build photos -o out {options}")).exits(2).says(text);
    }
    assert!(!place.at("out").exists());
}

fn keys_of<'f>(found: &'f BTreeMap<String, String>, split: &str) -> Vec<&'f str> {
    let of_split = found.iter().filter(|(_, name)| *name == split);
    of_split.map(|(key, _)| key.as_str()).collect()
}

/// Packs pictures under `d` with lists of splits.
fn listed(place: &Place, out: &str, lists: &str) -> crate::harness::Run {
    place.pack(&format!("build d -o {out} --require image --split-list {lists}"))
}

fn pictures(place: &Place, names: &[&str]) {
    for name in names {
        place.file(format!("d/{name}.jpg"), flat_jpeg(name.as_bytes()));
    }
}

#[test]
fn lists_name_the_samples_of_each_split() {
    let place = Place::new();
    pictures(&place, &["pie/1", "pie/2", "cake/1", "cake/3"]);
    // Food-101 without extension, CRLF; UCF101 with a class; Windows, absolute; names with blanks are names.
    place.file("train.txt", "\u{feff}pie/1\r\ncake/3.jpg 17\r\n\r\n");
    place.file("val.txt", ".\\pie\\2.JPG\t3\n/cake/1.jpg\ncake/9 1\ncake/10 1\n");
    let run = listed(&place, "out", "train=train.txt,val=val.txt").succeeds();
    run.says("--split-list: in val.txt, 2 names have no sample, the first in line 3: 'cake/9 1'");
    let found = splits(&place, "out");
    assert_eq!(keys_of(&found, "train"), ["cake/3", "pie/1"]);
    assert_eq!(keys_of(&found, "val"), ["cake/1", "pie/2"]);
    // A plan holds the digests of the lists.
    place.file("val.txt", "pie/2\n");
    listed(&place, "out", "train=train.txt,val=val.txt --dry-run").exits(1).says("no-split 1");
}

#[test]
fn samples_of_no_list_and_of_two_are_problems() {
    let place = Place::new();
    pictures(&place, &["1", "2", "3"]);
    place.file("a", "1\n2\n2\n").file("b", "2\n");
    let run = listed(&place, "out", "a=a,b=b").exits(1);
    run.says("d/2.jpg: key 2: the lists of 'a' and of 'b' name it")
        .says("d/3.jpg: key 3: no list has its name; --split-list 'train=*' puts")
        .says("no-split 2;");
    listed(&place, "skipped", "a=a,b=b --on-problem skip").succeeds();
    assert_eq!(splits(&place, "skipped").len(), 1);
    listed(&place, "rest", "b=b,a=*").succeeds();
    assert_eq!(count(&splits(&place, "rest"), "a"), 2);
}

#[test]
fn names_of_lists_may_have_other_folders_than_samples() {
    let place = Place::new();
    pictures(&place, &["x/1", "x/2", "y/1", "z 1"]);
    place.file("more", "images/x/1.jpg\nimages/x/2.jpg\nimages/y/1.jpg\nimages/z 1.jpg\n");
    let names = "--names space=replace";
    let run = listed(&place, "more.out", &format!("t=more {names}")).succeeds();
    run.says("names are compared without the first folder of the lists' names");
    place.file("same", "1\n2\n");
    let run = listed(&place, "same.out", &format!("t=same {names}")).exits(2);
    run.says("same: line 1: '1' names several samples, such as 'x/1' and 'y/1'");
    place.file("other", "a\nb c\n");
    let run = listed(&place, "other.out", &format!("t=other {names}")).exits(2);
    run.says("other begins with 'a', and the first sample is 'x/1'");
    place.file("short", "2 5\n");
    let run = listed(&place, "short.out", &format!("t=short,u=* {names}")).succeeds();
    run.says("names are compared without the first folder of the samples");
    assert_eq!(splits(&place, "short.out")["x/2"], "t");
    listed(&place, "none", "t=absent.txt").exits(2).says("there is no list absent.txt");
    place.pack("build d -o o --split-list t=same --split a=1").exits(2);
}

#[test]
fn an_append_takes_the_lists_of_new_samples() {
    let place = Place::new();
    pictures(&place, &["1", "2"]);
    place.file("a", "1\n").file("b", "2\n");
    listed(&place, "out", "a=a,b=b").succeeds();
    pictures(&place, &["3", "4"]);
    place.pack("append d -o out").exits(2).says("give those of the new samples: --split-list");
    place.file("b", "2\n3\n4\n5\n");
    place.pack("append d -o out --split-list a=a,b=b").succeeds();
    assert_eq!(count(&splits(&place, "out"), "b"), 3);
    // A name of the lists is no other sample of the same file name.
    pictures(&place, &["new/2"]);
    let run = place.pack("append d -o out --split-list a=a,b=b").exits(1);
    run.says("d/new/2.jpg: key new/2: no list has its name");
    std::fs::remove_dir_all(place.at("d/new")).unwrap();
    place.pack("append d -o out --split-list a=a,b=b --fresh").succeeds();
    place.pack("reshard out -o again --split-list b=b,a=*").succeeds();
    assert_eq!(splits(&place, "again"), splits(&place, "out"));
}

#[test]
fn samples_of_a_list_with_other_folders_do_not_go_to_the_rest() {
    let place = Place::new();
    pictures(&place, &["x/1", "x/2"]);
    place.file("test", "images/x/1\n");
    listed(&place, "out", "test=test,train=*")
        .succeeds()
        .says("without the first folder of the lists");
    pictures(&place, &["x/3", "x/4"]);
    place.file("test", "images/x/1\nimages/x/3\n");
    let append = "append d -o out --split-list test=test,train=*";
    place.pack(append).exits(2).says("begins with 'images/x/1'");
    place.file("test", "x/1\nx/3\n");
    place.pack(append).succeeds();
    assert_eq!(splits(&place, "out")["x/3"], "test");
    assert_eq!(splits(&place, "out")["x/4"], "train");
    // One list names samples as they are, the other one does not.
    place.file("val", "images/x/2\n");
    let run = listed(&place, "no", "val=val,test=test,train=*").exits(2);
    run.says("val begins with 'images/x/2', and the first sample is 'x/1'");
}

#[test]
fn samples_of_one_group_are_in_one_split() {
    let place = Place::new();
    for n in 0..120 {
        sample(&place, &format!("d/{n}"), &format!("{{\"patient\": {}}}", n / 6));
    }
    place.pack("build d -o out --split train=0.7,val=0.3 --split-group /patient").succeeds();
    let found = splits(&place, "out");
    for patient in 0..20 {
        let keys = (0..6).map(|n| (patient * 6 + n).to_string());
        let splits: BTreeSet<&String> = keys.map(|key| &found[&key]).collect();
        assert_eq!(splits.len(), 1, "{patient}");
    }
    assert!((6..66).contains(&count(&found, "val")), "{}", count(&found, "val"));
    sample(&place, "d/new", "{\"patient\": 3}");
    sample(&place, "d/none", "{}");
    let run = place.pack("append d -o out --on-problem skip").succeeds();
    run.says("key none: its JSON has no /patient");
    assert_eq!(splits(&place, "out")["new"], found["18"]);
}
