//! Tars truncated or damaged at every byte: never a silently shorter epoch.

use std::fs;

use tarflume::{ErrorKind, Stream};
use tarflume_fixtures::{TarBytes, good_shard};

use super::{gzip, read_until, zstd};

fn small() -> Vec<u8> {
    let mut tar = TarBytes::new();
    tar.member(b"a.txt", b"one").member(b"a.cls", b"1").member(b"b.txt", &[b'x'; 700]);
    let long = format!("{}.txt\0", "l".repeat(126));
    tar.special(b"././@LongLink", b'L', long.as_bytes()).member(b"short.txt", b"long");
    tar.ended()
}

#[test]
fn a_plain_tar_cut_anywhere_is_an_error_behind_whole_samples() {
    let tar = small();
    let (all, none) = read_until(&tar);
    assert!(none.is_none() && all.len() == 3, "{none:?}");
    for cut in 0..tar.len() {
        let (samples, error) = read_until(&tar[..cut]);
        assert_eq!(samples, all[..samples.len()], "cut at {cut}");
        let error = error.unwrap_or_else(|| panic!("cut at {cut}: no error"));
        assert_eq!(error.kind(), ErrorKind::Truncated, "cut at {cut}: {error}");
        assert!(error.place().byte.is_some_and(|byte| byte <= cut as u64), "{error}");
        assert!(error.place().path.is_some(), "{error}");
    }
}

#[test]
fn a_packed_tar_cut_anywhere_is_an_error_behind_whole_samples() {
    let tar = small();
    let (all, _) = read_until(&tar);
    let (first, second) = tar.split_at(1000);
    let forms = [
        gzip(&tar),
        [gzip(first), gzip(second)].concat(),
        zstd(&tar),
        [zstd(first), zstd(second)].concat(),
    ];
    for (form, packed) in forms.iter().enumerate() {
        assert!(read_until(packed).1.is_none());
        for cut in 0..packed.len() {
            let (samples, error) = read_until(&packed[..cut]);
            assert_eq!(samples, all[..samples.len()], "form {form} cut at {cut}");
            let error = error.unwrap_or_else(|| panic!("form {form} cut at {cut}: no error"));
            let kind = error.kind();
            let text = error.text();
            // With fewer bytes than the magic it is no packed file yet.
            assert_eq!(kind, ErrorKind::Truncated, "form {form} cut at {cut}: {error}");
            let unpacked = text.contains("unpacked tar");
            let at_end = error.place().byte == Some(cut as u64);
            assert!(unpacked || at_end || cut < 4, "form {form} cut at {cut}: {error}");
        }
    }
}

#[test]
fn a_packed_tar_with_any_byte_changed_is_an_error_or_the_same() {
    let tar = small();
    let (all, _) = read_until(&tar);
    for packed in [gzip(&tar), zstd(&tar)] {
        for at in 0..packed.len() {
            let mut spoiled = packed.clone();
            spoiled[at] ^= 0x11;
            let (samples, error) = read_until(&spoiled);
            match error {
                // gzip's header has unchecked fields: time, system, flags.
                None => assert_eq!(samples, all, "byte {at}"),
                Some(error) => assert!(!error.to_string().contains('\n'), "{error}"),
            }
        }
    }
}

#[test]
fn the_next_shard_follows_one_that_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    let good = good_shard();
    fs::write(dir.path().join("0.tar"), &good).unwrap();
    fs::write(dir.path().join("1.tar"), &good[..3000]).unwrap();
    fs::write(dir.path().join("3.tar"), &good).unwrap();
    let pattern = format!("{}/{{0..3}}.tar", dir.path().display());
    let stream = Stream::open(pattern).unwrap();
    let mut epoch = stream.samples(0).unwrap();
    let items: Vec<_> = epoch.by_ref().collect();
    let errors: Vec<_> = items.iter().filter_map(|i| i.as_ref().err()).collect();
    let counts = ["0.tar", "3.tar"]
        .map(|name| items.iter().flatten().filter(|s| s.shard().ends_with(name)).count());
    assert_eq!(counts, [3, 3]);
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].place().path.as_ref().unwrap().ends_with("1.tar"), "{}", errors[0]);
    assert!(errors[0].place().key.is_some(), "{}", errors[0]);
    assert!(errors[1].place().path.as_ref().unwrap().ends_with("2.tar"), "{}", errors[1]);
    assert_eq!(errors[1].text(), "cannot open");
    let stats = epoch.stats();
    assert_eq!((stats.shards, stats.errors), (4, 2));
    assert_eq!(stats.samples, items.len() as u64 - 2);
}
