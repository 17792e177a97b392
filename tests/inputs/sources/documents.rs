//! JSON documents as sources and as joined tables, in the forms in which data sets are published.

use serde_json::{Value, json};
use tarflume_fixtures::flat_jpeg;

use super::{json_of, members};
use crate::harness::{Place, Run};

fn pictures(place: &Place, names: &[&str]) {
    for name in names {
        place.file(name, flat_jpeg(name.as_bytes()));
    }
}

fn document(place: &Place, name: &str, value: &Value) {
    place.file(name, serde_json::to_string_pretty(value).unwrap());
}

fn refused(place: &Place, words: &str) -> Run {
    place.pack(words).exits(2)
}

fn talk(text: &str) -> Value {
    json!([{"from": "human", "value": text}, {"from": "gpt", "value": "a"}])
}

#[test]
fn conversations_about_pictures_and_about_none_are_rows() {
    let place = Place::new();
    pictures(&place, &["llava/coco/000000033471.jpg", "llava/vg/2.jpg"]);
    let image = "coco/000000033471.jpg";
    let rows = json!([
        {"id": "000000033471", "image": image, "conversations": talk("<image>\nWhat?")},
        {"id": "000000033471", "image": image, "conversations": talk("How many?")},
        {"id": 17, "conversations": talk("no picture")},
        {"id": "vg", "image": "vg/2.jpg", "conversations": talk("x")},
    ]);
    document(&place, "llava/mix.json", &rows);
    let source = "json:llava/mix.json?jpg=@image?";
    refused(&place, &format!("build {source}&texts=id -o x")).says("give key=COLUMN, or key=#");
    let run = place.pack(&format!("build {source}&key=# -o x")).exits(65);
    run.says("row 3").says("column 'id' is int64 here and string in row 1").says("texts=id");
    let run = place.pack(&format!("build {source}&texts=id&key=id -o x")).exits(1);
    run.says("repeated-key").says("key=# numbers the rows");
    let run = place.pack(&format!("build {source}&texts=id&key=# -o out")).succeeds();
    run.says("column 'image' has no value in 1 row, the first is row 3");
    let found = members(&place, "out");
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    let wanted = ["00000000.jpg", "00000000.json", "00000001.jpg", "00000001.json"];
    let rest = ["00000002.json", "00000003.jpg", "00000003.json"];
    assert_eq!(names, [&wanted[..], &rest].concat());
    assert_eq!(found[0].1, found[2].1, "one picture in two rows");
    let third = json_of(&found, "00000002.json");
    assert_eq!(third, json!({"id": "17", "conversations": talk("no picture")}));
    place.pack(&format!("build {source}&texts=id&key=# -o x --require jpg")).exits(1).says("'jpg'");
}

fn captioned(folder: &str, name: &str, split: &str, raw: &str) -> Value {
    json!({"filepath": folder, "filename": name, "split": split, "sentids": [1],
           "sentences": [{"raw": raw, "tokens": ["a"]}], "imgid": 0})
}

#[test]
fn captions_of_karpathy_have_their_split_and_a_path_of_two_fields() {
    let place = Place::new();
    let names = ["COCO_val2014_000000522418.jpg", "COCO_train2014_000000000009.jpg"];
    pictures(
        &place,
        &[&format!("coco/val2014/{}", names[0]), &format!("coco/train2014/{}", names[1])],
    );
    let images = [
        captioned("val2014", names[0], "test", "a cake"),
        captioned("train2014", names[1], "train", "food"),
    ];
    document(&place, "coco/dataset_coco.json", &json!({"images": images, "dataset": "coco"}));
    let words = "build json:coco/dataset_coco.json?at=/images&jpg=@{filepath}/{filename}&txt=/sentences/0/raw \
                 -o out --split-by /split";
    place.pack(words).succeeds();
    let found = members(&place, "out");
    let json = json_of(&found, "val2014/COCO_val2014_000000522418.json");
    assert_eq!(json["filename"], json!(names[0]), "the fields of a path stay in the JSON");
    let text = found.iter().find(|(name, _)| name == "val2014/COCO_val2014_000000522418.txt");
    assert_eq!(text.unwrap().1, b"a cake");
    let shards = place.manifest("out")["shards"].as_array().unwrap().clone();
    let mut splits: Vec<&Value> = shards.iter().map(|shard| &shard["split"]).collect();
    splits.sort_by_key(|split| split.as_str());
    assert_eq!(splits, [&json!("test"), &json!("train")]);
}

