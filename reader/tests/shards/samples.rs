//! Samples by ordinal and key: the same bytes as an independent reader's, in every source.

use std::collections::BTreeMap;

use tarflume::{Dataset, DatasetSample, ErrorKind};
use tarflume_formats::index::{IndexBuilder, TarFacts};

use crate::shards::harness::{KINDS, Made, Watched, write_shard};

fn all_parts(sample: &DatasetSample) -> BTreeMap<String, Vec<u8>> {
    sample.parts().iter().map(|part| (part.ext(), part.bytes().to_vec())).collect()
}

#[test]
fn every_sample_is_what_the_tar_crate_reads() {
    let made = Made::new(&[7, 0, 12, 1]);
    let expected = made.samples();
    assert_eq!(expected.len(), 20);
    for kind in KINDS {
        let dataset = Dataset::open(made.path()).unwrap().with_source(kind);
        for (ordinal, (key, parts)) in expected.iter().enumerate() {
            let sample = dataset.get(ordinal as u64).unwrap();
            assert_eq!((sample.key(), sample.ordinal()), (key.as_bytes(), ordinal as u64));
            assert_eq!(all_parts(&sample), *parts);
            sample.verify().unwrap();
            let by_key = dataset.get_key(key).unwrap().unwrap();
            assert_eq!((by_key.ordinal(), all_parts(&by_key)), (ordinal as u64, parts.clone()));
            assert_eq!(dataset.key(ordinal as u64).unwrap(), key.as_bytes());
            let (shard, row) = dataset.place(ordinal as u64).unwrap();
            assert_eq!(dataset.ordinal(shard, row), Some(ordinal as u64));
        }
        assert!(dataset.get_key("none").unwrap().is_none());
        let error = dataset.get(20).unwrap_err();
        assert!(error.text().contains("sample 20 does not exist: the data set has 20"), "{error}");
        assert_eq!(dataset.ordinal(0, 7), None);
        assert_eq!(dataset.ordinal(9, 0), None);
    }
}

#[test]
fn only_requested_parts_are_read() {
    let made = Made::new(&[30]);
    let expected = made.samples();
    for kind in KINDS {
        let watched = Watched::new(kind, None);
        let dataset = Dataset::open(made.path()).unwrap().with_opener(watched.clone());
        for (ordinal, (_, parts)) in expected.iter().enumerate() {
            let sample = dataset.get_parts(ordinal as u64, &["JSON"]).unwrap();
            assert_eq!(&**sample.part("json").unwrap(), parts["json"]);
            let read = watched.take().iter().map(|(_, length)| *length).max().unwrap_or(0);
            assert_eq!(read, parts["json"].len() as u64, "no byte of another part");
        }
        let error = dataset.get_parts(1, &["jpg", "txt"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingPart);
        assert_eq!(error.place().key.as_deref(), Some("k00001"));
        assert!(error.text().contains("'txt'; it has: jpg, json"), "{error}");
    }
}

#[test]
fn bytes_outlive_the_data_set() {
    let made = Made::new(&[3]);
    for kind in KINDS {
        let sample = Dataset::open(made.path()).unwrap().with_source(kind).get(2).unwrap();
        let bytes = sample.part("jpg").unwrap().clone();
        drop(sample);
        assert_eq!(&*bytes, made.samples()[2].1["jpg"]);
        bytes.check().unwrap();
    }
}

#[test]
fn joined_data_sets_follow_each_other() {
    let one = Made::new(&[2, 3]);
    let two = Made::new(&[4]);
    let [a, b] = [&one, &two].map(|made| Dataset::open(made.path()).unwrap());
    let both = Dataset::concat(&[a.clone(), b, a]).unwrap();
    assert_eq!(both.counts(), [2, 3, 4, 2, 3]);
    assert_eq!(both.extensions().unwrap()["jpg"], 14);
    let expected = [one.samples(), two.samples(), one.samples()].concat();
    for (ordinal, (key, parts)) in expected.iter().enumerate() {
        let sample = both.get(ordinal as u64).unwrap();
        assert_eq!((sample.key(), all_parts(&sample)), (key.as_bytes(), parts.clone()));
    }
    assert_eq!(both.find(b"k00001").unwrap(), Some((0, 1)), "of equal keys the first");
}

#[test]
fn few_open_tars_are_enough() {
    let made = Made::new(&[2; 10]);
    let watched = Watched::new(KINDS[0], None);
    let dataset = Dataset::open(made.path()).unwrap().with_opener(watched).with_open_tars(2);
    for round in 0..3 {
        for ordinal in 0..20 {
            let ordinal = (ordinal * 7 + round) % 20;
            assert_eq!(dataset.get(ordinal).unwrap().key(), format!("k{ordinal:05}").as_bytes());
        }
    }
}

#[test]
fn threads_share_a_data_set() {
    fn is_shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    let made = Made::new(&[10, 10]);
    let dataset = Dataset::open(made.path()).unwrap();
    is_shared(&dataset);
    let expected = made.samples();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let dataset = dataset.clone();
            let expected = &expected;
            scope.spawn(move || {
                for step in 0..100 {
                    let ordinal = (step * 3 + thread * 5) % 20;
                    let sample = dataset.get(ordinal).unwrap();
                    assert_eq!(all_parts(&sample), expected[ordinal as usize].1);
                }
            });
        }
    });
}

#[test]
fn a_tar_without_checksums_is_read_and_has_a_fingerprint() {
    let folder = tempfile::tempdir().unwrap();
    write_shard(folder.path(), "a.tar", &[("k".into(), vec![("txt", b"hello".to_vec())])]);
    let tar = folder.path().join("a.tar");
    let with_digest = Dataset::open(tar.as_path()).unwrap().fingerprint().unwrap();
    let mut index = IndexBuilder::new();
    index.sample(b"k", 0);
    index.part(b"txt", 512, 5, None).unwrap();
    let length = std::fs::metadata(&tar).unwrap().len();
    let bytes = index.encode(&TarFacts { length, digest: None }).unwrap();
    std::fs::write(folder.path().join("a.index"), bytes).unwrap();
    let [one, two] = [(); 2].map(|()| Dataset::open(tar.as_path()).unwrap());
    assert_ne!(one.fingerprint().unwrap(), with_digest);
    assert_eq!(one.fingerprint().unwrap(), two.fingerprint().unwrap());
    let sample = one.get(0).unwrap();
    assert_eq!(&**sample.part("txt").unwrap(), b"hello");
    sample.verify().unwrap();
}

#[test]
fn debug_of_samples_shows_keys_as_text() {
    let made = Made::new(&[3]);
    let dataset = Dataset::open(made.path()).unwrap();
    let sample = format!("{:?}", dataset.get(1).unwrap());
    assert!(sample.contains("key: \"k00001\"") && sample.contains("ext: \"jpg\""), "{sample}");
    let facts = std::cell::RefCell::new(String::new());
    dataset
        .filter(|sample| {
            *facts.borrow_mut() = format!("{sample:?}");
            true
        })
        .unwrap();
    assert_eq!(facts.take(), "SampleFacts { ordinal: 2, key: \"k00002\" }");
    let index = format!("{:?}", dataset.shard(0).index().unwrap().sample(0).unwrap());
    assert!(index.contains("key: \"k00000\""), "{index}");
}
