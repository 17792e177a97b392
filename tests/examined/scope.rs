//! `pack verify` of a part of the data: slices, a time, a cache, what Git says has changed, folders of data sets.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::harness::{Place, members_of};

/// A published data set `out` of three shards with ten samples each.
fn published() -> Place {
    let place = Place::new();
    place.folder("photos", 30);
    place.pack("build photos -o out --shard-samples 10").succeeds();
    place
}

fn report(place: &Place, words: &str) -> Value {
    let run = place.pack(&format!("verify {words} --format json"));
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:#?}"))
}

/// Flips a bit in the data of a member of a shard.
fn flip(place: &Place, name: &str) {
    let path = place.at(name);
    let mut tar = fs::read(&path).unwrap();
    let at = members_of(&tar).remove(4).at;
    tar[at] ^= 1;
    fs::write(path, tar).unwrap();
    place.renew(name);
}

#[test]
fn the_slices_of_a_data_set_read_all_of_it_and_find_what_is_damaged() {
    let place = published();
    flip(&place, "out/shard-000001.tar");
    let mut bytes = 0;
    let mut found = 0;
    for slice in 1..=4 {
        let report = report(&place, &format!("out --slice {slice}/4"));
        assert_eq!(report["whole"], false);
        assert_eq!(report["coverage"]["of_bytes"], report["bytes"]);
        bytes += report["coverage"]["bytes"].as_u64().unwrap();
        found += u64::from(report["counts"]["checksum"] == 1);
    }
    assert_eq!((bytes, found), (report(&place, "out --level quick")["bytes"].as_u64().unwrap(), 1));
    let clean = published();
    let run = clean.pack("verify out --slice 2/4").succeeds();
    run.says("3 shards, 30 samples, 79.9 kB: no problem found; read ")
        .says("note: slice 2/4: the digests of ");
    clean.pack("verify out --sample 25% --seed 3 --quiet").succeeds().prints("", "");
    clean.pack("verify out --sample 100%").succeeds().says("79.9 kB: whole\n");
    clean.pack("verify out --format markdown --slice 1/4").succeeds().says("✅");
    for (words, text) in [
        ("--slice 5/4", "give a slice N/COUNT"),
        ("--sample 3", "give a percentage"),
        ("--sample 1% --slice 1/2", "cannot be used with"),
        ("--seed 1", "--sample"),
        ("--slice 1/2 --level quick", "--level quick reads no data"),
        ("--slice 1/2 --write-expect e.json", "is that of all samples"),
        ("--slice 1/2 --profile dali", "needs whole shards"),
        ("--manifest-only --slice 1/2", "--manifest-only opens no tar"),
        ("--time-budget 5", "such as 90s, 5m or 1h30m"),
    ] {
        clean.pack(&format!("verify out {words}")).exits(2).says(text);
    }
}

#[test]
fn after_the_time_nothing_is_begun_and_sidecars_are_still_compared() {
    let place = published();
    flip(&place, "out/shard-000001.tar");
    place
        .pack("verify out --time-budget 0s")
        .succeeds()
        .says("no problem found; read 0 % of 79.9 kB")
        .says("note: the time was over before all was read: 79.9 kB of the tars were not read");
    place.pack("verify out --time-budget 10h").exits(1);
    fs::write(place.at("out/shard-000002.index"), "").unwrap();
    place
        .pack("verify out --time-budget 0s")
        .exits(1)
        .says("damaged-index: out/shard-000002.index");
}

