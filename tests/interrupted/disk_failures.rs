//! Full disks, disks that cannot be written, sources that change during a run.
//!
//! Small disks are tmpfs mounts of the test, in a mount namespace that ends with its shell: that
//! needs root, or user namespaces. If neither is permitted the tests fail with that reason, unless
//! `TARFLUME_NO_MOUNT=1` accepts it.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use tarflume_fixtures::flat_jpeg;

use crate::harness::{Child, Place, Run};

/// Runs a shell script in the place, where `disk KIB` mounts a disk of that size at `disk`, and
/// `pack` is the command. Returns `None` if mounting is known to be impossible here.
fn script(place: &Place, script: &str) -> Option<Run> {
    if std::env::var_os("TARFLUME_NO_MOUNT").is_some_and(|value| value == "1") {
        eprintln!("not run: TARFLUME_NO_MOUNT=1");
        return None;
    }
    fs::create_dir(place.at("disk")).unwrap();
    let pack = env!("CARGO_BIN_EXE_pack");
    let head = format!(
        "set -u; pack() {{ '{pack}' \"$@\"; }}
        disk() {{ mount -t tmpfs -o size=$1k none disk || {{ echo MOUNTING IS IMPOSSIBLE; exit 99; }}; }}
        "
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", &format!("{head}{script}")]);
    command.current_dir(place.at("")).env_remove("RANK").env_remove("WORLD_SIZE");
    let run = Child::start(command, &place.at("")).ended();
    let mounted = run.exit != 99 && !run.stderr.contains("unshare:");
    assert!(
        mounted,
        "no disk can be mounted here; run as root, or set TARFLUME_NO_MOUNT=1: {run:#?}"
    );
    Some(run)
}

#[test]
fn a_full_disk_asks_for_room_and_the_same_command_ends_with_the_same_bytes() {
    let place = Place::new();
    place.photos("photos", 100);
    place.pack("build photos -o whole --shard-size 64KiB").succeeds();
    let run = script(
        &place,
        "disk 500
        pack build photos -o disk/out --shard-size 64KiB; echo first $?
        ls -A disk/out disk/out/.pack/shards
        mount -o remount,size=8m disk
        pack build photos -o disk/out --shard-size 64KiB; echo second $?
        cp -r disk/out out",
    );
    let Some(run) = run else { return };
    let run =
        run.succeeds().says("first 75").says("second 0").says("continuing an unfinished build");
    assert!(run.stderr.contains("No space left on device"), "{run:#?}");
    assert!(run.stderr.contains("run the same command again"), "it says what to do: {run:#?}");
    let listed = run.stdout.split("second").next().unwrap();
    assert!(!listed.contains(".tmp") && listed.contains(".record"), "{run:#?}");
    place.same("out", "whole");
}

#[test]
fn a_full_disk_leaves_no_half_export_and_the_same_command_succeeds_later() {
    let place = Place::new();
    place.photos("photos", 100).pack("build photos -o shards").succeeds();
    for format in ["mds", "litdata", "tfrecord", "hf", "parquet", "folder"] {
        let _ = fs::remove_dir_all(place.at("disk"));
        let run = script(
            &place,
            &format!(
                "disk 400
                pack export shards --to {format} -o disk/out; echo first $?
                ls -A disk; echo listed
                mount -o remount,size=16m disk
                pack export shards --to {format} -o disk/out; echo second $?
                ls -A disk"
            ),
        );
        let Some(run) = run else { return };
        let run = run.succeeds().says("first 75").says("second 0").says("No space left on device");
        let run = run.says("starts at the first sample");
        assert!(run.stdout.contains("first 75\nlisted"), "nothing is left: {run:#?}");
        assert!(run.stdout.ends_with("second 0\nout\n"), "{run:#?}");
    }
}

#[test]
fn a_disk_that_is_full_from_the_start_gets_no_half_plan() {
    let place = Place::new();
    place.folder("photos", 3000).pack("build photos -o whole --shards 2").succeeds();
    let run = script(
        &place,
        "disk 32
        head -c 24000 /dev/zero > disk/filler
        pack build photos -o disk/out --shards 2; echo first $?
        rm disk/filler
        mount -o remount,size=16m disk
        pack build photos -o disk/out --shards 2; echo second $?
        cp -r disk/out out",
    );
    let Some(run) = run else { return };
    run.succeeds().says("first 75").says("second 0").says("No space left on device");
    place.same("out", "whole");
}

#[test]
fn a_disk_that_fills_during_quarantine_loses_no_problem() {
    let place = Place::new();
    place.photos("photos", 60);
    for number in 0..20 {
        place.file(
            format!("photos/orphan{number}.jpg"),
            [flat_jpeg(b"x"), vec![0; 20_000]].concat(),
        );
    }
    place.pack("build photos -o whole --on-problem quarantine --shards 9").succeeds();
    let run = script(
        &place,
        "disk 200
        pack build photos -o disk/out --on-problem quarantine --shards 9 2>first; echo first $?
        mount -o remount,size=16m disk
        pack build photos -o disk/out --on-problem quarantine --shards 9; echo second $?
        cp -r disk/out out",
    );
    let Some(run) = run else { return };
    run.succeeds().says("first 75").says("second 0");
    place.same("out", "whole");
}

#[test]
fn an_unwritable_disk_is_named() {
    let place = Place::new();
    place.folder("photos", 5);
    let run = script(
        &place,
        "disk 1000
        mkdir disk/out
        mount -o remount,ro disk
        pack build photos -o disk/out; echo build $?
        pack plan photos -o disk/new; echo plan $?
        ls -A disk disk/out; mount -o remount,rw disk
        pack plan photos -o disk/out; mount -o remount,ro disk
        pack run disk/out; echo run $?
        pack status disk/out; echo status $?
        pack build photos -o disk/out --dry-run; echo dry $?",
    );
    let Some(run) = run else { return };
    let run = run.succeeds().says("build 73").says("plan 73").says("run 73").says("status 75");
    let run = run.says("mount it for writing, or name another folder");
    run.says("dry 0").says("Read-only file system").says("disk/out");
}

/// Plans a folder, changes it, runs; returns what is reported about the file.
fn changed_meanwhile(change: impl Fn(&Place, &str)) -> (Place, String) {
    let place = Place::new();
    place.photos("photos", 8);
    place.pack("plan photos -o out").succeeds();
    change(&place, "photos/c0001/s000004.jpg");
    let run = place.pack("run out").exits(65).says("changed 1");
    let line = run.stderr.lines().find(|line| line.starts_with("changed: ")).unwrap().to_string();
    assert!(
        line.starts_with("changed: PLACE/photos/c0001/s000004.jpg: key c0001/s000004: "),
        "{line}"
    );
    place.pack("run out --on-problem skip").succeeds();
    place.pack("finalize out").succeeds();
    assert_eq!(place.members("out").len(), 14);
    assert_eq!(place.problems("out")[0]["kind"], "changed");
    (place, line)
}

#[test]
fn a_file_that_shrinks_grows_or_vanishes_after_planning_is_reported() {
    let read = |place: &Place, path: &str| fs::read(place.at(path)).unwrap();
    let (_, line) = changed_meanwhile(|place, path| {
        let bytes = read(place, path);
        place.file(path, &bytes[..bytes.len() - 100]);
    });
    assert!(line.contains("bytes now, not the"), "{line}");
    let (_, line) = changed_meanwhile(|place, path| {
        let bytes = read(place, path);
        place.file(path, [&bytes[..], b"more"].concat());
    });
    assert!(line.contains("bytes now, not the"), "{line}");
    let (_, line) = changed_meanwhile(|place, path| fs::remove_file(place.at(path)).unwrap());
    assert!(line.contains("it was removed after it was planned"), "{line}");
    let (_, line) = changed_meanwhile(|place, path| {
        place.file(path, "");
    });
    assert!(line.contains("it has 0 bytes now"), "{line}");
}

#[test]
fn a_file_replaced_by_another_of_its_size_is_reported() {
    let (_, line) = changed_meanwhile(|place, path| {
        let mut bytes = fs::read(place.at(path)).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::thread::sleep(std::time::Duration::from_millis(20));
        place.file(path, bytes);
    });
    assert!(line.contains("it was modified after it was planned"), "{line}");
}

#[test]
fn a_file_that_becomes_a_folder_or_a_link_loop_is_reported_and_nothing_hangs() {
    for how in ["folder", "loop", "pipe"] {
        let place = Place::new();
        place.photos("photos", 8);
        place.pack("plan photos -o out").succeeds();
        let path = place.at("photos/c0001/s000004.jpg");
        fs::remove_file(&path).unwrap();
        match how {
            "folder" => fs::create_dir(&path).unwrap(),
            "loop" => symlink("s000004.jpg", &path).unwrap(),
            _ => assert!(Command::new("mkfifo").arg(&path).status().unwrap().success()),
        }
        place.pack("run out").exits(65).says("photos/c0001/s000004.jpg");
        place.pack("run out --on-problem quarantine").succeeds();
        assert!(place.at("out/quarantine/c0001/s000004.jpg.reason.json").exists());
    }
}

#[test]
fn a_dangling_or_circular_link_is_reported() {
    let place = Place::new();
    place.folder("photos", 4);
    for (name, target) in [("nowhere", "missing.jpg"), ("circle", "circle.jpg")] {
        symlink(target, place.at(format!("photos/{name}.jpg"))).unwrap();
        place.file(format!("photos/{name}.json"), "{}");
    }
    let run = place.pack("build photos -o out --follow-links").exits(1);
    run.says("unreadable: PLACE/photos/circle.jpg").says("unreadable: PLACE/photos/nowhere.jpg");
    place.pack("build photos -o out --follow-links --on-problem skip").succeeds();
    assert_eq!(place.members("out").len(), 8);
}
