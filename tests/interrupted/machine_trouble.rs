//! Failures of the machine: too few open files, no threads, disks that cannot be read or written.
//! No sample is left out for it, and the exit code tells whether the same command may succeed.

use std::fs::{self, File};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::harness::{Child, Place, Run};

/// A stack size that no address space has room for: no thread can be started.
const NO_THREADS: [(&str, &str); 1] = [("RUST_MIN_STACK", "281474976710656")];

/// Runs `pack` after a line of shell, such as `ulimit -n 8`.
fn behind(place: &Place, line: &str, words: &str) -> Run {
    let pack = env!("CARGO_BIN_EXE_pack");
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{line} && exec '{pack}' {words}")]);
    command.current_dir(place.at("")).env_clear();
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    Child::start(command, &place.at("")).ended()
}

fn pipe(place: &Place, name: &str) {
    let made = Command::new("mkfifo").arg(place.at(name)).status().unwrap();
    assert!(made.success());
}

/// Eight nested folders, a pair in each.
fn deep(place: &Place) {
    let mut folder = String::from("tree");
    for level in 0..8 {
        folder += &format!("/d{level}");
        place.pair(&format!("{folder}/s{level}"));
    }
}

#[test]
fn too_few_open_files_end_a_scan_and_publish_nothing() {
    for policy in ["fail", "skip", "quarantine"] {
        for how in ["", "--follow-links", "--dedupe"] {
            let place = Place::new();
            deep(&place);
            let words = format!("build tree -o out {how} --on-problem {policy}");
            let run = behind(&place, "ulimit -n 8", &words).exits(75);
            run.says("tree/d0").says("Too many open files").says("ulimit -n");
            assert!(!place.at("out/dataset.json").exists() && !place.at("out/quarantine").exists());
            behind(&place, "ulimit -n 64", &words).succeeds().says("published 8 samples");
        }
    }
}

#[test]
fn too_few_open_files_end_a_run_without_a_bad_sample() {
    let place = Place::new();
    place.photos("photos", 30);
    place.pack("build photos -o whole --shards 3").succeeds();
    place.pack("plan photos -o out --shards 3").succeeds();
    let mut named = 0;
    for files in 4..12 {
        let limit = format!("ulimit -n {files}");
        let run = behind(&place, &limit, "run out --jobs 1 --on-problem skip");
        assert!(run.exit == 0 || run.exit == 75, "{run:#?}");
        assert!(run.exit == 0 || run.stderr.contains("Too many open files"), "{run:#?}");
        assert!(!run.stderr.contains("unreadable"), "{run:#?}");
        named += usize::from(run.stderr.contains("photos/c00"));
    }
    assert!(named > 0, "no limit was met at a source file");
    place.pack("run out").succeeds();
    place.pack("finalize out").succeeds();
    place.same("out", "whole");
}

#[test]
fn too_few_open_files_are_no_problem_of_the_data() {
    let place = Place::new();
    place.folder("photos", 12).pack("build photos -o out --shards 3").succeeds();
    for files in 4..6 {
        let limit = format!("ulimit -n {files}");
        for words in ["verify out", "verify --level quick out", "verify out/shard-000001.tar"] {
            let run = behind(&place, &limit, &format!("{words} --jobs 3"));
            match run.exit {
                0 => assert!(run.stdout.trim_end().ends_with(": whole"), "{run:#?}"),
                75 => {
                    assert!(run.stdout.is_empty(), "what was not read is no finding: {run:#?}");
                    run.says("Too many open files").says("ulimit -n");
                }
                _ => panic!("{run:#?}"),
            }
        }
        // The tar twice and the folder: one more than the limit.
        behind(&place, &limit, "unpack out -o files --jobs 1").exits(75).says("ulimit -n");
        let names = place.names("files");
        assert!(names.iter().all(|name| name.starts_with(".pack-unpack/")), "{names:?}");
    }
}

