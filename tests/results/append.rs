//! Growth: `append` adds the new samples of a folder to a data set, and changes nothing else.

use std::fs;

use serde_json::json;
use tarflume_fixtures::flat_jpeg;

use crate::harness::{Place, assert_same, sampled, without_digest};
use crate::interrupted::kills::Kills;

mod annotations;
mod tables;

/// A place with a data set of 20 pairs, and 15 more pairs in its folder since.
fn grown() -> Place {
    let place = Place::new();
    place.folder("photos", 20);
    place.pack("build photos -o out --shard-samples 6").succeeds();
    more(&place, 15);
    place
}

fn more(place: &Place, pairs: usize) {
    for n in 0..pairs {
        place.pair(&format!("photos/new/{n:03}"));
    }
}

#[test]
fn new_samples_follow_the_old_which_do_not_change() {
    let place = grown();
    let before = place.tree("out");
    let old = place.manifest("out");
    let run = place.pack("append photos -o out").succeeds();
    run.says("skipped 20 samples that the data set has").says("published 35 samples, 7 shards");
    place.pack("verify out").succeeds();
    let after = place.tree("out");
    let new = place.manifest("out");
    for (name, digest) in before.iter().filter(|(name, _)| *name != "dataset.json") {
        assert_eq!(after.get(name), Some(digest), "{name}");
    }
    let shards = new["shards"].as_array().unwrap();
    assert_eq!(shards[..4], old["shards"].as_array().unwrap()[..]);
    assert_eq!(shards[4]["name"], "shard-000004.tar");
    assert_eq!(new["plan"], old["plan"]);
    assert_eq!(new["appended"][0]["shards"], 3);
    assert_eq!(place.members("out").len(), 70);
    assert!(!place.at("out/.pack").exists());
    place.pack("info out").succeeds().says("builds      2");
}

#[test]
fn an_append_of_nothing_new_changes_nothing() {
    let place = grown();
    place.pack("append photos -o out").succeeds();
    let before = place.tree("out");
    let run = place.pack("append photos -o out").succeeds();
    run.says("skipped 35 samples").says("nothing new");
    assert_same(&place.tree("out"), &before);
    more(&place, 17);
    place.pack("append photos -o out").succeeds().says("published 37 samples");
    assert_eq!(place.manifest("out")["appended"].as_array().unwrap().len(), 2);
    assert_eq!(place.manifest("out")["shards"][7]["name"], "shard-000007.tar");
    place.pack("verify out").succeeds();
}

#[test]
fn a_changed_sample_is_reported_and_stays_as_it_was() {
    let place = Place::new();
    place.pair("d/1").pair("d/2");
    place.pack("build d -o out").succeeds();
    let members = place.members("out");
    place.file("d/1.json", "{\"class\": 1, \"more\": 2}");
    place.pair("d/3");
    let run = place.pack("append d -o out").succeeds();
    run.says("differs").says("its 'json' has 23 bytes, not 12");
    assert_eq!(place.members("out")[..4], members[..]);
    assert_eq!(place.shards("out")[0][1].data, b"{\"class\":1}\n");
    assert_eq!(place.problems("out")[0]["kind"], "differs");
}

#[test]
fn labels_keep_their_numbers_and_new_classes_follow() {
    let place = Place::new();
    let image = |stem: &str| {
        place.file(format!("d/{stem}.jpg"), flat_jpeg(stem.as_bytes()));
    };
    ["cat/1", "dog/1"].iter().for_each(|stem| image(stem));
    place.pack("build d -o out --label folder --prefix p").succeeds();
    ["ant/1", "dog/2"].iter().for_each(|stem| image(stem));
    place.pack("append d -o out").succeeds();
    assert_eq!(place.manifest("out")["classes"]["names"], json!(["cat", "dog", "ant"]));
    let shard = &place.shards("out")[1];
    assert_eq!(shard[1].data, b"{\"class\":2,\"class_name\":\"ant\"}");
    assert_eq!(shard[3].data, b"{\"class\":1,\"class_name\":\"dog\"}");
    assert_eq!(place.manifest("out")["shards"][1]["name"], "p-000001.tar");
    // Classes that were given are a closed list.
    place.file("names.txt", "cat\ndog\n");
    place.pack("build d -o fixed --label folder --classes names.txt --exclude ant/*").succeeds();
    image("yak/1");
    place.pack("append d -o fixed").exits(1).says("no 'yak'");
}

#[test]
fn options_of_the_first_build_are_kept() {
    let place = Place::new();
    place.pair("d/Cat/1").pair("d/a.b");
    place
        .pack("build d -o out --names replace --exclude *z* --shard-samples 1 --shuffle 9")
        .succeeds();
    place.pair("d/cat/1").pair("d/c.d").pair("d/z");
    place.pack("append d -o out").succeeds().says("published 4 samples, 4 shards");
    let members = place.members("out");
    assert!(
        members.contains(&"a_b.jpg".into()) && members.contains(&"c_d.jpg".into()),
        "{members:?}"
    );
    assert_eq!(members.iter().filter(|name| name.to_lowercase().starts_with("cat/1")).count(), 4);
    assert!(!members.iter().any(|name| name.starts_with('z')));
    place.pack("append d -o out").succeeds().says("nothing new");
    place.pack("verify out").succeeds();
}

#[test]
fn builds_that_can_not_be_continued_are_refused() {
    let place = Place::new();
    place.pair("d/1").pair("d/2");
    place.pack("append d -o nowhere").exits(2).says("pack build SRC -o nowhere");
    assert!(!place.at("nowhere").exists());
    place.pack("build d -o once --dedupe").succeeds();
    place.pair("d/3");
    place.pack("append d -o once").exits(2).says("--dedupe");
    place.file("bad.txt", "2\n");
    place.pack("build d -o listed --exclude @bad.txt").succeeds();
    place.pair("d/4");
    place.pack("append d -o listed").exits(2).says("--exclude @FILE");
    place.pack("append d -o listed --exclude @bad.txt").succeeds().says("published 3 samples");
    place.pack("build d -o listed").exits(2).says("pack append");
}

