//! `--join`, `--coco`, `--yolo`, `--voc`, `--pair` and tables as sources: rows become the JSON of
//! samples.

use std::fs;

use serde_json::{Value, json};
use tarflume_fixtures::flat_jpeg;

use crate::harness::{Place, Run};
use crate::interrupted::kills::{killed, killed_at_a_record};

/// Writes pictures without JSON.
fn pictures(place: &Place, names: &[&str]) {
    for name in names {
        place.file(name, flat_jpeg(name.as_bytes()));
    }
}

/// Returns the JSON parts of a data set by member name.
fn jsons(place: &Place, out: &str) -> Vec<(String, Value)> {
    let members = place.shards(out).into_iter().flatten();
    let jsons = members.filter(|member| member.name.ends_with("json"));
    jsons.map(|m| (m.name, serde_json::from_slice(&m.data).unwrap())).collect()
}

fn refused(place: &Place, words: &str) -> Run {
    place.pack(words).exits(2)
}

#[test]
fn each_row_becomes_the_json_of_the_sample_that_it_names() {
    let place = Place::new();
    pictures(&place, &["photos/a.jpg", "photos/cat/b.jpg", "photos/cat/c.jpeg"]);
    place.file(
        "labels.csv",
        "filename,label,width,id\nc.jpeg,1,2.5,007\na.jpg,0,,12\nb.jpg,1,3,0\n",
    );
    let run = place.pack("build photos -o out --join labels.csv").succeeds();
    run.says("3 rows of labels.csv joined to 3 samples by basename\n");
    let row = |name: &str, label: i64, width: Value, id: &str| json!({"filename": name, "label": label, "width": width, "id": id});
    assert_eq!(
        jsons(&place, "out"),
        [
            ("a.json".into(), row("a.jpg", 0, Value::Null, "12")),
            ("cat/b.json".into(), row("b.jpg", 1, json!(3.0), "0")),
            ("cat/c.json".into(), row("c.jpeg", 1, json!(2.5), "007")),
        ]
    );
    assert_eq!(
        place.manifest("out")["columns"],
        json!([
            {"name": "/filename", "type": "string"},
            {"name": "/label", "type": "int64"},
            {"name": "/width", "type": "float64", "nullable": true},
            {"name": "/id", "type": "string"},
        ])
    );
    let text = &place.shards("out")[0][1].data;
    assert_eq!(text, br#"{"filename":"a.jpg","id":"12","label":0,"width":null}"#);
}

#[test]
fn the_name_in_the_rows_is_found_or_given() {
    let place = Place::new();
    pictures(&place, &["photos/x/1.jpg", "photos/y/2.jpg"]);
    place.file("key.tsv", "id\ty\nx/1\t1\ny/2\t2\n");
    place
        .file("path.jsonl", "{\"image\":\"./x/1.jpg\",\"y\":1}\n{\"image\":\"y/2.jpg\",\"y\":2}\n");
    place.file("stem.csv", "n,photo\n1,1\n2,2\n");
    place.pack("build photos -o a --join key.tsv").succeeds().says("by key");
    place.pack("build photos -o b --join path.jsonl").succeeds().says("by path");
    place.pack("build photos -o c --join stem.csv:key=photo").succeeds().says("by stem");
    place.pack("build photos -o d --join stem.csv:key=n,on=stem,as=meta.json").succeeds();
    assert_eq!(place.members("d"), ["x/1.jpg", "x/1.meta.json", "y/2.jpg", "y/2.meta.json"]);
    refused(&place, "build photos -o e --join stem.csv")
        .says("add :key=COLUMN; there are 'n', 'photo'");
    refused(&place, "build photos -o e --join stem.csv:key=k").says("there is no column 'k'");
    refused(&place, "build photos -o e --join none.csv").says("there is no such file");
    let run = refused(&place, "build photos -o e --join stem.csv:key=photo,on=basename");
    run.says("no row of").says("on=stem matches 2 of 2 such rows");
}

#[test]
fn rows_and_samples_without_counterpart_are_problems_with_their_places() {
    let place = Place::new();
    pictures(&place, &["photos/a.jpg", "photos/b.jpg", "photos/d/s.jpg", "photos/e/s.jpg"]);
    place.file("t.csv", "name,y\na,1\nz,2\na,3\ns,4\n,5\n");
    let run = place.pack("build photos -o out --join t.csv").exits(1);
    run.says("orphan-row 2, missing-row 1, repeated-row 1, ambiguous-row 2");
    let problems = place.problems("out");
    let of = |kind: &str| {
        let found = problems.iter().filter(|p| p["kind"] == kind);
        let text = |p: &Value| {
            let key = p["key"].as_str().unwrap_or("-");
            format!("{key} {} {}", p["byte"], p["reason"].as_str().unwrap())
        };
        found.map(text).collect::<Vec<_>>()
    };
    assert_eq!(of("orphan-row").len(), 2);
    assert_eq!(of("orphan-row")[0], "- 11 row 2: no sample is named 'z'");
    assert_eq!(of("repeated-row"), ["- 15 row 3: it names 'a' again, as row 1 does; remove one"]);
    assert!(
        of("missing-row")[0].starts_with("b null no row of t.csv names the sample by its stem")
    );
    assert!(of("ambiguous-row")[0].starts_with("d/s null row 4 of t.csv names its stem"));
    place.pack("build photos -o out --join t.csv --on-problem skip").succeeds();
    assert_eq!(jsons(&place, "out"), [("a.json".to_string(), json!({"name": "a", "y": 1}))]);
}

#[test]
fn a_sample_with_json_and_a_row_needs_another_extension() {
    let place = Place::new();
    place.pair("photos/a");
    place.file("t.csv", "key,y\na,1\n");
    let run = refused(&place, "build photos -o out --join t.csv");
    run.says("'a' has a part 'json' already").says(":as=meta.json");
    place.pack("build photos -o out --join t.csv:as=meta.json").succeeds();
    assert_eq!(place.members("out"), ["a.jpg", "a.json", "a.meta.json"]);
    let run = place.pack("build photos -o other --join t.csv:as=meta.json --require image,txt");
    run.exits(1).says("no 'txt'");
}

#[test]
fn a_table_inside_the_source_is_no_sample() {
    let place = Place::new();
    pictures(&place, &["photos/a.jpg"]);
    place.file("photos/labels.csv", "key,y\na,1\n");
    place.pack("build photos -o out --join photos/labels.csv").succeeds();
    assert_eq!(place.members("out"), ["a.jpg", "a.json"]);
}

#[test]
fn a_malformed_table_is_refused_with_row_and_byte() {
    let place = Place::new();
    pictures(&place, &["photos/a.jpg"]);
    place.file("short.csv", "key,y\na,1\nb\n");
    place
        .pack("build photos -o out --join short.csv")
        .exits(65)
        .says("short.csv: row 2, byte 10: 1 fields");
    place.file("mixed.jsonl", "{\"key\":\"a\",\"y\":1}\n{\"key\":\"b\",\"y\":\"x\"}\n");
    let run = place.pack("build photos -o out --join mixed.jsonl").exits(65);
    run.says("mixed.jsonl: row 2, byte 18: column 'y' is string here and int64 in row 1");
    place.file("empty.csv", "key,y\n");
    refused(&place, "build photos -o out --join empty.csv").says("the table has no rows");
}

#[test]
fn tables_of_metadata_in_image_folders_are_noticed() {
    let place = Place::new();
    pictures(&place, &["set/train/a.jpg", "set/train/sub/b.jpg", "set/test/a.jpg"]);
    place.file("set/train/metadata.csv", "file_name,text,n\na.jpg,one,1\nsub/b.jpg,two,2\n");
    place.file("set/test/metadata.csv", "file_name,text,n\na.jpg,three,0.5\n");
    let run = place.pack("build set -o out").succeeds();
    run.says("3 rows of 2 tables joined to 3 samples by path\n");
    let found = jsons(&place, "out");
    assert_eq!(found[0].0, "test/a.json");
    assert_eq!(found[1].1, json!({"file_name": "a.jpg", "text": "one", "n": 1.0}));
    place.pack("build set -o off --join none").exits(1).says("metadata.csv");
    place.file("set/test/metadata.jsonl", "{\"file_name\":\"a.jpg\"}\n");
    refused(&place, "build set -o mixed").says("different kinds");
}

#[test]
fn metadata_that_names_no_files_is_a_file_as_any_other() {
    let place = Place::new();
    place.pair("photos/metadata").file("photos/metadata.csv", "a,b\n1,2\n");
    place.pack("build photos -o out").succeeds();
    assert_eq!(place.members("out"), ["metadata.csv", "metadata.jpg", "metadata.json"]);
}

#[test]
fn coco_annotations_become_lists_in_each_samples_json() {
    let place = Place::new();
    pictures(&place, &["val/000001.jpg", "val/000002.jpg"]);
    place.file(
        "instances.json",
        r#"{"images":[{"id":2,"file_name":"000002.jpg","width":8},{"id":1,"file_name":"000001.jpg","width":9}],
           "annotations":[{"id":7,"image_id":1,"category_id":18,"bbox":[1,2,3,4.5],"iscrowd":0}],
           "categories":[{"id":1,"name":"person"},{"id":18,"name":"dog"}]}"#,
    );
    place
        .pack("build val -o out --coco instances.json")
        .succeeds()
        .says("2 rows of instances.json");
    let found = jsons(&place, "out");
    assert_eq!(
        found[0].1,
        json!({"annotation_id": [7], "boxes": [[1, 2, 3, 4.5]], "category_id": [18],
               "category_index": [1], "file_name": "000001.jpg", "id": 1, "iscrowd": [0], "width": 9})
    );
    assert_eq!(found[1].1["boxes"], json!([]));
    assert_eq!(
        place.manifest("out")["classes"],
        json!({"pointer": "/category_id", "names": ["person", "dog"], "ids": [1, 18]})
    );
    place.pack("build val -o out2 --coco instances.json --join x.csv").exits(2);
}

