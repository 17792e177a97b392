//! `pack verify` in CI: schemas of JSON parts, expectations of a data set, and reports in files.

use std::fs;

use serde_json::Value;

use crate::harness::Place;

/// Packs 12 pairs with labels into three shards.
fn labeled() -> Place {
    let place = Place::new();
    for n in 0..12 {
        place.pair(&format!("photos/{n:02}"));
        let label = if n % 3 == 0 { "dog" } else { "cat" };
        place.file(
            format!("photos/{n:02}.json"),
            format!("{{\"label\": \"{label}\", \"width\": {}}}", n * 50),
        );
    }
    place.pack("build photos -o shards --shards 3").succeeds();
    place
}

const SCHEMA: &str = r#"{"type": "object", "required": ["label"],
    "properties": {"label": {"enum": ["cat", "dog"]}, "width": {"minimum": 100}}}"#;

#[test]
fn each_json_is_checked_against_its_schema() {
    let place = labeled();
    place.file("schema.json", SCHEMA);
    let run = place.pack("verify --schema schema.json --format json shards").exits(1);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let problems = report["problems"].as_array().unwrap();
    let found: Vec<&str> = problems.iter().map(|p| p["key"].as_str().unwrap()).collect();
    assert_eq!(found, ["00", "01"]);
    assert_eq!(problems[1]["kind"], "schema");
    let reason = problems[1]["reason"].as_str().unwrap();
    assert!(reason.contains("/width: 50 is less than the minimum of 100"), "{reason}");
    let tar = fs::read(place.at("shards/shard-000000.tar")).unwrap();
    let byte = problems[1]["byte"].as_u64().unwrap() as usize;
    assert!(tar[byte..].starts_with(b"{\"label\": \"cat\", \"width\": 50}"));
    place.file("open.json", "{}");
    place.pack("verify --schema json=open.json shards").succeeds();
    place.pack("verify --schema meta.json=schema.json shards").succeeds();
    place.file("bad.json", r#"{"type": "thing"}"#);
    place.pack("verify --schema bad.json shards").exits(2).says("no JSON Schema").says("/type");
    place.pack("verify --schema none.json shards").exits(2).says("none.json");
    place.pack("verify --level quick --schema open.json shards").exits(2).says("reads no data");
}

#[test]
fn an_expectation_fails_with_what_has_changed() {
    let place = labeled();
    place.pack("verify --write-expect data.json --class json:/label shards").succeeds();
    let text = fs::read_to_string(place.at("data.json")).unwrap();
    assert!(text.contains("\"cat\": 8"), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("shard-0000")).count(), 3, "{text}");
    place.pack("verify --expect data.json shards").succeeds();
    place.pack("verify --write-expect again.json --class json:/label shards").succeeds();
    assert_eq!(fs::read_to_string(place.at("again.json")).unwrap(), text);

    fs::remove_file(place.at("photos/04.jpg")).unwrap();
    fs::remove_file(place.at("photos/04.json")).unwrap();
    place.file("photos/05.json", "{\"label\": \"cow\"}");
    place.pack("build photos -o new --shards 3").succeeds();
    let run = place.pack("verify --expect data.json new").exits(1);
    for line in [
        "samples: 12 expected, 11 found (-1)",
        "part 'jpg': 12 expected, 11 found (-1)",
        "class 'cat': 8 expected, 6 found (-2)",
        "class 'cow': 0 expected, 1 found (+1)",
        "content: the samples are others",
        "shard 'shard-000001.tar': ",
    ] {
        run.clone().says(line);
    }
    // Other shards of the same samples: the content is the same.
    place.pack("reshard shards -o other --shards 2").succeeds();
    let run = place.pack("verify --expect data.json other").exits(1);
    assert!(!run.stderr.contains("content") && !run.stdout.contains("content"), "{run:#?}");
    run.says("shard 'shard-000002.tar': it is gone");
    // Fields that were taken out are not compared.
    let mut kept: Value = serde_json::from_str(&text).unwrap();
    kept.as_object_mut().unwrap().remove("shards");
    place.file("totals.json", kept.to_string());
    place.pack("verify --expect totals.json other").succeeds();
    place.file("wrong.json", "{\"format\": \"tarflume-expect\", \"sample\": 1}");
    place.pack("verify --expect wrong.json shards").exits(2).says("sample");
    // Nothing is written of a data set with problems.
    place.file("schema.json", SCHEMA);
    place.pack("verify --schema schema.json --write-expect no.json shards").exits(1);
    assert!(!place.at("no.json").exists());
}

#[test]
fn sidecars_without_checksums_are_no_proof() {
    let place = labeled();
    place.pack("verify --write-expect data.json shards").succeeds();
    for entry in fs::read_dir(place.at("shards")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ext| ext != "tar") {
            fs::remove_file(path).unwrap();
        }
    }
    place.pack("index --headers shards").succeeds();
    let run = place.pack("verify --expect data.json shards").exits(1);
    run.clone().says("content: it can't be compared");
    run.says("shard 'shard-000002.tar': its bytes can't be compared");
    place.pack("verify --write-expect no.json shards").exits(2).says("pack index --force");
    assert!(!place.at("no.json").exists());
}

#[test]
fn labels_of_the_manifest_are_counted_by_default() {
    let place = Place::new();
    for n in 0..6 {
        place.file(format!("photos/{}/{n}.jpg", n % 2), tarflume_fixtures::flat_jpeg(&[n]));
    }
    place.pack("build photos -o shards --label folder").succeeds();
    place.pack("verify --write-expect data.json shards").succeeds();
    let text = fs::read_to_string(place.at("data.json")).unwrap();
    assert!(text.contains("\"class\": \"json:/class\"") && text.contains("\"1\": 3"), "{text}");
    place.pack("verify --level quick --write-expect quick.json shards").succeeds();
    assert!(!fs::read_to_string(place.at("quick.json")).unwrap().contains("class"));
}

#[test]
fn one_run_writes_reports_in_several_forms() {
    let place = labeled();
    place.file("schema.json", SCHEMA);
    let reports =
        "--report junit=a.xml --report sarif=a.sarif --report markdown=a.md --report json=a.json";
    place.pack(&format!("verify --schema schema.json {reports} shards")).exits(1);
    let read = |name: &str| fs::read_to_string(place.at(name)).unwrap();
    assert!(read("a.xml").contains("<failure") && read("a.md").contains("schema"));
    let sarif: Value = serde_json::from_str(&read("a.sarif")).unwrap();
    assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), 2);
    let json: Value = serde_json::from_str(&read("a.json")).unwrap();
    assert_eq!(json["counts"]["schema"], 2);
    place.pack("verify --report xml=a shards").exits(2).says("junit");
    place.pack("verify --report junit=none/a.xml shards").exits(73);
}
