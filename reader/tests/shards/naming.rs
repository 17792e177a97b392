//! All forms of a data set's name, and the messages for names that match nothing.

use std::fs;
use std::path::Path;

use tarflume::{Dataset, Error, ErrorKind, Shards};
use tarflume_formats::manifest::FILE_NAME;

use crate::shards::harness::{Made, cut, write_shard};

fn refused(shards: impl Into<Shards>) -> Error {
    Dataset::open(shards).unwrap_err()
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_string()
}

#[test]
fn every_name_of_a_data_set_opens_the_same_one() {
    let made = Made::new(&[5, 1, 9, 3]);
    let here = text(made.path());
    let whole = Dataset::open(made.path()).unwrap();
    let names: [Shards; 11] = [
        here.as_str().into(),
        format!("{here}/").into(),
        made.manifest().into(),
        format!("{here}/s-{{0..3}}.tar").into(),
        format!("{here}/s-{{0,1,{{2..3}}}}.tar").into(),
        format!("{here}/*.tar").into(),
        format!("{here}/s-[0-3].tar").into(),
        format!("{here}/s-{{0..1}}.tar::{here}/s-{{2..3}}.tar").into(),
        made.tars.clone().into(),
        vec![format!("{here}/s-0.tar"), format!("{here}/s-{{1..3}}.tar")].into(),
        format!("{here}/dataset.js*.json::{here}").replace("dataset.js*.json", "data*.json").into(),
    ];
    for (number, name) in names.into_iter().enumerate() {
        let opened = Dataset::open(name.clone()).unwrap();
        if number == 10 {
            assert_eq!(opened.len(), 36, "the same samples twice");
            assert_ne!(opened.fingerprint().unwrap(), whole.fingerprint().unwrap());
            continue;
        }
        assert_eq!(opened.counts(), [5, 1, 9, 3], "{name:?}");
        assert_eq!(opened.starts(), [0, 5, 6, 15, 18], "{name:?}");
        assert_eq!(opened.fingerprint().unwrap(), whole.fingerprint().unwrap(), "{name:?}");
        assert_eq!(opened.extensions().unwrap(), whole.extensions().unwrap(), "{name:?}");
        opened.check().unwrap();
    }
}

#[test]
fn a_fingerprint_names_the_content_and_the_order_of_shards_and_not_the_place() {
    fn print(shards: Shards) -> tarflume::Fingerprint {
        Dataset::open(shards).unwrap().fingerprint().unwrap()
    }

    let made = Made::new(&[3, 4]);
    let whole = print(made.path().into());
    let moved = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(made.path()).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), moved.path().join(entry.file_name())).unwrap();
    }
    assert_eq!(print(moved.path().into()), whole);
    let [a, b] = [made.tars[0].clone(), made.tars[1].clone()];
    assert_eq!(print([a.clone(), b.clone()].into()), whole);
    assert_ne!(print([b.clone(), a.clone()].into()), whole);
    assert_ne!(print(a.clone().into()), whole);
    assert_eq!(whole.to_string().len(), 64);
    let [a, b] = [a, b].map(|tar| Dataset::open(tar).unwrap());
    assert_eq!(Dataset::concat(&[a, b]).unwrap().fingerprint().unwrap(), whole);
    let other = Made::new(&[4, 3]);
    assert_ne!(print(other.path().into()), whole);
}

#[test]
fn a_folder_without_manifest_is_its_tars_by_name() {
    let made = Made::new(&[2, 3]);
    let whole = Dataset::open(made.path()).unwrap().fingerprint().unwrap();
    fs::remove_file(made.manifest()).unwrap();
    fs::write(made.path().join(".hidden.tar"), b"x").unwrap();
    fs::create_dir(made.path().join("folder.tar")).unwrap();
    let opened = Dataset::open(made.path()).unwrap();
    assert_eq!((opened.len(), opened.fingerprint().unwrap()), (5, whole));
}

#[test]
fn a_name_that_exists_is_meant_literally() {
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join("a{0..3}[x]::b");
    fs::create_dir(&odd).unwrap();
    write_shard(&odd, "s-{0..9}.tar", &[("k".into(), vec![("txt", vec![1])])]);
    assert_eq!(Dataset::open(odd.as_path()).unwrap().len(), 1);
    assert_eq!(Dataset::open(odd.join("s-{0..9}.tar")).unwrap().len(), 1);
}

