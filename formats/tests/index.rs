//! The sidecar: built, encoded, opened, damaged.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use tarflume_formats::index::layout::{self as l, at};
use tarflume_formats::index::{Index, IndexBuilder, TarFacts};
use tarflume_formats::{ErrorKind, crc32c};

/// A sample of the tests: key, parts (extension, length), width and height. Parts whose length
/// modulo 3 is 1 have entry points.
#[derive(Debug, Clone)]
struct Plain {
    key: Vec<u8>,
    parts: Vec<(String, u64)>,
    dims: Option<(u32, u32)>,
}

fn encode(samples: &[Plain], sums: bool) -> Vec<u8> {
    let mut index = IndexBuilder::new();
    let mut end = 0;
    for sample in samples {
        index.sample(&sample.key, end);
        for (ext, length) in &sample.parts {
            let offset = end + 512;
            index
                .part(ext.as_bytes(), offset, *length, sums.then_some(*length as u32 ^ 7))
                .unwrap();
            index.entry_points(&points(*length).unwrap_or_default());
            index.strips_of(index.parts() - 1, &strips(*length).unwrap_or_default());
            end = offset + length.next_multiple_of(512);
        }
        if let Some((width, height)) = sample.dims {
            index.dimensions(width, height);
        }
    }
    let digest = sums.then(|| blake3::hash(b"tar"));
    index.encode(&TarFacts { length: end + 1024, digest }).unwrap()
}

fn points(length: u64) -> Option<Vec<u8>> {
    let bytes = || (0..length % 300 + 1).map(|n| (n.wrapping_mul(length) >> 3) as u8);
    (length % 3 == 1).then(|| bytes().collect())
}

/// Some parts with entry points have them.
fn strips(length: u64) -> Option<Vec<u8>> {
    points(length).filter(|points| points.len() > 20).map(|points| points[..9].repeat(2))
}

fn assert_same(samples: &[Plain], sums: bool) {
    let index = Index::from_bytes(encode(samples, sums)).unwrap();
    index.check().unwrap();
    assert_eq!(index.samples(), samples.len() as u64);
    assert_eq!(index.tar().digest, sums.then(|| blake3::hash(b"tar")));
    let mut counted = (0, 0);
    let mut striped = false;
    for (row, (read, plain)) in index.iter().zip(samples).enumerate() {
        let read = read.unwrap();
        assert_eq!((read.row, read.key), (row as u64, &plain.key[..]));
        assert_eq!(read.dimensions, plain.dims);
        let parts: Vec<_> = read.parts().map(Result::unwrap).collect();
        assert_eq!(parts.len(), plain.parts.len());
        let mut end = read.first;
        for (part, (ext, length)) in parts.iter().zip(&plain.parts) {
            assert_eq!((part.ext, part.length), (ext.as_bytes(), *length));
            assert_eq!(part.checksum, sums.then_some(*length as u32 ^ 7));
            assert_eq!(part.offset, end + 512);
            end = part.end();
            assert_eq!(read.part(part.ext).unwrap(), Some(*part));
            let points = points(*length);
            assert_eq!(index.entry_points(part.number).unwrap(), points.as_deref());
            assert_eq!(index.strips(part.number).unwrap(), strips(*length).as_deref());
            striped |= strips(*length).is_some();
            let bytes = points.map_or(0, |points| points.len() as u64);
            counted = (counted.0 + u64::from(bytes > 0), counted.1 + bytes);
        }
        assert_eq!(read.end().unwrap(), end);
        let first = samples.iter().position(|s| s.key == plain.key).unwrap();
        assert_eq!(index.find(&plain.key).unwrap(), Some(first as u64));
    }
    assert_eq!(index.count_entry_points().unwrap(), counted);
    assert_eq!(index.has_entry_points(), counted.0 > 0);
    assert_eq!(index.has_strips(), striped);
    assert!(index.sample(samples.len() as u64).unwrap().is_none());
    assert_eq!(index.find(b"no such key").unwrap(), None);
}

