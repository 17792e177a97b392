//! `pack diff`: samples that two data sets do not have in common.

use std::fs;

use crate::harness::Place;

fn two() -> Place {
    let place = Place::new();
    place.folder("photos", 12);
    place.pack("build photos -o before --shards 3").succeeds();
    place
}

#[test]
fn equal_samples_are_equal_in_any_order_and_any_shards() {
    let place = two();
    place.pack("build photos -o after --shards 2 --shuffle 7").succeeds();
    let said = place.pack("diff before after").succeeds().stdout;
    assert_eq!(said, "12 samples -> 12 samples: 0 added, 0 removed, 0 changed, 12 the same\n");
    assert!(place.pack("diff before before --summary").succeeds().stderr.is_empty());
}

#[test]
fn added_removed_and_changed_samples_are_listed_with_their_parts() {
    let place = two();
    let keys: Vec<String> = place
        .pack("ls --format json before")
        .succeeds()
        .events()
        .iter()
        .map(|sample| sample["key"].as_str().unwrap().to_string())
        .collect();
    let gone = &keys[1];
    let grown = &keys[4];
    let same_size = &keys[7];
    let at = |key: &str, ext: &str| place.at(format!("photos/{key}.{ext}"));
    fs::copy(at(gone, "jpg"), at("zz", "jpg")).unwrap();
    fs::copy(at(gone, "json"), at("zz", "json")).unwrap();
    fs::remove_file(at(gone, "jpg")).unwrap();
    fs::remove_file(at(gone, "json")).unwrap();
    let text = fs::read_to_string(at(grown, "json")).unwrap();
    fs::write(at(grown, "json"), format!("{text}   ")).unwrap();
    fs::write(at(grown, "txt"), "a caption").unwrap();
    let mut bytes = fs::read(at(same_size, "json")).unwrap();
    let digit = bytes.iter().rposition(u8::is_ascii_digit).unwrap();
    bytes[digit] = if bytes[digit] == b'1' { b'2' } else { b'1' };
    fs::write(at(same_size, "json"), bytes).unwrap();
    place.pack("build photos -o after --shards 3").succeeds();
    let run = place.pack("diff before after");
    assert_eq!(run.exit, 1);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert!(lines[0].starts_with(&format!("- {gone}: jpg ")), "{lines:?}");
    assert!(lines[1].starts_with(&format!("~ {grown}: json ")), "{lines:?}");
    assert!(lines[1].ends_with("+txt 9 bytes"), "{lines:?}");
    assert_eq!(lines[2], format!("~ {same_size}: json other bytes"));
    assert!(lines[3].starts_with("+ zz: jpg "), "{lines:?}");
    assert_eq!(lines[4], "12 samples -> 12 samples: 1 added, 1 removed, 2 changed, 9 the same");
    let events = place.pack("diff --format json before after").events();
    let changes: Vec<&str> = events.iter().filter_map(|event| event["change"].as_str()).collect();
    assert_eq!(changes, ["removed", "changed", "changed", "added"]);
    assert_eq!(events[4]["same"], 9);
    assert_eq!(place.pack("diff --summary before after").stdout.lines().count(), 1);
}

#[test]
fn what_an_epoch_becomes_is_said_for_a_batch_size() {
    let place = two();
    place.photos("more", 13);
    place.pack("build more -o after").succeeds();
    let text = place.pack("diff --summary --batch-size 4 before after").stdout;
    assert_eq!(text.lines().last(), Some("an epoch in batches of 4: 3 steps -> 4 steps (+1)"));
    let totals = place.pack("diff --format json --batch-size 5 before after").events();
    let steps = &totals[totals.len() - 1]["steps"];
    assert_eq!(steps.to_string(), r#"{"after":3,"batch_size":5,"before":3}"#);
    let page = place.pack("diff --format markdown --batch-size 4 before after").stdout;
    assert!(page.contains("| samples | 12 | 13 | +1 |\n"), "{page}");
    assert!(page.contains("| steps of 4 | 3 | 4 | +1 |\n"), "{page}");
    place.pack("diff --batch-size 0 before after").exits(2);
}

#[test]
fn tars_without_checksums_are_compared_by_size_with_a_warning() {
    let place = two();
    let tar = fs::read_dir(place.at("before")).unwrap().map(|entry| entry.unwrap().path());
    let tar = tar.filter(|path| path.extension().is_some_and(|ext| ext == "tar")).min().unwrap();
    fs::create_dir(place.at("plain")).unwrap();
    fs::copy(tar, place.at("plain/a.tar")).unwrap();
    let run = place.pack("diff plain/a.tar plain/a.tar").succeeds();
    assert!(run.stderr.contains("compared by size alone"), "{}", run.stderr);
    let strict = place.pack("diff --require-checksums plain/a.tar plain/a.tar").exits(2);
    strict.says("error: ").says("compared by size alone");
    place.pack("diff --require-checksums before before").succeeds();
    place.pack("diff before nowhere").exits(2).says("nowhere");
}

#[test]
fn a_tar_without_a_manifest_is_compared_without_classes_with_a_warning() {
    let place = Place::new();
    place.file("photos/cat/a.jpg", tarflume_fixtures::flat_jpeg(b"a"));
    place.file("photos/dog/b.jpg", tarflume_fixtures::flat_jpeg(b"b"));
    place.pack("build photos -o set --label folder").succeeds();
    let run = place.pack("diff set set/shard-000000.tar").succeeds();
    run.says("warning: set/shard-000000.tar has no dataset.json, so classes and columns");
}
