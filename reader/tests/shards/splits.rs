//! Splits, versions and classes of a data set, as its manifest states them.

use std::fs;

use tarflume::{ClassTable, Dataset, ErrorKind};
use tarflume_formats::Manifest;
use tarflume_formats::manifest::Appended;

use crate::shards::harness::Made;

/// Five shards: train, val, and by a second build train, val, train.
fn divided() -> Made {
    let made = Made::new(&[4, 2, 3, 1, 5]);
    let mut manifest = Manifest::from_json(&fs::read(made.manifest()).unwrap()).unwrap();
    for (shard, split) in manifest.shards.iter_mut().zip(["train", "val", "train", "val", "train"])
    {
        shard.split = Some(split.into());
    }
    manifest.appended.push(Appended {
        plan: "00".repeat(32),
        shards: 3,
        provenance: Default::default(),
    });
    let names = vec!["cat".into(), "dog".into()];
    manifest.about.classes = Some(ClassTable {
        pointer: "/class".into(),
        names,
        ids: vec![3, 9],
        ..ClassTable::default()
    });
    fs::write(made.manifest(), manifest.to_json()).unwrap();
    made
}

fn keys(dataset: &Dataset) -> Vec<String> {
    (0..dataset.len()).map(|n| String::from_utf8(dataset.key(n).unwrap()).unwrap()).collect()
}

#[test]
fn a_split_is_its_shards_alone() {
    let made = divided();
    let dataset = Dataset::open(made.path()).unwrap();
    assert_eq!(dataset.splits(), ["train", "val"]);
    let val = dataset.split("val").unwrap();
    assert_eq!(keys(&val), ["k00004", "k00005", "k00009"]);
    let tars = [made.tars[1].clone(), made.tars[3].clone()];
    let alone = Dataset::open(tars).unwrap();
    assert_eq!(val.fingerprint().unwrap(), alone.fingerprint().unwrap());
    assert_eq!(val.extensions().unwrap(), alone.extensions().unwrap());
    assert_eq!((val.splits(), val.classes()), (vec!["val"], dataset.classes()));
    assert!(alone.classes().is_none() && alone.splits().is_empty() && alone.builds() == 0);
    let error = dataset.split("test").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.text().contains("'test'; the splits are: train, val"), "{error}");
    assert!(alone.split("val").unwrap_err().text().contains("no splits"));
}

#[test]
fn a_version_is_the_data_set_of_the_first_builds() {
    let made = divided();
    let dataset = Dataset::open(made.path()).unwrap();
    assert_eq!((dataset.builds(), dataset.len()), (2, 15));
    let first = dataset.version(1).unwrap();
    assert_eq!((first.builds(), keys(&first)), (1, keys(&dataset)[..6].to_vec()));
    let alone = Dataset::open(made.tars[..2].to_vec()).unwrap();
    assert_eq!(first.fingerprint().unwrap(), alone.fingerprint().unwrap());
    assert_eq!(first.extensions().unwrap(), alone.extensions().unwrap());
    let all = dataset.version(2).unwrap();
    assert_eq!(all.fingerprint().unwrap(), dataset.fingerprint().unwrap());
    for (one, other) in [
        (dataset.version(1).unwrap().split("val").unwrap(), &made.tars[1..2]),
        (dataset.split("val").unwrap().version(1).unwrap(), &made.tars[1..2]),
    ] {
        let other = Dataset::open(other.to_vec()).unwrap();
        assert_eq!(one.fingerprint().unwrap(), other.fingerprint().unwrap());
    }
    for wrong in [0, 3] {
        let error = dataset.version(wrong).unwrap_err();
        assert!(error.text().contains("versions 1 to 2"), "{error}");
    }
    assert!(alone.version(1).unwrap_err().text().contains("one dataset.json"));
}

#[test]
fn data_sets_together_have_the_classes_that_both_have() {
    fn open(made: &Made) -> Dataset {
        Dataset::open(made.path()).unwrap()
    }

    let one = divided();
    let same = divided();
    let other = Made::new(&[2]);
    let both = Dataset::concat(&[open(&one), open(&same)]).unwrap();
    assert_eq!(both.classes().unwrap().name(9), Some("dog"));
    assert_eq!((both.splits(), both.builds()), (vec!["train", "val"], 0));
    let named = Dataset::open([one.path(), same.path()]).unwrap();
    assert_eq!(named.classes(), both.classes());
    assert_eq!(named.extensions().unwrap(), both.extensions().unwrap());
    assert!(Dataset::concat(&[open(&one), open(&other)]).unwrap().classes().is_none());
}
