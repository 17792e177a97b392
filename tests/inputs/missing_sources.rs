//! A missing source: without its mount every file seems to be missing, and no sample may be left
//! out for that.

use std::fs;

use crate::harness::Place;

/// A place with a plan of three shards in `out`, and the result of one build of it in `whole`.
fn planned() -> Place {
    let place = Place::new();
    place.folder("photos", 9);
    place.pack("build photos -o whole --shards 3").succeeds();
    place.pack("plan photos -o out --shards 3").succeeds();
    place
}

/// No shard is finished, and the data set is complete once the source is back.
fn nothing_was_lost(place: &Place) {
    let left = place.names("out/.pack/shards");
    assert!(left.is_empty(), "{left:?}");
    assert!(!place.at("out/quarantine").try_exists().unwrap());
    let _ = fs::remove_dir_all(place.at("photos"));
    fs::rename(place.at("away"), place.at("photos")).unwrap();
    place.pack("run out").succeeds();
    place.pack("finalize out").succeeds();
    place.same("out", "whole");
}

#[test]
fn a_missing_source_is_an_error_of_the_machine_under_every_policy() {
    for policy in ["fail", "skip", "quarantine"] {
        let place = planned();
        fs::rename(place.at("photos"), place.at("away")).unwrap();
        let run = place.pack(&format!("run out --on-problem {policy}")).exits(75);
        run.says("photos: the source folder does not exist on this machine").says("--source");
        place.pack(&format!("run out --on-problem {policy} --source away/c0000/s000000.jpg"));
        nothing_was_lost(&place);
    }
}

#[test]
fn an_empty_mount_point_is_not_a_source_without_files() {
    for policy in ["fail", "skip", "quarantine"] {
        let place = planned();
        fs::rename(place.at("photos"), place.at("away")).unwrap();
        fs::create_dir(place.at("photos")).unwrap();
        let run = place.pack(&format!("run out --on-problem {policy}")).exits(75);
        run.says("photos: the source folder is missing or empty").says("mount it");
        nothing_was_lost(&place);
    }
}

#[test]
fn a_shard_that_lost_all_samples_is_not_finished() {
    for policy in ["fail", "skip"] {
        let place = planned();
        fs::rename(place.at("photos"), place.at("away")).unwrap();
        place.file("photos/not-mounted.txt", "a file below the mount point");
        let run = place.pack(&format!("run out --on-problem {policy}")).exits(75);
        run.says("all samples of this shard are gone").says("mount the source");
        nothing_was_lost(&place);
    }
}

#[test]
fn finished_shards_need_no_source() {
    let place = planned();
    place.pack("run out").succeeds();
    fs::remove_dir_all(place.at("photos")).unwrap();
    place.pack("run out").succeeds().says("skipped 3");
    place.pack("finalize out").succeeds();
    place.same("out", "whole");
}

#[test]
fn single_missing_files_are_left_out() {
    let place = planned();
    fs::remove_file(place.at("photos/c0001/s000004.jpg")).unwrap();
    place.pack("run out --on-problem skip").succeeds().says("changed 1");
    place.pack("finalize out").succeeds().says("published 8 samples");
}
