//! `dataset.json` that was edited or damaged: every command refuses it, and exchanged classes are found even if its
//! digest is written again.

use std::fs;

use crate::harness::{Place, tool, without_digest};

/// Eight pictures of cats and dogs, labeled by their folders.
fn pets() -> Place {
    let place = Place::new();
    for n in 0..8 {
        let class = if n % 2 == 0 { "cat" } else { "dog" };
        place.file(format!("photos/{class}/{n}.jpg"), tarflume_fixtures::flat_jpeg(&[n]));
    }
    place.pack("build photos -o set --label folder --shards 2").succeeds();
    place.pack("build photos -o same --label folder --shards 2").succeeds();
    place
}

fn edit(place: &Place, from: &str, to: &str) {
    let text = fs::read_to_string(place.at("set/dataset.json")).unwrap();
    let edited = text.replacen(from, to, 1);
    assert_ne!(edited, text);
    place.file("set/dataset.json", edited);
}

fn exchange_classes(place: &Place) {
    edit(place, "\"cat\",\n      \"dog\"", "\"dog\",\n      \"cat\"");
}

#[test]
fn an_edited_manifest_is_refused_by_every_command_until_it_is_accepted() {
    let place = pets();
    exchange_classes(&place);
    for (words, exit) in [
        ("verify --level quick set", 1),
        ("verify set", 1),
        ("info set", 65),
        ("ls set", 65),
        ("diff same set", 65),
        ("sync set copy", 65),
        ("reshard set -o new", 65),
        ("append photos -o set", 65),
        ("index set", 65),
        ("index --force set", 65),
        ("bench set", 65),
    ] {
        let run = place.pack(words).exits(exit);
        run.says("changed after it was written").says("pack index --accept-edits");
    }
    place.pack("index --accept-edits set").succeeds().says("dataset.json: written");
    place.pack("verify --level quick set").succeeds();
    place.pack("index --accept-edits set").succeeds().says("dataset.json: kept");
    place.pack("index --accept-edits set/shard-000000.tar").exits(2).says("give its folder");
    // An edit that makes it wrong is not accepted.
    edit(&place, "\"samples\": 8", "\"samples\": 9");
    place.pack("index --accept-edits set").exits(65).says("not the sum of the shards");
}

#[test]
fn exchanged_classes_are_found_although_the_digest_fits() {
    let place = pets();
    place.pack("verify --write-expect data.json set").succeeds();
    place.pack("verify --expect data.json same").succeeds();
    place.pack("diff set same").succeeds();
    exchange_classes(&place);
    place.pack("index --accept-edits set").succeeds();
    place.pack("verify --level quick set").succeeds();
    for level in ["full", "decode"] {
        let run = place.pack(&format!("verify --level {level} set")).exits(1);
        run.says("class-name: set/shard-000000.tar: byte ")
            .says("class 0 is 'cat' here, 'dog' in dataset.json")
            .says("class-name 2");
    }
    let run = place.pack("diff same set").exits(1);
    run.says("dataset.json: name of class '0': 'cat' before, 'dog' after").says("8 the same");
    let run = place.pack("diff --format json same set").exits(1);
    assert_eq!(run.events()[0]["change"], "manifest");
    for level in ["quick", "full"] {
        // The counts of classes need the data.
        let text = fs::read_to_string(place.at("data.json")).unwrap();
        let mut expect: serde_json::Value = serde_json::from_str(&text).unwrap();
        expect.as_object_mut().unwrap().retain(|name, _| !["class", "classes"].contains(&&**name));
        place.file("tables.json", expect.to_string());
        let run = place.pack(&format!("verify --level {level} --expect tables.json set")).exits(1);
        run.says("name of class '1': 'dog' expected, 'cat' found");
    }
    place.pack("verify --expect data.json set").exits(1).says("name of class '1'");
}

#[test]
fn a_manifest_of_an_earlier_version_stays_readable_and_can_get_a_digest() {
    let place = pets();
    let text = fs::read_to_string(place.at("set/dataset.json")).unwrap();
    place.file("set/dataset.json", without_digest(&text));
    place.pack("verify set").succeeds().says(": whole");
    place.pack("index set").succeeds().says("dataset.json: kept");
    place.pack("verify --require-checksums set").exits(1).says("no-checksum: set/dataset.json");
    place.pack("index --accept-edits set").succeeds();
    assert_eq!(fs::read_to_string(place.at("set/dataset.json")).unwrap(), text);
    place.pack("verify --require-checksums set").succeeds();
}

#[test]
fn the_digest_is_that_of_b3sum_over_the_text_without_white_space() {
    let place = pets();
    let text = fs::read_to_string(place.at("set/dataset.json")).unwrap();
    let stated = place.manifest("set")["manifest_blake3"].as_str().unwrap().to_string();
    // No string of this manifest has a line end, or a colon before a blank.
    let lines: String = text.lines().map(str::trim).collect();
    place.file("text", lines.replace("\": ", "\":").replace(&stated, ""));
    let run = tool(&place, "b3sum", &["text"]);
    assert!(run.stdout.starts_with(&stated), "{run:#?}");
}
