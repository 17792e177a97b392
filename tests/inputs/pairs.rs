//! `--pair` with patterns: files whose names have something in common become samples.

use std::os::unix::fs::symlink;

use serde_json::json;
use tarflume_fixtures::flat_jpeg;

use crate::harness::{Place, Run};

/// Writes files that are no pictures: with `--check none` their contents are not read.
fn files(place: &Place, names: &[&str]) {
    for name in names {
        place.file(name, *name);
    }
}

/// Packs the folder `d` by patterns, without a look at contents.
fn build(place: &Place, out: &str, words: &str) -> Run {
    place.pack(&format!("build d -o {out} --check none --pair {words}"))
}

/// Returns the content of a member.
fn content(place: &Place, out: &str, name: &str) -> String {
    let members = place.shards(out).into_iter().flatten();
    let member = members.into_iter().find(|member| member.name == name).unwrap();
    String::from_utf8(member.data).unwrap()
}

const CITYSCAPES: &str = "leftImg8bit/*_leftImg8bit.png=png gtFine/*_gtFine_labelIds.png=mask.png";

/// Writes the pictures of Cityscapes and the kinds of labels.
fn cityscapes(place: &Place, names: &[&str]) {
    for name in names {
        files(place, &[&format!("d/leftImg8bit/{name}_leftImg8bit.png")]);
        for kind in ["labelIds.png", "color.png", "polygons.json"] {
            files(place, &[&format!("d/gtFine/{name}_gtFine_{kind}")]);
        }
    }
}

#[test]
fn the_text_of_the_star_is_the_key_with_its_folders() {
    let place = Place::new();
    cityscapes(&place, &["train/aachen/a_1", "train/bochum/b_2", "val/lindau/l_3"]);
    let words = format!("{CITYSCAPES} --split-by folder=1 --label folder=2");
    let run = build(&place, "out", &words).succeeds();
    run.says(
        "6 files match no pattern and are not packed: 3 .json (the first: gtFine/train/aachen/",
    );
    let members = place.members("out");
    let wanted = ["json", "mask.png", "png"].map(|ext| format!("train/aachen/a_1.{ext}"));
    assert_eq!(members[..3], wanted);
    assert_eq!(members.len(), 9);
    let labels = content(&place, "out", "val/lindau/l_3.mask.png");
    assert_eq!(labels, "d/gtFine/val/lindau/l_3_gtFine_labelIds.png");
    let picture = content(&place, "out", "val/lindau/l_3.png");
    assert_eq!(picture, "d/leftImg8bit/val/lindau/l_3_leftImg8bit.png");
    let manifest = place.manifest("out");
    assert_eq!(manifest["classes"]["names"], json!(["aachen", "bochum", "lindau"]));
    assert_eq!(
        place.names("out"),
        [
            "dataset.json",
            "train-000000.index",
            "train-000000.tar",
            "val-000000.index",
            "val-000000.tar"
        ]
    );
    place.pack("verify out").succeeds();
}

#[test]
fn an_append_continues_with_the_patterns() {
    let place = Place::new();
    cityscapes(&place, &["train/aachen/a_1"]);
    place.file("t.csv", "image,y\na_1_leftImg8bit.png,1\n");
    build(&place, "out", &format!("{CITYSCAPES} --join t.csv")).succeeds().says("by basename");
    cityscapes(&place, &["train/aachen/a_2"]);
    place.file("t.csv", "image,y\na_1_leftImg8bit.png,1\na_2_leftImg8bit.png,2\n");
    place.pack("append d -o out --join t.csv").succeeds().says("skipped 1 sample");
    assert_eq!(
        content(&place, "out", "train/aachen/a_2.json"),
        r#"{"image":"a_2_leftImg8bit.png","y":2}"#
    );
    // A row alone is that of a sample that the data set has.
    std::fs::remove_dir_all(place.at("d")).unwrap();
    cityscapes(&place, &["train/aachen/a_3"]);
    place.file("t.csv", "image,y\na_1_leftImg8bit.png,1\na_3_leftImg8bit.png,3\n");
    place.pack("append d -o out --join t.csv").succeeds();
    assert_eq!(place.manifest("out")["samples"], 3);
    let run =
        place.pack("append d -o out --join t.csv --pair *_a.png=png *_b.png=mask.png").exits(2);
    run.says("the data set was packed with --pair 'leftImg8bit/*_leftImg8bit.png=png'");
}

