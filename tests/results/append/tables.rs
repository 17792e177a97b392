//! Data sets that were packed with a table: rows join the new samples, and types stay.

use std::fs;

use serde_json::{Value, json};
use tarflume_fixtures::flat_jpeg;

use super::{copy, killed};
use crate::harness::{Place, Run, assert_same};

/// Writes pictures without JSON.
fn pictures(place: &Place, names: &[&str]) {
    for name in names {
        place.file(name, flat_jpeg(name.as_bytes()));
    }
}

/// Writes a picture whose bytes do not depend on the folder.
fn pictures_in(place: &Place, folder: &str, name: &str) {
    place.file(format!("{folder}/{name}"), flat_jpeg(name.as_bytes()));
}

/// Returns the JSON parts of a data set by member name.
fn jsons(place: &Place, out: &str) -> Vec<(String, Value)> {
    let members = place.shards(out).into_iter().flatten();
    let jsons = members.filter(|member| member.name.ends_with("json"));
    jsons.map(|m| (m.name, serde_json::from_slice(&m.data).unwrap())).collect()
}

/// Returns the JSON of one sample, as it is written.
fn text(place: &Place, out: &str, name: &str) -> String {
    let members = place.shards(out).into_iter().flatten();
    let member = members.into_iter().find(|member| member.name == name).unwrap();
    String::from_utf8(member.data).unwrap()
}

/// A place with the data set `out` of two pictures and the table `labels.csv`.
fn packed(table: &str) -> Place {
    let place = Place::new();
    pictures(&place, &["photos/a.jpg", "photos/cat/b.jpg"]);
    place.file("labels.csv", table);
    place.pack("build photos -o out --join labels.csv").succeeds();
    place
}

fn append(place: &Place, rest: &str) -> Run {
    place.pack(&format!("append photos -o out {rest}"))
}

#[test]
fn new_rows_alone_and_all_rows_give_the_same_shards() {
    let place = Place::new();
    let old = ["cat/1.jpg", "dog/2.jpeg"];
    let new = ["cat/3.jpg", "dog/4.jpg"];
    for name in old {
        pictures_in(&place, "photos", name);
    }
    for name in old.iter().chain(&new) {
        pictures_in(&place, "full", name);
    }
    for name in new {
        pictures_in(&place, "new", name);
    }
    let forms = [
        ("key", ["cat/1", "dog/2", "cat/3", "dog/4"]),
        ("stem", ["1", "2", "3", "4"]),
        ("basename", ["1.jpg", "2.jpeg", "3.jpg", "4.jpg"]),
        ("path", ["cat/1.jpg", "dog/2.jpeg", "cat/3.jpg", "dog/4.jpg"]),
    ];
    for (on, names) in forms {
        let rows = |range: std::ops::Range<usize>| {
            let rows = range.map(|n| format!("{},{n}\n", names[n]));
            format!("id,y\n{}", rows.collect::<String>())
        };
        place.file(format!("{on}/old/t.csv"), rows(0..2));
        place.file(format!("{on}/new/t.csv"), rows(2..4));
        place.file(format!("{on}/all/t.csv"), rows(0..4));
        place.pack(&format!("build photos -o {on}/a --join {on}/old/t.csv:on={on}")).succeeds();
        for to in ["b", "c", "d"] {
            copy(&place, &format!("{on}/a"), &format!("{on}/{to}"));
        }
        let append = |to: &str, source: &str, table: &str| {
            let words = format!("append {source} -o {on}/{to} --join {on}/{table}/t.csv");
            place.pack(&words).succeeds()
        };
        append("a", "new", "new").says("2 rows of t.csv joined to 2 samples");
        append("b", "new", "all").says("; 2 rows name samples that only the data set has");
        append("c", "full", "new").says("skipped 2 samples that the data set has");
        append("d", "full", "all").says("4 rows of t.csv joined to 4 samples");
        let first = shards(&place, &format!("{on}/a"));
        for to in ["b", "c", "d"] {
            assert_eq!(shards(&place, &format!("{on}/{to}")), first, "{on} {to}");
        }
        let rows = jsons(&place, &format!("{on}/a"));
        assert_eq!((rows[2].0.as_str(), &rows[2].1["y"]), ("cat/3.json", &json!(2)));
        // Once more, in every way: nothing changes.
        let before = place.tree(&format!("{on}/a"));
        for (source, table) in [("new", "new"), ("new", "all"), ("full", "all"), ("photos", "new")]
        {
            append("a", source, table).says("nothing new");
            assert_same(&place.tree(&format!("{on}/a")), &before);
        }
        place.pack(&format!("verify {on}/a")).succeeds();
    }
}

