//! Builds that end too early and are repeated: finished shards are kept, changes are refused, and
//! nothing is ever mixed. (`kills` has builds killed at random.)

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::time::Duration;

use tarflume_fixtures::{Fault, flat_jpeg};

use crate::harness::{JSON, Place};
use crate::interrupted::faults::{Class, Deed, Ran, judged};

/// Runs a build of many small shards; calls `deed` when it has finished one and has begun the third.
/// Returns `None` if tracing is known to be impossible.
fn midway(place: &Place, deed: impl Fn() -> Deed) -> Option<Ran> {
    place.folder("photos", 200);
    let mut done = false;
    let ran = judged(place, "build photos -o out --shard-samples 5 --jobs 1", |call| {
        let third = call.path.starts_with("out/.pack/") && call.path.contains("shard-000002");
        if done || !third || call.class != Class::Write {
            return Deed::Go;
        }
        done = true;
        deed()
    });
    assert!(ran.is_none() || done, "the call was not made");
    ran
}

/// A place whose data set `out` has two of five shards finished, and `whole` all of them.
fn half_done() -> Place {
    let place = Place::new();
    place.folder("photos", 20);
    place.pack("build photos -o whole --shard-samples 4").succeeds();
    place.pack("plan photos -o out --shard-samples 4").succeeds();
    place.pack("run out --shards 1..3").succeeds();
    place
}

const AGAIN: &str = "build photos -o out --shard-samples 4";

#[test]
fn interrupted_builds_clean_up_and_resume_later() {
    for (signal, exit) in [(libc::SIGINT, 130), (libc::SIGTERM, 143)] {
        let place = Place::new();
        let Some(ran) = midway(&place, || Deed::Signal(signal)) else { return };
        assert!(ran.exit == exit && ran.stderr.contains("interrupted"), "{ran:?}");
        let left = place.names("out");
        assert!(!left.iter().any(|name| name.ends_with(".tmp")), "{left:?}");
        assert!(!left.iter().any(|name| name == "dataset.json"));
        assert!(left.iter().any(|name| name.ends_with(".record")), "finished shards are kept");
        let again = place.pack("build photos -o out --shard-samples 5").succeeds();
        again.says("continuing an unfinished build");
        place.pack("build photos -o undisturbed --shard-samples 5").succeeds();
        place.same("out", "undisturbed");
    }
}

#[test]
fn a_second_build_into_the_same_folder_waits_its_turn() {
    let place = Place::new();
    let others = || {
        let again = place.pack("build photos -o out --shard-samples 5");
        again.exits(75).says("another pack is running");
        place.pack("plan photos -o out --shard-samples 6").exits(75);
        place.pack("finalize out").exits(75);
        Deed::Go
    };
    let Some(ran) = midway(&place, others) else { return };
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    place.pack("build photos -o undisturbed --shard-samples 5").succeeds();
    place.same("out", "undisturbed");
}

#[test]
fn finished_shards_are_kept_and_not_packed_again() {
    let place = half_done();
    let file = |path: &str| fs::metadata(place.at(path)).unwrap().ino();
    let tar = "shard-000001.tar";
    let index = "shard-000001.index";
    let before = [tar, index].map(|name| file(&format!("out/.pack/shards/{name}")));
    place.pack(AGAIN).succeeds().says("continuing an unfinished build");
    assert_eq!(before, [tar, index].map(|name| file(&format!("out/{name}"))));
    place.same("out", "whole");
}

#[test]
fn a_source_that_has_changed_is_refused_by_name() {
    let key = "c0001/s000007";
    let jpg = format!("photos/{key}.jpg");
    let json = format!("photos/{key}.json");
    type Change = fn(&Place, &str, &str);
    let changes: [(Change, String); 4] = [
        (
            |p, _, json| {
                p.file(json, "{\"class\":1,\"more\":2}\n");
            },
            format!("the files of '{key}' have changed"),
        ),
        (
            |p, jpg, _| {
                let same = fs::read(p.at(jpg)).unwrap();
                std::thread::sleep(Duration::from_millis(20)); // the clock of a file system is coarse
                p.file(jpg, same);
            },
            format!("the files of '{key}' have changed"),
        ),
        (
            |p, jpg, json| [jpg, json].into_iter().for_each(|f| fs::remove_file(p.at(f)).unwrap()),
            format!("'{key}' is gone from the source"),
        ),
        (
            |p, _, _| {
                p.pair("photos/c0001/new");
            },
            "'c0001/new' is new in the source".into(),
        ),
    ];
    for (change, text) in changes {
        let place = half_done();
        change(&place, &jpg, &json);
        let before = place.tree("out");
        place.pack(AGAIN).exits(2).says(&text).says("--fresh").says("2 of 5 shards");
        assert_eq!(place.tree("out"), before, "a refusal changes nothing");
        place.pack(&format!("{AGAIN} --fresh")).succeeds();
        place.pack("build photos -o anew --shard-samples 4").succeeds();
        place.same("out", "anew");
    }
}

