//! Layouts of well-known data sets: what would be lost on the way in is a problem with the remedy, and the remedy
//! works.

use std::fs;

use serde_json::{Value, json};
use tarflume_fixtures::flat_jpeg;

use crate::harness::Place;

/// Writes pictures.
fn pictures<'a>(place: &'a Place, names: &[&str]) -> &'a Place {
    for name in names {
        place.file(name, flat_jpeg(name.as_bytes()));
    }
    place
}

/// Returns the names of the classes of a data set.
fn classes(place: &Place, out: &str) -> Value {
    place.manifest(out)["classes"]["names"].clone()
}

/// Returns the split of each shard.
fn splits(place: &Place, out: &str) -> Vec<Value> {
    let shards = place.manifest(out)["shards"].clone();
    shards.as_array().unwrap().iter().map(|shard| shard["split"].clone()).collect()
}

/// Returns the JSON part of a sample.
fn json_of(place: &Place, out: &str, key: &str) -> Value {
    let name = format!("{key}.json");
    let members = place.shards(out).concat();
    let member = members.iter().find(|member| member.name == name).unwrap();
    serde_json::from_slice(&member.data).unwrap()
}

#[test]
fn one_class_for_all_samples_is_a_problem_that_shows_other_folders() {
    let place = Place::new();
    pictures(&place, &["d/n01/images/a.JPEG", "d/n01/images/b.JPEG", "d/n02/images/c.JPEG"]);
    place
        .pack("build d -o out --label folder")
        .exits(1)
        .says("ambiguous-class: PLACE/d/n01/images/a.JPEG")
        .says(
            "all samples would be one class, 'images'; --label folder=1 makes 2 classes (n01, n02)",
        )
        .says("--label path makes 2 classes (n01/images, n02/images)");
    place.pack("build d -o out --label folder=1").succeeds();
    assert_eq!(classes(&place, "out"), json!(["n01", "n02"]));
}

#[test]
fn a_single_class_is_packed_if_it_is_listed() {
    let place = Place::new();
    pictures(&place, &["d/cat/1.jpg"]);
    place
        .pack("build d -o out --label folder")
        .exits(1)
        .says("give the folder that holds the folders of classes as SRC")
        .says("list it: --classes FILE");
    place.file("names.txt", "cat\n");
    place.pack("build d -o out --label folder --classes names.txt").succeeds();
    assert_eq!(json_of(&place, "out", "cat/1"), json!({"class": 0, "class_name": "cat"}));
}

#[test]
fn a_name_of_several_folders_is_a_problem_that_shows_the_class_by_path() {
    let place = Place::new();
    let names = ["d/a/abbey/1.jpg", "d/b/bank/indoor/2.jpg", "d/s/stage/indoor/3.jpg"];
    pictures(&place, &names);
    place
        .pack("build d -o out --label folder")
        .exits(1)
        .says("ambiguous-class 1;")
        .says("'indoor' is the name of several folders, such as b/bank/indoor and s/stage/indoor")
        .says("--label path makes 3 classes (a/abbey, b/bank/indoor, s/stage/indoor)");
    place.pack("build d -o skipped --label folder --on-problem skip").succeeds();
    assert_eq!(classes(&place, "skipped"), json!(["abbey"]));
    place.pack("build d -o out --label path").succeeds();
    assert_eq!(classes(&place, "out"), json!(["a/abbey", "b/bank/indoor", "s/stage/indoor"]));
    assert_eq!(json_of(&place, "out", "b/bank/indoor/2")["class"], 1);
    // Of one class in several folders, the place of the folder makes one class.
    pictures(
        &place,
        &["styles/photo/dog/1.jpg", "styles/sketch/dog/2.jpg", "styles/photo/cat/3.jpg"],
    );
    place.pack("build styles -o refused --label folder").exits(1).says("ambiguous-class 1;");
    place.pack("build styles -o merged --label folder=2").succeeds();
    assert_eq!(classes(&place, "merged"), json!(["cat", "dog"]));
}

