//! Rows looked up through the map and by reads: the same rows, and the same damage detected.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::cell::Cell;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use tarflume_formats::index::layout::{self as l, at};
use tarflume_formats::index::{Index, IndexBuilder, SampleRow, TarFacts};
use tarflume_formats::{Error, ErrorKind, Result, crc32c};

type Rows = Vec<(Vec<u8>, Vec<(String, u64)>)>;

fn encode(rows: &Rows, sums: bool, dims: bool) -> Vec<u8> {
    let mut index = IndexBuilder::new();
    let mut end = 0;
    for (key, parts) in rows {
        index.sample(key, end);
        for (ext, length) in parts {
            let sum = sums.then_some(*length as u32 ^ 7);
            index.part(ext.as_bytes(), end + 512, *length, sum).unwrap();
            index.entry_points(&vec![*length as u8; (length % 5) as usize]);
            let part = index.parts() - 1;
            index.strips_of(part, &vec![!*length as u8; (length % 3) as usize]);
            end += 512 + length.next_multiple_of(512);
        }
        if dims {
            index.dimensions(3, 4);
        }
    }
    index.encode(&TarFacts { length: end + 1024, digest: None }).unwrap()
}

fn many() -> Rows {
    fn parts() -> Vec<(String, u64)> {
        vec![("jpg".to_string(), 110_000), ("json".to_string(), 300)]
    }
    (0..5000).map(|n| (format!("{n:08}").into_bytes(), parts())).collect()
}

fn reader(bytes: &[u8]) -> impl Fn(u64, &mut [u8]) -> Result<()> {
    |at: u64, into: &mut [u8]| {
        fn lost() -> Error {
            Error::new(ErrorKind::Truncated, "past the end")
        }
        let from = bytes.get(at as usize..).and_then(|b| b.get(..into.len())).ok_or_else(lost)?;
        into.copy_from_slice(from);
        Ok(())
    }
}

/// A lookup by reads of these bytes.
fn by_reads(index: &Index, bytes: &[u8], row: u64, found: &mut SampleRow) -> Result<bool> {
    index.look_up_by(row, reader(bytes), found)
}

/// Copies entry points after some bytes, in all ways, with a limit.
fn copied(index: &Index, bytes: &[u8], part: u64, most: u64) -> [Result<Option<Vec<u8>>>; 2] {
    let mut one = b"before".to_vec();
    let mut two = b"before".to_vec();
    let by_map = index.copy_entry_points(part, most, &mut one);
    let by_read = index.copy_entry_points_by(part, most, reader(bytes), &mut two);
    [(by_map, one), (by_read, two)].map(|(there, into)| {
        let new = into.strip_prefix(b"before").unwrap().to_vec();
        there.map(|there| {
            assert!(there || new.is_empty());
            there.then_some(new)
        })
    })
}

