//! Lists as data sets are published with: no header, blanks between fields, lines before the rows, other names.

use serde_json::{Value, json};
use tarflume_fixtures::flat_jpeg;

use crate::harness::{Place, Run};

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

/// A table of these names, numbered from 0.
fn rows(names: [&str; 3]) -> String {
    let rows = names.iter().zip(0..).map(|(name, n)| format!("{name},{n}\n"));
    format!("file,y\n{}", rows.collect::<String>())
}

/// The numbers that the samples of a data set have.
fn ys(place: &Place, out: &str) -> Vec<Value> {
    jsons(place, out).into_iter().map(|(_, json)| json["y"].clone()).collect()
}

fn refused(place: &Place, words: &str) -> Run {
    place.pack(words).exits(2)
}

#[test]
fn a_list_without_header_and_with_blanks_has_names_by_option() {
    let place = Place::new();
    pictures(&place, &["photos/val_1.jpg", "photos/val_2.jpg"]);
    place.file("val.txt", "val_1.jpg  65\r\nval_2.jpg 970\r\n");
    place.pack("build photos -o out --join val.txt:header=file+class").succeeds();
    let wanted = [
        ("val_1.json".to_string(), json!({"file": "val_1.jpg", "class": 65})),
        ("val_2.json".to_string(), json!({"file": "val_2.jpg", "class": 970})),
    ];
    assert_eq!(jsons(&place, "out"), wanted);
    place.pack("build photos -o no --join val.txt").exits(65).says("its first row looks like data");
    place.file("words.txt", "val_1.jpg a cat\nval_2.jpg a dog and a cat\n");
    place.pack("build photos -o text --join words.txt:header=file+caption*").succeeds();
    assert_eq!(jsons(&place, "text")[1].1["caption"], "a dog and a cat");
    refused(&place, "build photos -o no --join words.txt:header=file+caption")
        .says("give sep=tab, sep=space");
}

#[test]
fn a_table_with_a_count_before_its_header_and_no_name_for_its_names_is_read() {
    let place = Place::new();
    pictures(&place, &["photos/000001.jpg", "photos/000002.jpg"]);
    // The form of CelebA's list of attributes.
    let text = "2\nBald Big_Nose Young \n000001.jpg -1  1  1\n000002.jpg  1 -1  1\n";
    place.file("list_attr.txt", text);
    place.file("identity.txt", "000001.jpg 2880\n000002.jpg 2937\n");
    place
        .pack("build photos -o out --join list_attr.txt:skip=1 --join identity.txt:header=key+identity")
        .succeeds()
        .says("2 rows of list_attr.txt joined to 2 samples by basename")
        .says("2 rows of identity.txt joined to 2 samples by basename");
    let wanted =
        json!({"key": "000001.jpg", "Bald": -1, "Big_Nose": 1, "Young": 1, "identity": 2880});
    assert_eq!(jsons(&place, "out")[0].1, wanted);
    let columns: Vec<Value> = place.manifest("out")["columns"].as_array().unwrap().clone();
    let names: Vec<&str> = columns.iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["/key", "/Bald", "/Big_Nose", "/Young", "/identity"]);
    place.file("other.txt", "000001.jpg -1\n000002.jpg 1\n");
    refused(
        &place,
        "build photos -o no --join list_attr.txt:skip=1 --join other.txt:header=key+Young",
    )
    .says("has the field 'Young' of '000001', which an earlier table has with another value")
    .says("other.txt:fields=NAME|NAME");
}

#[test]
fn a_header_that_lacks_the_name_of_another_column_is_refused() {
    let place = Place::new();
    pictures(&place, &["photos/1.jpg", "photos/2.jpg"]);
    place.file("t.txt", "file class\n1.jpg 3 x\n2.jpg 4 y\n");
    let run = place.pack("build photos -o out --join t.txt").exits(65);
    run.says("row 1").says("3 fields where the header has 2");
}

#[test]
fn json_lines_take_the_options_of_texts_and_no_others() {
    let place = Place::new();
    pictures(&place, &["photos/1.jpg"]);
    place.file("t.jsonl", b"# made by hand\n{\"file\": \"1.jpg\", \"y\": \"caf\xe9\"}\n");
    place.pack("build photos -o out --join t.jsonl:skip=1,encoding=latin1").succeeds();
    assert_eq!(ys(&place, "out"), [json!("caf\u{e9}")]);
    refused(&place, "build photos -o no --join t.jsonl:skip=1,sep=tab")
        .says("sep= is an option of text tables, and this is JSON lines");
}

