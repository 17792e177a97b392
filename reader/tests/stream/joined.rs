//! Tars that were joined, plain and compressed: refused after the last sample of the first, read on with the option.

use std::io::Cursor;

use tarflume::{ErrorKind, Stream};
use tarflume_fixtures::TarBytes;

use super::{Plain, gzip, plain, read, zstd};

type Pack = fn(&[u8]) -> Vec<u8>;

fn tar(key: &str) -> Vec<u8> {
    let txt = format!("{key}.txt");
    let json = format!("{key}.json");
    TarBytes::new().member(txt.as_bytes(), b"x").member(json.as_bytes(), &[b'7'; 600]).ended()
}

/// The keys of all samples, read on behind end markers.
fn keys(bytes: &[u8]) -> Vec<String> {
    let stream = Stream::from_reader("joined", Cursor::new(bytes.to_vec())).ignore_zeros(true);
    let samples: Vec<Plain> = stream.samples(0).unwrap().map(|s| plain(&s.unwrap())).collect();
    assert!(samples.iter().all(|(_, parts)| parts.len() == 2));
    samples.into_iter().map(|(key, _)| String::from_utf8(key).unwrap()).collect()
}

#[test]
fn joined_tars_are_refused_behind_the_first_and_read_on_with_the_option() {
    // Padding of every kind between them: none, the rest of a record, more than the window.
    for zeros in [0, 512, 5 * 512, 70_000 / 512 * 512, 300_000 / 512 * 512] {
        let tars = ["a", "b", "c"].map(|key| [tar(key), vec![0; zeros]].concat());
        for pack in [<[u8]>::to_vec as Pack, gzip, zstd] {
            let packed = tars.each_ref().map(|tar| pack(tar));
            let bytes = packed.concat();
            let items = read(&bytes);
            assert_eq!(items.len(), 2, "{zeros}: one sample and the error");
            let error = items[1].as_ref().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Damaged);
            assert_eq!(error.place().byte, Some(tars[0].len() as u64), "{error}");
            assert!(error.text().contains("another tar begins here"), "{error}");
            assert!(error.text().contains("ignore_zeros"), "{error}");
            assert_eq!(keys(&bytes), ["a", "b", "c"], "{zeros}");
        }
    }
}

#[test]
fn a_sample_whose_parts_are_in_two_tars_is_one() {
    let one = TarBytes::new().member(b"a.txt", b"x").ended();
    let two = TarBytes::new().member(b"a.json", b"7").ended();
    assert_eq!(keys(&[one, two].concat()), ["a"]);
}

#[test]
fn bytes_of_no_tar_are_refused_with_and_without_the_option() {
    let bytes = [&tar("a")[..], b"\0\0garbage"].concat();
    let place = tar("a").len() as u64 + 2;
    let refused = read(&bytes).pop().unwrap().unwrap_err();
    assert_eq!(refused.place().byte, Some(place), "{refused}");
    assert!(refused.text().contains("bytes of no tar follow"), "{refused}");
    let stream = Stream::from_reader("joined", Cursor::new(bytes)).ignore_zeros(true);
    let items: Vec<_> = stream.samples(0).unwrap().collect();
    assert!(items.last().unwrap().is_err());
}

#[test]
fn padding_behind_compressed_members_is_passed_over() {
    for pack in [gzip as Pack, zstd] {
        let [a, b] = ["a", "b"].map(|key| [pack(&tar(key)), vec![0; 300]].concat());
        let single = read(&a);
        assert!(single.len() == 1 && single[0].is_ok(), "{single:?}");
        assert_eq!(keys(&[a, b].concat()), ["a", "b"]);
        let garbage = [pack(&tar("a")), b"\0\0x".to_vec()].concat();
        assert!(read(&garbage).pop().unwrap().is_err());
    }
}