fn plain(key: &str, parts: &[(&str, u64)], dims: Option<(u32, u32)>) -> Plain {
    let parts = parts.iter().map(|(e, n)| (e.to_string(), *n)).collect();
    Plain { key: key.into(), parts, dims }
}

fn pair(key: &str) -> Plain {
    plain(key, &[("jpg", 110_000), ("json", 300)], Some((500, 375)))
}

/// Rows in another order than their keys, so that every section is present.
fn small() -> Vec<u8> {
    let with_points = plain("a/2", &[("jpg", 100_000), ("json", 300)], Some((400, 300)));
    encode(&[pair("b"), with_points, pair("a/1")], true)
}

fn anything() -> impl Strategy<Value = Plain> {
    let ext = "[a-z]{1,4}(\\.[a-z]{1,3})?";
    let parts = proptest::collection::btree_map(ext, 0u64..1 << 40, 0..4);
    let dims = proptest::option::of((1u32.., any::<u32>()));
    (vec(any::<u8>(), 0..12), parts, dims).prop_map(|(key, parts, dims)| Plain {
        key,
        parts: parts.into_iter().collect(),
        dims,
    })
}

proptest! {
    #[test]
    fn a_built_index_is_read_back(mut samples in vec(anything(), 0..40), sums: bool, sort: bool) {
        if sort {
            samples.sort_by(|a, b| a.key.cmp(&b.key));
        }
        assert_same(&samples, sums);
    }
}

#[test]
fn an_empty_shard_has_an_index_too() {
    assert_same(&[], true);
    assert_same(&[], false);
}

#[test]
fn sorted_rows_need_no_order_and_unknown_sizes_no_dims() {
    fn plain(key: &str) -> Plain {
        Plain { dims: None, ..pair(key) }
    }

    fn has(bytes: &[u8], name: &[u8]) -> bool {
        bytes.windows(4).any(|w| w == name)
    }
    let bytes = encode(&[plain("a"), plain("b")], false);
    assert!([&l::KEY_ORDER, &l::DIMS, &l::CHECKSUMS].iter().all(|name| !has(&bytes, *name)));
    let bytes = encode(&[pair("b"), pair("a")], true);
    assert!([&l::KEY_ORDER, &l::DIMS, &l::CHECKSUMS].iter().all(|name| has(&bytes, *name)));
}

#[test]
fn a_sample_of_two_parts_takes_at_most_80_bytes() {
    fn size(n: usize, sorted: bool) -> f64 {
        let name = |i: usize| format!("{:08}", if sorted { i } else { n - i });
        let samples: Vec<_> = (0..n).map(|i| pair(&name(i))).collect();
        encode(&samples, true).len() as f64
    }
    // The difference of two sizes removes the constant part of a file; 4 bytes in 16 KiB are
    // checksums.
    for (sorted, most) in [(true, 76.0), (false, 80.0)] {
        let each = (size(60_000, sorted) - size(20_000, sorted)) / 40_000.0 - 8.0;
        let sums = (most + 8.0) * 4.0 / l::CHECK_BLOCK as f64;
        assert!(each <= most + sums + 0.01, "{each} bytes a sample, sorted: {sorted}");
    }
}

#[test]
fn every_changed_byte_is_noticed() {
    let whole = small();
    for i in 0..whole.len() {
        for bit in [0x01, 0x80] {
            let mut bytes = whole.clone();
            bytes[i] ^= bit;
            let noticed = Index::from_bytes(bytes).and_then(|index| index.check());
            assert!(noticed.is_err(), "byte {i} ^ {bit:#x} was not noticed");
        }
    }
}

#[test]
fn every_cut_and_every_growth_is_noticed() {
    let whole = small();
    for length in 0..whole.len() {
        let error = Index::from_bytes(whole[..length].to_vec()).unwrap_err();
        let kind = if length < 8 { ErrorKind::WrongFormat } else { ErrorKind::Truncated };
        assert_eq!(error.kind(), kind, "cut to {length}");
    }
    let error = Index::from_bytes([&whole[..], b"\0"].concat()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);
}

