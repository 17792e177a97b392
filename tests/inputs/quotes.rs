//! Quotes in tables of text: as text, behind a blank, and with backslashes.

use serde_json::{Value, json};
use tarflume_fixtures::flat_jpeg;

use crate::harness::Place;

/// Packs pictures with a table and returns the values of a field, in the order of the pictures.
fn joined(place: &Place, out: &str, table: &str, field: &str) -> Vec<Value> {
    place.pack(&format!("build photos -o {out} --join {table}")).succeeds();
    let members = place.shards(out).concat();
    let jsons = members.iter().filter(|member| member.name.ends_with("json"));
    jsons.map(|m| serde_json::from_slice::<Value>(&m.data).unwrap()[field].clone()).collect()
}

fn pictures(place: &Place, count: usize) {
    for n in 1..=count {
        place.file(format!("photos/{n}.jpg"), flat_jpeg(format!("{n}").as_bytes()));
    }
}

#[test]
fn quotes_are_text_by_option() {
    let place = Place::new();
    pictures(&place, 4);
    // The form of CC3M: captions as they are, with tabs.
    let text = "\"the\" actor\t1.jpg\n5\" of snow\t2.jpg\n\"open\t3.jpg\nend \"q\"\t4.jpg\n";
    place.file("cc.tsv", text);
    let refused = place.pack("build photos -o no --join cc.tsv:header=text+file").exits(65);
    refused.says("row 1, byte 0").says("read quotes as text with quote=none");
    assert_eq!(
        joined(&place, "out", "cc.tsv:header=text+file,quote=none", "text"),
        ["\"the\" actor", "5\" of snow", "\"open", "end \"q\""]
    );
    place.file("photos/cc.tsv", text);
    place.pack("build csv:photos/cc.tsv?header=text+file&jpg=@file&quote=none -o rows").succeeds();
    // An append reads its table as the first build read it.
    place.file("more/5.jpg", flat_jpeg(b"5")).file("more.tsv", "\"x\" y\t5.jpg\n");
    place.pack("append more -o out --join more.tsv").succeeds();
    assert_eq!(place.manifest("out")["samples"], 5);
}

#[test]
fn quotes_behind_a_blank_are_those_of_a_field_by_option() {
    let place = Place::new();
    pictures(&place, 4);
    // The form of ICDAR's words, with a mark of the byte order and CRLF.
    let text = "\u{feff}1.jpg, \"[06]\"\r\n2.jpg, \"Genaxis, Theatre\"\r\n3.jpg, \"\\\"Say\\\" \\\\\"\r\n\
                4.jpg,  plain \"x\" \r\n";
    place.file("gt.txt", text);
    let options = "header=file+text,sep=,,blanks=trim,quote=backslash";
    assert_eq!(
        joined(&place, "out", &format!("gt.txt:{options}"), "text"),
        ["[06]", "Genaxis, Theatre", "\"Say\" \\", "plain \"x\""]
    );
    let usual = place.pack("build photos -o no --join gt.txt:header=file+text,sep=,").exits(65);
    usual.says("3 fields where the header has 2; blanks=trim reads the quotes of a field");
    let usual = "build photos -o no --join gt.txt:header=file+text,sep=,,blanks=trim";
    place.pack(usual).exits(65).says("quote=backslash reads a backslash before a quote");
    place.file("few.csv", "file,text\n1.jpg, \"a\"\n2.jpg,b\n3.jpg,c\n4.jpg,d\n");
    let run = place.pack("build photos -o few --join few.csv").succeeds();
    run.says("column 'text' has the quotes of words behind a blank, the first in row 1");
}

#[test]
fn other_tables_of_text_have_the_options_too() {
    let place = Place::new();
    place.file("p/5\"pipe/1.jpg", flat_jpeg(b"1")).file("p/\"x/2.jpg", flat_jpeg(b"2"));
    place.file("c.tsv", "name\tid\n\"x\t0\n5\"pipe\t1\n");
    place.pack("build p -o no --label folder --classes c.tsv").exits(65).says("quote=none");
    place.pack("build p -o out --label folder --classes c.tsv:quote=none").succeeds();
    assert_eq!(place.manifest("out")["classes"]["names"], json!(["\"x", "5\"pipe"]));
    pictures(&place, 1);
    let header = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax";
    place.file("boxes.csv", format!("{header}\n1,\"a\" b,/m/1,1,0.1,0.2,0.1,0.2\n"));
    place.file("names.csv", "/m/1,\"Tree\" x\n");
    let words = "build photos -o boxes --annotations boxes.csv";
    place.pack(words).exits(65).says("quote=none");
    place
        .pack("build photos -o boxes --annotations boxes.csv:quote=none --classes names.csv:quote=none")
        .succeeds();
    assert_eq!(place.manifest("boxes")["classes"]["names"], json!(["\"Tree\" x"]));
    place.file("coco.json", "{}");
    let refused = place.pack("build photos -o no --coco coco.json:encoding=latin1").exits(2);
    refused.says("encoding=windows-1252 are options of tables; leave them out");
    let refused = place.pack("build photos -o no --join c.tsv:sep=space,quote=double").exits(2);
    refused.says("quote= is an option of fields that a character separates");
}

#[test]
fn a_list_of_a_picture_without_objects_is_empty() {
    let place = Place::new();
    pictures(&place, 3);
    place.file("l/1.txt", "car 0.5\ncar 1\n").file("l/2.txt", "").file("l/3.txt", "bus 2\n");
    let options = "key=@file,many=list,header=type+t,sep=space";
    let run = place.pack(&format!("build photos -o no --join l/*.txt:{options}")).exits(1);
    run.says("missing-row: PLACE/photos/2.jpg");
    let found = joined(&place, "out", &format!("l/*.txt:{options},missing-row=keep"), "t");
    assert_eq!(found, [json!([0.5, 1.0]), json!([]), json!([2.0])]);
    place.file("none.txt", "");
    let none = place.pack("build photos -o no --join none.txt:header=file+y,sep=space").exits(2);
    none.says("none.txt: the table has no rows");
}

#[test]
fn a_name_in_quotes_in_a_list_of_a_split_is_that_name() {
    let place = Place::new();
    for name in ["a, b", "c"] {
        place.file(format!("d/{name}.jpg"), flat_jpeg(name.as_bytes()));
    }
    place.file("train.csv", "\"a, b.jpg\",1\n").file("val.csv", "c.jpg,2\n");
    let words = "--names allow --require image --split-list train=train.csv,val=val.csv";
    place.pack(&format!("build d -o out {words}")).succeeds();
    let shards = place.manifest("out")["shards"].clone();
    let splits: Vec<&Value> =
        shards.as_array().unwrap().iter().map(|shard| &shard["split"]).collect();
    assert_eq!(splits, ["train", "val"]);
}
