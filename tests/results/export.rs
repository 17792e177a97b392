//! `export`: whole commands, killed ones, and what users read.

use std::fs;

use tarflume_fixtures::Folder;

use crate::harness::{Place, sampled};
use crate::interrupted::kills::Kills;

#[test]
fn each_format_is_written_by_one_command() {
    let place = Place::new();
    place.photos("photos", 30).pack("build photos -o shards --shards 3").succeeds();
    for (format, first) in [
        ("mds", "index.json"),
        ("litdata", "chunk-0-0.bin"),
        ("tfrecord", "data-00000-of-00001.tfrecord"),
        ("parquet", "part-00000-of-00001.parquet"),
        ("hf", "data/train-00000-of-00001.parquet"),
    ] {
        let run = place.pack(&format!("export shards --to {format} -o {format}")).succeeds();
        run.says("30 samples, 1 file, ");
        assert_eq!(place.names(format)[0], first);
    }
    place.pack("export shards --to folder -o folder").succeeds().says("30 samples, 30 files");
    assert_eq!(place.names("folder").len(), 31);
    place.pack("export shards --to csv -o new/table.csv").succeeds().says("30 samples, 1 file");
    let table = fs::read_to_string(place.at("new/table.csv")).unwrap();
    assert_eq!(table.lines().count(), 31);
    place.pack("export shards/shard-000001.tar --to mds -o one -q").succeeds().prints("", "");
}

#[test]
fn a_folder_comes_back_as_it_was_packed() {
    let place = Place::new();
    place.photos("photos", 20).pack("build photos -o shards --shards 3").succeeds();
    place.pack("export shards --to folder -o back --json text").succeeds();
    fs::remove_file(place.at("back/metadata.jsonl")).unwrap();
    place.same("photos", "back");
}

#[test]
fn an_existing_name_is_refused_and_left_as_it_is() {
    let place = Place::new();
    place.folder("photos", 4).pack("build photos -o shards").succeeds();
    place.file("there/mine", "mine");
    for format in ["mds", "folder", "csv", "hf"] {
        let run = place.pack(&format!("export shards --to {format} -o there")).exits(2);
        run.says("it exists").says("give another name with -o");
    }
    assert_eq!(place.names("there"), ["mine"]);
    place.pack("export shards --to zip -o new").exits(2).says("possible values: folder");
    place.pack("export shards --to mds -o new --as jpg=jpg").exits(2).says("no encoding 'jpg'");
    place.pack("export shards --to mds -o new --parts png").exits(2).says("there are: jpg, json");
    place.pack("export nowhere --to mds -o new").exits(2);
    assert!(!place.names("").iter().any(|name| name.contains("new")));
}

#[test]
fn a_killed_export_is_repeated_with_the_same_bytes() {
    let place = Place::new();
    Folder::new(7).dirs(3).pairs(600).write(&place.at("photos")).unwrap();
    place.pack("build photos -o shards --shards 5 --no-entry-points").succeeds();
    for (format, options) in [
        ("mds", "--shard-size 200KB"),
        ("tfrecord", "--shard-size 200KB"),
        ("hf", "--shard-size 200KB"),
        ("folder", ""),
    ] {
        let command = |out: &str| format!("export shards --to {format} -o {out} {options}");
        let Some(mut attempts) = Kills::of(&place, &command("whole")) else { return };
        let expected = place.tree("whole");
        while attempts.killed < sampled(20) {
            let late = attempts.flip();
            attempts.kill(&place, &command("out"), late);
            if place.at("out").try_exists().unwrap() {
                // It was renamed, so every file in it is whole.
                assert!(place.tree("out") == expected, "{format}");
                fs::remove_dir_all(place.at("out")).unwrap();
            }
        }
        place.pack(&command("out")).succeeds();
        assert!(place.tree("out") == expected, "{format}");
        let left: Vec<_> =
            fs::read_dir(place.at("")).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().contains("unfinished")), "{left:?}");
        fs::remove_dir_all(place.at("out")).unwrap();
        fs::remove_dir_all(place.at("whole")).unwrap();
    }
}

#[test]
fn types_are_found_over_all_samples() {
    let place = Place::new();
    place.folder("photos", 3);
    place.file("photos/c0000/s000000.json", "{\"class\": 1}");
    place.file("photos/c0001/s000001.json", "{\"class\": \"one\"}");
    place.pack("build photos -o shards").succeeds();
    let run = place.pack("export shards --to hf -o out").exits(65);
    let run = run.says("'class'").says("c0000/s000000").says("c0001/s000001");
    run.says("--json text");
    assert!(!place.at("out").exists());
    place.pack("export shards --to hf -o out --json text").succeeds();
}
