//! Which rows of the table small tars have, and for which readers they are reported.

use std::fs;

use tarflume_fixtures::{GOLDEN, TarBytes};

use super::*;

fn reported(tar: &[u8], profiles: &[Profile]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.tar");
    fs::write(&path, tar).unwrap();
    let tar = Tar { path: &path, is_first: true };
    let found = check(tar, profiles, &Stop::new()).unwrap();
    found.listed.into_iter().map(|problem| problem.reason.text()).collect()
}

fn of_names(names: &[&str], profiles: &[Profile]) -> Vec<String> {
    let mut tar = TarBytes::new();
    for name in names {
        tar.member(name.as_bytes(), b"x");
    }
    reported(&tar.ended(), profiles)
}

/// The rows of which `reader` is told, by their examples.
fn rows(names: &[&str], reader: Profile) -> Vec<String> {
    let examples = of_names(names, &[reader]).into_iter();
    examples
        .map(|text| text.rsplit_once("(row `").unwrap().1.trim_end_matches("`)").to_string())
        .collect()
}

#[test]
fn ordinary_names_are_no_problem_for_any_reader() {
    let names = ["000.jpg", "000.json", "001.jpg", "001.json"];
    assert_eq!(of_names(&names, Profile::ALL), Vec::<String>::new());
}

#[test]
fn each_row_is_reported_to_the_readers_that_differ() {
    use Profile::{Dali, Datago, Energon, Hf, Ray, Spdl, Webdataset, Wids};
    let cases: [(&[&str], &str, &[Profile]); 14] = [
        (&["000.jpg", "000.seg.png"], "000.seg.png", &[Datago]),
        (
            &["img.001.jpg", "img.002.jpg"],
            "img.001.jpg",
            &[Webdataset, Dali, Energon, Hf, Ray, Wids],
        ),
        (&["000.JPG", "000.json"], "000.JPG", &[Dali, Energon, Hf, Ray, Wids, Datago]),
        (&["a.", "a.json"], "a.", &[Webdataset, Dali, Energon, Hf, Ray, Wids, Datago]),
        (&["a.jpg", "noext", "a.json"], "noext", Profile::ALL),
        (&["a.jpg", ".hid.jpg", "a.json"], ".hid.jpg", Profile::ALL),
        (
            &["d/a.jpg", "d/.hid.jpg", "d/a.json"],
            "dir/.hid.jpg",
            &[Webdataset, Dali, Energon, Hf, Ray, Wids],
        ),
        (&["__meta__.json", "a.json"], "__meta__.json", &[Hf]),
        (&["__meta__/a.json", "b.json"], "__meta__/a.json", &[Webdataset, Energon]),
        (&["a b.jpg"], "a b.jpg", &[Dali]),
        (&["a.jpg", "a.jpg"], "a.jpg a.jpg", &[Webdataset, Hf, Ray, Wids]),
        (&["a.jpg", "a.JPG"], "a.jpg a.JPG", &[Webdataset]),
        (
            &["a.jpg", "b.jpg", "a.json", "b.json"],
            "a.jpg b.jpg a.json",
            &[Webdataset, Dali, Energon, Hf, Ray, Wids],
        ),
        (&["x/a.jpg", "y/a.jpg"], "x/a.jpg", &[Datago]),
    ];
    for (names, row, readers) in cases {
        for &reader in Profile::ALL {
            let is_told = rows(names, reader).iter().any(|found| found == row);
            assert_eq!(is_told, readers.contains(&reader), "{row} for {}", reader.word());
        }
    }
    let _ = Spdl;
}

fn golden(name: &str) -> &'static [u8] {
    GOLDEN.iter().find(|golden| golden.name == name).unwrap().tar
}

#[test]
fn headers_of_other_kinds_are_reported() {
    let old = reported(golden("gnutar-v7"), &[Profile::Spdl]);
    assert!(old[0].starts_with("spdl: a/000.cls, the first of "), "{old:?}");
    assert!(old[0].contains("dropped without an error"));
    for name in ["gnutar-gnu", "python-gnu", "gnutar-pax", "webdataset"] {
        let long = reported(golden(name), &[Profile::Wids]);
        assert!(long.iter().any(|text| text.contains("row `a long name`")), "{name}: {long:?}");
    }
    // A prefix of ustar needs no other header, and a time in a pax header is no name.
    for name in ["gnutar-ustar", "python-ustar", "gnutar-pax-times"] {
        let none = reported(golden(name), &[Profile::Wids, Profile::Spdl]);
        assert_eq!(none, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn columns_of_hugging_face_are_those_of_the_first_five_samples() {
    let differs = rows(&["a.jpg", "b.jpg", "b.txt"], Profile::Hf);
    assert_eq!(differs, ["the first five samples"]);
    let late = ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg", "f.jpg", "f.txt"];
    assert_eq!(rows(&late, Profile::Hf), Vec::<String>::new());
}

#[test]
fn a_row_is_reported_once_with_its_first_file() {
    let names: Vec<String> = (0..40).map(|n| format!("{n:03}.JPG")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let found = of_names(&names, &[Profile::Hf, Profile::Ray]);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("hf, ray: 000.JPG, the first of 40 files: the part keeps"),
        "{found:?}"
    );
}

/// A tar of one file.
fn one(name: &str) -> Vec<u8> {
    let mut tar = TarBytes::new().member(name.as_bytes(), b"x").ended();
    tar.resize(10_240, 0);
    tar
}

#[test]
fn what_is_behind_the_first_end_marker_is_reported_with_its_first_file() {
    let joined = [one("a.jpg"), one("b.jpg"), one("c.jpg")].concat();
    let told = "b.jpg, the first of 2 files: it is behind an end marker, where reading stops, so it is dropped";
    for &reader in Profile::ALL {
        let found = reported(&joined, &[reader]);
        match reader {
            Profile::Datago => assert_eq!(found, Vec::<String>::new()),
            _ => {
                let row = format!("{}: {told} (row `joined tars`)", reader.word());
                assert_eq!(found, [row]);
            }
        }
    }
    assert_eq!(reported(&one("a.jpg"), Profile::ALL), Vec::<String>::new());
}
