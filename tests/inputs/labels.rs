//! Labels: the class of an image is the name of its folder; six shapes of folders, class tables,
//! problems.

mod class_rules;

use serde_json::{Value, json};
use tarflume_fixtures::flat_jpeg;

use crate::harness::Place;

/// Writes images without JSON.
fn images<'a>(place: &'a Place, stems: &[&str]) -> &'a Place {
    for stem in stems {
        place.file(format!("{stem}.jpg"), flat_jpeg(stem.as_bytes()));
    }
    place
}

/// Returns the key and the JSON of each sample of a data set.
fn jsons(place: &Place, out: &str) -> Vec<(String, Value)> {
    let members = place.shards(out).concat();
    let json = members.iter().filter_map(|member| {
        let key = member.name.strip_suffix(".json")?;
        Some((key.to_string(), serde_json::from_slice(&member.data).unwrap()))
    });
    json.collect()
}

fn class(id: u64, name: &str) -> Value {
    json!({"class": id, "class_name": name})
}

#[test]
fn a_folder_of_classes_needs_no_json() {
    let place = Place::new();
    images(&place, &["train/dog/1", "train/cat/1", "train/cat/2", "train/Zebra/1"]);
    place.pack("build train -o out --label folder").succeeds().says("published 4 samples");
    place.pack("verify out --level decode").succeeds();
    assert_eq!(
        jsons(&place, "out"),
        [
            ("Zebra/1".into(), class(0, "Zebra")),
            ("cat/1".into(), class(1, "cat")),
            ("cat/2".into(), class(1, "cat")),
            ("dog/1".into(), class(2, "dog")),
        ]
    );
    let table = json!({"pointer": "/class", "names": ["Zebra", "cat", "dog"]});
    assert_eq!(place.manifest("out")["classes"], table);
    place.pack("info out").succeeds().says("classes     3");
}

#[test]
fn a_flat_folder_with_json_has_no_classes_and_is_packed_as_before() {
    let place = Place::new();
    place.pair("flat/1").pair("flat/2");
    place.pack("build flat -o out").succeeds();
    assert!(place.manifest("out").get("classes").is_none());
    place.pack("build flat -o labeled --label folder").exits(1).says("no-class 2");
}

#[test]
fn a_folder_of_splits_and_classes_is_labeled_by_the_last_or_by_a_place() {
    let place = Place::new();
    images(&place, &["d/train/cat/1", "d/train/dog/2", "d/val/cat/3"]);
    place.pack("build d -o last --label folder").succeeds();
    place.pack("build d -o second --label folder=2").succeeds();
    assert_eq!(jsons(&place, "last"), jsons(&place, "second"));
    assert_eq!(jsons(&place, "last")[2], ("val/cat/3".into(), class(0, "cat")));
    place.pack("build d -o first --label folder=1").succeeds();
    assert_eq!(jsons(&place, "first")[2].1, class(1, "val"));
}

#[test]
fn two_nested_levels_are_labeled_by_the_upper_one_if_it_is_named() {
    let place = Place::new();
    images(&place, &["d/animal/cat/1", "d/animal/dog/2", "d/plant/oak/3"]);
    place.pack("build d -o fine --label folder").succeeds();
    assert_eq!(place.manifest("fine")["classes"]["names"], json!(["cat", "dog", "oak"]));
    place.pack("build d -o coarse --label folder=1").succeeds();
    assert_eq!(place.manifest("coarse")["classes"]["names"], json!(["animal", "plant"]));
}

#[test]
fn images_beside_the_class_folders_are_problems_that_name_the_remedy() {
    let place = Place::new();
    images(&place, &["d/stray", "d/cat/1", "d/dog/2"]);
    let run = place.pack("build d -o out --label folder").exits(1);
    run.says("no-class: PLACE/d/stray.jpg")
        .says("directly in the source folder")
        .says("--exclude it");
    place.pack("build d -o out --label folder --on-problem skip").succeeds();
    assert_eq!(jsons(&place, "out").len(), 2);
    place.pack("build d -o other --label folder --exclude stray.jpg").succeeds();
    place.pack("build d -o deep --label folder=2").exits(1).says("in 1 of the 2 folders");
}

#[test]
fn two_sources_have_one_table_of_classes() {
    let place = Place::new();
    images(&place, &["a/cat/1", "a/dog/2", "b/ant/3", "b/cat/4"]);
    place.pack("build a b -o out --label folder").succeeds();
    assert_eq!(place.manifest("out")["classes"]["names"], json!(["ant", "cat", "dog"]));
    let found: Vec<_> =
        jsons(&place, "out").into_iter().map(|(key, json)| (key, json["class"].clone())).collect();
    let wanted = [("cat/1", 1), ("dog/2", 2), ("ant/3", 0), ("cat/4", 1)];
    assert_eq!(found, wanted.map(|(key, class)| (key.to_string(), json!(class))));
}

#[test]
fn a_json_keeps_its_fields_and_gets_the_class() {
    let place = Place::new();
    images(&place, &["d/cat/1", "d/dog/2"]);
    place.file("d/cat/1.json", "{\"width\": 1.50, \"box\": [1, 2]}\n");
    place.pack("build d -o out --label folder").succeeds();
    let members = place.shards("out").concat();
    let json = members.iter().find(|member| member.name == "cat/1.json").unwrap();
    let text = std::str::from_utf8(&json.data).unwrap();
    assert_eq!(text, "{\"width\": 1.50, \"box\": [1, 2],\"class\":0,\"class_name\":\"cat\"}");
    place.pack("verify out").succeeds();
}