#[test]
fn yolo_labels_and_voc_files_become_boxes_and_classes() {
    let place = Place::new();
    pictures(&place, &["images/train/a.jpg", "images/train/b.jpg"]);
    place.file("labels/train/a.txt", "1 0.5 0.5 0.25 1\n");
    place.file("data.yaml", "names: [cat, dog]\n");
    place.pack("build images -o yolo --yolo labels --yolo-names data.yaml").succeeds();
    let found = jsons(&place, "yolo");
    assert_eq!(found[0].1, json!({"boxes": [[0.5, 0.5, 0.25, 1.0]], "class": [1]}));
    assert_eq!(found[1].1, json!({"boxes": [], "class": []}));
    assert_eq!(place.manifest("yolo")["classes"]["names"], json!(["cat", "dog"]));
    let object = "<object><name>dog</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>3</xmax>\
                  <ymax>4</ymax></bndbox></object>";
    place.file("voc/a.xml", format!("<annotation>{object}</annotation>"));
    place.file("voc/b.xml", "<annotation/>");
    place.pack("build images -o voc --voc voc").succeeds().says("by stem");
    assert_eq!(
        jsons(&place, "voc")[0].1,
        json!({"boxes": [[1.0, 2.0, 3.0, 4.0]], "class": [0], "class_name": ["dog"]})
    );
    place.file("voc/b.xml", "<annotation>");
    place
        .pack("build images -o bad --voc voc")
        .exits(65)
        .says("b.xml: the element 'annotation' is not closed");
}

