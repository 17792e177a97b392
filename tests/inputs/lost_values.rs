//! Values of tables that were changed, merged or left out without a word: each is packed as it is, told, or an error.

use std::fs;

use serde_json::{Value, json};
use tarflume_fixtures::flat_jpeg;

use crate::harness::{Place, python};

/// Returns the JSON of the samples of a data set, in order.
fn rows(place: &Place, set: &str) -> Vec<Value> {
    let members = place.shards(set).into_iter().flatten();
    let jsons = members.filter(|member| member.name.ends_with(".json"));
    jsons.map(|member| serde_json::from_slice(&member.data).unwrap()).collect()
}

/// Returns the type of a column in the manifest of a data set.
fn kind(place: &Place, set: &str, name: &str) -> String {
    let manifest = place.manifest(set);
    let mut columns = manifest["columns"].as_array().unwrap().iter();
    let found = columns.find(|column| column["name"] == name).unwrap();
    found["type"].as_str().unwrap().to_string()
}

#[test]
fn a_quote_that_never_closes_is_an_error_at_the_row_where_it_opened() {
    let place = Place::new();
    place.file("photos/a.jpg", flat_jpeg(b"a")).file("photos/b.jpg", flat_jpeg(b"b"));
    let text = "file,note\r\na.jpg,\"two\nlines\"\r\nb.jpg,\"open\r\nc.jpg,x\r\n";
    place.file("t.csv", text);
    for command in ["build csv:t.csv?key=file -o out", "build photos -o out --join t.csv"] {
        place
            .pack(command)
            .exits(65)
            .says(&format!("t.csv: row 2, byte {}: ", text.find("\"open").unwrap()))
            .says("on line 4, is never closed");
    }
    // The quote of one row is closed by that of another.
    place.file("t.csv", "id,note\n1,\"abc\n2,\"def\"\n3,x\n");
    let refused = place.pack("build csv:t.csv -o out").exits(65);
    refused.says("t.csv: row 1, byte 10: 'd' follows the closing quote of a field on line 3");
    place.file("t.csv", "id,\"note\n1,x\n");
    place.pack("build csv:t.csv -o out").exits(65).says("its header, byte 3: the quote here");
    // A list of files is a table, too.
    place.file("list.csv", "path,size\n\"photos/a.jpg,100\nphotos/b.jpg,100\n");
    place
        .pack("build photos -o out --files list.csv --require image")
        .exits(65)
        .says("row 1, byte 10");
}

#[test]
fn quotes_that_are_text_stay_as_other_parsers_read_them() {
    let place = Place::new();
    let text =
        "id,note\n1,5\" pipe\n2,\"say \"\"hi\"\", twice\"\n3,\"\"\n4,\"two\nlines\"\n5, \"x\"\n";
    place.file("t.csv", text);
    place.pack("build csv:t.csv?key=id -o out").succeeds();
    let program = "
import csv, json, pathlib
rows = csv.DictReader(open('t.csv', newline=''))
print(json.dumps([row['note'] or None for row in rows]))
";
    let found = python(&place, program, &[]).succeeds().stdout;
    let expected: Value = serde_json::from_str(&found).unwrap();
    let notes: Vec<Value> = rows(&place, "out").iter().map(|row| row["note"].clone()).collect();
    assert_eq!(Value::Array(notes), expected);
}

#[test]
fn the_first_line_of_excel_names_the_separator() {
    let place = Place::new();
    for (number, head) in
        ["sep=;\r\n", "SEP=;\n", "\"sep=;\"\r\n", "\u{feff}sep=;\n"].iter().enumerate()
    {
        place.file("t.csv", format!("{head}id;note\r\n7;a,b\r\n"));
        place.pack(&format!("build csv:t.csv?key=id -o {number}")).succeeds();
        assert_eq!(rows(&place, &number.to_string()), [json!({"note": "a,b"})], "{head:?}");
        place.pack(&format!("build csv:t.csv?key=id&sep=; -o {number}-given")).succeeds();
        assert_eq!(rows(&place, &format!("{number}-given")), [json!({"note": "a,b"})]);
        place.file("t.csv", format!("{head}id;note\n7;\"x\n"));
        let byte = head.len() + "id;note\n7;".len();
        let refused = place.pack("build csv:t.csv?key=id -o no").exits(65);
        refused.says(&format!("row 1, byte {byte}: ")).says("on line 3, is never closed");
    }
    // A header that begins like it is a header.
    place.file("t.csv", "sep=a,b\n1,2\n");
    place.pack("build csv:t.csv -o word").succeeds();
    assert_eq!(rows(&place, "word"), [json!({"sep=a": 1, "b": 2})]);
}

