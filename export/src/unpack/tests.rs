//! The limits on a hostile tar, and the files of a valid one.

use std::collections::BTreeMap;
use std::fs;

use tarflume_fixtures::{FalseClaim, TarBytes, good_shard};
use tarflume_shards::listing;

use super::*;

fn unpacked(tar: &[u8]) -> (Unpacked, BTreeMap<String, Vec<u8>>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("in").join("a.tar");
    fs::create_dir(dir.path().join("in")).unwrap();
    fs::write(&path, tar).unwrap();
    let out = dir.path().join("out");
    let done = unpack(&listing::open(&path).unwrap(), &out, 1, &|_| {}).unwrap();
    let mut files = BTreeMap::new();
    collect(&out, "", &mut files);
    let beside: Vec<_> = fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(beside.len(), 2, "nothing stands outside the folder");
    (done, files)
}

fn collect(folder: &Path, prefix: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        assert!(!entry.file_type().unwrap().is_symlink());
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), &format!("{name}/"), files);
        } else {
            files.insert(name, fs::read(entry.path()).unwrap());
        }
    }
}

#[test]
fn honest_files_come_back_as_they_were_stored() {
    let tar = TarBytes::new()
        .member(b"./a/B.JPG", b"picture")
        .member(b"a/README", b"no key")
        .member(b"a/empty.txt", b"")
        .ended();
    let (done, files) = unpacked(&tar);
    assert_eq!((done.files, done.bytes, done.unproved), (3, 13, 1));
    assert_eq!(done.problems, []);
    let want: [(&str, &[u8]); 3] =
        [("a/B.JPG", b"picture"), ("a/README", b"no key"), ("a/empty.txt", b"")];
    assert_eq!(files, want.map(|(name, data)| (name.into(), data.to_vec())).into());
}

#[test]
fn names_outside_the_folder_and_links_are_refused_and_the_rest_is_unpacked() {
    for (claim, kind) in [
        (FalseClaim::DotDot, ProblemKind::BadName),
        (FalseClaim::DotDotInside, ProblemKind::BadName),
        (FalseClaim::Absolute, ProblemKind::BadName),
        (FalseClaim::Symlink, ProblemKind::NotRegular),
        (FalseClaim::Hardlink, ProblemKind::NotRegular),
        (FalseClaim::Device, ProblemKind::NotRegular),
    ] {
        let (done, files) = unpacked(&claim.bytes());
        let kinds: Vec<_> = done.problems.iter().map(|p| p.kind).collect();
        assert_eq!(kinds, [kind], "{}", claim.name());
        assert_eq!(files.len(), 6, "{}", claim.name());
    }
}

#[test]
fn a_file_that_occurs_twice_keeps_its_first_content() {
    let tar = TarBytes::new()
        .member(b"a.txt", b"one")
        .member(b"b.txt", b"")
        .member(b"a.txt", b"two")
        .ended();
    let (done, files) = unpacked(&tar);
    assert_eq!(done.problems[0].kind, ProblemKind::RepeatedPart);
    assert_eq!(files["a.txt"], b"one");
}

#[test]
fn a_file_where_a_folder_is_needed_stops_one_member_only() {
    let tar = TarBytes::new()
        .member(b"a.txt", b"")
        .member(b"a.txt/b.txt", b"")
        .member(b"c.txt", b"")
        .ended();
    let (done, files) = unpacked(&tar);
    assert_eq!(done.problems[0].kind, ProblemKind::BadName);
    assert_eq!(files.len(), 2);
}

#[test]
fn a_name_that_is_too_long_is_refused() {
    let long = format!("{}.txt", "n".repeat(300));
    let tar = TarBytes::new()
        .member(b"a.txt", b"")
        .special(b"././@LongLink", b'L', long.as_bytes())
        .member(b"n", b"")
        .ended();
    let (done, files) = unpacked(&tar);
    assert_eq!(done.problems[0].kind, ProblemKind::BadName);
    assert_eq!(files.len(), 1);
}

#[test]
fn a_folder_that_is_not_empty_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.tar");
    fs::write(&path, good_shard()).unwrap();
    let failure = unpack(&listing::open(&path).unwrap(), dir.path(), 1, &|_| {}).unwrap_err();
    assert!(failure.text().contains("not empty"));
}

/// A tar whose second file occurs twice, and its listing in `dir`.
fn repeated(dir: &Path) -> Listing {
    let tar = TarBytes::new()
        .member(b"b/c.txt", b"two")
        .member(b"a.txt", b"one")
        .member(b"b/c.txt", b"again")
        .member(b".pack-unpack/of", b"mine")
        .ended();
    fs::write(dir.join("a.tar"), tar).unwrap();
    listing::open(&dir.join("a.tar")).unwrap()
}

#[test]
fn what_a_killed_call_left_is_gone_on_with() {
    let dir = tempfile::tempdir().unwrap();
    let listing = repeated(dir.path());
    let out = dir.path().join("out");
    let begun = || drop(Unfinished::begin(&out, &content(&listing)).unwrap());
    // Killed before the first file, behind whole ones, in the middle of one, and behind a power cut.
    let written: [&[(&str, &str)]; 4] = [
        &[],
        &[("a.txt", "one"), ("b/c.txt", "two")],
        &[("a.txt", "one"), (".pack-unpack/7", "tw")],
        &[("a.txt", "on"), ("b/c.txt", "\0\0\0")],
    ];
    for files in written {
        begun();
        for (name, text) in files {
            let path = out.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let done = unpack(&listing, &out, 2, &|_| {}).unwrap();
        let mut found = BTreeMap::new();
        collect(&out, "", &mut found);
        let want = [("a.txt", "one"), ("b/c.txt", "two")];
        assert_eq!(found, want.map(|(n, t)| (n.into(), t.as_bytes().to_vec())).into());
        let kinds: Vec<_> = done.problems.iter().map(|p| p.kind).collect();
        assert_eq!((done.files, kinds), (2, vec![ProblemKind::RepeatedPart, ProblemKind::BadName]));
        fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn a_folder_that_another_call_fills_or_began_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let listing = repeated(dir.path());
    let out = dir.path().join("out");
    let running = Unfinished::begin(&out, &content(&listing)).unwrap();
    let failure = unpack(&listing, &out, 1, &|_| {}).unwrap_err();
    assert!(failure.text().contains("another `pack unpack`"), "{failure}");
    drop(running);
    let other = dir.path().join("b.tar");
    fs::write(&other, good_shard()).unwrap();
    let failure = unpack(&listing::open(&other).unwrap(), &out, 1, &|_| {}).unwrap_err();
    assert!(failure.text().contains("other shards"), "{failure}");
    // A folder of that name does not make files of others ours.
    fs::write(out.join("mine.txt"), "mine").unwrap();
    fs::remove_file(out.join(".pack-unpack/of")).unwrap();
    let failure = unpack(&listing, &out, 1, &|_| {}).unwrap_err();
    assert!(failure.text().contains("not empty"), "{failure}");
    assert_eq!(fs::read(out.join("mine.txt")).unwrap(), b"mine");
}
