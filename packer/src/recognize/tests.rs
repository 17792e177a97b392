//! Each kind of path, with its step in the words of the command and of Python.
#![allow(clippy::disallowed_methods, reason = "a query that fails ends the test")]

use std::fs;

use super::*;

/// Names and bytes of files.
type Files<'a> = &'a [(&'a str, &'a [u8])];

const JPEG: &[u8] = b"\xff\xd8\xff\xe0";

/// Makes files, each with its bytes, below a new folder.
fn folder(files: Files<'_>) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if !name.ends_with('/') {
            fs::write(path, bytes).unwrap();
        }
    }
    dir
}

/// The name of `path` below a folder with these files, and its steps, with the folder left out.
fn told(files: Files<'_>, path: &str) -> (String, String, String) {
    let dir = folder(files);
    let root = format!("{}/", dir.path().display());
    let path = dir.path().join(path);
    let found = recognize(&path).unwrap();
    let step = found.step(&path);
    let text = |text: Option<String>| text.unwrap_or_default().replace(&root, "");
    (found.name(), text(step.as_ref().map(Step::command)), text(step.as_ref().map(Step::python)))
}

#[test]
fn a_folder_of_images_is_packed_with_the_labels_that_it_has() {
    let cases: [(&[&str], &str, &str); 8] = [
        (&["t/cat/1.jpg", "t/dog/1.jpg"], " --label folder", ", label=\"folder\""),
        (&["t/1.jpg", "t/2.PNG"], " --require image", ", require=\"image\""),
        (&["t/images/1.jpg"], " --require image", ", require=\"image\""),
        (&["t/1.jpg", "t/1.json"], "", ""),
        (&["t/1.jpg", "t/metadata.csv"], "", ""),
        (&["t/1.jpg", "t/labels.csv"], " --join t/labels.csv", ", join=\"t/labels.csv\""),
        (
            &["t/train/cat/1.jpg", "t/val/dog/1.jpg"],
            " --split-by folder=1 --label folder=2",
            ", split_by=\"folder=1\", label=\"folder=2\"",
        ),
        (
            &["t/train/1.jpg", "t/val/1.jpg"],
            " --split-by folder=1 --require image",
            ", split_by=\"folder=1\", require=\"image\"",
        ),
    ];
    for (names, command, python) in cases {
        let files: Vec<(&str, &[u8])> = names.iter().map(|name| (*name, JPEG)).collect();
        let (name, by_command, by_python) = told(&files, "t");
        assert_eq!(name, "a folder of images", "{names:?}");
        assert_eq!(by_command, format!("pack build t -o shards/{command}"), "{names:?}");
        let wanted = format!("tarflume.pack.build(\"t\", \"shards/\"{python})");
        assert_eq!(by_python, wanted, "{names:?}");
    }
}

#[test]
fn the_folders_of_yolo_are_packed_with_their_labels() {
    let cases: [(&[&str], &str); 3] = [
        (
            &[
                "t/train/images/1.jpg",
                "t/train/labels/1.txt",
                "t/valid/images/1.jpg",
                "t/valid/labels/1.txt",
                "t/data.yaml",
            ],
            "--pair '*/images/*=jpg' --split-by folder=1 --yolo t --yolo-names t/data.yaml",
        ),
        (
            &[
                "t/images/train/1.png",
                "t/labels/train/1.txt",
                "t/images/val/1.png",
                "t/labels/val/1.txt",
            ],
            "--pair 'images/*=png' --split-by folder=1 --yolo t",
        ),
        (
            &["t/train/images/1.jpg", "t/train/labels/1.txt", "t/val/images/1.jpg"],
            "--split-by folder=1 --require image",
        ),
    ];
    for (names, words) in cases {
        let files: Vec<(&str, &[u8])> = names.iter().map(|name| (*name, JPEG)).collect();
        let (_, command, _) = told(&files, "t");
        assert_eq!(command, format!("pack build t -o shards/ {words}"), "{names:?}");
    }
}

