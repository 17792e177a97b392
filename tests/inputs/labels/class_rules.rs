//! Classes that are stated elsewhere than in a folder: a field, a name, a source; and lists of classes as data sets have them.

use serde_json::{Value, json};
use tarflume_fixtures::flat_jpeg;

use crate::harness::{Place, tool};

/// Writes pictures without JSON.
fn pictures(place: &Place, names: &[&str]) {
    for name in names {
        place.file(name, flat_jpeg(name.as_bytes()));
    }
}

/// Writes pictures with JSON.
fn samples(place: &Place, samples: &[(&str, &str)]) {
    for (stem, json) in samples {
        place.file(format!("{stem}.jpg"), flat_jpeg(stem.as_bytes()));
        place.file(format!("{stem}.json"), json);
    }
}

/// Returns the key and the class of each sample of a data set.
fn classes(place: &Place, out: &str) -> Vec<(String, i64, String)> {
    let members = place.shards(out).concat();
    let json = members.iter().filter_map(|member| {
        let key = member.name.strip_suffix(".json")?;
        let json: Value = serde_json::from_slice(&member.data).unwrap();
        let name = json["class_name"].as_str().unwrap().to_string();
        Some((key.to_string(), json["class"].as_i64().unwrap(), name))
    });
    json.collect()
}

fn class(key: &str, id: i64, name: &str) -> (String, i64, String) {
    (key.into(), id, name.into())
}

#[test]
fn a_field_of_a_joined_table_is_the_class() {
    let place = Place::new();
    pictures(&place, &["p/1.jpg", "p/2.jpg", "p/3.jpg"]);
    place.file("t.csv", "file,species\n1.jpg,yak\n2.jpg,ant\n3.jpg,yak\n");
    place.pack("build p -o out --join t.csv --label /species").succeeds();
    assert_eq!(
        classes(&place, "out"),
        [class("1", 1, "yak"), class("2", 0, "ant"), class("3", 1, "yak")]
    );
    let names = json!({"pointer": "/class", "names": ["ant", "yak"]});
    assert_eq!(place.manifest("out")["classes"], names);
    // New classes follow those of the data set.
    pictures(&place, &["more/4.jpg"]);
    place.file("more.csv", "file,species\n4.jpg,bee\n");
    place.pack("append more -o out --join more.csv").succeeds();
    assert_eq!(classes(&place, "out")[3], class("4", 2, "bee"));
}

#[test]
fn a_number_is_that_of_its_class_and_takes_the_place_of_its_field() {
    let place = Place::new();
    pictures(&place, &["p/1.jpg", "p/2.jpg"]);
    place.file("val.txt", "1.jpg 17\n2.jpg 3\n");
    let join = "--join val.txt:header=file+class --label /class";
    place.pack(&format!("build p -o out {join}")).succeeds();
    assert_eq!(classes(&place, "out"), [class("1", 17, "17"), class("2", 3, "3")]);
    assert_eq!(place.manifest("out")["classes"]["ids"], json!([3, 17]));
    let listed = "3 n01440764 tench, Tinca tinca\n17 n02012849 crane\n4 n03126707 crane\n";
    place.file("words.txt", listed);
    place.pack(&format!("build p -o named {join} --classes words.txt")).succeeds();
    assert_eq!(classes(&place, "named")[0], class("1", 17, "n02012849"));
    let table = &place.manifest("named")["classes"];
    assert_eq!(table["details"][0], json!({"text": "tench, Tinca tinca"}));
    place.file("few.txt", "3 cat\n4 dog\n");
    let run = place.pack(&format!("build p -o no {join} --classes few.txt")).exits(1);
    run.says("the list of classes has no '17', the value of /class of 1 sample");
}

#[test]
fn numbers_of_a_list_lead_to_the_classes_of_another_order() {
    let place = Place::new();
    pictures(&place, &["p/1.jpg", "p/2.jpg"]);
    // Official numbers of ImageNet, and those that torchvision gives to sorted folders.
    place.file("synsets.txt", "1 n02119789 kit fox\n2 n02100735 setter\n3 n01440764 tench\n");
    place.file("truth.txt", "1.jpg 1\n2.jpg 3\n");
    let words =
        "--join truth.txt:header=file+class --label /class --classes synsets.txt:order=sorted";
    place.pack(&format!("build p -o out {words}")).succeeds();
    let wanted = [class("1", 2, "n02119789"), class("2", 0, "n01440764")];
    assert_eq!(classes(&place, "out"), wanted);
    pictures(&place, &["more/3.jpg"]);
    place.file("truth.txt", "3.jpg 2\n");
    place.pack("append more -o out --join truth.txt").succeeds();
    assert_eq!(classes(&place, "out")[2], class("3", 1, "n02100735"));
}

