//! Indexes whole tars: foreign ones, invalid ones, and our own.
#![allow(clippy::disallowed_methods, reason = "a query that fails ends the test")]

use std::fs;

use tarflume_fixtures::{FalseClaim, Photo, PhotoKind, good_shard};
use tarflume_formats::manifest::FILE_NAME;
use tarflume_formats::{Durability, Index, Reading, ShardWriter, files, index_path};

use super::*;
use crate::check::Content;
use crate::exit::Exit;
use crate::stop::Stop;

fn everything() -> Options {
    Options {
        reading: Reading::Everything,
        entry_points: false,
        force: false,
        allow_missing_end: false,
        ignore_zeros: false,
        columns: crate::columns::Columns::default(),
        jobs: 2,
        stop: Stop::new(),
        storage: Vec::new(),
    }
}

fn run(path: &Path, options: &Options) -> IndexedPath {
    index(path, options, &|_| {}).unwrap()
}

#[test]
fn a_sidecar_made_by_index_equals_that_of_packing() {
    let dir = tempfile::tempdir().unwrap();
    let mut shard = ShardWriter::create(dir.path(), "a.tar").unwrap();
    for key in ["b", "a", "c"] {
        let photo = Photo::tiny(PhotoKind::ALL[0]).encode(1).unwrap();
        let dimensions = Content::of(b"jpg").dimensions(&photo);
        shard.begin(key.as_bytes());
        shard.part(b"jpg", photo.len() as u64).unwrap().copy_from_slice(&photo);
        shard.part(b"json", 2).unwrap().copy_from_slice(b"{}");
        shard.commit(dimensions).unwrap();
    }
    shard.finish().unwrap().publish(dir.path(), "a.tar", Durability::Cached).unwrap();
    let sidecar = index_path(&dir.path().join("a.tar"));
    let written = fs::read(&sidecar).unwrap();
    fs::remove_file(&sidecar).unwrap();
    run(&dir.path().join("a.tar"), &everything());
    assert_eq!(fs::read(&sidecar).unwrap(), written);
}

#[test]
fn false_claims_are_refused_with_their_place_and_publish_nothing() {
    for (claim, message) in [
        (FalseClaim::SampleAfterEnd, "byte 7680: another tar begins here"),
        (FalseClaim::GarbageAfterEnd, "byte 7680: bytes of no tar follow"),
        (FalseClaim::CutAtBlock, "byte 3584: the tar ends without its end marker"),
        (FalseClaim::CutMidData, "key s1.jpg: the tar ends inside this member"),
        (FalseClaim::NoEnd, "without its end marker"),
        (FalseClaim::BadChecksum, "byte 2048: this is not a tar header"),
        (FalseClaim::RepeatedPart, "key s1: the part 'jpg' appears twice"),
        (FalseClaim::RepeatedPartByCase, "key s1: the part 'jpg' appears twice"),
        (FalseClaim::GnuSparse, "sparse"),
        (FalseClaim::Gzip, "gzip data, no plain tar: decompress it first"),
        (FalseClaim::AllZero, "no sample in this tar"),
        (FalseClaim::Empty, "empty"),
    ] {
        for reading in [Reading::Everything, Reading::Headers] {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("good.tar"), good_shard()).unwrap();
            fs::write(dir.path().join("wrong.tar"), claim.bytes()).unwrap();
            let done = run(dir.path(), &Options { reading, ..everything() });
            assert!(done.tars[0].result.is_ok());
            let failure = done.tars[1].result.as_ref().unwrap_err();
            assert!(failure.text.contains(message), "{failure}");
            assert_eq!(failure.exit, Exit::BadData);
            assert_eq!(done.manifest.unwrap().unwrap_err().exit, Exit::BadData);
            assert!(!files::exists(&dir.path().join("wrong.index")).unwrap());
            assert!(!files::exists(&dir.path().join(FILE_NAME)).unwrap());
        }
    }
}

#[test]
fn a_missing_end_marker_can_be_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let tar = dir.path().join("a.tar");
    fs::write(&tar, FalseClaim::NoEnd.bytes()).unwrap();
    let done = run(&tar, &Options { allow_missing_end: true, ..everything() });
    let made = done.tars[0].result.as_ref().unwrap();
    assert_eq!((made.entry.samples, made.warnings.len()), (3, 1));
    assert_eq!(
        Index::open(&index_path(&tar)).unwrap().tar().length,
        fs::metadata(&tar).unwrap().len()
    );
}

#[test]
fn a_valid_sidecar_is_kept_and_only_force_replaces_an_invalid_one() {
    let dir = tempfile::tempdir().unwrap();
    let tar = dir.path().join("a.tar");
    fs::write(&tar, good_shard()).unwrap();
    run(dir.path(), &everything());
    let manifest = fs::read(dir.path().join(FILE_NAME)).unwrap();
    let again = run(dir.path(), &everything());
    assert!(again.tars[0].result.as_ref().unwrap().kept);
    assert!(again.manifest.unwrap().unwrap().kept);
    fs::write(&tar, FalseClaim::CaseTwins.bytes()).unwrap();
    let stale = run(dir.path(), &everything());
    assert!(stale.tars[0].result.as_ref().unwrap_err().text.contains("--force"));
    assert_eq!(fs::read(dir.path().join(FILE_NAME)).unwrap(), manifest);
    let forced = run(dir.path(), &Options { force: true, ..everything() });
    assert_eq!(forced.manifest.unwrap().unwrap().manifest.samples, 5);
}

#[test]
fn a_packed_tar_is_passed_over_only_beside_its_plain_one() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.tar"), good_shard()).unwrap();
    fs::write(dir.path().join("a.tar.gz"), FalseClaim::Gzip.bytes()).unwrap();
    assert_eq!(run(dir.path(), &everything()).tars.len(), 1);
    fs::rename(dir.path().join("a.tar.gz"), dir.path().join("b.tar.gz")).unwrap();
    let done = run(dir.path(), &everything());
    assert!(done.tars[1].result.as_ref().unwrap_err().text.contains("compressed"));
    assert!(done.manifest.unwrap().is_err());
}

#[test]
fn nothing_to_index_is_a_usage_error() {
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path().to_path_buf(), dir.path().join("none.tar")] {
        assert_eq!(index(&path, &everything(), &|_| {}).unwrap_err().exit, Exit::Usage);
    }
}
