//! Names of members of archives: rows and annotations that have them, and tars in a tar as folders.

use std::fs;

use serde_json::json;
use tarflume_fixtures::flat_jpeg;

use super::{json_of, members};
use crate::harness::{Place, python, tool};

/// Writes pictures as COCO names them, with names in a table, boxes and labels beside them.
fn annotated(place: &Place) {
    for name in ["000000397133.jpg", "000000000139.JPG"] {
        place.file(format!("val2017/{name}"), flat_jpeg(name.as_bytes()));
    }
    let coco = json!({
        "images": [
            {"id": 397133, "file_name": "000000397133.jpg"},
            {"id": 139, "file_name": "000000000139.JPG"},
        ],
        "annotations": [{"id": 1, "image_id": 139, "category_id": 3, "bbox": [0, 0, 2, 2]}],
        "categories": [{"id": 3, "name": "cat"}],
    });
    place.file("coco.json", coco.to_string());
    let rows = "file,y\nval2017/000000397133.jpg,0\nval2017/000000000139.JPG,1\n";
    place.file("labels.csv", rows);
    place.file("base.csv", rows.replace("val2017/", ""));
    for stem in ["000000397133", "000000000139"] {
        let xml = "<annotation><object><name>cat</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax>\
                   <ymax>2</ymax></bndbox></object></annotation>";
        place.file(format!("voc/{stem}.xml"), xml);
        place.file(format!("yolo/val2017/{stem}.txt"), "0 .5 .5 .1 .1\n");
    }
}

#[test]
fn rows_and_annotations_name_the_members_of_archives() {
    let place = Place::new();
    annotated(&place);
    tool(&place, "tar", &["-cf", "set.tar", "val2017"]).succeeds();
    tool(&place, "tar", &["-czf", "set.tar.gz", "./val2017"]).succeeds();
    let zip = "import zipfile, pathlib\nwith zipfile.ZipFile('set.zip', 'w', 8) as out:\n    \
               for file in sorted(pathlib.Path('val2017').iterdir()): out.write(file)\n";
    python(&place, zip, &[]).succeeds();
    // The names of ImageNet's validation images.
    place.file("val/ILSVRC2012_val_00000001.JPEG", flat_jpeg(b"1"));
    place.file("val.txt", "ILSVRC2012_val_00000001.JPEG 65\n");
    tool(&place, "tar", &["-cf", "val.tar", "-C", "val", "ILSVRC2012_val_00000001.JPEG"])
        .succeeds();
    place.pack("build tar:val.tar -o val.out --join val.txt:header=file+class").succeeds();
    for (n, source) in ["tar:set.tar", "tar:set.tar.gz", "zip:set.zip"].into_iter().enumerate() {
        for (option, name, key) in [
            ("--coco coco.json", "basename", "/file_name"),
            ("--join labels.csv", "path", "/file"),
            ("--join base.csv", "basename", "/file"),
            ("--voc voc", "stem", "/class_name"),
            ("--yolo yolo", "key", "/boxes"),
        ] {
            let out = format!("out{n}{}", option.replace(['-', ' ', '.'], ""));
            let run = place.pack(&format!("build {source} -o {out} {option}")).succeeds();
            run.says(&format!("joined to 2 samples by {name}"));
            let found = members(&place, &out);
            let json = json_of(&found, "val2017/000000000139.json");
            assert!(json.pointer(key).is_some(), "{source} {option}: {json}");
        }
    }
}

/// Writes `all.tar` with the tars of two classes, as ImageNet is published, and a picture beside them.
fn tar_of_tars(place: &Place) {
    for (class, name) in [("n01", "n01_7.JPEG"), ("n01", "n01_12.JPEG"), ("n02", "n02_1.JPEG")] {
        place.file(format!("train/{class}/{name}"), flat_jpeg(name.as_bytes()));
    }
    place.file("tars/alone.jpg", flat_jpeg(b"alone"));
    for class in ["n01", "n02"] {
        let folder = format!("train/{class}");
        let tar = format!("tars/{class}.tar");
        let sort = "--sort=name";
        tool(place, "tar", &[sort, "-cf", &tar, "-C", &folder, "."]).succeeds();
    }
    let names = ["n01.tar", "alone.jpg", "n02.tar"];
    tool(place, "tar", &[&["-cf", "all.tar", "-C", "tars"], &names[..]].concat()).succeeds();
    tool(place, "tar", &[&["-czf", "all.tar.gz", "-C", "tars"], &names[..]].concat()).succeeds();
}