#[test]
fn a_json_with_a_class_or_a_fault_is_a_problem() {
    let place = Place::new();
    images(&place, &["d/cat/1", "d/cat/2", "d/cat/3", "d/dog/4"]);
    place.file("d/cat/1.json", "{\"class\": 4}");
    place.file("d/cat/2.json", "{\"a\": }");
    let run = place.pack("build d -o out --label folder").exits(1).says("bad-json 2");
    run.says("has a field 'class' already").says("byte 6");
    place.pack("build d -o out --label folder --on-problem skip").succeeds();
    let left = [("cat/3".into(), class(0, "cat")), ("dog/4".into(), class(1, "dog"))];
    assert_eq!(jsons(&place, "out"), left);
}

#[test]
fn given_classes_have_the_same_numbers_in_train_and_val() {
    let place = Place::new();
    images(&place, &["train/ant/1", "train/cat/2", "train/dog/3", "val/dog/4", "val/cat/5"]);
    place.pack("build train -o train-out --label folder").succeeds();
    for (name, file) in [
        ("set", "train-out/dataset.json"),
        ("lines", "names.txt"),
        ("list", "names.json"),
        ("object", "ids.json"),
    ] {
        place.file("names.txt", "ant\ncat\ndog\n");
        place.file("names.json", "[\"ant\", \"cat\", \"dog\"]");
        place.file("ids.json", "{\"dog\": 2, \"ant\": 0, \"cat\": 1}");
        place.pack(&format!("build val -o {name} --label folder --classes {file}")).succeeds();
        assert_eq!(jsons(&place, name)[1], ("dog/4".into(), class(2, "dog")), "{file}");
        assert_eq!(place.manifest(name)["classes"], place.manifest("train-out")["classes"]);
    }
    place.file("gaps.json", "{\"cat\": 17, \"dog\": 90}");
    place.pack("build val -o gaps --label folder --classes gaps.json").succeeds();
    assert_eq!(jsons(&place, "gaps")[1].1, class(90, "dog"));
    assert_eq!(place.manifest("gaps")["classes"]["ids"], json!([17, 90]));
}

#[test]
fn a_folder_that_is_not_in_the_list_is_one_problem_with_its_count() {
    let place = Place::new();
    images(&place, &["d/cat/1", "d/yak/1", "d/yak/2", "d/yak/3"]);
    place.file("names.txt", "cat\n");
    let run = place.pack("build d -o out --label folder --classes names.txt").exits(1);
    run.says("unknown-class 1").says("no 'yak', the folder of 3 samples").says("yak/1.jpg");
    let skip = "build d -o out --label folder --classes names.txt --on-problem quarantine";
    place.pack(skip).succeeds().says("published 1 sample");
    let aside = place.names("out").into_iter().filter(|name| name.ends_with(".jpg")).count();
    assert_eq!(aside, 3);
    place.file("bad.txt", "cat\n\ncat\n");
    place.pack("build d -o bad --label folder --classes bad.txt").exits(2).says("line 2 is empty");
    place.pack("build d -o bad --label folder --classes nowhere").says("nowhere");
    place.pack("build d -o bad --label folders").exits(2).says("folder=N");
    place.pack("build d -o bad --classes names.txt").exits(2).says("--label");
}

#[test]
fn images_without_json_are_refused_with_the_advice_to_label() {
    let place = Place::new();
    images(&place, &["d/cat/1", "d/dog/2"]);
    let run = place.pack("build d -o out").exits(1);
    run.says("--label folder").says("--require image");
    place
        .pack("build d -o out --on-problem skip")
        .exits(2)
        .says("--label folder")
        .says("--require image");
    place.pack("build d -o out --label folder").succeeds();
    place.pack("build d -o bare --require image").succeeds();
    // One sample has a JSON: the others lack theirs.
    place.file("d/cat/1.json", "{}");
    let run = place.pack("build d -o some").exits(1);
    assert!(!run.stderr.contains("--label"), "{run:#?}");
}

#[test]
fn labels_by_two_machines_are_those_of_one_build() {
    let place = Place::new();
    let stems: Vec<String> = (0..60).map(|n| format!("d/c{}/{n:03}", n % 7)).collect();
    images(&place, &stems.iter().map(String::as_str).collect::<Vec<_>>());
    let options = "--label folder --split train=0.8,val=0.2 --stratify class --shard-samples 4";
    place.pack(&format!("build d -o whole {options}")).succeeds();
    place.pack(&format!("plan d -o out {options}")).succeeds();
    place.pack("run out --rank 0 --of 2").succeeds();
    place.pack("run out --rank 1 --of 2").succeeds();
    place.pack("finalize out").succeeds();
    place.same("out", "whole");
    place.pack(&format!("build d -o out {options}")).succeeds().says("published already");
}

#[test]
fn an_index_made_again_keeps_classes_splits_and_builds() {
    let place = Place::new();
    images(&place, &["d/a/1", "d/a/2", "d/b/3", "d/b/4"]);
    let options = "--label folder --split-by folder=1 --no-entry-points";
    place.pack(&format!("build d -o out {options}")).succeeds();
    images(&place, &["d/a/5", "d/b/6"]);
    place.pack("append d -o out").succeeds();
    let before = place.manifest("out");
    place.pack("index out --entry-points").succeeds();
    let after = place.manifest("out");
    for field in ["classes", "appended", "options", "plan", "samples"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    let names = |manifest: &Value| -> Vec<(Value, Value)> {
        let shards = manifest["shards"].as_array().unwrap();
        shards.iter().map(|shard| (shard["name"].clone(), shard["split"].clone())).collect()
    };
    assert_eq!(names(&after), names(&before));
    place.pack("verify out").succeeds();
}