/// Returns the digests of the files but for the manifest, and what the manifest says of them. The
/// hash of a plan depends on the times of files.
fn shards(place: &Place, out: &str) -> (Vec<String>, Value) {
    let tree = place.tree(out);
    let files = tree.iter().filter(|(name, _)| *name != "dataset.json");
    let manifest = place.manifest(out);
    (
        files.map(|file| format!("{file:?}")).collect(),
        json!([manifest["shards"], manifest["columns"]]),
    )
}

#[test]
fn renamed_samples_are_known_by_the_names_of_their_files() {
    let place = Place::new();
    pictures(&place, &["photos/my cat/a b.jpg", "photos/Dog/1.JPEG"]);
    place.file("t.csv", "file,y\nmy cat/a b.jpg,1\nDog/1.JPEG,2\n");
    place.pack("build photos -o out --join t.csv --names replace").succeeds();
    pictures(&place, &["new/dog/1.png.jpg"]);
    place.file("t.csv", "file,y\nmy cat/a b.jpg,1\nDog/1.JPEG,2\ndog/1.png.jpg,3\n");
    let run = place.pack("append new -o out --join t.csv").succeeds();
    run.says("3 rows of t.csv joined to 1 sample by path; 2 rows name samples");
    assert_eq!(place.members("out").last().unwrap(), "dog/1_png.json");
}