#[test]
fn a_machine_that_cannot_start_threads_gets_an_error_and_no_panic() {
    let place = Place::new();
    place.folder("photos", 12).pack("build photos -o out --shards 3").succeeds();
    place.pack("plan photos -o planned --shards 3").succeeds();
    for words in [
        "build photos -o other",
        "build photos -o other --jobs 1 --format json",
        "plan photos -o other",
        "run planned --jobs 3",
        "run planned --jobs 1 --progress lines",
        "verify out --jobs 2",
        "index out --force --jobs 2",
        "unpack out -o files --jobs 2",
        "bench out --raw",
    ] {
        let run = place.pack_in(&NO_THREADS, words).exits(75);
        let run = run.says("thread");
        assert!(!run.stderr.contains("panicked"), "{run:#?}");
    }
    assert!(!place.at("other/dataset.json").exists());
    place.pack("verify out").succeeds();
    place.pack("run planned").succeeds();
    place.pack("finalize planned").succeeds();
    place.same("planned", "out");
}

#[test]
fn pipes_with_names_of_shards_and_sidecars_are_refused_at_once() {
    let place = Place::new();
    place.folder("photos", 12).pack("build photos -o out --shards 3").succeeds();
    for name in ["shard-000001.tar", "shard-000001.index", "dataset.json"] {
        let at = format!("out/{name}");
        fs::rename(place.at(&at), place.at("kept")).unwrap();
        pipe(&place, &at);
        for words in ["verify out", "verify --level quick out", "verify --level decode out"] {
            place.pack(words).exits(1).says(name).says("a named pipe");
        }
        place.pack("index out").exits(65).says(name);
        for words in ["info out", "ls out", "cat out c0001/s000001.json", "unpack out -o files"] {
            place.pack(words).exits(65).says(name).says("a named pipe");
        }
        place.pack("bench out --raw").exits(65).says(name).says("a named pipe");
        fs::remove_file(place.at(&at)).unwrap();
        fs::rename(place.at("kept"), place.at(&at)).unwrap();
        place.pack("verify out").succeeds();
    }
    pipe(&place, "alone.tar");
    place.pack("verify alone.tar").exits(1).says("a named pipe");
    place.pack("index alone.tar").exits(65).says("a named pipe");
    place.pack("info alone.tar").exits(2).says("a pipe");
}

#[test]
fn half_a_launcher_is_no_launcher() {
    let place = Place::new();
    place.folder("photos", 12).pack("plan photos -o out --shards 3").succeeds();
    for (there, missing) in [
        ("RANK", "WORLD_SIZE"),
        ("WORLD_SIZE", "RANK"),
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("PMI_RANK", "PMI_SIZE"),
        ("TARFLUME_RANK", "TARFLUME_WORLD"),
    ] {
        let run = place.pack_in(&[(there, "1")], "run out").exits(2);
        run.says(&format!("has {there}, but not {missing}")).says("--rank R --of N");
    }
    assert!(!place.names("out/.pack").iter().any(|name| name.ends_with(".record")));
    place.pack_in(&[("RANK", "1")], "run out --rank 0 --of 1").succeeds();
}

#[test]
fn a_source_with_a_future_time_stamp_is_published_once_and_recognized_afterwards() {
    let place = Place::new();
    place.folder("photos", 6).pair("photos/late");
    let future = SystemTime::now() + Duration::from_secs(400 * 24 * 3600);
    let late = place.at("photos/late.json");
    File::options().write(true).open(&late).unwrap().set_modified(future).unwrap();
    place.pack("build photos -o out").succeeds().says("published 7 samples");
    place.pack("build photos -o out").succeeds().says("published already");
    std::thread::sleep(Duration::from_millis(20));
    fs::write(&late, fs::read(&late).unwrap()).unwrap();
    File::options().write(true).open(&late).unwrap().set_modified(future).unwrap();
    place.pack("build photos -o out").exits(2).says("modified after the data set");
}

#[test]
fn permanent_errors_have_no_retry_exit_code() {
    let place = Place::new();
    place.folder("photos", 6).file("file", "text").file("empty/other.txt", "text");
    place.pack("build photos -o file").exits(2).says("this is a file").says("name a folder");
    place.pack("plan photos -o file").exits(2).says("this is a file");
    place.pack("build photos -o file/below").exits(73).says("name another folder");
    for words in ["info empty", "ls empty", "cat empty a.json", "unpack empty -o files"] {
        place.pack(words).exits(2).says("not a data set").says("pack build empty");
    }
    place.pack("unpack nothing -o files").exits(2);
    place.pack("run photos").exits(2).says("no plan");
}