#[test]
fn a_problem_adds_nothing_and_skipped_samples_may_come_later() {
    let place = Place::new();
    place.pair("d/1");
    place.pack("build d -o out").succeeds();
    let before = place.tree("out");
    place.pair("d/2").pair("d/3");
    place.file("d/3.json", "{");
    place.pack("append d -o out").exits(1).says("bad-json");
    place.pack("append d -o out --on-problem skip").succeeds().says("published 2 samples");
    place.pair("d/3");
    place.pack("append d -o out").succeeds().says("published 3 samples");
    let after = place.tree("out");
    assert_eq!(after.get("shard-000000.tar"), before.get("shard-000000.tar"));
    place.pack("verify out").succeeds();
}

#[test]
fn an_append_by_two_machines_is_that_of_one() {
    let place = grown();
    copy(&place, "out", "whole");
    place.pack("append photos -o whole").succeeds();
    place.pack("append photos -o out --plan").succeeds().says("next: pack run out");
    place.pack("status out").exits(75).says("0 of 3 shards finished");
    place.pack("run out --rank 1 --of 2").succeeds();
    place.pack("finalize out").exits(75);
    place.pack("run out --rank 0 --of 2").succeeds();
    place.pack("finalize out").succeeds().says("published 35 samples");
    place.same("out", "whole");
    place.pack("finalize out").succeeds().says("published already");
}

#[test]
fn an_append_that_was_planned_for_another_state_of_the_data_set_is_refused() {
    let place = grown();
    place.pack("append photos -o out --plan").succeeds();
    let manifest = fs::read_to_string(place.at("out/dataset.json")).unwrap();
    place.pack("run out").succeeds();
    fs::write(place.at("out/dataset.json"), without_digest(&manifest)).unwrap();
    place.pack("finalize out").exits(2).says("another data set");
    place.pack("append photos -o out").exits(2).says("was changed after").says("--fresh");
    place.pack("append photos -o out --fresh").succeeds();
    place.pack("verify out").succeeds();
    more(&place, 16);
    place.pack("append photos -o out --plan").succeeds();
    fs::remove_file(place.at("out/dataset.json")).unwrap();
    place.pack("run out").succeeds();
    place.pack("finalize out").exits(2).says("is gone");
}

#[test]
fn verify_counts_shards_of_an_interrupted_append_and_lists_others() {
    let place = grown();
    place.pack("append photos -o out --plan").succeeds();
    place.pack("run out").succeeds();
    // What a kill leaves after the first shard was moved.
    for name in ["shard-000004.tar", "shard-000004.index"] {
        fs::rename(place.at("out/.pack/shards").join(name), place.at("out").join(name)).unwrap();
    }
    let run = place.pack("verify out").succeeds();
    run.says("4 shards, 20 samples").says("1 shard is of an interrupted append");
    fs::copy(place.at("out/shard-000000.tar"), place.at("out/stray.tar")).unwrap();
    place.pack("verify out").exits(1).says("stray.tar: the manifest does not list this shard");
    fs::remove_file(place.at("out/stray.tar")).unwrap();
    let plan = fs::read(place.at("out/.pack/plan")).unwrap();
    fs::write(place.at("out/.pack/plan"), &plan[..plan.len() / 2]).unwrap();
    place
        .pack("verify out")
        .exits(1)
        .says("shard-000004.tar: the manifest does not list this shard");
    fs::write(place.at("out/.pack/plan"), plan).unwrap();
    place.pack("append photos -o out").succeeds().says("published 35 samples");
    place.pack("verify out").succeeds();
}

#[test]
fn an_append_killed_at_random_calls_gives_the_same_bytes() {
    let place = Place::new();
    place.folder("photos", 150);
    let options = "--shard-samples 5 --split train=0.8,val=0.2";
    place.pack(&format!("build photos -o first {options}")).succeeds();
    more(&place, 200);
    killed(&place, "append photos", 350, 30);
}

/// Kills this many appends to copies of the data set `first`, and compares the result with that of an
/// undisturbed append, which has this many samples.
fn killed(place: &Place, words: &str, samples: u64, kills: u32) {
    copy(place, "first", "undisturbed");
    let Some(mut attempts) = Kills::of(place, &format!("{words} -o undisturbed")) else { return };
    let expected = place.tree("undisturbed");
    let old = place.manifest("first");
    let kills = sampled(kills);
    let mut chains = 0;
    while attempts.killed < kills {
        let _ = fs::remove_dir_all(place.at("out"));
        copy(place, "first", "out");
        let mut late = attempts.flip();
        while attempts.killed < kills && attempts.kill(place, &format!("{words} -o out"), late) {
            late = attempts.flip();
            // After any call the data set is the old one or the new one, and whole.
            place.pack("verify out --level quick").succeeds();
            let found = place.manifest("out");
            assert!(found == old || found["samples"] == samples, "{found}");
        }
        place.pack(&format!("{words} -o out")).succeeds();
        assert_same(&place.tree("out"), &expected);
        chains += 1;
    }
    eprintln!("{} appends killed, {chains} times brought to an end", attempts.killed);
}

/// Copies a data set.
fn copy(place: &Place, from: &str, to: &str) {
    fs::create_dir_all(place.at(to)).unwrap();
    for name in place.names(from) {
        fs::copy(place.at(from).join(&name), place.at(to).join(&name)).unwrap();
    }
}
