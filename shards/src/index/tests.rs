//! Indexes whole tars: foreign ones, invalid ones, and our own.
#![allow(clippy::disallowed_methods, reason = "a query that fails ends the test")]

use std::fs;

use tarflume_base::check::Content;
use tarflume_base::{Columns, Exit, Stop};
use tarflume_fixtures::{FalseClaim, Photo, PhotoKind, TarBytes, good_shard};
use tarflume_formats::manifest::FILE_NAME;
use tarflume_formats::{Durability, Index, Reading, ShardWriter, files, index_path};

use super::*;

fn everything() -> Options {
    Options {
        reading: Reading::Everything,
        entry_points: false,
        force: false,
        accept_edits: false,
        allow_missing_end: false,
        splits: false,
        ignore_zeros: false,
        columns: Columns::default(),
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
        shard.commit(dimensions.map(|size| (size.width, size.height))).unwrap();
    }
    shard.finish().unwrap().publish(dir.path(), "a.tar", Durability::Cached).unwrap();
    let sidecar = index_path(dir.path().join("a.tar"));
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
        (FalseClaim::Empty, "empty"),
    ] {
        for reading in [Reading::Everything, Reading::Headers] {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("good.tar"), good_shard()).unwrap();
            fs::write(dir.path().join("wrong.tar"), claim.bytes()).unwrap();
            let done = run(dir.path(), &Options { reading, ..everything() });
            assert!(done.tars[0].result.is_ok());
            let failure = done.tars[1].result.as_ref().unwrap_err();
            assert!(failure.text().contains(message), "{failure}");
            assert_eq!(failure.exit(), Exit::BadData);
            assert_eq!(done.manifest.unwrap().unwrap_err().exit(), Exit::BadData);
            assert!(!files::exists(&dir.path().join("wrong.index")).unwrap());
            assert!(!files::exists(&dir.path().join(FILE_NAME)).unwrap());
        }
    }
}

#[test]
fn a_tar_of_zeros_is_a_shard_without_samples() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("good.tar"), good_shard()).unwrap();
    for (name, blocks) in [("padded.tar", 20), ("short.tar", 2)] {
        fs::write(dir.path().join(name), vec![0; 512 * blocks]).unwrap();
    }
    for _ in 0..2 {
        let done = run(dir.path(), &everything());
        let made: Vec<_> = done.tars.iter().map(|tar| tar.result.as_ref().unwrap()).collect();
        assert_eq!(made.iter().map(|made| made.entry.samples).collect::<Vec<_>>(), [3, 0, 0]);
        assert!(made[1].kept || made[1].warnings[0].text().contains("a shard without samples"));
        let manifest = done.manifest.unwrap().unwrap().manifest;
        assert_eq!((manifest.shards.len(), manifest.samples), (3, 3));
    }
}

#[test]
fn a_tar_of_files_without_extensions_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut tar = Vec::new();
    tarflume_formats::tar::write_header(&mut tar, b"LICENSE", 0).unwrap();
    tar.extend([0; 1024]);
    fs::write(dir.path().join("a.tar"), tar).unwrap();
    let done = run(dir.path(), &everything());
    let failure = done.tars[0].result.as_ref().unwrap_err();
    assert!(failure.text().contains("a name like key.ext"), "{failure}");
}

#[test]
fn a_sidecar_is_kept_only_if_it_is_proved_or_older_than_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let tar = dir.path().join("a.tar");
    let original = good_shard();
    fs::write(&tar, &original).unwrap();
    let columns = Columns::parse("class=json:/class:u32").unwrap();
    run(dir.path(), &everything());
    let before = fs::read(index_path(&tar)).unwrap();
    // The same bytes again, and then others of the same length in one part.
    write_later(&tar, &original);
    let kept = run(dir.path(), &everything());
    assert!(kept.tars[0].result.as_ref().unwrap().kept);
    let mut changed = original.clone();
    changed[512] ^= 1;
    write_later(&tar, &changed);
    for columns in [Columns::default(), columns] {
        let done = run(dir.path(), &Options { columns, ..everything() });
        let failure = done.tars[0].result.as_ref().unwrap_err();
        assert!(failure.text().contains("byte 512: key s0: the tar was changed"), "{failure}");
        assert!(failure.text().contains("`pack index --force "), "{failure}");
        assert_eq!(fs::read(index_path(&tar)).unwrap(), before);
    }
    let forced = run(dir.path(), &Options { force: true, ..everything() });
    assert!(!forced.tars[0].result.as_ref().unwrap().kept);
}