#[test]
fn ids_that_one_float_stands_for_stay_apart() {
    let place = Place::new();
    let odd = "9007199254740993";
    let even = "9007199254740992";
    let wide = "18446744073709551617";
    place.file("t.csv", format!("id,x\n{odd},1\n{even},2\n0.5,3\n"));
    place
        .pack("build csv:t.csv -o csv")
        .succeeds()
        .says(&format!("column 'id' is text, so that its numbers keep their digits: no float has those of {odd} in row 1"))
        .says("0.5 in row 3 is no whole number");
    place.file("t.jsonl", format!("{{\"id\": {wide}, \"x\": 1}}\n{{\"id\": 5, \"x\": -1}}\n"));
    place
        .pack("build jsonl:t.jsonl -o lines")
        .succeeds()
        .says(&format!("{wide} in row 1 has more than 64 bits"));
    // Each file alone has a type, and both together have none.
    place.file("a.csv", format!("k,id\na,{odd}\nb,{even}\n")).file("b.csv", "k,id\nc,0.5\n");
    place.pack("build csv:a.csv,b.csv?key=k -o files").succeeds().says("column 'id' is text");
    place.file("photos/x/a.jpg", flat_jpeg(b"a")).file("photos/y/b.jpg", flat_jpeg(b"b"));
    place.file("photos/x/metadata.csv", format!("file_name,id\na.jpg,{odd}\n"));
    place.file("photos/y/metadata.csv", "file_name,id\nb.jpg,0.5\n");
    place.pack("build photos -o joined --require image").succeeds().says("column 'id' is text");
    for (set, ids) in [
        ("csv", vec![odd, even, "0.5"]),
        ("lines", vec![wide, "5"]),
        ("files", vec![odd, even, "0.5"]),
        ("joined", vec![odd, "0.5"]),
    ] {
        let found: Vec<Value> = rows(&place, set).iter().map(|row| row["id"].clone()).collect();
        assert_eq!(found, ids.into_iter().map(Value::from).collect::<Vec<_>>(), "{set}");
        assert_eq!(kind(&place, set, "/id"), "string", "{set}");
    }
    // A type that holds all of them stays a number.
    place.file("u.jsonl", "{\"id\": 18446744073709551615}\n{\"id\": 0}\n");
    place.pack("build jsonl:u.jsonl -o u").succeeds();
    assert_eq!(rows(&place, "u"), [json!({"id": u64::MAX}), json!({"id": 0})]);
    assert_eq!(kind(&place, "u", "/id"), "uint64");
    place.file("f.csv", format!("id\n{even}\n0.5\n"));
    place.pack("build csv:f.csv -o f").succeeds();
    assert_eq!(kind(&place, "f", "/id"), "float64");
}

#[test]
fn a_number_that_the_column_of_a_data_set_would_round_is_not_appended() {
    let place = Place::new();
    place.file("photos/a.jpg", flat_jpeg(b"a")).file("a.csv", "file,score\na.jpg,0.5\n");
    place.pack("build photos -o set --join a.csv").succeeds();
    place.file("photos/b.jpg", flat_jpeg(b"b"));
    place.file("b.csv", "file,score\na.jpg,0.5\nb.jpg,9007199254740993\n");
    let refused = place.pack("append photos -o set --join b.csv");
    refused.exits(65).says("row 2").says("int64 here and float64 in the data set");
}

#[test]
fn files_of_one_table_have_one_type() {
    let place = Place::new();
    place.file("a.csv", "k,id,n\na,007,1\n").file("b.csv", "k,id,n\nb,12,0.5\n");
    let told = place.pack("build csv:a.csv,b.csv?key=k -o out").succeeds();
    told.says("column 'id' is text, as in another file");
    assert_eq!(rows(&place, "out")[1], json!({"id": "12", "n": 0.5}));
    assert_eq!(kind(&place, "out", "/id"), "string");
    assert_eq!(kind(&place, "out", "/n"), "float64");
    // A column without values in one file has the type that it has in the others.
    place.file("a.csv", "k,n\na,\n").file("b.csv", "k,n\nb,7\n");
    place.pack("build csv:a.csv,b.csv?key=k -o empty").succeeds();
    assert_eq!(rows(&place, "empty"), [json!({"n": null}), json!({"n": 7})]);
    assert_eq!(kind(&place, "empty", "/n"), "int64");
    // Keys by number count the rows of all files and sources.
    place.pack("build csv:a.csv,b.csv csv:b.csv -o numbered").succeeds();
    assert_eq!(place.members("numbered"), ["00000000.json", "00000001.json", "00000002.json"]);
    place.file("a.jsonl", "{\"id\": \"x\"}\n").file("b.jsonl", "{\"id\": 1}\n");
    let refused = place.pack("build jsonl:a.jsonl,b.jsonl -o no").exits(2);
    refused.says("column 'id' is string in").says("b.jsonl; give it one type in all tables");
}