#[test]
fn a_file_is_refused_with_its_path() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.index");
    for (bytes, kind) in [
        (Vec::new(), ErrorKind::WrongFormat),
        (small()[..200].to_vec(), ErrorKind::Truncated),
        (b"not an index at all".to_vec(), ErrorKind::WrongFormat),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let error = Index::open(&path).unwrap_err();
        assert_eq!((error.kind(), error.place().path.as_deref()), (kind, Some(&*path)));
    }
    let missing = Index::open(dir.path().join("none")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Io);
}

#[test]
fn damage_of_the_body_is_an_error_with_its_place_at_the_first_access() {
    let many: Vec<_> = (0..5000).map(|i| pair(&format!("{i:08}"))).collect();
    let mut bytes = encode(&many, true);
    let body = u32::from_le_bytes(bytes[at::BODY..][..4].try_into().unwrap()) as usize;
    bytes[body + 24 * 2500] ^= 1; // row 2500
    let index = Index::from_bytes(bytes).unwrap();
    assert!(index.sample(0).unwrap().is_some());
    let error = index.sample(2500).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    let block = body + 24 * 2500 / l::CHECK_BLOCK * l::CHECK_BLOCK;
    assert_eq!(error.place().byte, Some(block as u64));
    assert!(index.check().is_err());
}

#[test]
fn the_index_of_another_tar_is_stale() {
    let index = Index::from_bytes(small()).unwrap();
    let length = index.tar().length;
    index.check_tar_length(Path::new("t/a b.tar"), length).unwrap();
    let error = index.check_tar_length(Path::new("t/a b.tar"), length - 512).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stale);
    assert!(error.text().contains(&length.to_string()));
}

/// Changes the file and corrects all checksums: an inconsistency, not damage.
fn forge(bytes: &mut [u8], change: impl FnOnce(&mut [u8], usize)) {
    fn number(bytes: &[u8], at: usize) -> usize {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
    }
    let sections = number(bytes, at::SECTIONS);
    let body = number(bytes, at::BODY);
    change(bytes, body);
    for (i, start) in (body..bytes.len()).step_by(l::CHECK_BLOCK).enumerate() {
        let sum = crc32c(&bytes[start..(start + l::CHECK_BLOCK).min(bytes.len())]);
        let at = l::FIXED + sections * l::SECTION + i * 4;
        bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
    }
    bytes[at::CHECKSUM..at::CHECKSUM + 4].fill(0);
    let sum = crc32c(&bytes[..body]);
    bytes[at::CHECKSUM..at::CHECKSUM + 4].copy_from_slice(&sum.to_le_bytes());
}

fn line_of(bytes: &[u8], name: &[u8]) -> usize {
    (l::FIXED..).step_by(l::SECTION).find(|&at| &bytes[at..at + 4] == name).unwrap()
}

#[test]
fn unknown_sections_are_skipped_unless_they_are_required() {
    let mut bytes = small();
    let line = line_of(&bytes, &l::DIMS);
    forge(&mut bytes, |b, _| b[line..line + 4].copy_from_slice(b"zzzz"));
    let index = Index::from_bytes(bytes.clone()).unwrap();
    index.check().unwrap();
    assert_eq!(index.sample(0).unwrap().unwrap().dimensions, None);
    forge(&mut bytes, |b, _| b[line + 4] = l::SECTION_REQUIRED as u8);
    let error = Index::from_bytes(bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Version);
    assert!(error.text().contains("zzzz"));
}

#[test]
fn a_sidecar_without_a_required_section_is_refused() {
    for name in [l::ROWS, l::KEYS, l::SPANS, l::EXT_IDS, l::EXTS] {
        let mut bytes = small();
        let line = line_of(&bytes, &name);
        forge(&mut bytes, |b, _| b[line..line + 4].copy_from_slice(b"zzzz"));
        let error = Index::from_bytes(bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Damaged, "without {name:?}");
        assert!(error.text().contains("required section"), "{error}");
    }
}

