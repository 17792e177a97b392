//! The sidecar: opening, checking, every lookup. The first byte decides how much of the input is made
//! valid, so that the code after the checksums is reached.

use std::path::Path;

use tarflume_formats::crc32c;
use tarflume_formats::index::Index;
use tarflume_formats::index::layout::{self as l, at};

/// Opens the input as a sidecar, and calls every lookup.
pub fn index(input: &[u8]) {
    let Some((&mode, rest)) = input.split_first() else { return };
    match mode % 3 {
        0 => look_at(rest.to_vec()),
        1 => look_at(with_sums(rest.to_vec())),
        _ => look_at(with_sums(with_table(rest))),
    }
}

fn look_at(bytes: Vec<u8>) {
    let Ok(index) = Index::from_bytes(bytes) else { return };
    let whole = index.check().is_ok();
    let mut parts = 0;
    let mut points = 0;
    for row in 0..index.samples() {
        let Ok(Some(sample)) = index.sample(row) else {
            assert!(!whole, "row {row} can't be read, but check() found nothing");
            continue;
        };
        assert!(sample.first <= index.tar().length);
        for part in sample.parts() {
            parts += 1;
            match part {
                Ok(part) => assert!(part.end() <= index.tar().length),
                Err(_) => assert!(!whole),
            }
            points += entry_points(&index, parts - 1, whole);
            strips(&index, parts - 1, whole);
        }
        let _ = (sample.part(b"jpg"), sample.end(), sample.shown_key());
        if row % 7 == 0 {
            let found = index.find(sample.key);
            if whole {
                let found = found.expect("whole").expect("a key that is there");
                assert!(found <= row);
                assert_eq!(index.key(found).expect("whole"), sample.key);
            }
        }
    }
    assert!(!whole || parts == index.parts(), "parts are missed or counted twice");
    let counted = index.count_entry_points();
    assert!(
        !whole || counted.expect("whole").1 == points,
        "entry points are missed or counted twice"
    );
    let columns = index.columns().map_or(0, <[_]>::len);
    let mut text = Vec::new();
    for column in 0..columns {
        for row in 0..index.samples() {
            assert!(index.value(column, row, &mut text).is_ok() || !whole);
        }
    }
    let _ = (index.find(b""), index.find(b"\xff\xff"), index.sample(u64::MAX));
    let _ = index.check_tar_length(Path::new("0.tar"), index.tar().length);
}

/// Bytes of a part's entry points: those that are lent are those that are copied.
fn entry_points(index: &Index, part: u64, whole: bool) -> u64 {
    let mut copied = Vec::new();
    let there = index.copy_entry_points(part, u64::MAX, &mut copied);
    match (index.entry_points(part), there) {
        (Ok(lent), Ok(there)) => {
            assert_eq!((lent.unwrap_or_default(), lent.is_some()), (&copied[..], there));
            copied.len() as u64
        }
        (Err(_), Err(_)) if !whole => 0,
        _ => panic!("part {part} is lent and not copied, or check() found nothing"),
    }
}

/// The same for the checksums of its strips.
fn strips(index: &Index, part: u64, whole: bool) {
    let mut copied = Vec::new();
    let there = index.copy_strips(part, u64::MAX, &mut copied);
    match (index.strips(part), there) {
        (Ok(lent), Ok(there)) => {
            assert_eq!((lent.unwrap_or_default(), lent.is_some()), (&copied[..], there));
        }
        (Err(_), Err(_)) if !whole => {}
        _ => panic!("part {part} is lent and not copied, or check() found nothing"),
    }
}

/// Puts right magic, version, byte order, length and all checksums; the rest is the input's.
fn with_sums(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() < l::FIXED {
        return bytes;
    }
    bytes[..8].copy_from_slice(&l::MAGIC);
    put32(&mut bytes, at::VERSION, l::VERSION);
    put32(&mut bytes, at::BYTE_ORDER, l::BYTE_ORDER);
    let length = bytes.len() as u64;
    bytes[at::FILE_LENGTH..][..8].copy_from_slice(&length.to_le_bytes());
    fn number(bytes: &[u8], at: usize) -> usize {
        bytes[at..at + 4].iter().rev().fold(0, |n, &b| n << 8 | usize::from(b))
    }
    let sections = number(&bytes, at::SECTIONS);
    let body = number(&bytes, at::BODY);
    let blocks = bytes.len().saturating_sub(body).div_ceil(l::CHECK_BLOCK);
    let table = l::FIXED + sections * l::SECTION;
    if body > bytes.len() || table + blocks * 4 > body {
        return bytes;
    }
    for block in 0..blocks {
        let start = body + block * l::CHECK_BLOCK;
        let sum = crc32c(&bytes[start..(start + l::CHECK_BLOCK).min(length as usize)]);
        put32(&mut bytes, table + block * 4, sum);
    }
    put32(&mut bytes, at::CHECKSUM, 0);
    let sum = crc32c(&bytes[..body]);
    put32(&mut bytes, at::CHECKSUM, sum);
    bytes
}

