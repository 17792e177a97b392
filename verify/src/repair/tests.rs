//! Damage of each kind, and copies of each kind: the bytes are those of before, or nothing changed.

use std::fs;
use std::path::Path;

use tarflume_base::ProblemKind;
use tarflume_fixtures::{SplitMix64, TarBytes};
use tarflume_formats::manifest::{FILE_NAME, Manifest};
use tarflume_formats::{Reading, index_path};
use tarflume_shards::index;

use super::*;

fn index(dir: &Path) {
    let options = index::Options {
        reading: Reading::Everything,
        entry_points: false,
        force: true,
        accept_edits: false,
        allow_missing_end: true,
        splits: false,
        ignore_zeros: false,
        columns: tarflume_base::Columns::default(),
        jobs: 1,
        stop: Stop::new(),
        storage: Vec::new(),
    };
    index::index(dir, &options, &|_| {}).unwrap().manifest.unwrap().unwrap();
}

/// Makes a data set of two shards with four samples each, and a copy of it.
fn twins() -> (tempfile::TempDir, tempfile::TempDir) {
    let own = tempfile::tempdir().unwrap();
    let copy = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        let mut tar = TarBytes::new();
        for i in 0..4 {
            tar.member(
                format!("{name}/{i}.txt").as_bytes(),
                format!("{name} {i}").repeat(90).as_bytes(),
            );
            tar.member(format!("{name}/{i}.json").as_bytes(), format!("{{\"n\":{i}}}").as_bytes());
        }
        fs::write(own.path().join(format!("{name}.tar")), tar.ended()).unwrap();
    }
    index(own.path());
    for name in ["a.tar", "b.tar", "a.index", "b.index", FILE_NAME] {
        fs::copy(own.path().join(name), copy.path().join(name)).unwrap();
    }
    (own, copy)
}

fn options(from: &[&Path]) -> Options {
    Options {
        from: from.iter().map(|path| path.to_path_buf()).collect(),
        root: None,
        dry_run: false,
        jobs: 2,
        stop: Stop::new(),
        storage: Vec::new(),
    }
}

fn same(one: &Path, other: &Path) -> bool {
    ["a.tar", "b.tar", "a.index", "b.index", FILE_NAME]
        .iter()
        .all(|name| fs::read(one.join(name)).ok() == fs::read(other.join(name)).ok())
}

/// Flips a bit of the text `what` in a file.
fn damage(path: &Path, what: &str) {
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.windows(what.len()).position(|window| window == what.as_bytes()).unwrap();
    bytes[at] ^= 4;
    fs::write(path, bytes).unwrap();
}

#[test]
fn damaged_parts_are_replaced_alone() {
    let (own, copy) = twins();
    damage(&own.path().join("a.tar"), "a 1a 1");
    damage(&own.path().join("b.tar"), "b 2b 2");
    damage(&own.path().join("b.tar"), "{\"n\":3}");
    let done = repair(own.path(), &options(&[copy.path()]), &|_| {}).unwrap();
    assert!(same(own.path(), copy.path()) && done.problems.is_empty());
    let parts = Replaced::Parts { samples: 2, parts: 2, headers: false };
    assert_eq!(done.files[1].what, parts);
    assert_eq!(done.files[1].bytes, 270 + 7);
    assert_eq!((done.shards, done.sound), (2, 0));
    let again = repair(own.path(), &options(&[copy.path()]), &|_| {}).unwrap();
    assert_eq!((again.sound, again.files.len()), (2, 0));
}

#[test]
fn files_are_restored_whole_and_each_random_damage_is_repaired() {
    let (own, copy) = twins();
    fs::remove_file(own.path().join("a.tar")).unwrap();
    fs::remove_file(own.path().join("b.index")).unwrap();
    let done = repair(own.path(), &options(&[copy.path()]), &|_| {}).unwrap();
    assert!(same(own.path(), copy.path()) && done.files.len() == 2, "{done:?}");
    let mut random = SplitMix64::new(5);
    for round in 0..60 {
        let name = ["a.tar", "b.tar", "a.index", "b.index"][random.below(4) as usize];
        let path = own.path().join(name);
        let mut bytes = fs::read(&path).unwrap();
        let at = random.below(bytes.len() as u32) as usize;
        match random.below(3) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes.truncate(at),
            _ => bytes.extend_from_slice(b"more"),
        }
        fs::write(&path, bytes).unwrap();
        let done = repair(own.path(), &options(&[copy.path()]), &|_| {}).unwrap();
        assert!(same(own.path(), copy.path()), "round {round}: {name} at {at}: {done:?}");
        assert_eq!(done.files.len(), 1);
    }
}