proptest! {
    #[test]
    fn all_lookups_give_the_same_result(
        mut rows in vec((vec(any::<u8>(), 0..12), btree_map("[a-z]{1,4}", 0u64..1 << 40, 0..4)), 0..60),
        sums: bool, dims: bool, sorted: bool,
    ) {
        if sorted {
            rows.sort();
        }
        let rows: Rows = rows.into_iter().map(|(k, p)| (k, p.into_iter().collect())).collect();
        let bytes = encode(&rows, sums, dims);
        let mapped = Index::from_bytes(bytes.clone()).unwrap();
        let read = Index::from_bytes(bytes.clone()).unwrap();
        let mut by_map = SampleRow::new();
        let mut by_read = SampleRow::new();
        for row in (0..rows.len() as u64).rev() {
            prop_assert!(mapped.look_up(row, &mut by_map).unwrap());
            prop_assert!(by_reads(&read, &bytes, row, &mut by_read).unwrap());
            let sample = mapped.sample(row).unwrap().unwrap();
            let parts: Vec<_> = sample.parts().map(Result::unwrap).collect();
            for found in [&by_map, &by_read] {
                prop_assert_eq!((found.key(), found.first()), (sample.key, sample.first));
                prop_assert_eq!(&found.parts().collect::<Vec<_>>(), &parts);
                prop_assert_eq!(found.shown_key(), sample.shown_key());
            }
            for part in parts {
                let lent = mapped.entry_points(part.number).unwrap();
                prop_assert_eq!(lent.map_or(0, <[u8]>::len) as u64, part.length % 5);
                let lent = mapped.strips(part.number).unwrap();
                prop_assert_eq!(lent.map_or(0, <[u8]>::len) as u64, part.length % 3);
                let mut one = Vec::new();
                let mut two = Vec::new();
                let by_map = mapped.copy_strips(part.number, 1, &mut one).unwrap();
                let number = part.number;
                let by_read = read.copy_strips_by(number, 1, reader(&bytes), &mut two).unwrap();
                prop_assert_eq!((by_map, &one), (by_read, &two));
                prop_assert_eq!(by_map.then_some(&one[..]), lent.filter(|lent| lent.len() <= 1));
                let lent = mapped.entry_points(part.number).unwrap();
                for copied in copied(&read, &bytes, part.number, 3) {
                    let short = lent.filter(|lent| lent.len() <= 3);
                    prop_assert_eq!(copied.unwrap(), short.map(<[u8]>::to_vec));
                }
            }
        }
        let end = rows.len() as u64;
        prop_assert!(!mapped.look_up(end, &mut by_map).unwrap());
        prop_assert!(!by_reads(&read, &bytes, end, &mut by_read).unwrap());
        prop_assert_eq!((by_map.key(), by_map.parts().len()), (&[][..], 0));
    }
}

/// Changes every byte of the body that a lookup of all rows uses: both ways detect it with the same
/// message.
#[test]
fn both_ways_notice_the_same_damage() {
    let rows = vec![
        (b"b".to_vec(), vec![("jpg".to_string(), 5), ("json".to_string(), 6)]),
        (b"a".to_vec(), vec![("cls".to_string(), 7)]),
    ];
    let whole = encode(&rows, true, true);
    let body = u32::from_le_bytes(whole[at::BODY..][..4].try_into().unwrap()) as usize;
    for place in body..whole.len() {
        let mut bytes = whole.clone();
        bytes[place] ^= 1;
        let mapped = Index::from_bytes(bytes.clone()).unwrap();
        let read = Index::from_bytes(whole.clone()).unwrap();
        let mut found = SampleRow::new();
        let mut other = SampleRow::new();
        let one = mapped.look_up(0, &mut found).unwrap_err();
        let two = by_reads(&read, &bytes, 0, &mut other).unwrap_err();
        assert_eq!(one.kind(), ErrorKind::Damaged, "byte {place}");
        assert_eq!((one.text(), one.place().byte), (two.text(), two.place().byte));
        let mapped = Index::from_bytes(bytes.clone()).unwrap();
        let read = Index::from_bytes(whole.clone()).unwrap();
        let mut points = Vec::new();
        let one = mapped.copy_entry_points(1, 9, &mut points).unwrap_err();
        let two = read.copy_entry_points_by(1, 9, reader(&bytes), &mut points).unwrap_err();
        assert_eq!((one.text(), one.place().byte), (two.text(), two.place().byte));
    }
}