/// Waits until the clock of the kernel has moved on: a file that has just changed is not remembered.
fn settle() {
    let begin = SystemTime::now();
    while begin.elapsed().is_ok_and(|past| past < Duration::from_millis(60)) {
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_cache_remembers_sound_shards_until_they_change() {
    let place = published();
    settle();
    let words = "verify out --cache=known";
    place.pack(words).succeeds().prints("3 shards, 30 samples, 79.9 kB: whole\n", "");
    let note = "3 of 3 shards unchanged since they were verified; they were not read again";
    place.pack(words).succeeds().says("79.9 kB: whole\n").says(note);
    // Each run with a time of none goes on from the records.
    place.pack(&format!("{words} --time-budget 0s")).succeeds().says("79.9 kB: whole\n").says(note);
    flip(&place, "out/shard-000001.tar");
    for _ in 0..2 {
        let run = place.pack(words).exits(1);
        run.says("checksum: out/shard-000001.tar").says("2 of 3 shards unchanged");
    }
    for name in place.names("known") {
        fs::write(place.at("known").join(name), "not a record").unwrap();
    }
    fs::write(place.at("known/other.txt"), "kept").unwrap();
    let run = place.pack(words).exits(1);
    assert!(!run.stdout.contains("unchanged"), "{run:#?}");
    assert!(place.names("known").contains(&"other.txt".to_string()));

    let caches = place.at("caches").display().to_string();
    let env = [("XDG_CACHE_HOME", caches.as_str())];
    place.pack_in(&env, "verify photos/../out --cache").exits(1);
    let mut records = place.names("caches/tarflume/verify");
    records.retain(|name| name.ends_with(".verified"));
    assert_eq!(records.len(), 2, "what is damaged is in no record");
    place
        .pack("verify out --cache")
        .exits(2)
        .says("neither XDG_CACHE_HOME nor HOME names a folder");
    place.pack("verify out --cache=out/known").exits(2).says("in a folder that holds a data set");
    fs::create_dir(place.at("sets")).unwrap();
    fs::rename(place.at("out"), place.at("sets/out")).unwrap();
    place.pack("verify sets --cache=sets/known").exits(2).says("in a folder that is verified");
}

fn git(place: &Place, words: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@b.c"]).args(words);
    command.current_dir(place.at(".")).env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", place.at("."));
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn shards_that_differ_from_a_commit_are_read() {
    let place = published();
    place.pack("verify out --changed-since main").exits(2).says("in no repository of Git");
    git(&place, &["init", "-q", "-b", "main"]);
    git(&place, &["add", "out"]);
    git(&place, &["commit", "-q", "-m", "data"]);
    let words = "verify out --changed-since main";
    place
        .pack(words)
        .succeeds()
        .says("0 of 3 shards read: those that the files of --changed-since touch");
    place
        .pack("verify out --changed-since other")
        .exits(2)
        .says("Git knows no commit 'other' here");
    place.pack("verify out --changed-since --all").exits(2);

    git(&place, &["checkout", "-q", "-b", "branch"]);
    flip(&place, "out/shard-000001.tar");
    place.pack(words).exits(1).says("checksum: out/shard-000001.tar").says("1 of 3 shards read");
    git(&place, &["commit", "-q", "-a", "-m", "change"]);
    place.pack(words).exits(1).says("checksum: out/shard-000001.tar");
    git(&place, &["rm", "-q", "out/shard-000002.tar"]);
    place.pack(words).exits(1).says("missing-shard: out/shard-000002.tar");
    // From another folder, and for a shard alone.
    let mut command =
        place.command(&format!("{words} --format json").replace(" out ", " shard-000001.tar "));
    let ran = command.current_dir(place.at("out")).output().unwrap();
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(report["counts"]["checksum"], 1, "{report}");

    // A clone of one commit does not have the base.
    let from = format!("file://{}", place.at(".").display());
    git(&place, &["clone", "-q", "--depth", "1", "--branch", "branch", &from, "shallow"]);
    let run = place.pack("verify shallow/out --changed-since origin/main").exits(2);
    run.says("git fetch --unshallow");
    let mut command = place.command("verify out --changed-since main");
    let ran = command.env("PATH", "/nowhere").output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&ran.stderr).contains("there is no program `git` here"),
        "{ran:?}"
    );
}

#[test]
fn a_list_of_files_names_the_shards_that_are_read() {
    let place = published();
    for name in ["out/shard-000000.tar", "out/shard-000001.tar"] {
        flip(&place, name);
    }
    place
        .file("list", "train.py\nout/shard-000001.index\n")
        .file("zeros", "out/shard-000002.tar\0");
    let run = place.pack("verify --files-from list").exits(1);
    assert!(!run.stdout.contains("shard-000000"), "{run:#?}");
    run.says("checksum: out/shard-000001.tar").says("1 of 3 shards read");
    place.pack("verify out --files-from zeros").succeeds().says("1 of 3 shards read");
    place.file("none", "train.py\n");
    place.pack("verify --files-from none").succeeds().says("0 shards, 0 samples");
    place.pack("verify --files-from nowhere").exits(2).says("nowhere");
    let mut command = place.command("verify --files-from -");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"out/shard-000000.tar").unwrap();
    let ran = child.wait_with_output().unwrap();
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    place.pack("verify --changed out/dataset.json").succeeds().says("0 of 3 shards read");
    place.pack("verify --changed out/shard-000000.tar train.py").exits(1);
}