#[test]
fn a_row_that_makes_no_part_is_a_problem_and_not_a_sample() {
    let place = Place::new();
    place.file("t.csv", "id,a\n1,x\n2,\n3,y\n");
    for source in ["csv:t.csv?key=id&txt=a", "csv:t.csv?key=id&txt=a&json=none"] {
        place
            .pack(&format!("build {source} -o out"))
            .exits(1)
            .says("row 2")
            .says("it makes no part of a sample");
        place.pack(&format!("build {source} -o out --on-problem skip --fresh")).succeeds();
        assert_eq!(place.members("out"), ["1.txt", "3.txt"]);
        assert_eq!(place.manifest("out")["samples"], 2);
        place.pack("verify out").succeeds();
        fs::remove_dir_all(place.at("out")).unwrap();
    }
    place.file("photos/1.jpg", flat_jpeg(b"a")).file("photos/p.csv", "file\n1.jpg\n");
    let told = place.pack("build csv:photos/p.csv?IMG=@file&json=none -o upper").succeeds();
    told.says("option 'IMG' is packed as img");
    assert_eq!(place.members("upper"), ["1.img"]);
    // A sample that has other parts lacks this one, and the summary says so.
    place.file("t.csv", "id,a,b\n1,x,1\n2,,2\n3,,3\n");
    let told = place.pack("build csv:t.csv?key=id&txt=a -o out").succeeds();
    told.says("column 'a' has no value in 2 rows, the first is row 2 of")
        .says("t.csv: such a sample has no part");
    assert_eq!(place.members("out"), ["1.json", "1.txt", "2.json", "3.json"]);
}

#[test]
fn a_repeated_name_in_the_json_of_a_row_is_an_error() {
    let place = Place::new();
    place.file("photos/a.jpg", flat_jpeg(b"a"));
    let line = r#"{"file": "a.jpg", "box": {"x": 1, "y": {"z": 0, "z": 2}}}"#;
    place.file("t.jsonl", line);
    for command in ["build jsonl:t.jsonl?key=file -o out", "build photos -o out --join t.jsonl"] {
        let refused = place.pack(command).exits(65);
        refused
            .says(&format!("row 1, byte {}: ", line.rfind("\"z\"").unwrap()))
            .says("'z' occurs twice in one object");
    }
    let coco = r#"{"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": [
        {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1], "bbox": [0, 0, 2, 2]}],
        "categories": [{"id": 1, "name": "cat"}]}"#;
    place.file("coco.json", coco);
    let build = "build photos -o out --coco coco.json";
    place
        .pack(build)
        .exits(65)
        .says("coco.json")
        .says("'bbox' occurs twice in one object")
        .says("line 2");
    place.file(
        "coco.json",
        coco.replacen("\"bbox\": [0, 0, 1, 1], ", "", 1).replacen("{", "{\"images\": [], ", 1),
    );
    place.pack(build).exits(65).says("'images' occurs twice");
    place.file("set/cat/b.jpg", flat_jpeg(b"b")).file("classes.json", r#"{"cat": 0, "cat": 1}"#);
    let labels = "build set -o out --label folder --classes classes.json";
    place.pack(labels).exits(2).says("classes.json").says("'cat' occurs twice");
}

#[test]
fn a_repeated_name_in_the_json_of_a_sample_is_refused_or_read_as_python_reads_it() {
    let place = Place::new();
    place.pair("src/a").file("src/a.json", r#"{"class": 1, "class": 2}"#);
    let refused = place.pack("build src -o out").exits(1);
    refused.says("src/a.json: byte 13: ").says("'class' occurs twice").says("--json-rules python");
    place.pack("build src -o out --fresh --json-rules python --columns class:u8").succeeds();
    place.pack("verify out --level decode").succeeds();
    place
        .pack("verify out --level decode --json-rules strict")
        .exits(1)
        .says("'class' occurs twice");
    assert_eq!(rows(&place, "out"), [json!({"class": 2})]);
}

#[test]
fn a_source_without_rows_is_said_to_have_none() {
    let place = Place::new();
    place
        .file("none.csv", "")
        .file("head.csv", "id,x\n")
        .file("none.jsonl", "")
        .file("blank.jsonl", "\n \n");
    place.file("photos/a.jpg", flat_jpeg(b"a"));
    for (source, code, text) in [
        ("csv:none.csv", 65, "none.csv: the table is empty: it has no header and no rows"),
        ("csv:head.csv", 2, "head.csv has a header and no rows, and each row is a sample"),
        (
            "jsonl:none.jsonl",
            2,
            "none.jsonl has no lines but blank ones, and each line is a sample",
        ),
        ("jsonl:blank.jsonl", 2, "blank.jsonl has no lines but blank ones"),
    ] {
        let refused = place.pack(&format!("build {source} -o out")).exits(code);
        assert!(!refused.stderr.contains("no files were found"), "{refused:?}");
        refused.says(text);
    }
    for (table, text) in [
        ("none.csv", "the table is empty: it has no header and no rows"),
        ("none.jsonl", "the table is empty: it has no rows and no columns"),
        ("head.csv:key=id", "head.csv: the table has no rows"),
    ] {
        let refused = place.pack(&format!("build photos -o out --join {table}"));
        assert_ne!(refused.exit, 0);
        refused.says(text);
    }
}
