//! Tars made by other tools, with the `tar` crate as the oracle.

use std::fs::{self, File};
use std::io::{Cursor, Read};

use proptest::prelude::*;
use tarflume::Stream;
use tarflume_fixtures::{GOLDEN, GOLDEN_GZIP, TarBytes};
use tarflume_formats::tar::MemberKind;
use tarflume_formats::{Reading, TarReader, name};

use super::{Plain, gzip, plain, read, read_until, zstd};

/// WebDataset's rule on what the `tar` crate finds.
fn by_the_tar_crate(tar: &[u8]) -> Vec<Plain> {
    let mut samples: Vec<Plain> = Vec::new();
    for entry in tar::Archive::new(tar).entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.header().entry_type() != tar::EntryType::Regular {
            continue;
        }
        let path = entry.path_bytes().into_owned();
        let Some((key, ext)) = name::split(&path) else { continue };
        let mut data = Vec::new();
        entry.read_to_end(&mut data).unwrap();
        let part = (name::lower(ext).into_owned(), data);
        match samples.last_mut() {
            Some((last, parts)) if last == key => parts.push(part),
            _ => samples.push((key.to_vec(), vec![part])),
        }
    }
    samples
}

/// The order in which an index lists samples: keys and extensions alone.
fn by_the_index(tar: &[u8]) -> Vec<(Vec<u8>, Vec<Vec<u8>>)> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.tar");
    fs::write(&path, tar).unwrap();
    let mut reader = TarReader::open(&path, Reading::Headers).unwrap();
    let mut samples: Vec<(Vec<u8>, Vec<Vec<u8>>)> = Vec::new();
    while let Some(member) = reader.next_member().unwrap() {
        if member.kind != MemberKind::File {
            continue;
        }
        let Some((key, ext)) = name::split(&member.name) else { continue };
        let ext = name::lower(ext).into_owned();
        match samples.last_mut() {
            Some((last, exts)) if last == key => exts.push(ext),
            _ => samples.push((key.to_vec(), vec![ext])),
        }
    }
    samples
}

fn whole(tar: &[u8]) -> Vec<Plain> {
    read(tar).into_iter().map(|item| item.unwrap()).collect()
}

#[test]
fn golden_tars_stream_as_the_tar_crate_and_the_index_read_them() {
    for golden in &GOLDEN {
        let samples = whole(golden.tar);
        assert!(!samples.is_empty(), "{}", golden.name);
        assert!(samples == by_the_tar_crate(golden.tar), "{}", golden.name);
        let names = samples.into_iter().map(|(key, parts)| {
            let exts: Vec<Vec<u8>> = parts.into_iter().map(|(ext, _)| ext).collect();
            (key, exts)
        });
        assert_eq!(names.collect::<Vec<_>>(), by_the_index(golden.tar), "{}", golden.name);
    }
}

#[test]
fn packed_tars_give_the_same_under_any_name() {
    let ustar = GOLDEN.iter().find(|g| g.name == "gnutar-ustar").unwrap();
    let want = whole(ustar.tar);
    assert!(whole(GOLDEN_GZIP.tar) == want);
    let (first, second) = ustar.tar.split_at(777);
    let members = [gzip(first), gzip(b""), gzip(second)].concat();
    let frames = [zstd(first), b"\x53\x2a\x4d\x18\x02\0\0\0hi".to_vec(), zstd(second)].concat();
    let skippable = [b"\x50\x2a\x4d\x18\x03\0\0\0hey".to_vec(), zstd(ustar.tar)].concat();
    for packed in [gzip(ustar.tar), zstd(ustar.tar), members, frames, skippable] {
        assert!(whole(&packed) == want);
    }
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in
        [("a.tar", gzip(ustar.tar)), ("b.tar.gz", zstd(ustar.tar)), ("c.tgz", ustar.tar.to_vec())]
    {
        fs::write(dir.path().join(name), bytes).unwrap();
    }
    let stream = Stream::open(dir.path().to_str().unwrap()).unwrap();
    for _ in 0..2 {
        let all: Vec<Plain> = stream.samples(0).unwrap().map(|s| plain(&s.unwrap())).collect();
        assert!(all == [want.clone(), want.clone(), want.clone()].concat());
    }
}

#[test]
fn a_descriptor_streams_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.tar");
    fs::write(&path, GOLDEN[0].tar).unwrap();
    let stream = Stream::from_fd("the tar", File::open(&path).unwrap()).unwrap();
    let first: Vec<Plain> = stream.samples(0).unwrap().map(|s| plain(&s.unwrap())).collect();
    assert!(first == whole(GOLDEN[0].tar));
    let again: Vec<_> = stream.samples(1).unwrap().collect();
    assert_eq!(again.len(), 1);
    let error = again[0].as_ref().unwrap_err().to_string();
    assert!(error.starts_with("the tar: this was read in an earlier epoch"), "{error}");
}

/// Gives as few bytes at a time as it likes.
struct Dribble(Cursor<Vec<u8>>, usize);

impl Read for Dribble {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.1 = (self.1 * 5 + 3) % 1009;
        if self.1.is_multiple_of(7) {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let most = into.len().min(self.1 + 1);
        self.0.read(&mut into[..most])
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_tar_streams_as_the_tar_crate_reads_it(
        samples in prop::collection::vec(("[a-z/]{1,120}[a-z]", prop::collection::vec(0usize..200_000, 1..4)), 0..8),
        packing in 0..3,
    ) {
        let mut tar = TarBytes::new();
        for (n, (key, sizes)) in samples.iter().enumerate() {
            for (i, &size) in sizes.iter().enumerate() {
                let name = format!("{n}{}.x{i}", &key[..key.len().min(80)]);
                let data: Vec<u8> = (0..size).map(|b| (b * 31 + n) as u8).collect();
                tar.member(name.as_bytes(), &data);
            }
        }
        let tar = tar.ended();
        let bytes = match packing { 0 => tar.clone(), 1 => gzip(&tar), _ => zstd(&tar) };
        let (got, error) = read_until(&bytes);
        prop_assert!(error.is_none(), "{:?}", error);
        let want = by_the_tar_crate(&tar);
        prop_assert!(got == want);
        let dribble = Stream::from_reader("dribble", Dribble(Cursor::new(bytes), 1));
        let got: Vec<Plain> = dribble.samples(0).unwrap().map(|s| plain(&s.unwrap())).collect();
        prop_assert!(got == want);
    }
}