#[test]
fn pictures_and_masks_are_in_one_folder() {
    let place = Place::new();
    let names = ["b/x.png", "b/x_mask.png", "b/x_mask_1.png", "b/y.png", "b/y_mask.png"];
    files(&place, &names.map(|name| format!("d/{name}")).each_ref().map(String::as_str));
    let words = "*.png=png *_mask.png=mask.png *_mask_1.png=mask_1.png?";
    build(&place, "out", words).succeeds().says("1 of 2 samples have no optional 'mask_1.png'");
    let wanted = ["b/x.mask.png", "b/x.mask_1.png", "b/x.png", "b/y.mask.png", "b/y.png"];
    assert_eq!(place.members("out"), wanted);
    assert_eq!(content(&place, "out", "b/x.mask_1.png"), "d/b/x_mask_1.png");
    // What is not optional is a problem of each sample.
    let run = build(&place, "bad", &words.replace('?', "")).exits(1);
    run.says("'b/y' has no b/y_mask_1.png").says("missing-part 1;");
    let run = build(&place, "bad", &format!("{words} *_edge.png=edge.png?")).succeeds();
    run.says("no file matches the optional '*_edge.png'");
}

#[test]
fn files_without_their_counterpart_are_problems() {
    let place = Place::new();
    files(&place, &["d/1_sat.jpg", "d/1_mask.png", "d/2_sat.jpg", "d/3_mask.png"]);
    let words = "*_sat.jpg=jpg *_mask.png=mask.png";
    let run = build(&place, "out", words).exits(1);
    run.says("d/2_sat.jpg: key 2: '2' has no 2_mask.png");
    let run = build(&place, "out", &format!("{words} --on-problem skip")).succeeds();
    run.says("d/3_mask.png: key 3: it has no counterpart 3_sat.jpg");
    assert_eq!(place.members("out"), ["1.jpg", "1.mask.png"]);
    // An optional mask without its picture is one, too.
    let optional = words.replace("mask.png=mask.png", "mask.png=mask.png?");
    let run = build(&place, "kept", &format!("{optional} --on-problem skip")).succeeds();
    run.says("missing-part 1;");
    assert_eq!(place.members("kept"), ["1.jpg", "1.mask.png", "2.jpg"]);
    // A damaged file leaves out its whole sample.
    place.file("d/1_mask.png", "");
    symlink(place.at("d/1_mask.png"), place.at("d/2_mask.png")).unwrap();
    let run = build(&place, "none", &optional).exits(1);
    run.says("empty 1").says("not-regular 1").says("d/2_mask.png: key 2: a symbolic link");
}

#[test]
fn files_of_an_optional_folder_that_are_no_part_are_told() {
    let place = Place::new();
    files(&place, &["d/images/1.jpg", "d/images/2.jpg", "d/masks/1.tif", "d/masks/2.png"]);
    let run = build(&place, "out", "images=jpg masks=mask.png?").succeeds();
    run.says("1 of 2 samples have no optional 'mask.png'").says("1.tif");
    assert_eq!(place.members("out"), ["1.jpg", "2.jpg", "2.mask.png"]);
    place.file("d/masks/2.png", "");
    build(&place, "kept", "images=jpg masks=mask.png? --on-problem skip").succeeds();
    assert_eq!(place.members("kept"), ["1.jpg"]);
}

#[test]
fn three_sides_and_folders_beside_patterns() {
    let place = Place::new();
    for n in ["a/1", "a/2"] {
        files(&place, &[&format!("d/left/{n}.PNG"), &format!("d/right/{n}_r.png")]);
        files(&place, &[&format!("d/disparity/{n}.pfm")]);
    }
    let words = "left=left.png right/*_r.png=right.png disparity/*.pfm=pfm";
    build(&place, "out", words).succeeds();
    let wanted = ["a/1.left.png", "a/1.pfm", "a/1.right.png"];
    assert_eq!(place.members("out")[..3], wanted);
    assert_eq!(content(&place, "out", "a/2.left.png"), "d/left/a/2.PNG");
}

#[test]
fn two_stars_have_a_folder_between_them() {
    let place = Place::new();
    for n in ["train/cat/1", "val/dog/2"] {
        let (split, rest) = n.split_once('/').unwrap();
        files(&place, &[&format!("d/{split}/images/{rest}.jpg")]);
        files(&place, &[&format!("d/{split}/masks/{rest}_m.png")]);
    }
    let words = "*/images/*.jpg=jpg */masks/*_m.png=mask.png --split-by folder=1 --label folder=2";
    build(&place, "out", words).succeeds();
    assert_eq!(content(&place, "out", "val/dog/2.mask.png"), "d/val/masks/dog/2_m.png");
    assert_eq!(content(&place, "out", "train/cat/1.jpg"), "d/train/images/cat/1.jpg");
    assert_eq!(place.manifest("out")["classes"]["names"], json!(["cat", "dog"]));
    // Each of the two has the same key.
    files(&place, &["d/a/images/b/c.jpg", "d/a/b/images/c.jpg", "d/a/masks/b/c_m.png"]);
    let run = build(&place, "twice", words).exits(1);
    run.says("both give the part 'jpg' of 'a/b/c'");
}