#[test]
fn a_section_occurs_once() {
    let mut bytes = small();
    let line = line_of(&bytes, &l::KEY_ORDER);
    forge(&mut bytes, |b, _| b[line..line + 4].copy_from_slice(&l::CHECKSUMS));
    assert_eq!(Index::from_bytes(bytes).unwrap_err().kind(), ErrorKind::Damaged);
}

#[test]
fn the_two_sections_of_entry_points_are_both_present_or_both_absent() {
    let whole = small();
    let lines = [line_of(&whole, &l::POINT_STARTS), line_of(&whole, &l::POINTS)];
    for line in lines {
        let mut bytes = whole.clone();
        forge(&mut bytes, |b, _| b[line..line + 4].copy_from_slice(b"zzzz"));
        assert_eq!(Index::from_bytes(bytes).unwrap_err().kind(), ErrorKind::Damaged);
    }
    // The view of a program that does not know the section.
    let mut bytes = whole;
    forge(&mut bytes, |b, _| {
        b[lines[0]..][..4].copy_from_slice(b"zzzy");
        b[lines[1]..][..4].copy_from_slice(b"zzzz");
    });
    let index = Index::from_bytes(bytes).unwrap();
    index.check().unwrap();
    assert!(!index.has_entry_points());
    assert_eq!(index.entry_points(2).unwrap(), None);
}

#[test]
fn the_two_sections_of_strips_are_both_present_or_both_absent() {
    let whole = encode(&[plain("a", &[("jpg", 1300)], None)], true);
    let lines = [line_of(&whole, &l::STRIP_STARTS), line_of(&whole, &l::STRIPS)];
    for line in lines {
        let mut bytes = whole.clone();
        forge(&mut bytes, |b, _| b[line..line + 4].copy_from_slice(b"zzzz"));
        assert_eq!(Index::from_bytes(bytes).unwrap_err().kind(), ErrorKind::Damaged);
    }
    // The view of a program that does not know them, and a start that leads outside.
    let mut bytes = whole.clone();
    forge(&mut bytes, |b, _| {
        b[lines[0]..][..4].copy_from_slice(b"zzzy");
        b[lines[1]..][..4].copy_from_slice(b"zzzz");
    });
    let index = Index::from_bytes(bytes).unwrap();
    index.check().unwrap();
    assert_eq!(index.entry_points(0).unwrap(), points(1300).as_deref());
    assert_eq!((index.has_strips(), index.strips(0).unwrap()), (false, None));
    let starts = u64::from_le_bytes(whole[lines[0] + 8..][..8].try_into().unwrap()) as usize;
    let mut bytes = whole;
    forge(&mut bytes, |b, _| b[starts + 7] = 0xff);
    let index = Index::from_bytes(bytes).unwrap();
    assert_eq!(index.strips(0).unwrap_err().kind(), ErrorKind::Damaged);
    assert_eq!(index.check().unwrap_err().kind(), ErrorKind::Damaged);
    assert!(index.entry_points(0).unwrap().is_some());
}