#[test]
fn parallel_folders_are_paired() {
    let place = Place::new();
    for key in ["a", "sub/b"] {
        place.file(format!("set/images/{key}.jpg"), flat_jpeg(key.as_bytes()));
        place.file(format!("set/masks/{key}.png"), png());
    }
    place.pack("build set -o out --pair images=jpg masks=mask.png").succeeds();
    assert_eq!(place.members("out"), ["a.jpg", "a.mask.png", "sub/b.jpg", "sub/b.mask.png"]);
    pictures(&place, &["set/images/c.jpg"]);
    place.file("set/masks/d.png", png());
    let run = place.pack("build set -o bad --pair images=jpg masks=png").exits(1);
    run.says("'c' has no .png file in masks").says("it has no counterpart in images");
    place.pack("build set -o rest --pair images=jpg masks=png --on-problem skip").succeeds();
    place.pack("build set -o none --pair images=jpg depth=png").exits(2).says("depth is no folder");
}

/// A PNG of one pixel.
fn png() -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    let pixel = image::DynamicImage::new_luma8(1, 1);
    pixel.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    bytes.into_inner()
}

#[test]
fn a_table_is_a_source_whose_columns_name_files() {
    let place = Place::new();
    pictures(&place, &["d/img/1.jpg", "d/img/2.jpg", "d/deep/x.jpg"]);
    place.file("d/t.csv", "id,image,depth,y,text\nq1,img/1.jpg,deep/x.jpg,5,hello\nq2,./img/2.jpg,deep/x.jpg,6,\"a,b\"\n");
    place.pack("build csv:d/t.csv?key=id&jpg=@image&depth.jpg=@depth -o out").succeeds();
    assert_eq!(
        place.members("out"),
        ["q1.depth.jpg", "q1.jpg", "q1.json", "q2.depth.jpg", "q2.jpg", "q2.json"]
    );
    assert_eq!(jsons(&place, "out")[0].1, json!({"text": "hello", "y": 5}));
    place.pack("build csv:d/t.csv?jpg=@image&txt=text&json=none -o texts").succeeds();
    assert_eq!(place.members("texts"), ["img/1.jpg", "img/1.txt", "img/2.jpg", "img/2.txt"]);
    place.file("d/t.jsonl", "{\"p\":\"img/1.jpg\",\"n\":{\"b\":1,\"a\":[2]}}\n{\"p\":\"img/9.jpg\"}\n{\"p\":\"../t.csv\"}\n");
    let run = place.pack("build jsonl:d/t.jsonl?jpg=@p -o bad").exits(1);
    run.says("img/9.jpg does not exist").says("'../t.csv' is no path under the folder");
    place.pack("build jsonl:d/t.jsonl?jpg=@p -o lines --on-problem skip").succeeds();
    assert_eq!(jsons(&place, "lines")[0].1, json!({"n": {"a": [2], "b": 1}}));
    refused(&place, "build csv:d/t.csv?jpg=@nope -o x").says("there is no column 'nope'");
    // The output folder may be beside the table.
    place.pack("build csv:d/t.csv?key=id&jpg=@image&depth.jpg=@depth -o d/out").succeeds();
    assert_eq!(place.members("d/out"), place.members("out"));
}