#[test]
fn names_follow_the_policy_and_the_list_of_keys() {
    let place = Place::new();
    files(&place, &["d/b (1).png", "d/b (1)_mask.png", "d/c.png", "d/c_mask.png"]);
    files(&place, &["d/.hidden.png", "d/sub/Thumbs.db", "d/raw/x.png", "d/raw/x_mask.png"]);
    let words = "*.png=png *_mask.png=mask.png --exclude raw";
    let run = build(&place, "out", words).exits(1);
    run.says("its name has blanks").says("bad-name 1;");
    build(&place, "out", &format!("{words} --names space=replace")).succeeds();
    assert_eq!(place.members("out"), ["b_(1).mask.png", "b_(1).png", "c.mask.png", "c.png"]);
    place.file("keys", "b (1)\n");
    build(&place, "listed", &format!("{words} --exclude @keys")).succeeds();
    assert_eq!(place.members("listed"), ["c.mask.png", "c.png"]);
}

#[test]
fn patterns_that_match_nothing_or_as_well_as_others_are_errors() {
    let place = Place::new();
    files(&place, &["d/a_sat.jpg", "d/a_mask.png"]);
    let run = build(&place, "out", "*_sat.jpg=jpg *_mask.jpg=mask.jpg").exits(2);
    run.says("no file matches '*_mask.jpg', and 'a_mask.png' is there");
    let run = build(&place, "out", "*_sat.jpg=jpg a_*.jpg=mask.jpg *.png=png").exits(2);
    run.says("no file matches 'a_*.jpg'; give");
    let run = build(&place, "out", "*_s.jpg=jpg a_s*.jpg=png").exits(2);
    run.says("no file matches");
    files(&place, &["d/ab.jpg"]);
    let run = build(&place, "out", "*b.jpg=jpg a*.jpg=mask.jpg").exits(2);
    run.says("'ab.jpg' matches '*b.jpg' and 'a*.jpg', and neither has more fixed text");
    let run = build(&place, "out", "x/*.jpg=jpg *.png=png").exits(2);
    run.says("d/x is no folder");
    assert!(!place.at("out").exists());
}

#[test]
fn packed_pairs_are_checked_as_pictures() {
    let place = Place::new();
    place.file("d/1_sat.jpg", flat_jpeg(b"1")).file("d/1_mask.jpg", "no picture");
    let words = "build d -o out --pair *_sat.jpg=jpg *_mask.jpg=mask.jpg";
    place.pack(words).exits(1).says("d/1_mask.jpg: byte 0: key 1");
}

#[test]
fn one_command_packs_all_splits_of_yolo() {
    let place = Place::new();
    for (split, name) in [("train", "a"), ("train", "b"), ("valid", "a"), ("test", "c")] {
        place.file(format!("d/{split}/images/{name}.jpg"), flat_jpeg(name.as_bytes()));
        place.file(format!("d/{split}/labels/{name}.txt"), "1 0.5 0.5 0.25 0.5\n");
    }
    place
        .file("d/train/labels/b.txt", "")
        .file("d/README.txt", "not a label")
        .file("d/train/labels/classes.txt", "cat\n");
    place.file(
        "d/data.yaml",
        "train: ../train/images\nval: ../valid/images\nnames: ['cat', 'dog']\n",
    );
    let words = "--pair */images/*=jpg --split-by folder=1 --yolo d --yolo-names d/data.yaml";
    place.pack(&format!("build d -o out {words}")).succeeds().says("4 samples");
    let wanted = r#"{"boxes":[[0.5,0.5,0.25,0.5]],"class":[1]}"#;
    for key in ["train/a", "valid/a", "test/c"] {
        assert_eq!(content(&place, "out", &format!("{key}.json")), wanted);
    }
    assert_eq!(content(&place, "out", "train/b.json"), r#"{"boxes":[],"class":[]}"#);
    assert_eq!(place.manifest("out")["classes"]["names"], json!(["cat", "dog"]));
    let shards = place.manifest("out")["shards"].clone();
    let splits: Vec<_> = shards.as_array().unwrap().iter().map(|s| s["split"].clone()).collect();
    assert_eq!(splits, [json!("test"), json!("train"), json!("valid")]);
    // The other way round: splits in the folders of images and labels.
    for split in ["train", "val"] {
        place.file(format!("e/images/{split}/1.jpg"), flat_jpeg(split.as_bytes()));
        place.file(format!("e/labels/{split}/1.txt"), "0 0.5 0.5 0.25 0.5\n");
    }
    let words = "--pair images/*=jpg --split-by folder=1 --yolo e";
    place.pack(&format!("build e -o other {words}")).succeeds();
    assert_eq!(place.members("other"), ["train/1.jpg", "train/1.json", "val/1.jpg", "val/1.json"]);
}
