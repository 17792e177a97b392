//! Sidecars in a store that list the samples of the first of joined tars alone, as earlier versions made them: an error
//! wherever the shard is used. Padding costs one request.

use std::fs;

use tarflume::{Dataset, Error, ErrorKind, Loader, Size, Storage};
use tarflume_fixtures::TarBytes;
use tarflume_formats::Manifest;
use tarflume_formats::index::{IndexBuilder, TarFacts};
use tarflume_formats::manifest::ShardEntry;
use tarflume_store::simulated::{Fault, Server};

use super::Set;

/// A tar of one sample with the padding of GNU tar.
fn padded(name: &[u8]) -> Vec<u8> {
    let mut tar = TarBytes::new().member(name, b"x").ended();
    tar.resize(10_240, 0);
    tar
}

/// A set of one tar and a sidecar of its first sample.
fn set_of(tar: &[u8]) -> Set {
    let mut index = IndexBuilder::new();
    index.sample(b"a", 0);
    index.part(b"txt", 512, 1, None).unwrap();
    let facts = TarFacts { length: tar.len() as u64, digest: Some(blake3::hash(tar)) };
    let index = index.encode(&facts).unwrap();
    let entry = ShardEntry {
        name: "a.tar".into(),
        split: None,
        samples: 1,
        bytes: tar.len() as u64,
        blake3: Some(blake3::hash(tar).to_hex().to_string()),
        index_bytes: index.len() as u64,
        index_blake3: blake3::hash(&index).to_hex().to_string(),
    };
    let manifest = Manifest::new("test", None, [("txt".to_string(), 1)].into(), vec![entry]);
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in
        [("a.tar", tar), ("a.index", &index), ("dataset.json", &manifest.to_json())]
    {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    Set::of(Server::new(), folder)
}

fn joined() -> Set {
    set_of(&[padded(b"a.txt"), padded(b"b.txt")].concat())
}

#[track_caller]
fn assert_refused(error: &Error) {
    assert_eq!((error.kind(), error.place().byte), (ErrorKind::Damaged, Some(10_240)), "{error}");
    let text = error.to_string();
    assert!(text.contains("s3://bucket/set/a.tar"), "{text}");
    assert!(text.contains("`pack index --force --ignore-zeros s3://bucket/set`"), "{text}");
}

#[test]
fn every_reader_of_a_store_refuses_a_sidecar_of_the_first_of_joined_tars() {
    let set = joined();
    assert_refused(&set.remote().open_all().unwrap_err());
    assert_refused(&set.remote().get(0).unwrap_err());
    assert_refused(&set.remote().numbers("txt").unwrap_err());
    assert_refused(&set.remote().table().unwrap().next().unwrap().unwrap_err());
    assert_refused(&set.remote().filter(|_| true).unwrap_err());
    let built = Loader::from_dataset(set.remote()).text("txt").build();
    let failed = built.and_then(|loader| loader.epoch(0).try_for_each(|batch| batch.map(drop)));
    assert_refused(&failed.unwrap_err());
}

#[test]
fn the_cache_of_a_machine_changes_nothing() {
    let set = joined();
    let disk = tempfile::tempdir().unwrap();
    let storage: Storage = set.storage().cache(Size::new(32 << 20)).cache_folder(disk.path());
    for _ in 0..2 {
        let dataset = Dataset::open_with("s3://bucket/set", &storage).unwrap();
        assert_refused(&dataset.open_all().unwrap_err());
    }
}

#[test]
fn padding_is_one_request_and_no_error() {
    let set = set_of(&padded(b"a.txt"));
    let dataset = set.remote();
    set.server.take_asked();
    dataset.open_all().unwrap();
    let asked: Vec<_> = set.server.take_asked().into_iter().map(|asked| asked.range).collect();
    assert_eq!(asked, [None, Some((1024, 10_240))], "the sidecar, and what follows the sample");
    dataset.open_all().unwrap();
    assert!(set.server.take_asked().is_empty());
    assert_eq!(dataset.get(0).unwrap().part("txt").unwrap().to_vec(), b"x");
}

#[test]
fn zeros_that_changed_on_their_way_are_no_other_tar() {
    let set = set_of(&padded(b"a.txt"));
    let mut is_left = true;
    set.server.plan(move |asked| {
        let flips = is_left && asked.range.is_some_and(|(at, _)| at == 1024);
        is_left &= !flips;
        flips.then_some(Fault::Flip(5000))
    });
    set.remote().open_all().unwrap();
}

#[test]
fn a_store_that_fails_is_no_fault_of_the_tar() {
    let set = joined();
    set.server.plan(|asked| asked.range.map(|_| Fault::Refused(403, "ExpiredToken")));
    let error = set.remote().open_all().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error:?}");
}
