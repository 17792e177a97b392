//! Samples excluded before any tar is read: by a rule, or by a list.

use std::fs;

use tarflume::{Dataset, ErrorKind, Exclude};

use crate::shards::harness::{KINDS, Made, Watched, write_shard};

#[test]
fn a_filter_sees_sidecar_data_and_opens_no_tar() {
    let made = Made::new(&[8, 9]);
    let watched = Watched::new(KINDS[0], None);
    let dataset = Dataset::open(made.path()).unwrap().with_opener(watched.clone());
    let mut seen = Vec::new();
    let kept = dataset.filter(|facts| {
        assert_eq!(facts.dimensions(), Some((6, 7)));
        let parts: Vec<_> = facts
            .parts()
            .map(|(ext, length)| (String::from_utf8_lossy(ext).into(), length))
            .collect();
        seen.push((facts.ordinal(), String::from_utf8(facts.key().to_vec()).unwrap(), parts));
        facts.length("JPG").unwrap() >= 2000
    });
    let expected: Vec<_> = made.samples().into_iter().enumerate().collect();
    assert_eq!(seen.len(), expected.len());
    for ((ordinal, key, parts), (number, (expected_key, expected_parts))) in
        seen.into_iter().zip(&expected)
    {
        assert_eq!((ordinal, &key), (*number as u64, expected_key));
        let lengths = expected_parts.iter().map(|(ext, bytes)| (ext.clone(), bytes.len() as u64));
        assert!(parts.into_iter().eq(lengths), "{key}");
    }
    let long = expected.iter().filter(|(_, (_, parts))| parts["jpg"].len() >= 2000);
    assert_eq!(kept.unwrap(), long.map(|(n, _)| *n as u64).collect::<Vec<_>>());
    assert_eq!(watched.opened.load(std::sync::atomic::Ordering::Relaxed), 0);
}

#[test]
fn a_list_of_keys_excludes_them_and_reports_unknown_ones() {
    let made = Made::new(&[4, 6]);
    let dataset = Dataset::open(made.path()).unwrap();
    let list = Exclude::keys(["k00007", "none", "k00000", "k00007", "other"]);
    let found = dataset.exclude(&list).unwrap();
    assert_eq!(found.ordinals, [0, 7]);
    assert_eq!((found.absent, found.first_absent.as_deref()), (2, Some("none")));
    assert_eq!(dataset.exclude(&Exclude::default()).unwrap().ordinals, [] as [u64; 0]);
}

/// Few keys in many samples are searched for, many keys in few samples looked up while all are read.
#[test]
fn both_ways_to_find_keys_find_every_sample_that_has_one() {
    fn all(wanted: &dyn Fn(u64) -> bool) -> Vec<u64> {
        (0..1000).filter(|&n| wanted(n % 500 * 7 % 100)).collect()
    }

    let folder = tempfile::tempdir().unwrap();
    let samples: Vec<_> =
        (0..500).map(|n| (format!("k{}", n * 7 % 100), vec![("txt", vec![n as u8])])).collect();
    for name in ["a.tar", "b.tar"] {
        write_shard(folder.path(), name, &samples);
    }
    let dataset = Dataset::open(folder.path()).unwrap();
    let few = dataset.exclude(&Exclude::keys(["k5", "k99"])).unwrap();
    assert_eq!(few.ordinals, all(&|key| key == 5 || key == 99));
    assert_eq!(few.ordinals.len(), 20);
    let many = Exclude::keys((0..50).map(|n| format!("k{n}")));
    assert_eq!(dataset.exclude(&many).unwrap().ordinals, all(&|key| key < 50));
}

#[test]
fn reports_serve_as_exclude_lists() {
    let made = Made::new(&[3, 3]);
    let both = Dataset::concat(&[
        Dataset::open(made.path()).unwrap(),
        Dataset::open(made.tars[0].as_path()).unwrap(),
    ]);
    let report = made.path().join("bad.jsonl");
    let text = format!(
        "{{\"key\":\"k00004\",\"shard\":\"s-1.tar\",\"reason\":\"x\"}}\n\
         {{\"kind\":\"bad-jpeg\",\"path\":\"a.jpg\",\"key\":\"k00001\",\"reason\":\"cut\"}}\r\n\n\
         {{\"kind\":\"gap\",\"path\":\"a.tar\",\"reason\":\"no key\"}}\n\
         {{\"key\":\"k00002\",\"shard\":\"{}\"}}\n\
         {{\"key\":\"k00000\",\"shard\":\"s-1.tar\"}}\n",
        made.tars[0].display()
    );
    fs::write(&report, text).unwrap();
    let found = both.unwrap().exclude(&Exclude::file(&report).unwrap()).unwrap();
    assert_eq!(found.ordinals, [1, 2, 4, 7, 8]);
    assert_eq!((found.absent, found.first_absent.as_deref()), (1, Some("k00000")));
}

#[test]
fn text_and_reports_are_told_apart_and_nonsense_is_refused() {
    assert_eq!(Exclude::parse(b"a\nb b\r\n\nc").unwrap(), Exclude::keys(["a", "b b", "c"]));
    assert_eq!(Exclude::parse(b"").unwrap(), Exclude::default());
    assert_eq!(Exclude::parse(b"{\"key\":\"a\"}").unwrap(), Exclude::keys(["a"]));
    let error = Exclude::parse(b"{\"key\":\"a\"}\n{\"key\":").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongFormat);
    assert!(error.text().contains("line 2"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let error = Exclude::file(folder.path().join("none")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
}