fn answer(id: u64, image: u64, word: &str) -> Value {
    json!({"question_id": id, "image_id": image, "multiple_choice_answer": word,
           "answers": [{"answer": word}]})
}

#[test]
fn questions_and_answers_of_two_documents_are_one_json() {
    let place = Place::new();
    let ids = [262148, 42];
    let names = ids.map(|id: u64| format!("vqa/val2014/COCO_val2014_{id:012}.jpg"));
    pictures(&place, &names.each_ref().map(String::as_str));
    let questions = json!([
        {"image_id": 262148, "question": "Where?", "question_id": 262148000},
        {"image_id": 262148, "question": "Who?", "question_id": 262148001},
        {"image_id": 42, "question": "Why?", "question_id": 42000},
    ]);
    document(&place, "vqa/q.json", &json!({"info": {"year": 2017}, "questions": questions}));
    let answers =
        [answer(42000, 42, "c"), answer(262148000, 262148, "a"), answer(262148001, 262148, "b")];
    document(&place, "vqa/a.json", &json!({"annotations": answers, "license": {"url": "x"}}));
    let words = "build json:vqa/q.json?at=/questions&key=question_id&jpg=@val2014/COCO_val2014_{image_id:012}.jpg \
                 -o out --join vqa/a.json:at=/annotations,key=question_id";
    place.pack(words).succeeds().says("3 rows of a.json joined to 3 samples");
    let found = members(&place, "out");
    assert_eq!(found.len(), 6);
    let json = json_of(&found, "262148001.json");
    let wanted = json!({"image_id": 262148, "question": "Who?", "question_id": 262148001,
        "multiple_choice_answer": "b", "answers": [{"answer": "b"}]});
    assert_eq!(json, wanted);
    let columns = place.manifest("out")["columns"].clone();
    let names: Vec<&str> =
        columns.as_array().unwrap().iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"/question") && names.contains(&"/answers"), "{names:?}");
    assert_eq!(names.iter().filter(|name| **name == "/image_id").count(), 1);
    place.pack("build vqa/val2014 -o other --join vqa/a.json").exits(2).says("at=/annotations");
}

fn face(n: u32) -> Value {
    let path = format!("images1024x1024/00000/{n:05}.png");
    json!({"category": "training", "image": {"file_path": path, "pixel_size": [1024, 1024]}})
}

#[test]
fn members_of_an_object_are_rows_with_their_names() {
    let place = Place::new();
    pictures(
        &place,
        &["ffhq/images1024x1024/00000/00000.png", "ffhq/images1024x1024/00000/00001.png"],
    );
    let rows = json!({"0": face(0), "1": face(1)});
    document(&place, "ffhq/ffhq-dataset-v2.json", &rows);
    let words = "build json:ffhq/ffhq-dataset-v2.json?at=/&key=key&png=@/image/file_path -o out --check none";
    place.pack(words).succeeds();
    assert_eq!(place.members("out"), ["0.json", "0.png", "1.json", "1.png"]);
    let json = json_of(&members(&place, "out"), "1.json");
    assert_eq!(json["image"]["pixel_size"], json!([1024, 1024]));
    refused(&place, "build json:ffhq/ffhq-dataset-v2.json -o x")
        .says("at=/0, at=/1")
        .says("at=/ makes");
}

#[test]
fn images_of_lvis_are_found_by_their_address() {
    let place = Place::new();
    pictures(&place, &["coco/000000397133.jpg", "coco/000000000139.jpg"]);
    let images = [397133, 139].map(|id: u64| {
        let url = format!("http://images.cocodataset.org/val2017/{id:012}.jpg");
        json!({"id": id, "coco_url": url})
    });
    let annotation =
        json!({"id": 1, "image_id": 139, "category_id": 3, "bbox": [1, 2, 3, 4], "area": 12.0});
    let categories = json!([{"id": 3, "name": "cat", "frequency": "f"}]);
    let lvis = json!({"images": images, "annotations": [annotation], "categories": categories});
    document(&place, "lvis.json", &lvis);
    place.pack("build coco -o out --coco lvis.json").succeeds();
    let json = json_of(&members(&place, "out"), "000000000139.json");
    assert_eq!(json["boxes"], json!([[1, 2, 3, 4]]));
}