#[test]
fn rows_and_new_samples_without_partner_are_problems() {
    let place = packed("id,y\na,1\nb,2\n");
    pictures(&place, &["photos/c.jpg", "photos/d.jpg", "photos/dog/b.jpg"]);
    place.file("more.csv", "id,y\nz,9\nc,3\na,1\na,5\nc,4\nb,2\n");
    let run = append(&place, "--join more.csv").exits(1);
    run.says("orphan-row 1, missing-row 1, repeated-row 1, ambiguous-row 1");
    let problems = place.problems("out");
    let reason = |kind: &str| {
        let found = problems.iter().find(|problem| problem["kind"] == kind).unwrap();
        found["reason"].as_str().unwrap().to_string()
    };
    assert_eq!(reason("orphan-row"), "row 1: no sample is named 'z'");
    assert_eq!(reason("repeated-row"), "row 5: it names 'c' again, as row 2 does; remove one");
    // The row could be meant for the sample of the data set, in this order or in another source.
    assert!(reason("ambiguous-row").contains("names its stem, which other samples have, too"));
    assert!(reason("missing-row").contains("no row of more.csv names the sample by its stem"));
    let run = append(&place, "--join more.csv --on-problem skip").succeeds();
    run.says("published 3 samples");
    assert_eq!(text(&place, "out", "c.json"), r#"{"id":"c","y":3}"#);
    place.file("other.csv", "id,y\nq,1\n");
    append(&place, "--join other.csv").exits(2).says("no row of").says("the first is 'q'");
}

#[test]
fn a_row_that_gives_another_json_is_reported_and_changes_nothing() {
    let place = packed("id,y\na,1\nb,2\n");
    let before = text(&place, "out", "a.json");
    pictures(&place, &["photos/c.jpg"]);
    place.file("labels.csv", "id,y\na,7\nb,2\nc,3\n");
    let run = append(&place, "--join labels.csv").succeeds();
    run.says("differs").says("its 'json' has other values");
    assert_eq!(text(&place, "out", "a.json"), before);
    assert_eq!(place.problems("out").len(), 1);
}

#[test]
fn columns_keep_their_types() {
    let table = "id,whole,part,text,flag\na,1,0.5,007,true\nb,2,,x,false\n";
    let place = packed(table);
    pictures(&place, &["photos/c.jpg"]);
    let cases = [
        ("c,1.5,1,y,true", "column 'whole' is float64 here and int64 in the data set"),
        ("c,abc,1,y,true", "column 'whole' is string here and int64 in the data set"),
        ("c,1,abc,y,true", "column 'part' is string here and float64 in the data set"),
        ("c,1,1,y,1", "column 'flag' is int64 here and bool in the data set"),
    ];
    for (row, reason) in cases {
        place.file("new.csv", format!("id,whole,part,text,flag\n{row}\n"));
        let run = append(&place, "--join new.csv").exits(65);
        run.says("new.csv: row 1, byte 24: ").says(reason).says("; correct the value");
    }
    // Values that fit a wider type are written in that type, whatever the table would have alone.
    place.file("new.csv", "id,whole,part,text,flag\nc,3,4,12,true\n");
    append(&place, "--join new.csv").succeeds();
    let columns = place.manifest("out")["columns"].clone();
    assert_eq!(
        text(&place, "out", "c.json"),
        r#"{"flag":true,"id":"c","part":4.0,"text":"12","whole":3}"#
    );
    pictures(&place, &["photos/d.jpg"]);
    place.file("new.jsonl", r#"{"id":"d","whole":1,"part":2,"text":5,"flag":true}"#);
    append(&place, "--join new.jsonl").exits(65).says("'text' is int64 here and string in");
    place.file("new.jsonl", r#"{"id":"d","whole":1,"part":2,"text":"5","flag":true}"#);
    append(&place, "--join new.jsonl").succeeds();
    assert!(text(&place, "out", "d.json").contains(r#""part":2.0,"text":"5","whole":1"#));
    assert_eq!(place.manifest("out")["columns"], columns);
}

#[test]
fn columns_may_come_and_go() {
    let place = packed("id,y,z\na,1,2\nb,2,3\n");
    pictures(&place, &["photos/c.jpg"]);
    place.file("labels.csv", "id,y,new\nc,3,x\n");
    append(&place, "--join labels.csv").succeeds();
    assert_eq!(text(&place, "out", "c.json"), r#"{"id":"c","new":"x","y":3}"#);
    assert_eq!(
        place.manifest("out")["columns"],
        json!([
            {"name": "/id", "type": "string"},
            {"name": "/y", "type": "int64"},
            {"name": "/z", "type": "int64", "nullable": true},
            {"name": "/new", "type": "string", "nullable": true},
        ])
    );
    pictures(&place, &["photos/d.jpg"]);
    place.file("labels.csv", "id,y,new\nd,3,5\n");
    append(&place, "--join labels.csv").succeeds();
    assert_eq!(text(&place, "out", "d.json"), r#"{"id":"d","new":"5","y":3}"#);
}

#[test]
fn what_the_first_build_joined_is_given_again() {
    let place = Place::new();
    pictures(&place, &["photos/a.jpg"]);
    place.file("t.csv", "id,n,y\nx,a,1\n");
    let table = "--join t.csv:key=n,on=stem,as=meta.json";
    place.pack(&format!("build photos -o out {table}")).succeeds();
    pictures(&place, &["photos/b.jpg"]);
    place.file("t.csv", "id,n,y\nx,b,2\n");
    let usage = |rest: &str| append(&place, rest).exits(2);
    usage("").says("packed with --join t.csv; give the rows again").says("--join FILE");
    usage("--join none").says("--join none: the data set was packed with --join t.csv");
    usage("--coco t.csv").says("--coco ").says("the data set was packed with --join t.csv");
    let both = "on=key in --join: the first build of the data set had on=stem";
    usage("--join t.csv:on=key").says(both);
    usage("--join t.csv:key=id")
        .says("key=id in --join: the first build of the data set had key=n");
    usage("--join t.csv:as=json").says("as=json in --join: the first build");
    append(&place, "--join t.csv").succeeds();
    assert_eq!(text(&place, "out", "b.meta.json"), r#"{"id":"x","n":"b","y":2}"#);
    place.pair("pairs/1");
    place.pack("build pairs -o plain").succeeds();
    place.pair("pairs/2");
    let run = place.pack("append pairs -o plain --join t.csv").exits(2);
    run.says("--join ").says("the data set was packed with --join auto");
    place.pack("append pairs -o plain --join auto").succeeds();
    place.pack("append pairs -o plain --pair images=jpg masks=png").exits(2).says("without --pair");
}

#[test]
fn tables_of_metadata_are_noticed_as_in_a_build() {
    let place = Place::new();
    pictures(&place, &["set/train/a.jpg", "set/train/b.jpg"]);
    place.file("set/train/metadata.csv", "file_name,n\na.jpg,1\nb.jpg,0.5\n");
    place.pack("build set -o out").succeeds();
    pictures(&place, &["set/train/c.jpg", "set/test/a.jpg"]);
    place.file("set/train/metadata.csv", "file_name,n\nc.jpg,2\n");
    place.pack("append set -o out").exits(1).says("missing-row 1");
    place.file("set/test/metadata.csv", "file_name,n\na.jpg,3\n");
    let run = place.pack("append set -o out").succeeds();
    run.says("2 rows of 2 tables joined to 2 samples by path").says("published 4 samples");
    assert_eq!(text(&place, "out", "train/c.json"), r#"{"file_name":"c.jpg","n":2.0}"#);
    place.pack("append set -o out").succeeds().says("nothing new");
    place.file("set/train/metadata.csv", "file_name,n\nc.jpg,x\n");
    place.pack("append set -o out").exits(65).says("column 'n' is string here and float64");
}

/// A place with the data set `first`, more pictures, and a table of all in another order.
fn many(first: usize, all: usize) -> Place {
    let place = Place::new();
    let picture = |n: usize| {
        place.file(format!("photos/d{}/{n:05}.jpg", n % 3), flat_jpeg(&n.to_le_bytes()));
    };
    let table = |count: usize| {
        let row = |n: usize| format!("d{}/{n:05}.jpg,{n}\n", n % 3);
        let rows = (0..count).map(|n| row((n * 7919) % count));
        place.file("labels.csv", format!("file_name,label\n{}", rows.collect::<String>()));
    };
    (0..first).for_each(picture);
    table(first);
    place.pack("build photos -o first --join labels.csv --shard-samples 6").succeeds();
    (first..all).for_each(picture);
    table(all);
    place
}

#[test]
fn two_machines_without_the_table_add_what_one_adds() {
    let place = many(40, 120);
    ["whole", "out"].iter().for_each(|to| copy(&place, "first", to));
    place.pack("append photos -o whole --join labels.csv").succeeds();
    place.pack("append photos -o out --join labels.csv --plan").succeeds();
    fs::rename(place.at("labels.csv"), place.at("gone.csv")).unwrap();
    place.pack("run out --rank 0 --of 2").succeeds();
    place.pack("run out --rank 1 --of 2").succeeds();
    place.pack("finalize out").succeeds().says("published 120 samples");
    place.same("out", "whole");
    for (name, row) in jsons(&place, "out") {
        assert_eq!(row["file_name"], format!("{}.jpg", name.trim_end_matches(".json")));
    }
    fs::rename(place.at("gone.csv"), place.at("labels.csv")).unwrap();
    place.pack("append photos -o out --join labels.csv --dry-run").succeeds().says("nothing new");
}

#[test]
fn appends_with_a_table_killed_at_random_calls_give_the_same_bytes() {
    let place = many(60, 200);
    killed(&place, "append photos --join labels.csv", 200, 12);
}