#[test]
fn lists_of_rows_are_appended() {
    let place = Place::new();
    pictures(&place, &["photos/1.jpg"]);
    place.file("t.txt", "1.jpg|a cat\n1.jpg|a tom\n");
    let join = "--join t.txt:header=file+caption,many=list,missing-row=keep";
    place.pack(&format!("build photos -o out {join}")).succeeds();
    pictures(&place, &["more/2.jpg", "more/3.jpg"]);
    place.file("t.txt", "2.jpg|a dog\n2.jpg|two dogs\n");
    place.pack("append more -o out --join t.txt").succeeds();
    let captions = jsons(&place, "out").into_iter().map(|(_, json)| json["caption"].clone());
    let wanted = [json!(["a cat", "a tom"]), json!(["a dog", "two dogs"]), json!([])];
    assert_eq!(captions.collect::<Vec<_>>(), wanted);
    let columns = json!([
        {"name": "/file", "type": "string", "nullable": true},
        {"name": "/caption", "type": "list", "items": "string"}
    ]);
    assert_eq!(place.manifest("out")["columns"], columns);
    // Numbers stay texts, as the captions before them.
    pictures(&place, &["last/4.jpg"]);
    place.file("t.txt", "4.jpg|1984\n");
    place.pack("append last -o out --join t.txt").succeeds();
    assert_eq!(jsons(&place, "out")[3].1["caption"], json!(["1984"]));
}

#[test]
fn rows_in_the_order_of_the_samples_need_no_names() {
    let place = Place::new();
    pictures(&place, &["photos/img1.jpg", "photos/img2.jpg", "photos/img10.jpg"]);
    place.file("truth.txt", "490\n361\n171\n");
    let words = "build photos -o out --join truth.txt:header=class,rows=order";
    place.pack(words).succeeds().says("3 rows of truth.txt joined to 3 samples by order");
    let found = jsons(&place, "out");
    for (key, class) in [("img1.json", 490), ("img2.json", 361), ("img10.json", 171)] {
        let (_, json) = found.iter().find(|(name, _)| name == key).unwrap();
        assert_eq!(json["class"], json!(class), "{key}");
    }
    place.file("short.txt", "490\n361\n");
    refused(&place, "build photos -o no --join short.txt:header=class,rows=order")
        .says("there are 2 rows and 3 samples");
    refused(&place, "build photos -o no --join truth.txt:header=class,rows=order,on=key")
        .says("needs no key= and no on=");
}

#[test]
fn names_of_rows_are_reduced_and_advice_says_what_matches() {
    let place = Place::new();
    pictures(&place, &["photos/cat/1.jpg", "photos/dog/1.jpg", "photos/dog/2.jpg"]);
    for (n, (names, advice)) in [
        (["/data/set/cat/1.jpg", "/data/set/dog/1.jpg", "/data/set/dog/2.jpg"], "remove=data/set/"),
        (["train\\cat\\1.jpg", "train\\dog\\1.jpg", "train\\dog\\2.jpg"], ""),
        (["cat\\1.jpg", "dog\\1.jpg", "dog\\2.jpg"], "on=path"),
        (["cat/1.bmp", "dog/1.bmp", "dog/2.bmp"], "on=key"),
        (["/cat/1.jpg", "/dog/1.jpg", "/dog/2.jpg"], "-"),
    ]
    .into_iter()
    .enumerate()
    {
        place.file("t.csv", rows(names));
        let out = format!("out{n}");
        if advice == "-" {
            place.pack(&format!("build photos -o {out} --join t.csv")).succeeds();
        } else if advice.is_empty() {
            refused(&place, &format!("build photos -o {out} --join t.csv"))
                .says("on=basename matches 2 of 3");
            let words = format!("build photos -o {out} --join t.csv:on=path,remove=train/");
            place.pack(&words).succeeds();
        } else {
            refused(&place, &format!("build photos -o {out} --join t.csv"))
                .says(&format!("{advice} matches 3 of 3 such rows"));
            place.pack(&format!("build photos -o {out} --join t.csv:{advice}")).succeeds();
        }
        assert_eq!(ys(&place, &out), [0, 1, 2].map(|y| json!(y)), "{names:?}");
    }
    place.file("t.csv", rows(["1.jpg", "2.jpg", "3.jpg"]));
    pictures(&place, &["deep/images/1.jpg", "deep/images/2.jpg", "deep/images/3.jpg"]);
    place.file("u.csv", rows(["x/images/1.jpg", "x/images/2.jpg", "x/images/3.jpg"]));
    refused(&place, "build deep -o no --join u.csv").says("remove=x/ matches 3 of 3");
    place.pack("build deep -o added --join t.csv:add=images/,on=path").succeeds();
    assert_eq!(ys(&place, "added"), [0, 1, 2].map(|y| json!(y)));
}