#[test]
fn other_options_are_refused_by_name() {
    for (options, name) in [
        ("--shard-samples 5", "the size of shards (--shard-size, --shard-samples, --shards)"),
        ("--shard-samples 4 --shuffle 1", "--shuffle"),
        ("--shard-samples 4 --prefix other", "--prefix"),
        ("--shard-samples 4 --check decode", "--check"),
        ("--shard-samples 4 --no-entry-points", "--no-entry-points"),
        ("--shard-samples 4 --names replace", "--names"),
        ("--shard-samples 4 --limit 19", "--limit"),
        ("--shard-samples 4 --require jpg", "--require"),
    ] {
        let place = half_done();
        let before = place.tree("out");
        let run = place.pack(&format!("build photos -o out {options}")).exits(2);
        run.says(&format!("{name} was ")).says("--fresh");
        assert_eq!(place.tree("out"), before, "a refusal changes nothing");
        place.pack(AGAIN).succeeds();
        place.same("out", "whole");
    }
}

#[test]
fn jobs_and_display_may_change() {
    let place = half_done();
    place.pack(&format!("{AGAIN} --jobs 1 --quiet --no-fsync")).succeeds().prints("", "");
    place.same("out", "whole");
}

#[test]
fn after_a_failed_build_skip_keeps_the_finished_shards() {
    let place = Place::new();
    place.folder("photos", 20);
    let planted = Fault::BadJson.plant(&place.at("photos")).unwrap();
    let run = place.pack(AGAIN).exits(1).says("bad-json 1").says("4 finished shards are kept");
    run.says("--on-problem skip|quarantine");
    assert_eq!(place.names("out").iter().filter(|n| !n.starts_with(".pack/")).count(), 1);
    let inode = |path: &str| fs::metadata(place.at(path)).unwrap().ino();
    let before = inode("out/.pack/shards/shard-000003.tar");
    place.pack(&format!("{AGAIN} --on-problem skip")).succeeds().says("published 19 samples");
    assert_eq!(inode("out/shard-000003.tar"), before);
    place.pack("build photos -o once --shard-samples 4 --on-problem skip").succeeds();
    place.same("out", "once");
    let found = place.problems("out");
    assert!(found[0]["path"].as_str().unwrap().ends_with(planted.path.to_str().unwrap()));
}

#[test]
fn after_a_failed_build_corrected_files_need_fresh() {
    let place = Place::new();
    place.folder("photos", 20);
    let planted = Fault::BadJson.plant(&place.at("photos")).unwrap();
    place.pack(AGAIN).exits(1);
    place.file(Path::new("photos").join(planted.path), JSON);
    place.pack(AGAIN).exits(2).says("--fresh");
    place.pack(&format!("{AGAIN} --fresh")).succeeds();
    assert_eq!(place.names("out").len(), 11, "no problems.jsonl, no working folder");
}

#[test]
fn shards_damaged_by_a_power_cut_are_packed_again() {
    let shards = "out/.pack/shards";
    for (spoiled, name) in [
        ("a tar cut at a block", "shard-000001.tar"),
        ("a sidecar cut", "shard-000001.index"),
        ("a record cut", "shard-000001.tar.record"),
    ] {
        let place = half_done();
        let path = place.at(shards).join(name);
        let length = fs::metadata(&path).unwrap().len();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_len(if name.ends_with("tar") { length - 512 } else { length / 2 }).unwrap();
        place.pack(AGAIN).succeeds();
        eprintln!("{spoiled}");
        place.same("out", "whole");
    }
}