#[test]
fn wrong_entry_points_are_errors_with_path_and_byte_and_affect_nothing_else() {
    fn number(bytes: &[u8], at: usize) -> usize {
        u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
    }

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.index");
    let opened = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Index::open(&path).unwrap()
    };
    let whole = small();
    let start = |name: &[u8]| {
        let line = line_of(&whole, name);
        u64::from_le_bytes(whole[line + 8..line + 16].try_into().unwrap()) as usize
    };
    let starts = start(&l::POINT_STARTS);
    let mut bytes = whole.clone();
    forge(&mut bytes, |b, _| b[starts + 3 * 4 + 3] = 0xff); // where those of part 2 end
    let index = opened(&bytes);
    let error = index.entry_points(2).unwrap_err();
    assert_eq!((error.kind(), error.place().byte), (ErrorKind::Damaged, Some(starts as u64 + 8)));
    assert_eq!(error.place().path.as_deref(), Some(&*path));
    assert_eq!(index.entry_points(1).unwrap(), None);
    assert_eq!(index.sample(1).unwrap().unwrap().parts().count(), 2);
    let error = index.entry_points(6).unwrap_err();
    assert!(error.text().contains("no part 6"), "{error}");

    // The entry points fill more than a block: a damaged block affects only those that need it.
    let many: Vec<_> =
        (0..200).map(|n| plain(&format!("{n:03}"), &[("jpg", 1300)], None)).collect();
    let mut bytes = encode(&many, true);
    let line = line_of(&bytes, &l::POINTS);
    let last = number(&bytes, line + 8) + number(&bytes, line + 16) - 1;
    bytes[last] ^= 1;
    let index = opened(&bytes);
    assert_eq!(index.entry_points(0).unwrap(), points(1300).as_deref());
    let error = index.entry_points(199).unwrap_err();
    assert_eq!((error.kind(), error.place().path.as_deref()), (ErrorKind::Damaged, Some(&*path)));
    let block = error.place().byte.unwrap() as usize;
    assert!((last - l::CHECK_BLOCK..=last).contains(&block));
    assert!(index.sample(199).unwrap().is_some());
}

#[test]
fn newer_versions_and_flags_are_refused() {
    for field in [at::VERSION, at::FLAGS] {
        let mut bytes = small();
        forge(&mut bytes, |b, _| b[field] |= 0x40);
        assert_eq!(Index::from_bytes(bytes).unwrap_err().kind(), ErrorKind::Version);
    }
}

#[test]
fn false_claims_with_right_checksums_are_found_by_check() {
    type Change = fn(&mut [u8], usize);
    // The starts of sections in the small file: rows first, then spans.
    fn start(b: &[u8], name: &[u8]) -> usize {
        let line = line_of(b, name);
        u64::from_le_bytes(b[line + 8..line + 16].try_into().unwrap()) as usize
    }
    let cases: [(&[u8], Change); 11] = [
        (&l::ROWS, |b, s| b[s + 24 + 1] = 1), // row 1 begins inside row 0
        (&l::ROWS, |b, s| b[s + 8] = 1),      // the first key begins late
        (&l::ROWS, |b, s| b[s + 24 + 8] = 200), // a key ends before it begins
        (&l::ROWS, |b, s| b[s + 3 * 24 + 16] = 5), // the last row leaves a part out
        (&l::SPANS, |b, s| b[s + 1] = 0),     // a part overlaps its own header
        (&l::SPANS, |b, s| b[s + 15] = 0xff), // a part ends past the end
        (&l::EXT_IDS, |b, s| b[s] = 9),       // no such extension
        (&l::KEY_ORDER, |b, s| b[s] = b[s + 4]), // a row is listed twice in the order
        (&l::POINT_STARTS, |b, s| b[s] = 1),  // a byte of the entry points belongs to no part
        (&l::POINT_STARTS, |b, s| b[s + 6 * 4] -= 1), // the last one, too
        (&l::POINT_STARTS, |b, s| b[s + 3 * 4 + 3] = 0xff), // they end past their section
    ];
    for (i, (section, change)) in cases.into_iter().enumerate() {
        let mut bytes = small();
        let at = start(&bytes, section);
        forge(&mut bytes, |b, _| change(b, at));
        let index = Index::from_bytes(bytes).unwrap();
        assert_eq!(index.check().unwrap_err().kind(), ErrorKind::Damaged, "case {i}");
    }
}

#[test]
fn a_part_occurs_once_in_a_sample() {
    let mut index = IndexBuilder::new();
    index.sample(b"a", 0);
    index.part(b"jpg", 512, 1, None).unwrap();
    let error = index.part(b"jpg", 1536, 1, None).unwrap_err();
    assert_eq!((error.kind(), error.place().key.as_deref()), (ErrorKind::Repeated, Some("a")));
}
