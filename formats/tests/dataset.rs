//! A data set is opened and searched, and refused if its files differ.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::fs;
use std::path::{Path, PathBuf};

use tarflume_formats::index::{Index, IndexBuilder, TarFacts};
use tarflume_formats::manifest::{FILE_NAME, Manifest};
use tarflume_formats::{Dataset, Durability, ErrorKind, ShardWriter};
use tempfile::TempDir;

fn make(shards: &[&[&str]]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut entries = Vec::new();
    for (i, keys) in shards.iter().enumerate() {
        let name = format!("s-{i}.tar");
        let mut shard = ShardWriter::create(dir.path(), &name).unwrap();
        for key in *keys {
            shard.begin(key.as_bytes());
            shard.part(b"txt", 5).unwrap().copy_from_slice(b"hello");
            shard.commit(None).unwrap();
        }
        let shard = shard.finish().unwrap();
        entries.push(shard.publish(dir.path(), &name, Durability::Cached).unwrap());
    }
    write(dir.path(), &Manifest::new("test", None, Default::default(), entries));
    dir
}

fn write(dir: &Path, manifest: &Manifest) {
    fs::write(dir.join(FILE_NAME), manifest.to_json()).unwrap();
}

fn refused(dir: &Path) -> (ErrorKind, PathBuf) {
    let error = Dataset::open(dir).unwrap_err();
    (error.kind(), error.place().path.clone().unwrap())
}

#[test]
fn every_key_is_found_at_its_ordinal() {
    let cases: [&[&[&str]]; 6] = [
        &[&["a", "b"], &["c"], &["d", "e", "f"]],
        &[&["b", "a"], &["d", "c"]],
        &[&["c"], &["a", "b"]],
        &[&["a"], &[], &["b"], &[]],
        &[&["a", "c"], &["b", "d"]],
        &[],
    ];
    for shards in cases {
        let dir = make(shards);
        let dataset = Dataset::open(dir.path()).unwrap();
        let keys = shards.concat();
        assert_eq!(dataset.samples(), keys.len() as u64);
        for (ordinal, key) in keys.iter().enumerate() {
            let (shard, row) = dataset.place(ordinal as u64).unwrap();
            let sample = dataset.index(shard).unwrap().sample(row).unwrap().unwrap();
            assert_eq!(sample.key, key.as_bytes());
            assert_eq!(dataset.find(key.as_bytes()).unwrap(), Some((shard, row)));
        }
        assert_eq!(dataset.place(keys.len() as u64), None);
        for missing in ["", "aa", "bb", "zz"] {
            assert_eq!(dataset.find(missing.as_bytes()).unwrap(), None, "{missing} in {shards:?}");
        }
    }
}

#[test]
fn among_equal_keys_the_first_is_found() {
    for shards in [&[&["a", "b"][..], &["b", "b"], &["c"]], &[&["b", "a"][..], &["b"], &["a"]]] {
        let dir = make(shards);
        let found = Dataset::open(dir.path()).unwrap().find(b"b").unwrap();
        assert_eq!(found, Some((0, if shards[0][0] == "b" { 0 } else { 1 })));
    }
}

#[test]
fn the_manifest_may_be_named_itself() {
    let dir = make(&[&["a"]]);
    let dataset = Dataset::open(dir.path().join(FILE_NAME)).unwrap();
    assert_eq!(dataset.folder(), dir.path());
    assert_eq!(dataset.tar_path(0), Some(dir.path().join("s-0.tar")));
    assert_eq!(dataset.tar_path(1), None);
}

#[test]
fn files_that_differ_from_the_manifest_are_stale() {
    let dir = make(&[&["a", "b"], &["c", "d"]]);
    let tar = dir.path().join("s-1.tar");
    let index = dir.path().join("s-1.index");
    let whole = fs::read(&tar).unwrap();
    fs::write(&tar, &whole[..whole.len() - 512]).unwrap();
    assert_eq!(refused(dir.path()), (ErrorKind::Stale, index.clone()));
    fs::write(&tar, &whole).unwrap();
    Dataset::open(dir.path()).unwrap();

    let other = fs::read(dir.path().join("s-0.index")).unwrap();
    let right = fs::read(&index).unwrap();
    fs::write(&index, other).unwrap(); // of the same length, of another tar
    assert_eq!(refused(dir.path()), (ErrorKind::Stale, index.clone()));
    fs::write(&index, &right[..right.len() - 1]).unwrap();
    assert_eq!(refused(dir.path()), (ErrorKind::Truncated, index.clone()));
    fs::remove_file(&index).unwrap();
    assert_eq!(refused(dir.path()), (ErrorKind::Io, index.clone()));
    fs::write(&index, right).unwrap();
    fs::remove_file(&tar).unwrap();
    assert_eq!(refused(dir.path()), (ErrorKind::Io, tar));
}

#[test]
fn the_error_for_a_folder_without_manifest_names_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let error = Dataset::open(dir.path()).unwrap_err();
    assert!(error.text().contains("pack index"), "{error}");
    fs::write(dir.path().join(FILE_NAME), b"{").unwrap();
    assert_eq!(refused(dir.path()), (ErrorKind::WrongFormat, dir.path().join(FILE_NAME)));
}

#[test]
fn a_sidecar_whose_head_is_long_opens_from_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.index");
    let mut index = IndexBuilder::new();
    let keys: Vec<_> = (b'a'..b'e').map(|c| vec![c; 5 << 20]).collect();
    keys.iter().for_each(|key| index.sample(key, 0)); // 20 MiB in blocks of 16 KiB
    let mut bytes = index.encode(&TarFacts { length: 1024, digest: None }).unwrap();
    fs::write(&path, &bytes).unwrap();
    let opened = Index::open(&path).unwrap();
    opened.check().unwrap();
    assert_eq!(opened.find(&keys[2]).unwrap(), Some(2));
    bytes[5000] ^= 1; // in the head, after the first read
    fs::write(&path, &bytes).unwrap();
    assert_eq!(Index::open(&path).unwrap_err().kind(), ErrorKind::Damaged);
}