#[test]
fn a_plan_damaged_by_a_power_cut_is_made_again() {
    let place = half_done();
    let plan = place.at("out/.pack/plan");
    let bytes = fs::read(&plan).unwrap();
    fs::write(&plan, &bytes[..bytes.len() / 2]).unwrap();
    place.pack(AGAIN).succeeds();
    place.same("out", "whole");
}

#[test]
fn a_file_with_the_name_of_a_shard_is_never_overwritten() {
    let place = Place::new();
    place.folder("photos", 5).file("out/shard-000000.tar", "somebody's");
    place.pack("build photos -o out").exits(2).says("shard-000000.tar").says("--prefix");
    assert_eq!(fs::read(place.at("out/shard-000000.tar")).unwrap(), b"somebody's");
    // The folder is not verified: the file is no tar.
    let run = place.start("build photos -o out --prefix train").ended();
    assert_eq!(run.exit, 0, "{run:#?}");
    assert_eq!(fs::read(place.at("out/shard-000000.tar")).unwrap(), b"somebody's");
}

#[test]
fn a_published_data_set_is_not_touched_by_a_build_that_fails() {
    let place = Place::new();
    place.folder("photos", 5).file("photos/orphan.jpg", flat_jpeg(b"orphan"));
    place.pack("build photos -o out --on-problem skip").succeeds();
    let before = place.tree("out");
    place.file("photos/fault.jpg", flat_jpeg(b"another")).pack("build photos -o out").exits(2);
    assert_eq!(place.tree("out"), before);
}

#[test]
fn a_source_that_changed_after_publishing_is_recognized_as_different() {
    let place = Place::new();
    place
        .folder("photos", 5)
        .file("photos/x.jpg", flat_jpeg(b"x"))
        .file("photos/x.json", "{\"a\":1}");
    place.pack("build photos -o out").succeeds();
    let before = place.tree("out");
    place.pack("build photos -o out").succeeds().says("published already");
    std::thread::sleep(Duration::from_millis(20)); // coarser clocks than ours exist
    place.file("photos/x.json", "{\"a\":2}");
    place.pack("build photos -o out").exits(2).says("modified after the data set");
    assert_eq!(place.tree("out"), before);
}

#[test]
fn a_fresh_start_removes_half_published_files() {
    let place = half_done();
    let finished = fs::read_dir(place.at("out/.pack/shards")).unwrap().map(|e| e.unwrap().path());
    let tar = finished.filter(|p| p.extension().is_some_and(|e| e == "tar")).min().unwrap();
    fs::rename(&tar, place.at("out").join(tar.file_name().unwrap())).unwrap();
    place.pair("photos/c0000/another");
    place.pack(AGAIN).exits(2).says("--fresh");
    place.pack(&format!("{AGAIN} --fresh")).succeeds();
    place.pack("build photos -o anew --shard-samples 4").succeeds();
    place.same("out", "anew");
}

#[test]
fn a_fresh_start_skips_records_with_unreadable_digests() {
    for field in ["index_blake3", "blake3"] {
        let place = Place::new();
        place.folder("photos", 6).pack("build photos -o whole --shards 2").succeeds();
        place.pack("plan photos -o out --shards 2").succeeds();
        place.pack("run out").succeeds();
        let path = "out/.pack/shards/shard-000000.tar.record";
        let mut record: serde_json::Value =
            serde_json::from_slice(&fs::read(place.at(path)).unwrap()).unwrap();
        assert!(record["entry"][field].is_string(), "{record}");
        record["entry"][field] = "no hexadecimal number".into();
        place.file(path, record.to_string());
        place.pack("build photos -o out --shards 2 --fresh").succeeds();
        place.same("out", "whole");
    }
}

#[test]
fn existing_files_with_names_of_shards_or_sidecars_are_reported_before_packing() {
    for name in ["shard-000001.tar", "shard-000001.index"] {
        for link in [false, true] {
            let place = Place::new();
            place.folder("photos", 6).file("out/other", "");
            if link {
                symlink("nowhere", place.at("out").join(name)).unwrap()
            } else {
                fs::write(place.at("out").join(name), "another's").unwrap()
            }
            let run = place.pack("build photos -o out --shards 2").exits(2);
            run.says(name).says("exists and belongs to no data set");
            assert!(place.names("out/.pack/shards").is_empty());
        }
    }
}
