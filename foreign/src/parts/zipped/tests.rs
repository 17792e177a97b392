//! Zips that are written by hand.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::*;

fn npy(elements: usize, data: usize) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let dict = format!("{{'descr': '<u2', 'fortran_order': False, 'shape': ({elements},), }}");
    let text = format!("{dict:<117}\n");
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.bytes());
    bytes.extend(vec![7; data]);
    bytes
}

/// A zip of these members; `is_packed` deflates them.
fn zipped(members: &[(&str, Vec<u8>)], is_packed: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut records = Vec::new();
    for (name, data) in members {
        let mut crc = Crc::new();
        crc.update(data);
        let mut packed = data.clone();
        if is_packed {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(data).unwrap();
            packed = encoder.finish().unwrap();
        }
        let mut common = vec![20, 0, 0, 0, if is_packed { 8 } else { 0 }, 0, 0, 0, 0, 0];
        for number in [crc.sum(), packed.len() as u32, data.len() as u32] {
            common.extend(number.to_le_bytes());
        }
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        let place = out.len() as u32;
        out.extend(b"PK\x03\x04");
        out.extend(&common);
        out.extend(name.bytes());
        out.extend(&packed);
        records.extend(b"PK\x01\x02\x14\x03");
        records.extend(&common);
        records.extend([0; 10]);
        records.extend(place.to_le_bytes());
        records.extend(name.bytes());
    }
    let at = out.len() as u32;
    out.extend(&records);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend([members.len() as u8, 0, members.len() as u8, 0]);
    out.extend((records.len() as u32).to_le_bytes());
    out.extend(at.to_le_bytes());
    out.extend([0, 0]);
    out
}

#[test]
fn every_changed_byte_of_an_array_in_a_zip_is_found() {
    for is_packed in [false, true] {
        let whole = zipped(&[("a.npy", npy(5, 10)), ("b.npy", npy(1, 2))], is_packed);
        assert_eq!(arrays(&whole).unwrap(), Looked::Whole);
        for length in 0..whole.len() {
            assert!(arrays(&whole[..length]).is_err(), "cut to {length}");
        }
        let data = 30 + "a.npy".len()..if is_packed { 80 } else { 30 + 5 + 128 + 10 };
        for at in data {
            let mut changed = whole.clone();
            changed[at] ^= 0x20;
            assert!(arrays(&changed).is_err(), "byte {at}");
        }
    }
    let error = arrays(&zipped(&[("a.npy", npy(5, 9))], true)).unwrap_err();
    assert!(error.text().contains("member 'a.npy': header and shape need"), "{error}");
    assert!(arrays(&zipped(&[("notes.txt", b"x".to_vec())], false)).is_ok());
    assert!(arrays(&zipped(&[], false)).is_ok());
}

fn members(pickle: &[u8]) -> [(&'static str, Vec<u8>); 2] {
    [("archive/data.pkl", pickle.to_vec()), ("archive/data/0", vec![1; 40])]
}

#[test]
fn a_file_of_torch_has_a_pickle_that_ends() {
    let pickle = b"\x80\x02}q\0.".to_vec();
    assert_eq!(torch(&zipped(&members(&pickle), false)).unwrap(), Looked::Whole);
    assert!(torch(&zipped(&members(&pickle[..4]), false)).is_err());
    assert!(torch(&zipped(&members(&pickle)[1..], false)).is_err());
    assert!(matches!(torch(&pickle), Ok(Looked::Unread(_))));
    assert!(torch(b"no file of torch").is_err());
}