#[test]
fn a_hook_compares_manifests_without_opening_a_tar() {
    let place = published();
    let sound = "no problem found; read 0 % of 79.9 kB";
    place.pack("verify out --manifest-only").succeeds().says(sound).says("no tar was opened");
    fs::write(place.at("out/shard-000001.tar"), "short").unwrap();
    place.pack("verify out --manifest-only").exits(1).says("stale-manifest: out/shard-000001.tar");
    fs::remove_file(place.at("out/shard-000001.tar")).unwrap();
    place.pack("verify out --manifest-only").succeeds().says("1 tar is not here");
    let manifest = fs::read_to_string(place.at("out/dataset.json")).unwrap();
    place.file("out/dataset.json", manifest.replacen("\"samples\": 30", "\"samples\": 31", 1));
    place.pack("verify out --manifest-only").exits(1).says("damaged-manifest: out/dataset.json");
}

#[test]
fn what_was_not_pulled_is_told_apart_from_what_is_missing() {
    let place = published();
    let size = fs::metadata(place.at("out/shard-000001.tar")).unwrap().len();
    let sha256 = "4d7a".repeat(16);
    let pointer =
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n");
    place.file("out/shard-000001.tar", &pointer);
    fs::remove_file(place.at("out/shard-000002.tar")).unwrap();
    place.file(
        "out/shard-000002.tar.dvc",
        "outs:\n- md5: 22a1\n  hash: md5\n  path: shard-000002.tar\n",
    );
    let run = place.pack("verify out").exits(2);
    run.clone().says("not checked: 1 tar was not pulled: Git LFS pointers are in their place. `git lfs pull` fetches them");
    let bytes = size.to_string();
    let thousands = &bytes[..bytes.len() - 3];
    let rest = &bytes[bytes.len() - 3..];
    run.clone()
        .says(&format!("(first: out/shard-000001.tar: {thousands},{rest} bytes, sha256 {sha256})"));
    run.says("not checked: 1 tar was not pulled: DVC tracks them. `dvc pull` fetches them (first: out/shard-000002.tar)");
    place.pack("verify --changed out/dataset.json").succeeds().says("note: 1 tar was not pulled");
    place.pack("verify out --manifest-only").succeeds();
    fs::remove_file(place.at("out/shard-000002.tar.dvc")).unwrap();
    place.pack("verify out").exits(1).says("missing-shard: out/shard-000002.tar");
    let lock = "stages:\n  pack:\n    outs:\n    - path: data/shards\n      md5: 0123.dir\n      size: 5\n";
    place.file("dvc.lock", lock);
    place.pack("verify data/shards").exits(2).says("was not pulled").says("`dvc pull` fetches it");
}

#[test]
fn a_folder_of_data_sets_is_one_report() {
    let place = published();
    fs::create_dir_all(place.at("data/deep")).unwrap();
    fs::rename(place.at("out"), place.at("data/deep/val")).unwrap();
    place.pack("build photos -o data/train --shard-samples 15").succeeds();
    fs::create_dir_all(place.at("data/.cache")).unwrap();
    fs::copy(place.at("data/train/shard-000000.tar"), place.at("data/.cache/x.tar")).unwrap();
    let text = "5 shards, 60 samples, 159 kB: whole\n  data/deep/val: 3 shards, 30 samples, 79.9 kB\n  data/train: 2 \
                shards, 30 samples, 78.8 kB\n";
    place.pack("verify data").succeeds().prints(text, "");
    flip(&place, "data/train/shard-000001.tar");
    let report = report(&place, "data");
    assert_eq!(report["sets"][0]["path"], "data/deep/val");
    assert_eq!(report["sets"][1]["problems"], 2);
    assert_eq!(report["problems"][0]["path"], "data/train/shard-000001.tar");
    place.pack("verify photos").exits(2).says("not a data set");
}