#[test]
fn a_tar_in_a_tar_is_a_folder() {
    let place = Place::new();
    tar_of_tars(&place);
    place.pack("build train -o folder --label folder").succeeds();
    for (n, tar) in ["all.tar", "all.tar.gz"].into_iter().enumerate() {
        let out = format!("out{n}");
        let words = format!("build tar:{tar} -o {out} --label folder --exclude alone.jpg");
        place
            .pack(&words)
            .succeeds()
            .says("2 tars in tars are read as folders, the first is 'n01.tar'");
        assert_eq!(members(&place, &out), members(&place, "folder"), "{tar}");
        assert_eq!(place.manifest(&out)["classes"], place.manifest("folder")["classes"]);
    }
    place.pack("build tar:all.tar -o both").succeeds();
    let names = ["alone.jpg", "n01/n01_12.jpg", "n01/n01_7.jpg", "n02/n02_1.jpg"];
    let mut found = place.members("both");
    found.sort();
    assert_eq!(found, names);
    place.pack("build tar:all.tar -o one --exclude n01.tar --exclude alone.jpg").succeeds();
    assert_eq!(place.members("one"), ["n02/n02_1.jpg"]);
    place.pack("build tar:all.tar?inner=parts -o parts").succeeds();
    assert_eq!(place.members("parts"), ["n01.tar", "alone.jpg", "n02.tar"]);
    place.pack("build tar:all.tar?inner=no -o x").exits(2).says("give folders or parts");
    place.pack("plan tar:all.tar -o far --shards 2").succeeds();
    place.pack("run far").succeeds();
    place.pack("finalize far").succeeds();
    assert_eq!(members(&place, "far"), members(&place, "both"));
}

#[test]
fn what_is_wrong_with_a_tar_in_a_tar_has_its_byte() {
    let place = Place::new();
    tar_of_tars(&place);
    let mut tar = fs::read(place.at("all.tar")).unwrap();
    // The header of the outer tar, then that of the folder `.`: the second header of the inner tar is damaged.
    tar[512 + 512 + 3] ^= 1;
    place.file("bad.tar", &tar);
    let run = place.pack("build tar:bad.tar -o x").exits(65);
    run.says("bad.tar: byte 1024: the tar 'n01.tar' in it").says("?inner=parts");
    tool(&place, "gzip", &["-k", "bad.tar"]).succeeds();
    let run = place.pack("build tar:bad.tar.gz -o x").exits(65);
    run.says("bad.tar.gz: byte 1024: the tar 'n01.tar' in it");
    let whole = fs::read(place.at("tars/n02.tar")).unwrap();
    let end = whole.iter().rposition(|&byte| byte != 0).unwrap();
    place.file("cut/n02.tar", &whole[..end]);
    tool(&place, "tar", &["-cf", "cut.tar", "-C", "cut", "n02.tar"]).succeeds();
    place.pack("build tar:cut.tar -o x").exits(65).says("the tar 'n02.tar' in it: the tar ends");
    tool(&place, "tar", &["-cf", "deep.tar", "all.tar"]).succeeds();
    place.pack("build tar:deep.tar -o x").exits(2).says("`tar -xf").says("pack tar:all.tar");
    tool(&place, "tar", &["-cf", "packed.tar", "all.tar.gz"]).succeeds();
    let run = place.pack("build tar:packed.tar -o x").exits(2);
    run.says("compressed tar in a tar").says("gzip -d tars/*.tar.gz");
}