#[test]
fn all_rows_of_a_sample_become_lists_and_the_unmatched_are_decided() {
    let place = Place::new();
    pictures(&place, &["photos/1.jpg", "photos/2.jpg", "photos/3.jpg"]);
    let text =
        "image|number|caption\n1.jpg|0|a cat\n2.jpg|0|a dog\n1.jpg|1|two cats\n9.jpg|0|nothing\n";
    place.file("captions.txt", text);
    let words =
        "build photos -o out --join captions.txt:many=list,missing-row=keep,orphan-row=ignore";
    place.pack(words).succeeds().says("1 row without sample is left out");
    let found = jsons(&place, "out");
    assert_eq!(
        found[0].1,
        json!({"image": "1.jpg", "number": [0, 1], "caption": ["a cat", "two cats"]})
    );
    assert_eq!(found[1].1["caption"], json!(["a dog"]));
    assert_eq!(found[2].1, json!({"caption": [], "number": []}));
    assert_eq!(
        place.manifest("out")["columns"],
        json!([
            {"name": "/image", "type": "string", "nullable": true},
            {"name": "/number", "type": "list", "items": "int64"},
            {"name": "/caption", "type": "list", "items": "string"},
        ])
    );
    let words = "build photos -o skipped --join captions.txt:many=list,missing-row=skip,orphan-row=ignore,fields=caption";
    place.pack(words).succeeds().says("1 sample without row is left out");
    let found: Vec<Value> = jsons(&place, "skipped").into_iter().map(|(_, json)| json).collect();
    assert_eq!(found, [json!({"caption": ["a cat", "two cats"]}), json!({"caption": ["a dog"]})]);
    let run = place.pack("build photos -o no --join captions.txt:many=list").exits(1);
    run.says("orphan-row 1, missing-row 1");
    refused(&place, "build photos -o no --join captions.txt:fields=x")
        .says("there is no column 'x'");
}

#[test]
fn instances_and_captions_of_coco_are_one_json() {
    let place = Place::new();
    pictures(&place, &["photos/1.jpg"]);
    let images = r#""images":[{"id":7,"file_name":"1.jpg","width":8,"height":8}]"#;
    let instances = format!(
        r#"{{{images},"annotations":[{{"id":1,"image_id":7,"category_id":3,"bbox":[1,1,2,2],"area":4,"iscrowd":0}}],"categories":[{{"id":3,"name":"cat"}}]}}"#
    );
    let captions = format!(
        r#"{{{images},"annotations":[{{"id":9,"image_id":7,"caption":"a cat"}},{{"id":10,"image_id":7,"caption":"one"}}]}}"#
    );
    place.file("instances.json", instances);
    place.file("captions.json", captions);
    let words = "build photos -o out --coco instances.json --coco captions.json:fields=caption";
    place.pack(words).succeeds();
    let json = &jsons(&place, "out")[0].1;
    assert_eq!(
        (&json["caption"], &json["category_index"]),
        (&json!(["a cat", "one"]), &json!([0]))
    );
    assert_eq!(place.manifest("out")["classes"]["names"], json!(["cat"]));
    refused(&place, "build photos -o no --coco instances.json --coco captions.json").says(
        "has the field 'annotation_id' of '1', which an earlier table has with another value",
    );
}

#[test]
fn other_encodings_are_read_by_name() {
    let place = Place::new();
    pictures(&place, &["photos/1.jpg"]);
    place.file("t.csv", b"file,name\n1.jpg,caf\xe9\n");
    place.pack("build photos -o out --join t.csv:encoding=latin1").succeeds();
    assert_eq!(jsons(&place, "out")[0].1["name"], "café");
    place.pack("build photos -o no --join t.csv").exits(65).says("encoding=latin1");
    let utf_16 = "\u{feff}file,name\n1.jpg,ü\n".encode_utf16().flat_map(u16::to_le_bytes);
    place.file("u.csv", utf_16.collect::<Vec<u8>>());
    place.pack("build photos -o wide --join u.csv:encoding=utf-16").succeeds();
    assert_eq!(jsons(&place, "wide")[0].1["name"], "ü");
}

#[test]
fn an_append_gives_all_tables_again() {
    let place = Place::new();
    pictures(&place, &["photos/1.jpg", "photos/2.jpg"]);
    place.file("a.txt", "1.jpg 1\n2.jpg 2\n");
    place.file("b.txt", "1.jpg 10\n2.jpg 20\n");
    let joins = "--join a.txt:header=file+a --join b.txt:header=file+b";
    place.pack(&format!("build photos -o out {joins}")).succeeds();
    pictures(&place, &["more/3.jpg"]);
    place.file("a.txt", "3.jpg 3\n");
    place.file("b.txt", "3.jpg 30\n");
    refused(&place, "append more -o out --join a.txt")
        .says("2 tables or annotations (a.txt, b.txt)");
    place.pack("append more -o out --join a.txt --join b.txt").succeeds();
    let found = jsons(&place, "out");
    assert_eq!(found[2], ("3.json".into(), json!({"file": "3.jpg", "a": 3, "b": 30})));
}
