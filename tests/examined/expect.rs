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
    // What matches nothing is no success.
    let nothing = "verify --schema meta.json=schema.json --report json=a.json shards";
    let run = place.pack(nothing).exits(2);
    run.says(
        "not checked: no part 'meta.json' was found for its schema: the parts are 'jpg', 'json'",
    );
    let report: Value =
        serde_json::from_str(&fs::read_to_string(place.at("a.json")).unwrap()).unwrap();
    assert_eq!(
        (report["whole"].as_bool(), &report["problems"]),
        (Some(false), &serde_json::json!([]))
    );
    assert!(report["unchecked"][0].as_str().unwrap().contains("meta.json"));
    place.file("typo.json", r#"{"requird": ["label"]}"#);
    place.pack("verify --schema typo.json shards").exits(2).says("did you mean 'required'?");
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
    // Zeroed bytes are not found, and the report says that nothing was proved.
    let path = place.at("shards/shard-000001.tar");
    let mut tar = fs::read(&path).unwrap();
    tar[520..600].fill(0);
    fs::write(&path, tar).unwrap();
    place.renew("shards/shard-000001.tar");
    let run = place.pack("verify shards").succeeds();
    assert!(!run.stdout.contains(": whole"), "{run:#?}");
    run.says("warning: no-checksum: shards/shard-000000.tar").says("not all bytes have checksums");
    place.pack("verify --format github shards").succeeds().says("::warning file=shards/");
    for level in ["quick", "full"] {
        let run =
            place.pack(&format!("verify --level {level} --require-checksums shards")).exits(1);
        run.says("no-checksum: shards/shard-000000.tar").says("nor have 2 other shards");
    }
}

#[test]
fn an_expectation_that_compares_nothing_is_refused() {
    let place = labeled();
    for (fields, why) in [
        ("", "nothing that could be compared"),
        (r#", "classes": {"cat": 8}"#, "'classes' without 'class'"),
        (r#", "samples": 12, "class": "json:/label""#, "'class' without 'classes'"),
    ] {
        place.file("data.json", format!("{{\"format\": \"tarflume-expect\"{fields}}}"));
        place.pack("verify --expect data.json shards").exits(2).says(why);
    }
    place
        .pack("verify --write-expect new.json --class json:/lable shards")
        .exits(2)
        .says("no sample has a class");
    assert!(!place.at("new.json").exists());
}

#[test]
fn columns_of_the_manifest_are_pinned() {
    let place = Place::new();
    place.file("photos/a.jpg", tarflume_fixtures::flat_jpeg(b"a"));
    place.file("photos/metadata.csv", "file_name,width\na.jpg,3\n");
    place.pack("build photos -o set").succeeds();
    place.pack("verify --write-expect data.json set").succeeds();
    let text = fs::read_to_string(place.at("data.json")).unwrap();
    assert!(text.contains("\"/width\": \"int64\""), "{text}");
    place.file("data.json", text.replace("\"/width\": \"int64\"", "\"/width\": \"string\""));
    place
        .pack("verify --expect data.json set")
        .exits(1)
        .says("column '/width': 'string' expected, 'int64' found");
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
    place.pack("build photos -o others --label folder --prefix other").succeeds();
    // Each folder is a set, whose keys are its own; the classes are counted over both.
    place.pack("verify --write-expect both.json shards others").succeeds();
    let both = fs::read_to_string(place.at("both.json")).unwrap();
    assert!(both.contains("\"1\": 6"), "{both}");
    place.pack("verify --level quick --write-expect quick.json shards").succeeds();
    let quick = fs::read_to_string(place.at("quick.json")).unwrap();
    assert!(!quick.contains("\"classes\"") && quick.contains("\"class_table\""), "{quick}");
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
}

#[test]
fn reports_are_never_lost() {
    let place = labeled();
    place.file("schema.json", SCHEMA);
    // What can be known before the pass is refused before it.
    for path in ["junit=none/a.xml", "junit=shards"] {
        let words = format!("verify --report json=first.json --report {path} shards");
        place.pack(&words).exits(2).says("--report");
        assert!(!place.at("first.json").exists());
    }
    place
        .pack("verify --write-expect none/data.json shards")
        .exits(2)
        .says("there is no folder none");
    // A path that is missing does not cost the verification of the others.
    for (schema, exit) in [("", 2), ("--schema schema.json", 1)] {
        let words = format!("verify {schema} --report json=last.json shards nowhere");
        place
            .pack(&words)
            .exits(exit)
            .says("not checked: nowhere: cannot find it")
            .says("12 samples");
        let report: Value =
            serde_json::from_str(&fs::read_to_string(place.at("last.json")).unwrap()).unwrap();
        assert_eq!((&report["samples"], &report["whole"]), (&12.into(), &false.into()));
    }
}