#[test]
fn folders_of_splits_may_have_the_same_classes() {
    let place = Place::new();
    let names = [
        "d/seg_train/seg_train/sea/1.jpg",
        "d/seg_test/seg_test/sea/2.jpg",
        "d/seg_test/x/hill/3.jpg",
    ];
    pictures(&place, &names);
    place.pack("build d -o out --label folder").succeeds();
    assert_eq!(classes(&place, "out"), json!(["hill", "sea"]));
    pictures(&place, &["folds/fold1/cat/1.jpg", "folds/fold2/cat/2.jpg", "folds/fold2/dog/3.jpg"]);
    place.pack("build folds -o refused --label folder").exits(1).says("ambiguous-class 1;");
    place.pack("build folds -o folded --label folder --split-by folder=1").succeeds();
}

#[test]
fn a_class_without_files_would_move_the_numbers_of_others() {
    let place = Place::new();
    pictures(&place, &["d/cat/1.jpg", "d/dog/2.jpg"]).file("d/bird/.DS_Store", "x");
    place
        .pack("build d -o out --label folder")
        .exits(1)
        .says("empty-class: PLACE/d/bird: the class 'bird' has no file")
        .says("--exclude the folder, or give the numbers with --classes FILE");
    place.pack("build d -o skipped --label folder --on-problem skip").succeeds();
    assert_eq!(classes(&place, "skipped"), json!(["cat", "dog"]));
    assert_eq!(place.problems("skipped")[0]["kind"], "empty-class");
    place.pack("build d -o without --label folder --exclude bird").succeeds();
    place.file("names.txt", "bird\ncat\ndog\n");
    place.pack("build d -o listed --label folder --classes names.txt").succeeds();
    assert_eq!(json_of(&place, "listed", "cat/1")["class"], 1);
    fs::create_dir_all(place.at("d/cat/extra")).unwrap();
    place.pack("build d -o deeper --label folder --exclude bird").succeeds();
}

#[test]
fn parts_of_a_scan_know_the_empty_folders() {
    let place = Place::new();
    pictures(&place, &["d/cat/1.jpg", "d/dog/2.jpg"]);
    fs::create_dir_all(place.at("d/bird")).unwrap();
    for part in 0..2 {
        let words = format!("scan d -o {part}.scan --subtree {part}/2 --require image");
        place.pack(&words).succeeds();
    }
    place
        .pack("plan d -o out --from-scans 0.scan 1.scan --require image --label folder")
        .exits(1)
        .says("empty-class 1;");
}

#[test]
fn two_pictures_of_one_name_are_no_sample_of_a_class() {
    let place = Place::new();
    pictures(&place, &["d/cat/0.jpg", "d/cat/0.png", "d/dog/1.jpg", "d/dog/1.png"]);
    let run = place.pack("build d -o out --label folder --check none").exits(1);
    run.says(
        "several-pictures: PLACE/d/cat/0.jpg: key cat/0: '0.jpg' and '0.png' would be one sample",
    )
    .says("rename one")
    .says("--require jpg, or --ext-map png=mask.png")
    .says("several-pictures 2;");
    place.pack("build d -o out --label folder --check none --require jpg").succeeds();
    place.pack("build d -o masks --label folder --check none --ext-map png=mask.png").succeeds();
    assert_eq!(place.manifest("masks")["extensions"]["mask.png"], 2);
}

#[test]
fn a_picture_with_a_mask_beside_it_is_a_sample_if_all_are() {
    let place = Place::new();
    pictures(&place, &["d/0.jpg", "d/0.png", "d/1.jpg", "d/1.png"]);
    place.pack("build d -o out --require image --check none").succeeds();
    assert_eq!(place.manifest("out")["samples"], 2);
    pictures(&place, &["d/2.jpg"]);
    place.pack("build d -o some --require image --check none").exits(1).says("several-pictures 2;");
    place.pack("build d -o one --require image --check none --on-problem skip").succeeds();
    assert_eq!(place.members("one"), ["2.jpg"]);
    place.pack("build d -o asked --require jpg --check none").succeeds();
    assert_eq!(place.manifest("asked")["samples"], 3);
}

#[test]
fn the_folders_of_pairs_are_counted_behind_the_paired_ones() {
    let place = Place::new();
    for split in ["train", "val"] {
        for n in ["cat/1", "dog/2"] {
            pictures(&place, &[&format!("d/images/{split}/{n}.jpg")]);
            place.file(format!("d/masks/{split}/{n}.png"), "a mask");
        }
    }
    let pair = "build d --pair images=jpg masks=mask.png --check none";
    place.pack(&format!("{pair} -o out --split-by folder=1 --label folder=2")).succeeds();
    assert_eq!(splits(&place, "out"), ["train", "val"]);
    assert_eq!(classes(&place, "out"), json!(["cat", "dog"]));
    assert_eq!(json_of(&place, "out", "val/dog/2")["class"], 1);
}