#[test]
fn parts_come_from_the_packed_files_and_what_is_nowhere_is_a_problem() {
    let (own, copy) = twins();
    let files = tempfile::tempdir().unwrap();
    fs::create_dir(files.path().join("a")).unwrap();
    fs::write(files.path().join("a/1.txt"), "a 1".repeat(90)).unwrap();
    damage(&own.path().join("a.tar"), "a 1a 1");
    damage(&own.path().join("b.tar"), "b 2b 2");
    let before = fs::read(own.path().join("b.tar")).unwrap();
    let done = repair(own.path(), &options(&[files.path()]), &|_| {}).unwrap();
    assert_eq!(done.files.len(), 1, "{done:?}");
    assert_eq!(done.files[0].from, [files.path().join("a/1.txt")]);
    assert_eq!(done.problems.len(), 1);
    assert_eq!(done.problems[0].kind, ProblemKind::Digest);
    assert_eq!(fs::read(own.path().join("b.tar")).unwrap(), before);
    assert_eq!(fs::read_dir(own.path()).unwrap().count(), 5, "no temporary file stays");
    // Another file of the same length is none of these.
    fs::create_dir(files.path().join("b")).unwrap();
    fs::write(files.path().join("b/2.txt"), "x 2".repeat(90)).unwrap();
    let done = repair(own.path(), &options(&[files.path(), copy.path()]), &|_| {}).unwrap();
    assert!(same(own.path(), copy.path()) && done.problems.is_empty());
}

#[test]
fn a_copy_that_is_damaged_elsewhere_serves_and_a_dry_run_changes_nothing() {
    let (own, copy) = twins();
    damage(&own.path().join("a.tar"), "a 1a 1");
    damage(&copy.path().join("a.tar"), "a 2a 2");
    let before = fs::read(own.path().join("a.tar")).unwrap();
    let dry = Options { dry_run: true, ..options(&[copy.path()]) };
    let done = repair(own.path(), &dry, &|_| {}).unwrap();
    assert_eq!((done.files.len(), done.problems.len()), (1, 0));
    assert_eq!(fs::read(own.path().join("a.tar")).unwrap(), before);
    let done = repair(own.path(), &options(&[copy.path()]), &|_| {}).unwrap();
    assert_eq!((done.files.len(), done.problems.len()), (1, 0));
    let back = repair(copy.path(), &options(&[own.path()]), &|_| {}).unwrap();
    assert_eq!((back.files.len(), back.problems.len()), (1, 0));
    assert!(same(own.path(), copy.path()));
}

#[test]
fn a_manifest_is_restored_by_its_root_digest_alone() {
    let (own, copy) = twins();
    let text = fs::read(copy.path().join(FILE_NAME)).unwrap();
    let root = Manifest::root_of(&text).to_hex().to_string();
    for damage in ["", "{}"] {
        fs::write(own.path().join(FILE_NAME), damage).unwrap();
        let failure = repair(own.path(), &options(&[copy.path()]), &|_| {}).unwrap_err();
        assert!(failure.text().contains("--root"), "{}", failure.text());
        let other = Options { root: Some("0".repeat(64)), ..options(&[copy.path()]) };
        let failure = repair(own.path(), &other, &|_| {}).unwrap_err();
        assert!(failure.text().contains("no copy"), "{}", failure.text());
        let given = Options { root: Some(root.clone()), ..options(&[copy.path()]) };
        let done = repair(own.path(), &given, &|_| {}).unwrap();
        assert_eq!((done.files.len(), done.sound), (1, 2));
        assert!(same(own.path(), copy.path()));
    }
    let wrong = Options { root: Some("12".into()), ..options(&[copy.path()]) };
    assert!(repair(own.path(), &wrong, &|_| {}).unwrap_err().text().contains("64"));
    assert!(index_path("a.tar").ends_with("a.index"));
}

#[test]
fn a_copy_with_a_damaged_sidecar_does_not_serve_and_another_does() {
    let (own, copy) = twins();
    let (_, second) = twins();
    damage(&own.path().join("a.tar"), "a 1a 1");
    let path = copy.path().join("a.index");
    let whole = fs::read(&path).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&path, bytes).unwrap();
        let from = [copy.path(), second.path()];
        let dry = Options { dry_run: true, ..options(&from) };
        let done = repair(own.path(), &dry, &|_| {}).unwrap();
        assert_eq!((done.files.len(), done.problems.len()), (1, 0), "byte {at}: {done:?}");
    }
    let from = [copy.path(), second.path()];
    repair(own.path(), &options(&from), &|_| {}).unwrap();
    assert!(same(own.path(), second.path()));
}

#[test]
fn a_tar_that_is_a_link_stays_one_and_its_file_is_repaired() {
    let (own, copy) = twins();
    let store = tempfile::tempdir().unwrap();
    let tar = own.path().join("a.tar");
    let file = store.path().join("content");
    fs::rename(&tar, &file).unwrap();
    std::os::unix::fs::symlink(&file, &tar).unwrap();
    damage(&file, "a 1a 1");
    let done = repair(own.path(), &options(&[copy.path()]), &|_| {}).unwrap();
    assert!(done.problems.is_empty() && same(own.path(), copy.path()), "{done:?}");
    assert!(fs::symlink_metadata(&tar).unwrap().is_symlink());
    assert_eq!(fs::read(&file).unwrap(), fs::read(copy.path().join("a.tar")).unwrap());
}
