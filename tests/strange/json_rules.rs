//! One grammar of JSON: every command and the reader accept and refuse the same texts, by strict rules and by Python's.

use std::collections::BTreeSet;

use serde_json::Value;
use tarflume::{Json, JsonRules, Loader};

use crate::harness::{Place, python};

/// The texts of a sample's JSON: who accepts them, by strict rules and by Python's.
const TEXTS: [(&str, bool, bool); 34] = [
    (r#"{"a": 1}"#, true, true),
    (r#" {"a": 1, "b": [1, 2.5e-3, {"c": null}]} "#, true, true),
    (r#"{"a": 1, "x": "\u00e4\ud83d\ude00 \"\\\/\b\f\n\r\t"}"#, true, true),
    (r#"{"a": 1, "x": 1e400}"#, true, true),
    (r#"{"a": 1, "x": -1e-400}"#, true, true),
    (r#"{"a": 1, "x": 123456789012345678901234567890}"#, true, true),
    (r#"{"a": 1, "x": 0.1000000000000000055}"#, true, true),
    (r#"{"a": 1, "x": 1e99999999999999999999}"#, true, true),
    (r#"{"a": 1, "x": NaN}"#, false, true),
    (r#"{"a": 1, "x": [Infinity, -Infinity]}"#, false, true),
    (r#"{"a": 1, "x": "\ud83d"}"#, false, true),
    (r#"{"a": 1, "x": "\ude00\ud83d"}"#, false, true),
    (r#"{"a": 1, "\ud83d": 1}"#, false, true),
    (r#"{"a": 2, "a": 1}"#, false, true),
    (r#"{"a": 1, "x": {"y": 1, "y": 2}}"#, false, true),
    ("{\"a\": 1, \"x\": \"\u{feff}\"}", true, true),
    ("\u{feff}{\"a\": 1}", false, false),
    (r#"{"a": 1,}"#, false, false),
    (r#"{"a": 1, "x": [1,]}"#, false, false),
    (r#"{"a": 1} x"#, false, false),
    (r#"{"a": 1}{}"#, false, false),
    (r#"{"a": 1"#, false, false),
    (r#"{'a': 1}"#, false, false),
    (r#"{"a": 1, "x": nan}"#, false, false),
    (r#"{"a": 1, "x": -NaN}"#, false, false),
    (r#"{"a": 1, "x": 01}"#, false, false),
    (r#"{"a": 1, "x": +1}"#, false, false),
    (r#"{"a": 1, "x": .5}"#, false, false),
    (r#"{"a": 1, "x": 5.}"#, false, false),
    (r#"{"a": 1, "x": "\x41"}"#, false, false),
    ("{\"a\": 1, \"x\": \"\t\"}", false, false),
    (r#"{"a": 1, "x": tru}"#, false, false),
    ("{\"a\": 1, // one\n\"x\": 2}", false, false),
    (" ", false, false),
];

/// The texts with a repeated name.
const REPEATS: [&str; 2] = [r#"{"a": 2, "a": 1}"#, r#"{"a": 1, "x": {"y": 1, "y": 2}}"#];

fn key(number: usize) -> String {
    format!("{number:02}")
}

fn accepted(rules: JsonRules) -> BTreeSet<String> {
    let is_accepted = |(_, (_, strict, python)): &(usize, &(&str, bool, bool))| match rules {
        JsonRules::Strict => *strict,
        JsonRules::Python => *python,
    };
    TEXTS.iter().enumerate().filter(is_accepted).map(|(number, _)| key(number)).collect()
}

/// A sample for each text, beside a part that no rule concerns.
fn place() -> Place {
    let place = Place::new();
    for (number, (text, ..)) in TEXTS.iter().enumerate() {
        place.file(format!("src/{}.json", key(number)), text);
        place.file(format!("src/{}.txt", key(number)), "text");
    }
    place
}

/// The keys of a data set.
fn keys(place: &Place, set: &str) -> BTreeSet<String> {
    let names = place.members(set).into_iter();
    names.map(|name| name.split_once('.').unwrap().0.to_string()).collect()
}

/// The keys of the samples that a report does not name.
fn without(bad: impl Iterator<Item = String>) -> BTreeSet<String> {
    let bad: BTreeSet<String> = bad.collect();
    (0..TEXTS.len()).map(key).filter(|key| !bad.contains(key)).collect()
}

fn rules_and_words() -> [(JsonRules, &'static str); 2] {
    [(JsonRules::Strict, "--json-rules strict"), (JsonRules::Python, "--json-rules python")]
}

#[test]
fn every_way_to_pack_accepts_the_same_texts() {
    let place = place();
    place.pack("build src -o raw --check none --require json").succeeds();
    for (rules, words) in rules_and_words() {
        let ways = [
            "build src --on-problem skip --require json",
            "build src --on-problem skip --require json --columns a:u8 --check none",
            "build src --on-problem skip --require json --split-by a --check none",
            "build tar:raw/shard-000000.tar --on-problem skip --columns a:u8",
            "reshard raw --on-problem skip",
            "reshard raw --on-problem skip --check none --split-by a",
        ];
        for (number, way) in ways.iter().enumerate() {
            let out = format!("{}-{number}", rules.word());
            place.pack(&format!("{way} {words} -o {out}")).succeeds();
            assert_eq!(keys(&place, &out), accepted(rules), "{way} {words}");
        }
        let out = format!("{}-where", rules.word());
        let mut command = place.command(&format!(
            "reshard raw --on-problem skip --check none {words} -o {out} --where"
        ));
        assert!(command.arg("json:/a == 1").output().unwrap().status.success());
        assert_eq!(keys(&place, &out), accepted(rules), "--where {words}");
    }
}

#[test]
fn labels_keep_the_same_texts() {
    let place = place();
    for (rules, words) in rules_and_words() {
        let out = format!("labeled-{}", rules.word());
        for (number, (text, ..)) in TEXTS.iter().enumerate() {
            // The label adds a field `class`, and the sample has an image.
            place.file(format!("photos/cat/{}.json", key(number)), text);
            place.file(
                format!("photos/cat/{}.jpg", key(number)),
                tarflume_fixtures::flat_jpeg(key(number).as_bytes()),
            );
        }
        place.file("classes.txt", "cat\n");
        let label = "--label folder --classes classes.txt";
        place.pack(&format!("build photos {label} --on-problem skip {words} -o {out}")).succeeds();
        let names = keys(&place, &out).into_iter();
        let names: BTreeSet<String> = names.map(|key| key.replace("cat/", "")).collect();
        assert_eq!(names, accepted(rules), "{words}");
    }
}

#[test]
fn verify_index_and_export_refuse_what_build_refuses() {
    let place = place();
    place.pack("build src -o raw --check none --require json --shard-samples 1").succeeds();
    for (rules, words) in rules_and_words() {
        let report = place.pack(&format!("verify raw --level decode --format json {words}"));
        let report: Value = serde_json::from_str(&report.exits(1).stdout).unwrap();
        let problems = report["problems"].as_array().unwrap().iter();
        let bad = problems.map(|problem| {
            assert_eq!(problem["kind"], "bad-json");
            assert!(problem["byte"].as_u64().is_some(), "{problem}");
            problem["key"].as_str().unwrap().to_string()
        });
        assert_eq!(without(bad), accepted(rules), "verify {words}");
        for number in 0..TEXTS.len() {
            let is_accepted = accepted(rules).contains(&key(number));
            let shard = format!("raw/shard-{number:06}.tar");
            let out = format!("{}-{number}.csv", rules.word());
            // A number that no column holds is another matter.
            let numbers = "--numbers text";
            let export = format!("export {shard} --to csv -o {out} {numbers} {words}");
            let export = place.pack(&export).exits(if is_accepted { 0 } else { 65 });
            let index = place.pack(&format!("index --force {shard} {words}")).succeeds();
            assert_eq!(!index.stderr.contains("bad JSON"), is_accepted, "{index:?}");
            if !is_accepted {
                export.says(&key(number)).says("byte");
                index.says(&key(number)).says("byte");
            }
        }
    }
}

#[test]
fn a_shard_alone_is_verified_by_the_rules_of_its_data_set() {
    let place = place();
    place.pack("build src -o set --on-problem skip --require json --json-rules python").succeeds();
    let verify = "verify set/shard-000000.tar --level decode";
    place.pack(verify).succeeds();
    place.pack(&format!("{verify} --json-rules strict")).exits(1).says("bad-json");
}

#[test]
fn the_reader_accepts_the_same_texts() {
    let place = place();
    place.pack("build src -o raw --check none --require json --shard-samples 1").succeeds();
    for rules in [JsonRules::Strict, JsonRules::Python] {
        let read = |number: usize| {
            let shard = place.at(format!("raw/shard-{number:06}.tar"));
            let label = Json::new("json", "/a").rules(rules);
            let loader = Loader::builder(shard).column("a", label).batch(1).build().unwrap();
            let batch = loader.epoch(0).next().unwrap();
            batch.map(|batch| batch.column("a").unwrap().elements::<i64>().unwrap()[0])
        };
        let good = (0..TEXTS.len()).filter(|&number| match read(number) {
            Ok(value) => value == 1,
            Err(error) => {
                assert!(error.text().contains("at byte"), "{error}");
                false
            }
        });
        // A repeated name was accepted by earlier versions, and their data sets stay readable.
        let repeats = (0..TEXTS.len()).filter(|&n| REPEATS.contains(&TEXTS[n].0)).map(key);
        let expected: BTreeSet<String> = accepted(rules).into_iter().chain(repeats).collect();
        assert_eq!(good.map(key).collect::<BTreeSet<_>>(), expected);
    }
}

#[test]
fn python_accepts_what_its_rules_accept() {
    let place = place();
    let program = "
import json, pathlib, sys
for path in sorted(pathlib.Path('src').glob('*.json')):
    try:
        json.loads(path.read_bytes().decode())
        print(path.stem)
    except json.JSONDecodeError:
        pass
";
    let found = python(&place, program, &[]).succeeds().stdout;
    let found: BTreeSet<String> = found.lines().map(String::from).collect();
    assert_eq!(found, accepted(JsonRules::Python));
}

#[test]
fn a_data_set_records_the_rules_and_later_commands_follow_them() {
    let place = Place::new();
    place.file("src/a.json", r#"{"class": 1, "score": NaN, "caption": "cut \ud83d"}"#);
    place.file("src/a.txt", "a");
    let refused = place.pack("build src -o out --require json").exits(1);
    refused.says("src/a.json").says("'NaN' is not a number of JSON").says("--json-rules python");
    let build = "build src -o out --require json --json-rules python --columns class:u8 --fresh";
    place.pack(build).succeeds();
    assert_eq!(place.manifest("out")["options"]["json_rules"], "python");
    for level in ["quick", "full", "decode"] {
        place.pack(&format!("verify out --level {level}")).succeeds();
    }
    place
        .pack("verify out --level decode --json-rules strict")
        .exits(1)
        .says("--json-rules python");
    place.pack("export out --to csv -o out.csv").succeeds();
    let table = std::fs::read_to_string(place.at("out.csv")).unwrap();
    assert!(table.contains("NaN") && table.contains("cut \u{fffd}"), "{table}");
    place.pack("reshard out -o again").succeeds();
    let index = place.pack("index --force --columns class:u8,score:f32 again").succeeds();
    assert!(!index.stderr.contains("bad JSON"), "{index:?}");
    place.pack("verify again --level decode").succeeds();
    place.file("more/b.json", r#"{"class": 2, "score": -Infinity}"#);
    place.file("more/b.txt", "b");
    place.pack("append more -o out").succeeds();
    place.pack("verify out --level decode").succeeds();
}