#[test]
fn a_number_is_refused_where_classes_have_names() {
    let place = Place::new();
    samples(
        &place,
        &[("p/1", r#"{"y": "ant"}"#), ("p/2", r#"{"y": "yak"}"#), ("q/3", r#"{"y": 0}"#)],
    );
    place.pack("build p -o out --label /y").succeeds();
    let run = place.pack("append q -o out").exits(2);
    run.says("the number 0, and those of the data set are names, such as 'ant'");
    // A pattern reads digits, too.
    samples(&place, &[("d/1", r#"{"y": 1203}"#), ("d/2", r#"{"y": 77}"#)]);
    place.pack("build d -o digits --label /y~^[0-9]").succeeds();
    assert_eq!(classes(&place, "digits"), [class("1", 0, "1"), class("2", 1, "7")]);
}

#[test]
fn a_field_without_one_type_or_value_is_refused() {
    let place = Place::new();
    samples(&place, &[("p/1", r#"{"y": "ant"}"#), ("p/2", r#"{"y": 2}"#)]);
    let run = place.pack("build p -o out --label /y").exits(2);
    run.says("2 is a number and 'ant' is a text").says("--classes FILE");
    samples(
        &place,
        &[("q/1", r#"{"y": "ant"}"#), ("q/2", r#"{"z": 2}"#), ("q/3", r#"{"y": "bee"}"#)],
    );
    place.pack("build q -o out --label /y").exits(1).says("no-class").says("its JSON has no /y");
    samples(&place, &[("r/1", r#"{"y": "ant"}"#), ("r/2", r#"{"y": "ant"}"#)]);
    place.pack("build r -o out --label /y").exits(1).says("all samples would be one class, 'ant'");
}

#[test]
fn a_pattern_finds_the_class_in_names() {
    let place = Place::new();
    let names = ["p/Abyssinian_100.jpg", "p/great_pyrenees_2.jpg", "p/sub/pug_7.jpg"];
    pictures(&place, &names);
    place.pack(r"build p -o out --label name:^(.+)_[0-9]+$").succeeds();
    let wanted = [
        class("Abyssinian_100", 0, "Abyssinian"),
        class("great_pyrenees_2", 1, "great_pyrenees"),
        class("sub/pug_7", 2, "pug"),
    ];
    assert_eq!(classes(&place, "out"), wanted);
    pictures(&place, &["p/stray.jpg"]);
    let run = place.pack(r"build p -o no --label name:^(.+)_[0-9]+$").exits(1);
    run.says("its name 'stray' does not match --label 'name:^(.+)_[0-9]+$'");
    place.pack("build p -o no --label name:(").exits(2).says("no regular expression");
    // Dots of a name are kept by option: cats and dogs.
    pictures(&place, &["d/cat.0.jpg", "d/cat.10.jpg", "d/dog.1.jpg"]);
    place.pack("build d -o dots --names dot=replace --label name:^[a-z]+").succeeds();
    let found: Vec<String> = classes(&place, "dots").into_iter().map(|found| found.2).collect();
    assert_eq!(found, ["cat", "cat", "dog"]);
}

#[test]
fn a_pattern_finds_the_class_in_a_field() {
    let place = Place::new();
    pictures(&place, &["val/ILSVRC2012_val_1.jpg", "val/ILSVRC2012_val_2.jpg"]);
    // The form of ImageNet's list at Kaggle: the class, then a box, again for each object.
    let list = "ImageId,PredictionString\nILSVRC2012_val_1,n02 10 12 63 70 \nILSVRC2012_val_2,n01 1 2 3 4 n01 5 6 7 8 \n";
    place.file("LOC_val_solution.csv", list);
    let join = "build val --join LOC_val_solution.csv:key=ImageId";
    place.pack(&format!("{join} -o out --label /PredictionString~^n[0-9]+")).succeeds();
    let wanted = [class("ILSVRC2012_val_1", 1, "n02"), class("ILSVRC2012_val_2", 0, "n01")];
    assert_eq!(classes(&place, "out"), wanted);
    let run = place.pack(&format!("{join} -o no --label /PredictionString~^x(.)")).exits(1);
    run.says("'n02 10 12 63 70 ' does not match --label '/PredictionString~^x(.)'");
}

#[test]
fn a_source_is_the_class_of_its_samples() {
    let place = Place::new();
    pictures(&place, &["n01/1.jpg", "n02/2.jpg"]);
    place.pack("build n01 n02 -o folders --label source").succeeds();
    assert_eq!(classes(&place, "folders"), [class("1", 0, "n01"), class("2", 1, "n02")]);
    tool(&place, "tar", &["-cf", "n01.tar", "-C", "n01", "1.jpg"]).succeeds();
    tool(&place, "tar", &["-czf", "n02.tar.gz", "-C", "n02", "2.jpg"]).succeeds();
    place.pack("build tar:n01.tar,n02.tar.gz -o tars --label source").succeeds();
    assert_eq!(classes(&place, "tars"), classes(&place, "folders"));
}

#[test]
fn a_list_numbers_the_categories_of_coco_by_their_names() {
    let place = Place::new();
    pictures(&place, &["p/1.jpg"]);
    let boxes = r#"[{"id":1,"image_id":1,"category_id":17,"bbox":[0,0,4,4]},{"id":2,"image_id":1,"category_id":3,"bbox":[1,1,2,2]}]"#;
    let coco = format!(
        r#"{{"images":[{{"id":1,"file_name":"1.jpg"}}],"annotations":{boxes},"categories":[{{"id":3,"name":"car"}},{{"id":17,"name":"cat","supercategory":"animal"}}]}}"#
    );
    place.file("i.json", coco);
    place.file("names.txt", "cat\ndog\ncar\n");
    place.pack("build p -o out --coco i.json --classes names.txt").succeeds();
    let members = place.shards("out").concat();
    let json = members.iter().find(|member| member.name == "1.json").unwrap();
    let json: Value = serde_json::from_slice(&json.data).unwrap();
    assert_eq!(json["category_id"], json!([0, 2]));
    assert_eq!(json["category_index"], json!([0, 2]));
    let classes = &place.manifest("out")["classes"];
    assert_eq!(classes["names"], json!(["cat", "dog", "car"]));
    assert_eq!(classes["details"], json!([{"supercategory": "animal"}, {}, {}]));
    place.file("few.txt", "cat\n");
    let run = place.pack("build p -o no --coco i.json --classes few.txt").exits(65);
    run.says("annotation 2 has category 3, whose name the file of --classes does not list");
    place
        .pack("build p -o no --classes names.txt")
        .exits(2)
        .says("--classes numbers the classes of");
    // An append keeps the numbers.
    pictures(&place, &["more/2.jpg"]);
    let more = r#"{"images":[{"id":9,"file_name":"2.jpg"}],"annotations":[{"id":4,"image_id":9,"category_id":1,"bbox":[0,0,4,4]}],"categories":[{"id":1,"name":"dog"}]}"#;
    place.file("more.json", more);
    place.pack("append more -o out --coco more.json").succeeds();
    let members = place.shards("out").concat();
    let json = members.iter().find(|member| member.name == "2.json").unwrap();
    let json: Value = serde_json::from_slice(&json.data).unwrap();
    assert_eq!(json["category_id"], json!([1]));
}

#[test]
fn a_list_has_an_order_of_its_own() {
    let place = Place::new();
    pictures(&place, &["p/n02/1.jpg", "p/n01/2.jpg", "p/n03/3.jpg"]);
    place.file("wnids.txt", "n02\nn03\nn01\n");
    place.pack("build p -o listed --label folder --classes wnids.txt").succeeds();
    assert_eq!(classes(&place, "listed")[0].1, 2);
    place.pack("build p -o sorted --label folder --classes wnids.txt:order=sorted").succeeds();
    assert_eq!(classes(&place, "sorted")[0].1, 0);
    pictures(&place, &["ages/10_0.jpg", "ages/9_1.jpg"]);
    place.pack("build ages -o ages-out --label name:^[0-9]+ --classes order=number").succeeds();
    assert_eq!(classes(&place, "ages-out"), [class("10_0", 10, "10"), class("9_1", 9, "9")]);
    pictures(&place, &["more/50_2.jpg"]);
    place.pack("append more -o ages-out").succeeds();
    assert_eq!(classes(&place, "ages-out")[2], class("50_2", 50, "50"));
}
