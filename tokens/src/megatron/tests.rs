//! Files written by hand in Megatron-LM's layout: read, written with the same bytes, and damaged.

use std::fs;
use std::path::Path;

use tarflume_formats::{ErrorKind, Result};

use super::*;

/// Documents of sequences.
const DOCUMENTS: [&[&[u32]]; 3] = [&[&[1, 2, 3], &[40_000]], &[], &[&[7, 65_499]]];

/// The index of [`DOCUMENTS`], in the layout of Megatron-LM, written by hand.
fn index(code: u8, width: i64) -> Vec<u8> {
    let mut bytes = b"MMIDIDX\0\0".to_vec();
    bytes.extend(1u64.to_le_bytes());
    bytes.push(code);
    bytes.extend(3u64.to_le_bytes());
    bytes.extend(4u64.to_le_bytes());
    for length in [3i32, 1, 2] {
        bytes.extend(length.to_le_bytes());
    }
    for pointer in [0, 3 * width, 4 * width] {
        bytes.extend(pointer.to_le_bytes());
    }
    for begin in [0i64, 2, 2, 3] {
        bytes.extend(begin.to_le_bytes());
    }
    bytes
}

fn data(width: usize) -> Vec<u8> {
    let ids = [1u64, 2, 3, 40_000, 7, 65_499];
    ids.iter().flat_map(|id| id.to_le_bytes()[..width].to_vec()).collect()
}

fn read(folder: &Path) -> Result<Vec<Vec<Vec<u32>>>> {
    let mut reader = Reader::open(&folder.join("set"))?;
    let mut all = Vec::new();
    for number in 0..reader.documents() {
        let mut document = Vec::new();
        reader.document(number, &mut document)?;
        all.push(document);
    }
    Ok(all)
}

fn folder(data: &[u8], index: &[u8]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("set.bin"), data).unwrap();
    fs::write(dir.path().join("set.idx"), index).unwrap();
    dir
}

#[test]
fn files_of_megatron_are_read_and_written_with_the_same_bytes() {
    for (kind, width) in [(IdType::U16, 2), (IdType::I32, 4), (IdType::I64, 8)] {
        let data = data(width);
        let index = index(kind.code(), width as i64);
        let dir = folder(&data, &index);
        assert_eq!(
            read(dir.path()).unwrap(),
            DOCUMENTS.map(|d| d.iter().map(|s| s.to_vec()).collect::<Vec<_>>())
        );
        let mut writer = Writer::create(&dir.path().join("other.bin"), kind).unwrap();
        for document in DOCUMENTS {
            document.iter().for_each(|sequence| writer.sequence(sequence).unwrap());
            writer.end_document();
        }
        writer.finish().unwrap();
        assert_eq!(fs::read(dir.path().join("other.bin")).unwrap(), data);
        assert_eq!(fs::read(dir.path().join("other.idx")).unwrap(), index);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4);
    }
    assert_eq!(
        (IdType::of_vocabulary(65_499), IdType::of_vocabulary(65_500)),
        (IdType::U16, IdType::I32)
    );
}

#[test]
fn modes_are_passed_over() {
    let dir = folder(&data(2), &[index(8, 2), vec![0, 1, 0]].concat());
    assert_eq!(read(dir.path()).unwrap().len(), 3);
}

#[test]
fn files_that_exist_are_not_replaced_and_wide_ids_are_refused() {
    let dir = folder(&data(2), &index(8, 2));
    let mut writer = Writer::create(&dir.path().join("set"), IdType::U16).unwrap();
    let error = writer.sequence(&[65_536]).unwrap_err();
    assert!(error.text().contains("the id 65536 does not fit"), "{error}");
    assert_eq!(writer.finish().unwrap_err().kind(), ErrorKind::Exists);
    assert_eq!(fs::read(dir.path().join("set.bin")).unwrap(), data(2));
    let mut signed = Writer::create(&dir.path().join("signed"), IdType::I16).unwrap();
    assert!(signed.sequence(&[32_768]).is_err());
    signed.sequence(&[32_767]).unwrap();
}

#[test]
fn false_claims_of_an_index_are_refused_with_their_byte() {
    let usual = index(8, 2);
    let claims: [(usize, &[u8], u64); 15] = [
        (0, b"N", 0),
        (9, &[2], 9),
        (17, &[6], 17),
        (17, &[9], 17),
        (18, &[2], 18),
        (18, &[0xff; 8], 18),
        (26, &[0; 8], 18),
        (26, &[0xff; 8], 18),
        (34, &[0xff; 4], 46),    // a negative length
        (34, &[0xff, 0xff], 46), // a length beyond the file
        (46, &[0xff; 8], 46),    // a negative pointer
        (54, &[11], 54),         // a pointer beyond the file
        (70, &[1], 70),          // the first bound
        (78, &[3], 86),          // bounds that decrease
        (94, &[2], 94),          // the last bound
    ];
    for (at, bytes, byte) in claims {
        let mut index = usual.clone();
        index[at..at + bytes.len()].copy_from_slice(bytes);
        let dir = folder(&data(2), &index);
        let error = read(dir.path()).unwrap_err();
        assert_eq!(error.place().byte, Some(byte), "{at}: {error}");
        assert!(error.to_string().contains("set.idx"), "{error}");
    }
    for length in 0..usual.len() {
        let dir = folder(&data(2), &usual[..length]);
        assert!(read(dir.path()).is_err(), "{length} bytes");
    }
    let negative = folder(&[&data(4)[..20], &[0xff; 4]].concat(), &index(4, 4));
    let error = read(negative.path()).unwrap_err();
    assert_eq!((error.place().byte, error.kind()), (Some(20), ErrorKind::Limit));
}
