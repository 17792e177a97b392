//! `sync` between folders: what is copied, what is refused, and commands that are killed.

use std::fs;

use crate::harness::Place;
use crate::interrupted::kills::Kills;

fn built(pairs: usize, shards: usize) -> Place {
    let place = Place::new();
    place.photos("photos", pairs);
    place.pack(&format!("build photos -o shards --shards {shards}")).succeeds();
    place
}

#[test]
fn a_copy_is_the_same_data_set_and_nothing_is_copied_twice() {
    let place = built(30, 4);
    place.pack("sync shards copy").succeeds().says("4 shards, 4 copied");
    place.same("shards", "copy");
    place.pack("sync shards copy").succeeds().says("4 shards, 0 copied");
    place.pack("verify copy").succeeds();
    // What is missing or different is copied again.
    fs::remove_file(place.at("copy/shard-000001.tar")).unwrap();
    fs::write(place.at("copy/shard-000002.index"), "other").unwrap();
    fs::remove_file(place.at("copy/dataset.json")).unwrap();
    place.pack("sync shards copy --jobs 1").succeeds().says("4 shards, 2 copied");
    place.same("shards", "copy");
    place.pack("sync shards third --quiet").succeeds().prints("", "");
}

#[test]
fn a_target_with_an_earlier_state_is_extended() {
    let place = built(20, 2);
    place.pack("sync shards copy").succeeds();
    fs::write(place.at("photos/new.jpg"), fs::read(first_jpeg(&place)).unwrap()).unwrap();
    fs::write(place.at("photos/new.json"), "{\"class\": 1}").unwrap();
    place.pack("append photos -o shards").succeeds();
    place.pack("sync shards copy").succeeds().says("3 shards, 1 copied");
    place.same("shards", "copy");
    // Not the other way round, and no other data set.
    place.pack("sync shards older").succeeds();
    let other = built(5, 1);
    let shards = other.at("shards");
    let words = format!("sync {} copy", shards.display());
    place.pack(&words).exits(2).says("this is another data set").says("--force");
    place.same("shards", "copy");
    place.pack(&format!("{words} --force")).succeeds().says("1 shard, 1 copied");
    assert_eq!(place.manifest("copy"), other.manifest("shards"));
}

fn first_jpeg(place: &Place) -> std::path::PathBuf {
    let names = place.names("photos");
    place.at("photos").join(names.iter().find(|name| name.ends_with(".jpg")).unwrap())
}

#[test]
fn a_damaged_shard_is_not_copied() {
    let place = built(30, 3);
    let path = place.at("shards/shard-000001.tar");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    let run = place.pack("sync shards copy").exits(65);
    run.says("shard-000001.tar").says("not the one that dataset.json lists");
    let names = place.names("copy");
    assert!(
        !names.iter().any(|name| name.contains("000001") || name == "dataset.json"),
        "{names:?}"
    );
    fs::remove_file(&path).unwrap();
    place.pack("sync shards copy").exits(65).says("shard-000001.tar");
    place.pack("sync nowhere copy").exits(2).says("there is no data set to copy");
}

#[test]
fn a_file_that_no_data_set_lists_is_not_replaced() {
    let place = built(12, 2);
    let length = fs::read(place.at("shards/shard-000001.tar")).unwrap().len();
    for (name, bytes) in [
        ("shard-000000.tar", b"mine".to_vec()),
        ("shard-000001.tar", vec![7; length]),
        ("shard-000001.index", b"mine".to_vec()),
    ] {
        fs::create_dir(place.at("copy")).unwrap();
        fs::write(place.at("copy").join(name), &bytes).unwrap();
        let refused = place.pack("sync shards copy").exits(2);
        refused.says(name).says("no dataset.json lists it").says("--force");
        assert_eq!(fs::read(place.at("copy").join(name)).unwrap(), bytes);
        assert_eq!(place.names("copy"), [name], "nothing is copied beside it");
        place.pack("sync shards copy --force").succeeds();
        place.same("shards", "copy");
        fs::remove_dir_all(place.at("copy")).unwrap();
    }
}

#[test]
fn a_killed_command_goes_on() {
    let place = built(400, 12);
    let whole = place.tree("shards");
    let Some(mut attempts) = Kills::of(&place, "sync shards undisturbed --jobs 2") else { return };
    for _ in 0..20 {
        attempts.kill(&place, "sync shards copy --jobs 2", false);
        // A manifest is there only with all shards.
        if place.names("copy").iter().any(|name| name == "dataset.json") {
            place.pack("verify copy").succeeds();
        }
    }
    place.pack("sync shards copy").succeeds().says("12 shards");
    let copy = place.tree("copy");
    assert!(whole.iter().all(|(name, digest)| copy.get(name) == Some(digest)));
    // Unfinished files of killed commands have temporary names.
    let others: Vec<_> = copy.keys().filter(|name| !whole.contains_key(*name)).collect();
    assert!(others.iter().all(|name| name.starts_with('.')), "{others:?}");
    place.pack("verify copy").succeeds();
}