#[test]
fn rows_of_text_tables_are_numbered_and_read_as_text() {
    let place = Place::new();
    place.file("t.csv", "zip,y\n01234,1\n99999,2\n");
    place.file("u.csv", "zip,y\n12345,1\n99999,2\n");
    place.pack("build csv:u.csv?key=#&texts=zip -o out").succeeds();
    assert_eq!(place.members("out"), ["00000000.json", "00000001.json"]);
    assert_eq!(json_of(&members(&place, "out"), "00000000.json"), json!({"zip": "12345", "y": 1}));
    refused(&place, "build csv:u.csv?texts=none -o x").says("texts=none: there is no such column");
    refused(&place, "build csv:u.csv?at=/x -o x")
        .says("at= is an option of JSON documents (.json)");
    place.file("n.jsonl", "{\"a\": 1}\n{\"a\": 2}\n");
    refused(&place, "build json:n.jsonl -o x").says("give jsonl:FILE");
}

#[test]
fn what_is_wrong_with_a_document_has_its_byte() {
    let place = Place::new();
    for (name, text, said) in [
        ("cut", "{\"a\": [{\"x\": 1}", "the text ends, expected ','"),
        ("tail", "{\"a\": [{\"x\": 1}], \"b\": tru}", "byte 23"),
        ("after", "{\"a\": [{\"x\": 1}]} {}", "byte 18: unexpected text after the JSON value"),
        ("comma", "{\"a\": [{\"x\": 1},]}", "trailing comma"),
        ("twice", "{\"a\": [{\"x\": 1}], \"a\": []}", "'a' occurs twice"),
        ("word", "{\"a\": [{\"x\": 1}, 5]}", "row 2, byte 17: it is no JSON object"),
        ("nan", "{\"a\": [{\"x\": NaN}]}", "row 1, byte 13"),
        ("half", "{\"b\": [1, {\"c\": }], \"a\": []}", "byte 16: expected a JSON value"),
        (
            "names",
            "{\"a\": [{\"x\": 1, \"x\": 2}]}",
            "byte 16: it is no JSON object: 'x' occurs twice",
        ),
    ] {
        let file = format!("{name}.json");
        place.file(&file, text);
        place.pack(&format!("build json:{file}?at=/a -o x")).exits(65).says(&file).says(said);
    }
    place
        .file("good.json", "{\"a\": {\"l\": [[{\"x\": 1}]], \"key\": {\"key\": 3}}, \"s\": \"t\"}");
    place.pack("build json:good.json?at=/a/l/0 -o good").succeeds();
    refused(&place, "build json:good.json?at=/b -o x")
        .says("there is no 'b': the object has 'a', 's'");
    refused(&place, "build json:good.json?at=/a/l/1 -o x").says("the list has 1 elements");
    refused(&place, "build json:good.json?at=/a/l/x -o x").says("whose elements have numbers");
    place.pack("build json:good.json?at=/s -o x").exits(65).says("expected a list of rows");
    place.pack("build json:good.json?at=/a/key -o x").exits(65).says("row 1");
    place.file("own.json", "{\"r\": {\"key\": 3}}");
    place.pack("build json:own.json?at=/ -o x").exits(65).says("the row has a member 'key'");
    let deep = format!("{{\"b\": {}{}, \"a\": []}}", "[".repeat(200), "]".repeat(200));
    place.file("deep.json", deep);
    place.pack("build json:deep.json?at=/a -o x").exits(65).says("nested too deeply");
    place.file("none.json", "");
    place.pack("build json:none.json -o x").exits(65).says("the document is empty");
    place.file("e/empty.json", "[ ]");
    refused(&place, "build json:e/empty.json -o empty").says("e/empty.json has no elements");
}
