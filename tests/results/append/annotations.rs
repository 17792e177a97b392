//! Data sets that were packed with annotations or paired folders: classes keep their ids.

use serde_json::{Value, json};
use tarflume_fixtures::flat_jpeg;

use crate::harness::Place;

fn picture(place: &Place, name: &str) {
    place.file(name, flat_jpeg(name.as_bytes()));
}

/// Returns the JSON of one sample.
fn json_of(place: &Place, out: &str, name: &str) -> Value {
    let members = place.shards(out).into_iter().flatten();
    let member = members.into_iter().find(|member| member.name == name).unwrap();
    serde_json::from_slice(&member.data).unwrap()
}

/// A COCO file with one image, an annotation of this category, and these categories.
fn coco(image: &str, category: u64, categories: &str) -> String {
    let id = image.trim_end_matches(".jpg");
    format!(
        r#"{{"images":[{{"id":{id},"file_name":"{image}","width":8,"gps":0.5}}],
            "annotations":[{{"id":7,"image_id":{id},"category_id":{category},"bbox":[1,2,3,4.5]}}],
            "categories":[{categories}]}}"#
    )
}

const PERSON: &str = r#"{"id":1,"name":"person"}"#;
const DOG: &str = r#"{"id":18,"name":"dog"}"#;

#[test]
fn coco_categories_keep_their_ids_and_new_ones_follow() {
    let place = Place::new();
    picture(&place, "val/01.jpg");
    place.file("old.json", coco("01.jpg", 18, &format!("{PERSON},{DOG}")).replace(":01,", ":1,"));
    place.pack("build val -o out --coco old.json").succeeds();
    picture(&place, "val/20.jpg");
    let append = |text: String| {
        place.file("new.json", text);
        place.pack("append val -o out --coco new.json")
    };
    let run = append(coco("20.jpg", 18, r#"{"id":18,"name":"cat"}"#)).exits(65);
    run.says("class 18 is 'cat' here and 'dog' in the data set");
    let run = append(coco("20.jpg", 40, r#"{"id":40,"name":"dog"}"#)).exits(65);
    run.says("class 'dog' has the id 40 here and 18 in the data set");
    let run = append(coco("20.jpg", 9, r#"{"id":9,"name":"cat"}"#)).exits(65);
    run.says("class 9 'cat' is new, and its id is less than 18");
    let run = append(coco("20.jpg", 18, DOG).replace("\"width\":8", "\"width\":\"8\"")).exits(65);
    run.says("image 1: 'width' is string here and int64 in the data set");
    place.pack("append val -o out").exits(2).says("--coco old.json").says("--coco FILE");
    let cat = format!(r#"{DOG},{{"id":40,"name":"cat"}}"#);
    append(coco("20.jpg", 40, &cat).replace("\"gps\":0.5", "\"gps\":3")).succeeds();
    let text = json_of(&place, "out", "20.json");
    assert_eq!((&text["category_id"], &text["category_index"]), (&json!([40]), &json!([2])));
    assert_eq!(text["gps"].to_string(), "3.0");
    assert_eq!(
        place.manifest("out")["classes"],
        json!({"pointer": "/category_id", "names": ["person", "dog", "cat"], "ids": [1, 18, 40]})
    );
    // An image without annotations has the lists of the others.
    picture(&place, "val/30.jpg");
    append(r#"{"images":[{"id":30,"file_name":"30.jpg","width":8,"gps":1}]}"#.into()).succeeds();
    assert_eq!(
        json_of(&place, "out", "30.json"),
        json!({"annotation_id": [], "boxes": [], "category_id": [], "category_index": [],
               "file_name": "30.jpg", "gps": 1.0, "id": 30, "width": 8})
    );
    assert_eq!(place.manifest("out")["classes"]["names"], json!(["person", "dog", "cat"]));
    place.pack("verify out").succeeds();
}

#[test]
fn yolo_classes_keep_their_numbers_and_lists_stay() {
    let place = Place::new();
    picture(&place, "images/train/a.jpg");
    place.file("labels/train/a.txt", "1 0 0 1 0 1 1\n");
    place.file("data.yaml", "names: [cat, dog]\n");
    place.pack("build images -o out --yolo labels --yolo-names data.yaml").succeeds();
    ["b", "c"].iter().for_each(|stem| picture(&place, &format!("images/train/{stem}.jpg")));
    place.file("more/train/b.txt", "1 0.5 0.5 0.25 1\n");
    // Without names, those of the data set: other numbers are none. Images without file have no objects.
    place.pack("append images -o out --yolo more").succeeds();
    assert_eq!(
        json_of(&place, "out", "train/b.json"),
        json!({"boxes": [[0.5, 0.5, 0.25, 1.0]], "class": [1], "segmentation": [null]})
    );
    assert_eq!(json_of(&place, "out", "train/c.json")["segmentation"], json!([]));
    place.pack("append images -o out --yolo more").succeeds().says("nothing new");
    picture(&place, "images/train/d.jpg");
    place.file("more/train/d.txt", "2 0.5 0.5 0.25 1\n");
    place.pack("append images -o out --yolo more").exits(65).says("there are 2 names of classes");
    place.file("data.yaml", "names: [dog, cat, yak]\n");
    let words = "append images -o out --yolo more --yolo-names data.yaml";
    place.pack(words).exits(65).says("class 0 is 'dog' here and 'cat' in the data set");
    place.file("data.yaml", "names: [cat, dog, yak]\n");
    place.pack(words).succeeds();
    assert_eq!(place.manifest("out")["classes"]["names"], json!(["cat", "dog", "yak"]));
    assert!(place.problems("out").is_empty());
}

/// An annotation with one object, and a field of the image.
fn voc(name: &str, depth: &str) -> String {
    format!(
        "<annotation><depth>{depth}</depth><object><name>{name}</name><pose>Left</pose><bndbox>\
         <xmin>1</xmin><ymin>2</ymin><xmax>3</xmax><ymax>4</ymax></bndbox></object></annotation>"
    )
}

#[test]
fn voc_classes_keep_their_numbers_and_new_names_follow() {
    let place = Place::new();
    picture(&place, "images/a.jpg");
    place.file("voc/a.xml", voc("dog", "3"));
    place.pack("build images -o out --voc voc").succeeds();
    picture(&place, "images/b.jpg");
    place.file("more/b.xml", voc("cat", "x"));
    let run = place.pack("append images -o out --voc more").exits(65);
    run.says("b.xml: 'depth' is string here and int64 in the data set");
    place.file("more/b.xml", voc("cat", "1").replace("<pose>Left</pose>", ""));
    place.pack("append images -o out --voc more").succeeds();
    assert_eq!(
        json_of(&place, "out", "b.json"),
        json!({"boxes": [[1.0, 2.0, 3.0, 4.0]], "class": [1], "class_name": ["cat"], "depth": 1,
               "pose": [null]})
    );
    assert_eq!(place.manifest("out")["classes"]["names"], json!(["dog", "cat"]));
    place.pack("append images -o out --voc voc").succeeds().says("nothing new");
    assert!(place.problems("out").is_empty());
}

#[test]
fn paired_folders_are_paired_again() {
    let place = Place::new();
    let pair = |key: &str| {
        picture(&place, &format!("set/images/{key}.jpg"));
        picture(&place, &format!("set/masks/{key}.jpg"));
    };
    pair("a");
    place.file("t.csv", "path,y\nimages/a.jpg,1\n");
    let words = "--pair images=jpg masks=mask.jpg --join t.csv:on=path";
    place.pack(&format!("build set -o out {words}")).succeeds();
    place.pack("build set -o plain --pair images=jpg masks=mask.jpg --require image").succeeds();
    pair("sub/b");
    place.file("t.csv", "path,y\nimages/a.jpg,1\nimages/sub/b.jpg,2\n");
    place.pack("append set -o out --join t.csv").succeeds();
    assert_eq!(place.members("out").len(), 6);
    assert_eq!(json_of(&place, "out", "sub/b.json")["y"], 2);
    place.pack("append set -o plain --pair images=jpg masks=png").exits(2).says(
        "--pair images=jpg masks=png: the data set was packed with --pair images=jpg masks=mask.jpg",
    );
    place.pack("append set -o plain --pair images=jpg masks=mask.jpg").succeeds();
    assert_eq!(place.members("plain"), ["a.jpg", "a.mask.jpg", "sub/b.jpg", "sub/b.mask.jpg"]);
    // A new picture in a source without the old ones: rows of those are known.
    picture(&place, "new/images/c.jpg");
    picture(&place, "new/masks/c.jpg");
    place.file("t.csv", "path,y\nimages/a.jpg,1\nimages/sub/b.jpg,2\nimages/c.jpg,3\n");
    let run = place.pack("append new -o out --join t.csv").succeeds();
    run.says("; 2 rows name samples that only the data set has").says("published 3 samples");
}