/// Every way to read inconsistent entry points.
#[test]
fn both_ways_notice_the_same_false_claim() {
    let rows = vec![(b"a".to_vec(), vec![("jpg".to_string(), 9), ("json".to_string(), 6)])];
    let mut bytes = encode(&rows, true, false);
    let name = bytes.windows(4).position(|w| w == l::POINT_STARTS).unwrap();
    let starts = u64::from_le_bytes(bytes[name + 8..][..8].try_into().unwrap()) as usize;
    bytes[starts + 4 + 1] = 7;
    let body = u32::from_le_bytes(bytes[at::BODY..][..4].try_into().unwrap()) as usize;
    let sections = u32::from_le_bytes(bytes[at::SECTIONS..][..4].try_into().unwrap()) as usize;
    let sum = crc32c(&bytes[body..]).to_le_bytes();
    bytes[l::FIXED + sections * l::SECTION..][..4].copy_from_slice(&sum);
    bytes[at::CHECKSUM..][..4].fill(0);
    let sum = crc32c(&bytes[..body]).to_le_bytes();
    bytes[at::CHECKSUM..][..4].copy_from_slice(&sum);
    let index = Index::from_bytes(bytes.clone()).unwrap();
    for wrong in copied(&index, &bytes, 0, u64::MAX) {
        let error = wrong.unwrap_err();
        assert_eq!((error.kind(), error.place().byte), (ErrorKind::Damaged, Some(starts as u64)));
    }
}

#[test]
fn damage_is_noticed_in_the_blocks_that_a_row_needs_and_in_no_other() {
    let mut bytes = encode(&many(), true, true);
    let body = u32::from_le_bytes(bytes[at::BODY..][..4].try_into().unwrap()) as usize;
    let damaged = body + l::ROW * 2500;
    bytes[damaged] ^= 1;
    let index = Index::from_bytes(bytes.clone()).unwrap();
    let mut found = SampleRow::new();
    assert!(by_reads(&index, &bytes, 0, &mut found).unwrap());
    let error = by_reads(&index, &bytes, 2500, &mut found).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    let block = body + (damaged - body) / l::CHECK_BLOCK * l::CHECK_BLOCK;
    assert_eq!(error.place().byte, Some(block as u64));
    assert_eq!(by_reads(&index, &bytes, 2500, &mut found).unwrap_err().kind(), ErrorKind::Damaged);
}

#[test]
fn a_block_is_checked_once_and_then_a_lookup_takes_five_reads() {
    let bytes = encode(&many(), true, true);
    let index = Index::from_bytes(bytes.clone()).unwrap();
    let reads = Cell::new(0);
    let most = Cell::new(0);
    let read = |at: u64, into: &mut [u8]| {
        reads.set(reads.get() + 1);
        most.set(most.get().max(into.len()));
        into.copy_from_slice(&bytes[at as usize..][..into.len()]);
        Ok::<_, Error>(())
    };
    let mut found = SampleRow::new();
    index.look_up_by(2500, read, &mut found).unwrap();
    assert_eq!(most.replace(0), l::CHECK_BLOCK);
    reads.set(0);
    index.look_up_by(2500, read, &mut found).unwrap();
    assert_eq!(reads.get(), 5);
    assert!(most.get() <= 2 * l::ROW);
    assert_eq!(found.key(), b"00002500");
}

/// Bytes that a lookup needs are not in the file any more: an error and no zeros.
#[test]
fn a_file_that_is_cut_under_lookups_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.index");
    fs::write(&path, encode(&many(), true, true)).unwrap();
    let index = Index::open(&path).unwrap();
    let file = File::open(&path).unwrap();
    let read = |at: u64, into: &mut [u8]| {
        file.read_exact_at(into, at).map_err(|e| Error::io(e, "read", &path))
    };
    let mut found = SampleRow::new();
    assert!(index.look_up_by(4999, read, &mut found).unwrap());
    File::options().write(true).open(&path).unwrap().set_len(8192).unwrap();
    let error = index.look_up_by(4999, read, &mut found).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);
}

/// The pages of a map that a lookup has touched are released, and come back unchanged.
#[test]
fn a_map_is_forgotten_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.index");
    fs::write(&path, encode(&many(), true, true)).unwrap();
    let index = Index::open(&path).unwrap();
    index.check().unwrap();
    index.forget();
    index.check().unwrap();
    let mut found = SampleRow::new();
    index.forget();
    assert!(index.look_up(4999, &mut found).unwrap());
    assert_eq!(found.key(), b"00004999");
}