/// Writes Pascal VOC annotations of a picture with objects of these classes.
fn annotated(place: &Place, folder: &str, objects: &[&str]) {
    pictures(place, &[&format!("{folder}/images/1.jpg")]);
    let object = |name: &&str| {
        format!(
            "<object><name>{name}</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>3</xmax><ymax>4</ymax></bndbox>\
             </object>"
        )
    };
    let objects: String = objects.iter().map(object).collect();
    place.file(format!("{folder}/xml/1.xml"), format!("<annotation>{objects}</annotation>"));
}

#[test]
fn voc_takes_the_numbers_of_classes_from_another_data_set() {
    let place = Place::new();
    annotated(&place, "train", &["cat", "dog"]);
    annotated(&place, "val", &["dog"]);
    place
        .pack("build train/images -o train.out --voc train/xml")
        .succeeds()
        .says("--classes OUT/dataset.json gives other splits");
    place.pack("build val/images -o alone --voc val/xml").succeeds();
    assert_eq!(json_of(&place, "alone", "1")["class"], json!([0]));
    place.pack("build val/images -o out --voc val/xml --classes train.out/dataset.json").succeeds();
    assert_eq!(json_of(&place, "out", "1")["class"], json!([1]));
    assert_eq!(classes(&place, "out"), json!(["cat", "dog"]));
    place.file("ids.json", "{\"cat\": 7, \"dog\": 9}");
    place.pack("build val/images -o ids --voc val/xml --classes ids.json").succeeds();
    assert_eq!(json_of(&place, "ids", "1")["class"], json!([9]));
    place.file("cats.txt", "cat\n");
    place
        .pack("build val/images -o no --voc val/xml --classes cats.txt")
        .exits(65)
        .says("PLACE/val/xml/1.xml: the list of classes has no 'dog'");
    place
        .pack("build val/images -o no --classes cats.txt")
        .exits(2)
        .says("--label, --coco, --voc and --annotations");
    // A data set with a list of classes gets no other class.
    annotated(&place, "more", &["dog", "yak"]);
    fs::rename(place.at("more/images/1.jpg"), place.at("more/images/2.jpg")).unwrap();
    fs::rename(place.at("more/xml/1.xml"), place.at("more/xml/2.xml")).unwrap();
    place.pack("append more/images -o ids --voc more/xml").exits(65).says("has no 'yak'");
    place.pack("append more/images -o alone --voc more/xml").succeeds();
    assert_eq!(classes(&place, "alone"), json!(["dog", "yak"]));
}

#[test]
fn the_first_row_of_a_table_without_header_is_data() {
    let place = Place::new();
    let rows = "a cat\thttp://x.org/1.jpg\na dog\thttp://x.org/2.jpg\na yak\thttp://x.org/3.jpg\n";
    place.file("cc3m.tsv", rows);
    place
        .pack("build csv:cc3m.tsv -o out")
        .exits(65)
        .says("PLACE/cc3m.tsv: its first row looks like data, not like names of columns")
        .says("'http://x.org/1.jpg' is an address; header=none takes it as data");
    place.pack("build csv:cc3m.tsv?header=none&txt=column_1 -o none").succeeds().says("3 samples");
    assert_eq!(json_of(&place, "none", "00000000"), json!({"column_2": "http://x.org/1.jpg"}));
    place.pack("build csv:cc3m.tsv?header=caption|url&txt=caption -o named").succeeds();
    assert_eq!(json_of(&place, "named", "00000002"), json!({"url": "http://x.org/3.jpg"}));
    place.pack("build csv:cc3m.tsv?header=first -o first").succeeds().says("2 samples");
    place.pack("build csv:cc3m.tsv?header=a -o no").exits(2).says("the first row has 2 columns");
    place.pack("build csv:cc3m.tsv?header=a|a -o no").exits(2).says("a name is there twice");
}