/// A whole file around the input: a table of sections whose lengths are right for the numbers of
/// samples and parts that the input begins with. What the sections say is the input's.
fn with_table(input: &[u8]) -> Vec<u8> {
    let mut take = input.iter().copied();
    let mut next = || take.next().unwrap_or(0);
    let samples = usize::from(next());
    let parts = usize::from(next());
    let keys = usize::from(next());
    let exts = usize::from(next());
    let optional = next();
    let tar_length = u64::from(next()) << (next() % 50);
    let mut sections = vec![
        (l::ROWS, (samples + 1) * l::ROW),
        (l::KEYS, keys),
        (l::SPANS, parts * l::SPAN),
        (l::EXT_IDS, parts * 2),
        (l::EXTS, 8 + exts),
    ];
    for (bit, section) in [
        (0, (l::CHECKSUMS, parts * 4)),
        (1, (l::DIMS, samples * l::DIM)),
        (2, (l::KEY_ORDER, samples * 4)),
        (3, (*b"new?", 9)),
        (4, (l::POINT_STARTS, (parts + 1) * l::BLOB_START)),
        (4, (l::POINTS, keys * 16)),
        (6, (l::STRIP_STARTS, (parts + 1) * l::BLOB_START)),
        (6, (l::STRIPS, keys * 16)),
        (5, (l::COLUMNS, 4 + exts)),
        (5, (l::VALUES, keys * 8)),
    ] {
        if optional >> bit & 1 == 1 {
            sections.push(section);
        }
    }
    let body = l::aligned(l::FIXED + sections.len() * l::SECTION + 64);
    let mut bytes = vec![0; body];
    bytes[at::TAR_LENGTH..][..8].copy_from_slice(&tar_length.to_le_bytes());
    bytes[at::SAMPLES..][..8].copy_from_slice(&(samples as u64).to_le_bytes());
    bytes[at::PARTS..][..8].copy_from_slice(&(parts as u64).to_le_bytes());
    put32(&mut bytes, at::SECTIONS, sections.len() as u32);
    put32(&mut bytes, at::BODY, body as u32);
    for (i, (name, length)) in sections.iter().enumerate() {
        let line = l::FIXED + i * l::SECTION;
        let start = bytes.len();
        bytes[line..line + 4].copy_from_slice(name);
        bytes[line + 8..][..8].copy_from_slice(&(start as u64).to_le_bytes());
        bytes[line + 16..][..8].copy_from_slice(&(*length as u64).to_le_bytes());
        // Numbers in a row come from single bytes, summed up: so they rise, mostly by little.
        match (name, next() % 4) {
            (_, 3) => bytes.extend(std::iter::repeat_with(&mut next).take(*length)),
            (&l::POINT_STARTS | &l::STRIP_STARTS, _) => {
                // Mostly from the first to the last byte of the blobs.
                let mut sum = 0;
                for i in 0..=parts {
                    sum = if i == parts { keys as u32 * 16 } else { sum };
                    bytes.extend_from_slice(&sum.to_le_bytes());
                    sum += u32::from(next() % 32);
                }
            }
            (&l::ROWS | &l::SPANS | &l::EXTS, scale) => {
                let wide = if *name == l::EXTS { 4 } else { 8 };
                let mut sums = [0u64; 3];
                for i in 0..length / wide {
                    let sum = &mut sums[if *name == l::ROWS { i % 3 } else { i % 2 }];
                    *sum += u64::from(next()) << (scale * 4 * u8::from(i % 3 == 0));
                    bytes.extend_from_slice(&sum.to_le_bytes()[..wide]);
                }
            }
            _ => bytes.extend(std::iter::repeat_with(|| next() % 4).take(*length)),
        }
        bytes.resize(start + l::aligned(*length), 0);
    }
    bytes
}

fn put32(bytes: &mut [u8], at: usize, n: u32) {
    bytes[at..at + 4].copy_from_slice(&n.to_le_bytes());
}