/// A place with pictures and a table of them in another order.
fn many(count: usize) -> Place {
    let place = Place::new();
    let mut table = "file_name,label\n".to_string();
    for n in 0..count {
        let name = format!("d{}/{n:05}.jpg", n % 3);
        place.file(format!("photos/{name}"), flat_jpeg(&n.to_le_bytes()));
    }
    for n in (0..count).map(|n| (n * 7919) % count) {
        table += &format!("d{}/{n:05}.jpg,{n}\n", n % 3);
    }
    place.file("labels.csv", table);
    place
}

#[test]
fn two_machines_without_the_table_make_what_one_build_makes() {
    let place = many(200);
    place.pack("build photos -o whole --join labels.csv --shard-samples 9").succeeds();
    place.pack("plan photos -o out --join labels.csv --shard-samples 9").succeeds();
    fs::rename(place.at("labels.csv"), place.at("gone.csv")).unwrap();
    place.pack("run out --rank 0 --of 2").succeeds();
    place.pack("run out --rank 1 --of 2").succeeds();
    place.pack("finalize out").succeeds();
    place.same("out", "whole");
    let labels = jsons(&place, "out");
    assert_eq!(labels.len(), 200);
    for (name, row) in labels {
        let stem = name.trim_end_matches(".json");
        assert_eq!(row["file_name"], format!("{stem}.jpg"));
        assert_eq!(row["label"], stem[3..].parse::<u64>().unwrap());
    }
}