#[test]
fn a_joined_table_without_header_gets_names_and_an_append_keeps_them() {
    let place = Place::new();
    pictures(&place, &["photos/000001.jpg", "photos/000002.jpg"]);
    place.file("labels.csv", "000001.jpg,cat\n000002.jpg,dog\n");
    place
        .pack("build photos -o out --join labels.csv")
        .exits(65)
        .says("'000001.jpg' names a file; header=none");
    place.pack("build photos -o out --join labels.csv:header=file|label").succeeds();
    assert_eq!(json_of(&place, "out", "000001")["label"], "cat");
    pictures(&place, &["photos/000003.jpg"]);
    place.file("more.csv", "000003.jpg,yak\n");
    place.pack("append photos -o out --join more.csv").succeeds();
    assert_eq!(json_of(&place, "out", "000003")["label"], "yak");
    place.file("twice.csv", "LJ001-0001,said,said\nLJ001-0002,so,so\n");
    place.pack("build csv:twice.csv -o no").exits(65).says("'said' twice").says("header=none");
}

#[test]
fn files_with_the_names_of_splits_are_said_and_kept_apart() {
    let place = Place::new();
    for (file, rows) in [("train-0", "a\nb\n"), ("train-1", "c\n"), ("test-0", "d\n")] {
        place.file(format!("t/{file}.csv"), format!("name\n{rows}"));
    }
    place
        .pack("build csv:t/*.csv?key=name&txt=name -o out")
        .succeeds()
        .says("state splits (test 1, train 2), and all samples become one set without splits")
        .says("--split-by source keeps them as splits");
    assert_eq!(splits(&place, "out"), [Value::Null]);
    place.pack("build csv:t/*.csv?key=name&txt=name -o apart --split-by source").succeeds();
    assert_eq!(splits(&place, "apart"), ["test", "train"]);
    let run = place.pack("build csv:t/*.csv?key=name&txt=name -o one --split-by none").succeeds();
    assert!(!run.stderr.contains("state splits"), "{}", run.stderr);
    place.file("t/other.csv", "name\ne\n");
    place
        .pack("build csv:t/*.csv?key=name&txt=name -o no --split-by source")
        .exits(1)
        .says("no-split 1;")
        .says("no data set states one, and the name of the file has no word such as train");
}

#[test]
fn an_index_of_tars_with_the_names_of_splits_says_and_writes_them() {
    let place = Place::new();
    place.folder("photos", 4);
    place.pack("build photos -o made --split train=0.5,val=0.5 --shard-samples 1").succeeds();
    let before = splits(&place, "made");
    fs::remove_file(place.at("made/dataset.json")).unwrap();
    let indexed = place.pack("index made").succeeds();
    indexed.says("the names of the shards state splits (train 3, val 1)").says("--split-by source");
    assert_eq!(splits(&place, "made")[0], Value::Null);
    place.pack("index made --split-by source").succeeds();
    assert_eq!(splits(&place, "made"), before);
    place.pack("index made").succeeds().says("kept: 4 shards");
    place.pack("verify made").succeeds();
    fs::copy(place.at("made/val-000000.tar"), place.at("made/other.tar")).unwrap();
    place
        .pack("index made --split-by source --force")
        .exits(2)
        .says("other.tar: its name states no split");
}

#[test]
fn messages_about_names_and_keys_lead_on() {
    let place = Place::new();
    let folder = "x".repeat(120);
    pictures(&place, &[&format!("long/{folder}/1.jpg")]);
    let build = "build long -o out --require image --names";
    place
        .pack(&format!("{build} long=replace"))
        .exits(1)
        .says("its folder alone has 121 of the 100 bytes")
        .says("or --names long=allow");
    place.pack(&format!("{build} long=allow")).succeeds();
    place.file("t.csv", "key,txt\na,1\na,2\n");
    place
        .pack("build csv:t.csv?key=key&txt=txt -o keys")
        .exits(1)
        .says("repeated-key: PLACE/t.csv: key a: two rows or members of PLACE/t.csv have the same key")
        .says("key=COLUMN names a column whose values differ");
    place.file("u.csv", "key,txt\na,1\n").file("v.csv", "key,txt\na,2\n");
    place
        .pack("build csv:u.csv,v.csv?key=key&txt=txt -o rows")
        .exits(1)
        .says("a row or member of PLACE/u.csv has the same key")
        .says("key=COLUMN");
    place.folder("photos", 1);
    place.pack("build photos photos -o twice").exits(1).says("given twice as SRC; give it once");
}
