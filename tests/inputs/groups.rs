//! `--group`: the files of a folder are one sample.

use serde_json::json;
use tarflume_fixtures::flat_jpeg;

use crate::harness::{Place, Run};

/// Writes files that are no pictures: with `--check none` their contents are not read.
fn files(place: &Place, names: &[&str]) {
    for name in names {
        place.file(format!("d/{name}"), *name);
    }
}

/// Packs the folder `d`, without a look at contents.
fn build(place: &Place, out: &str, words: &str) -> Run {
    place.pack(&format!("build d -o {out} --check none --group {words}"))
}

/// Returns the content of a member.
fn content(place: &Place, out: &str, name: &str) -> String {
    let mut members = place.shards(out).into_iter().flatten();
    String::from_utf8(members.find(|member| member.name == name).unwrap().data).unwrap()
}

#[test]
fn the_files_of_a_folder_are_parts_by_their_numbers() {
    let place = Place::new();
    files(&place, &["cat/v1/2.jpg", "cat/v1/10.jpg", "cat/v1/1.jpg", "dog/v2/1.jpg"]);
    files(&place, &["README.md", "cat/v1/.hidden", "dog/v2/Thumbs.db"]);
    place.file("d/cat/v1/info.json", "{\"fps\":25}");
    let run = build(&place, "out", "folder --label folder=1").succeeds();
    run.says(
        "1 file is in no folder that is a sample and is not packed: 1 .md (the first: README.md)",
    );
    let wanted = [
        "cat/v1.0.jpg",
        "cat/v1.1.jpg",
        "cat/v1.2.jpg",
        "cat/v1.json",
        "dog/v2.0.jpg",
        "dog/v2.json",
    ];
    assert_eq!(place.members("out"), wanted);
    assert_eq!(content(&place, "out", "cat/v1.2.jpg"), "cat/v1/10.jpg");
    assert_eq!(content(&place, "out", "cat/v1.json"), r#"{"fps":25,"class":0,"class_name":"cat"}"#);
    place.pack("verify out").succeeds();
    // More folders are added in the same way.
    files(&place, &["dog/v3/frame_1.jpg", "dog/v3/frame_2.jpg"]);
    place.pack("append d -o out").succeeds().says("skipped 2 samples");
    assert_eq!(place.manifest("out")["samples"], 3);
    assert_eq!(content(&place, "out", "dog/v3.1.jpg"), "dog/v3/frame_2.jpg");
}

#[test]
fn names_that_a_number_would_not_tell_are_kept_on_request() {
    let place = Place::new();
    for patch in ["P_1", "P_2"] {
        for band in ["B02.tif", "B8A.tif", "B11.tif", "labels.json"] {
            files(&place, &[&format!("{patch}/{patch}_{band}")]);
        }
    }
    std::fs::remove_file(place.at("d/P_2/P_2_B8A.tif")).unwrap();
    let run = build(&place, "out", "folder").exits(1);
    run.says("'P_1_B02.tif' and 'P_1_B8A.tif' differ by more than numbers")
        .says("--group folder:names");
    build(&place, "out", "folder:names").succeeds();
    let members = place.members("out");
    assert_eq!(members[..4], ["P_1.b02.tif", "P_1.b11.tif", "P_1.b8a.tif", "P_1.json"]);
    let run = build(&place, "three", "folder:names,count=3").exits(1);
    run.says("'P_2' has 2 files with names of their own, not 3").says("missing-part 1;");
    let run = build(&place, "three", "folder:numbers,count=3 --on-problem skip").succeeds();
    run.says("missing-part 1;");
    assert_eq!(content(&place, "three", "P_1.1.tif"), "P_1/P_1_B8A.tif");
}

#[test]
fn a_folder_at_a_depth_has_all_below_it() {
    let place = Place::new();
    files(&place, &["s/a/left/1.png", "s/a/left/2.png", "s/a/right/1.png", "s/b/1.png", "s/x.png"]);
    build(&place, "out", "folder=2:names").succeeds().says("1 file is in no folder");
    let wanted = ["s/a.left.1.png", "s/a.left.2.png", "s/a.right.1.png", "s/b.1.png"];
    assert_eq!(place.members("out"), wanted);
    build(&place, "split", "folder=2:names --split-by folder=1").succeeds();
    assert_eq!(place.manifest("split")["shards"][0]["split"], json!("s"));
    build(&place, "needs", "folder=2:names --require left.1.png")
        .exits(1)
        .says("no part 'left.1.png'");
}

#[test]
fn folders_whose_files_cannot_be_parts_are_problems() {
    let place = Place::new();
    files(&place, &["a/1.jpg", "a/1.jpeg", "b/LICENSE", "b/1.jpg", "c d/1.jpg", "e/1.jpg"]);
    place.file("d/e/2.jpg", "");
    let run = build(&place, "out", "folder").exits(1);
    run.says("two files of 'a' give the part '0.jpg'")
        .says("'LICENSE' has no extension")
        .says("its name has blanks")
        .says("d/e/2.jpg: key e: the file is empty");
    place.pack("build npy:x.npy -o out --group folder").exits(2).says("only folders are samples");
    build(&place, "out", "folders").exits(2).says("--group folder:names");
}

#[test]
fn pictures_of_a_folder_are_numbered_parts() {
    let place = Place::new();
    for view in 0..3 {
        place.file(format!("d/car/view{view}.jpg"), flat_jpeg(&[view]));
    }
    place.file("t.csv", "key,y\ncar,7\n");
    place.pack("build d -o out --group folder --join t.csv").succeeds();
    assert_eq!(place.members("out"), ["car.0.jpg", "car.1.jpg", "car.2.jpg", "car.json"]);
    place.pack("verify --level decode out").succeeds();
}