#[test]
fn a_killed_build_continues_and_a_changed_table_is_told() {
    let place = many(600);
    let words = "build photos -o out --join labels.csv --shard-samples 3 --jobs 1";
    if killed_at_a_record(&place, words, 5).is_none() {
        return;
    }
    let table = fs::read_to_string(place.at("labels.csv")).unwrap();
    place.file("labels.csv", table.replacen(",0\n", ",77\n", 1));
    place.pack(words).exits(2).says("--fresh");
    place.file("labels.csv", table);
    place.pack(words).succeeds().says("continuing an unfinished build");
    place.pack("build photos -o whole --join labels.csv --shard-samples 3").succeeds();
    place.same("out", "whole");
    place.pack(words).succeeds().says("published already");
}

#[test]
fn builds_with_a_table_killed_at_random_calls_give_the_same_bytes() {
    let place = many(400);
    killed(&place, "photos", "--join labels.csv --shard-samples 6", 15);
}

#[test]
fn words_that_make_a_column_text_are_told_and_read_as_missing_by_an_option() {
    let place = Place::new();
    let names = ["a", "b", "c", "d", "e"];
    pictures(
        &place,
        &names.map(|name| format!("photos/{name}.jpg")).each_ref().map(String::as_str),
    );
    place.file("t.csv", "file,class\na.jpg,1\nb.jpg,NaN\nc.jpg, 1\nd.jpg,2\ne.jpg,\n");
    let run = place.pack("build photos -o text --join t.csv").succeeds();
    run.says("column 'class' is text, not numbers, because of row 2 ('NaN') and row 3 (' 1')")
        .says("missing=NaN");
    let classes = |out: &str| -> Vec<Value> {
        jsons(&place, out).into_iter().map(|(_, json)| json["class"].clone()).collect()
    };
    assert_eq!(classes("text")[..3], [json!("1"), json!("NaN"), json!(" 1")]);
    let run =
        place.pack("build photos -o numbers --join t.csv:missing=NaN|NA,blanks=trim").succeeds();
    assert!(!run.stderr.contains("is text"), "{run:?}");
    assert_eq!(classes("numbers"), [json!(1), json!(null), json!(1), json!(2), json!(null)]);
    let columns = place.manifest("numbers")["columns"].clone();
    let class = columns.as_array().unwrap().iter().find(|c| c["name"] == "/class").unwrap();
    assert_eq!((&class["type"], &class["nullable"]), (&json!("int64"), &json!(true)));
    // A table as a source takes the same options, and an append those of the first build.
    place.file("s.csv", "k,class,text\na,1,x\nb,NA,y\n");
    place.pack("build csv:s.csv?key=k&txt=text -o source").succeeds().says("row 2 ('NA')");
    place.pack("build csv:s.csv?key=k&txt=text&missing=NA -o missing").succeeds();
    assert_eq!(classes("missing"), [json!(1), json!(null)]);
    pictures(&place, &["more/f.jpg"]);
    place.file("more.csv", "file,class\nf.jpg,NA\n");
    place.pack("append more -o numbers --join more.csv").succeeds();
    assert_eq!(classes("numbers").last(), Some(&json!(null)));
    refused(&place, "build photos -o no --join t.csv:blanks=no").says("give trim or keep");
}

#[test]
fn names_in_another_unicode_form_are_told() {
    let place = Place::new();
    pictures(&place, &["photos/cafe\u{301}.jpg", "photos/b.jpg"]);
    place.file("t.csv", "file,y\ncaf\u{e9}.jpg,1\nb.jpg,2\n");
    let build = "build photos -o out --names nonascii=allow --join t.csv";
    place
        .pack(build)
        .exits(1)
        .says("1 of 1 such rows have a sample whose name differs only in its Unicode form");
}

#[test]
fn the_first_row_of_a_message_is_the_first_of_the_table() {
    let place = Place::new();
    pictures(&place, &["photos/a.jpg"]);
    let rows: Vec<String> = (0..50).map(|n| format!("x{}.jpg,{n}\n", 50 - n)).collect();
    place.file("t.csv", format!("file,y\n{}", rows.concat()));
    let run = refused(&place, "build photos -o out --join t.csv:on=basename");
    run.says("the first is 'x50.jpg' in row 1 of t.csv, the first sample's is 'a.jpg'");
}