#[test]
fn a_sidecar_of_headers_is_proved_by_all_headers() {
    let dir = tempfile::tempdir().unwrap();
    let tar = dir.path().join("a.tar");
    let mut bytes = Vec::new();
    for n in 0..200 {
        let name = format!("s{n:03}.txt");
        tarflume_formats::tar::write_header(&mut bytes, name.as_bytes(), 0).unwrap();
    }
    let end = [0; 1024];
    fs::write(&tar, [&bytes[..], &end].concat()).unwrap();
    let headers = Options { reading: Reading::Headers, ..everything() };
    run(dir.path(), &headers);
    write_later(&tar, &[&bytes[..], &end].concat());
    assert!(run(dir.path(), &headers).tars[0].result.as_ref().unwrap().kept);
    let block = bytes[512 * 5..512 * 6].to_vec(); // row 5 is none of those that a probe looks at
    let mut renamed = Vec::new();
    tarflume_formats::tar::write_header(&mut renamed, b"t005.txt", 0).unwrap();
    assert_ne!(block, renamed);
    bytes[512 * 5..512 * 6].copy_from_slice(&renamed);
    write_later(&tar, &[&bytes[..], &end].concat());
    let failed = run(dir.path(), &headers);
    let failure = failed.tars[0].result.as_ref().unwrap_err();
    assert!(failure.text().contains("byte 2560: key t005"), "{failure}");
}

#[test]
fn a_column_without_any_value_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.tar"), good_shard()).unwrap();
    fs::write(dir.path().join("b.tar"), [0; 1024]).unwrap();
    let columns = Columns::parse("colour:u32").unwrap();
    let options = Options { columns, ..everything() };
    let failure = index(dir.path(), &options, &|_| {}).unwrap_err();
    assert_eq!(failure.exit(), Exit::BadData);
    assert!(failure.text().contains("column 'colour', which is the field /colour"), "{failure}");
    assert!(!files::exists(&dir.path().join(FILE_NAME)).unwrap());
}

#[test]
fn the_columns_of_a_sidecar_that_gets_entry_points_are_read_by_the_same_rules() {
    let dir = tempfile::tempdir().unwrap();
    let json = br#"{"class": 3, "score": NaN}"#;
    let tar = TarBytes::new().member(b"s0.json", json).ended();
    fs::write(dir.path().join("a.tar"), tar).unwrap();
    let columns = Columns::parse("class:u32").unwrap().with_rules(JsonRules::Python);
    let later = Columns::default().with_rules(JsonRules::Python);
    for (columns, entry_points) in [(columns, false), (later, true)] {
        let done = run(dir.path(), &Options { columns, entry_points, ..everything() });
        let made = done.tars[0].result.as_ref().unwrap();
        assert!(made.damaged.listed.is_empty(), "{:?}", made.damaged);
        assert!(!made.kept && made.without_values.is_empty());
    }
}

/// Writes a tar so that its time is later than that of its sidecar.
fn write_later(tar: &Path, bytes: &[u8]) {
    let sidecar = index_path(tar);
    loop {
        fs::write(tar, bytes).unwrap();
        let own = fs::metadata(tar).unwrap();
        if tarflume_formats::freshness::may_be_newer(&own, &fs::metadata(&sidecar).unwrap()) {
            return;
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
        Index::open(index_path(&tar)).unwrap().tar().length,
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
    assert!(stale.tars[0].result.as_ref().unwrap_err().text().contains("--force"));
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
    assert!(done.tars[1].result.as_ref().unwrap_err().text().contains("compressed"));
    assert!(done.manifest.unwrap().is_err());
}

#[test]
fn nothing_to_index_is_a_usage_error() {
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path().to_path_buf(), dir.path().join("none.tar")] {
        assert_eq!(index(&path, &everything(), &|_| {}).unwrap_err().exit(), Exit::Usage);
    }
}