#[test]
fn a_name_that_matches_nothing_is_an_error() {
    let made = Made::new(&[1, 1]);
    let here = text(made.path());
    let empty = tempfile::tempdir().unwrap();
    let remote = if cfg!(feature = "remote") {
        "cannot open ftp://"
    } else {
        "without the feature `remote`"
    };
    let cases: [(Shards, ErrorKind, &str); 14] = [
        (format!("{here}/x*.tar").into(), ErrorKind::Usage, "no tar matches"),
        (format!("{here}/*.index").into(), ErrorKind::Usage, "2 other files match"),
        (format!("{here}/s-{{0..4}}.tar").into(), ErrorKind::Io, "3 of the 5 shards"),
        (format!("{here}/none.tar").into(), ErrorKind::Io, "this shard or folder does not exist"),
        (format!("{here}/s-{{0..1.tar").into(), ErrorKind::Usage, "unmatched"),
        (format!("{here}/[x.tar").into(), ErrorKind::Usage, "is invalid"),
        (empty.path().into(), ErrorKind::Usage, "neither dataset.json nor a tar"),
        ("".into(), ErrorKind::Usage, "is empty"),
        (Vec::<String>::new().into(), ErrorKind::Usage, "is empty"),
        (format!("{here}/s-0.tar::").into(), ErrorKind::Io, "this shard or folder does not exist"),
        ("ftp://bucket/x.tar".into(), ErrorKind::Usage, remote),
        (format!("{here}/s-0.index").into(), ErrorKind::Usage, "name the tar beside it"),
        (format!("{here}/s-0.tar/x").into(), ErrorKind::Io, "this shard or folder does not exist"),
        ("x".repeat(70_000).into(), ErrorKind::Io, "this shard or folder does not exist"),
    ];
    for (name, kind, text) in cases {
        let error = refused(name.clone());
        assert_eq!(error.kind(), kind, "{name:?}: {error}");
        assert!(error.text().contains(text), "{error}");
    }
    let error = refused(format!("{here}/s-{{0..4}}.tar"));
    assert!(error.place().path.as_ref().unwrap().ends_with("s-2.tar"), "the first: {error}");
}

#[test]
fn tars_without_random_access_are_errors_with_a_remedy() {
    let made = Made::new(&[1]);
    fs::remove_file(made.path().join("s-0.index")).unwrap();
    let error = refused(&made.tars[0]);
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.text().contains("pack index") && error.text().contains("stream"), "{error}");
    let gz = made.path().join("x.tar.gz");
    fs::write(&gz, b"\x1f\x8b").unwrap();
    assert!(refused(gz.as_path()).text().contains("compressed"));
    let unfinished = tempfile::tempdir().unwrap();
    fs::create_dir(unfinished.path().join(".pack")).unwrap();
    assert!(refused(unfinished.path()).text().contains("not finished"));
}

#[test]
fn with_a_manifest_a_rank_needs_only_its_own_shards() {
    let made = Made::new(&[3, 4, 5]);
    let whole = Dataset::open(made.path()).unwrap().fingerprint().unwrap();
    for end in ["tar", "index"] {
        fs::remove_file(made.path().join(format!("s-1.{end}"))).unwrap();
    }
    let opened = Dataset::open(made.path()).unwrap();
    assert_eq!((opened.len(), opened.fingerprint().unwrap()), (12, whole));
    assert_eq!(opened.get(11).unwrap().key(), b"k00011");
    let error = opened.get(3).unwrap_err();
    assert!(error.place().path.as_ref().unwrap().ends_with("s-1.tar"), "{error}");
    assert_eq!(opened.open_all().unwrap_err().place().path, error.place().path);
}

#[test]
fn open_all_reports_the_first_shard_that_is_wrong() {
    let made = Made::new(&[2; 60]);
    let opened = Dataset::open(made.path()).unwrap();
    opened.open_all().unwrap();
    for number in [13, 14, 50] {
        cut(&made.path().join(format!("s-{number}.tar")), 512);
    }
    let error = Dataset::open(made.path()).unwrap().open_all().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stale);
    assert!(error.place().path.as_ref().unwrap().ends_with("s-13.index"), "{error}");
}

#[test]
fn a_manifest_without_shards_is_an_empty_data_set() {
    let made = Made::new(&[]);
    let empty = Dataset::open(made.path()).unwrap();
    assert!(empty.is_empty());
    assert_eq!(empty.place(0), None);
    assert_eq!(empty.get(0).unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(empty.find(b"k").unwrap(), None);
    fs::write(made.path().join(FILE_NAME), b"{").unwrap();
    assert_eq!(refused(made.path()).kind(), ErrorKind::WrongFormat);
    assert_eq!(Dataset::concat(&[]).unwrap_err().kind(), ErrorKind::Usage);
}