#[test]
fn every_other_path_has_its_name_and_step() {
    let tar: &[u8] = &[0; 1024];
    let sidecar: &[u8] = b"\x89TFIDX\r\n";
    let cases: [(Files<'_>, &str, &str, &str); 22] = [
        (&[], "nothing", "t", ""),
        (&[("t/dataset.json", b"{}")], "a data set", "t", ""),
        (&[("t/dataset.json", b"{}")], "a data set", "t/dataset.json", ""),
        (&[("t/a/dataset.json", b"{}")], "the folder above a data set", "t", "t/a"),
        (
            &[("t/a/dataset.json", b"{}"), ("t/b b/0.tar", tar), ("t/x.json", b"{}")],
            "the folder above 2 data sets",
            "t",
            "t/a, 't/b b'",
        ),
        (
            &[("t/.pack/plan", b"")],
            "the folder of a build that is not finished",
            "t",
            "pack status t",
        ),
        (&[("t/0.tar", tar)], "a folder of tars without a manifest", "t", "pack index t"),
        (&[("t/0.tar.gz", b"")], "a folder of compressed tars", "t", "pack reshard t -o shards/"),
        (&[("t/0.tar", tar)], "a tar without a sidecar", "t/0.tar", "pack index t"),
        (&[("t/0.tar", tar), ("t/0.index", sidecar)], "a tar", "t/0.tar", ""),
        (
            &[("t/0.tar", tar), ("t/0.index", sidecar)],
            "the sidecar of a tar",
            "t/0.index",
            "t/0.tar",
        ),
        (&[("t.tgz", b"")], "a compressed tar", "t.tgz", "pack reshard t.tgz -o shards/"),
        (&[("t.csv", b"a\n1\n")], "a CSV table", "t.csv", "pack build csv:t.csv -o shards/"),
        (&[("t.zip", b"PK\x03\x04")], "a zip file", "t.zip", "pack build zip:t.zip -o shards/"),
        (
            &[("t/0.parquet", b"PAR1")],
            "a folder of Parquet files",
            "t",
            "pack build parquet:t -o shards/",
        ),
        (&[("odd", b"PAR1")], "a Parquet file", "odd", "pack build parquet:odd -o shards/"),
        (
            &[("t/index.json", b"{\"shards\": []}"), ("t/0.mds", b"")],
            "a folder of MDS shards",
            "t",
            "pack build mds:t -o shards/",
        ),
        (
            &[("t/zarr.json", b"{}"), ("t/x/c/0/0", b"")],
            "a folder of Zarr",
            "t",
            "pack build zarr:t -o shards/",
        ),
        (&[("t/1.jpg", JPEG)], "a JPEG", "t/1.jpg", "pack build t -o shards/ --require image"),
        (
            &[("t/1.txt", b"x")],
            "a folder of txt files",
            "t",
            "pack build t -o shards/ --require txt",
        ),
        (&[("t/.hidden", b"")], "a folder without samples", "t", ""),
        (&[("t.pdf", b"%PDF-1")], "a PDF", "t.pdf", ""),
    ];
    for (files, name, path, command) in cases {
        let (by_name, by_command, by_python) = told(files, path);
        assert_eq!((&*by_name, &*by_command), (name, command), "{path}");
        assert_eq!(by_python.is_empty(), command.is_empty(), "{by_python}");
    }
}

#[test]
fn paths_are_quoted_for_the_shell_and_for_python() {
    let (_, command, python) = told(&[("it's \"t\"/1.jpg", JPEG)], "it's \"t\"");
    assert_eq!(command, r#"pack build 'it'\''s "t"' -o shards/ --require image"#);
    assert!(python.starts_with(r#"tarflume.pack.build("it's \"t\"", "shards/""#), "{python}");
}

#[test]
fn a_large_folder_costs_no_more_than_a_small_one() {
    let dir = tempfile::tempdir().unwrap();
    for n in 0..80 {
        let class = dir.path().join(format!("{n:03}"));
        fs::create_dir(&class).unwrap();
        fs::write(class.join("1.jpg"), JPEG).unwrap();
    }
    // A data set in one of the first folders decides, and one in the last is not looked for.
    fs::write(dir.path().join("079/dataset.json"), b"{}").unwrap();
    let PathKind::Samples(found) = recognize(dir.path()).unwrap() else {
        panic!("not samples");
    };
    assert_eq!(found.labels.label.as_deref(), Some("folder"));
    fs::write(dir.path().join("001/dataset.json"), b"{}").unwrap();
    assert_eq!(recognize(dir.path()).unwrap(), PathKind::Parent(vec![dir.path().join("001")]));
}
