//! Headers written by NumPy are read correctly; everything else is an error that names a byte.

use proptest::prelude::*;

use super::golden::{READ, REFUSED};
use super::layout::{Dtype, MAX_DIMS, MAX_HEAD};
use super::{Header, needed, write_header};
use crate::errors::error::ErrorKind;

/// Returns a header of version 1 around a dictionary.
fn with_text(text: &str) -> Vec<u8> {
    let length = (text.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], text.as_bytes()].concat()
}

fn refusal(bytes: &[u8]) -> (ErrorKind, String, u64) {
    let error = Header::parse(bytes).unwrap_err();
    let byte = error.place().byte.expect("a byte");
    (error.kind(), error.text().to_string(), byte)
}

#[test]
fn heads_written_by_numpy_are_understood() {
    for (made_by, bytes, dtype, fortran, shape) in READ {
        let header = Header::parse(bytes).unwrap_or_else(|e| panic!("{made_by}: {e}"));
        assert_eq!(header.dtype.to_string(), dtype, "{made_by}");
        assert_eq!((header.fortran, header.shape()), (fortran, shape), "{made_by}");
        assert_eq!(header.data, bytes.len() as u64, "{made_by}");
        assert_eq!(header.data % 64, 0);
        let elements: u64 = shape.iter().product();
        assert_eq!(header.elements(), elements, "{made_by}");
        assert_eq!(header.data_bytes(), elements * u64::from(header.dtype.size), "{made_by}");
    }
}

#[test]
fn heads_are_written_as_numpy_writes_them() {
    for (made_by, bytes, _, fortran, shape) in READ.iter().filter(|g| g.1[6] == 1) {
        let header = Header::parse(bytes).unwrap();
        let mut ours = Vec::new();
        write_header(&mut ours, header.dtype, *fortran, shape).unwrap();
        assert_eq!(String::from_utf8_lossy(&ours), String::from_utf8_lossy(bytes), "{made_by}");
    }
}

#[test]
fn unsupported_arrays_are_refused_with_a_remedy() {
    for (made_by, bytes, word) in REFUSED {
        let (kind, text, byte) = refusal(bytes);
        assert!([ErrorKind::Unsupported, ErrorKind::Limit].contains(&kind), "{made_by}: {text}");
        assert!(text.contains(word), "{made_by}: {text}");
        assert!(byte > 10, "{made_by}: byte {byte}");
    }
}

#[test]
fn a_streaming_reader_gets_the_number_of_bytes_to_fetch() {
    for (made_by, bytes, ..) in READ {
        assert_eq!(needed(b"").unwrap(), 12);
        assert_eq!(needed(&bytes[..11]).unwrap(), 12);
        let head = needed(&bytes[..12]).unwrap();
        assert_eq!(head, bytes.len(), "{made_by}");
        let (kind, text, byte) = refusal(&bytes[..head - 1]);
        assert_eq!((kind, byte), (ErrorKind::Truncated, head as u64 - 1), "{text}");
    }
}

#[test]
fn old_and_foreign_writers_are_understood() {
    for text in [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 2L), }",
        "{\"shape\":(3,2),\"fortran_order\":False,\"descr\":\"<f4\"}",
        " { 'shape' : ( 3 , 2 , ) , 'descr' : '<f4' , 'fortran_order' : False , } \n",
    ] {
        let header = Header::parse(&with_text(text)).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!((header.shape(), header.data_bytes()), (&[3, 2][..], 24));
    }
}

#[test]
fn heads_that_are_wrong_are_refused_at_their_byte() {
    use ErrorKind::{Limit, Version, WrongFormat};
    for (bytes, kind, byte) in [
        (&b"\x93NUMPU"[..], WrongFormat, 5),
        (b"\x93NUMPY\x04\x00\x00\x00\x00\x00", Version, 6),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", Limit, 8),
    ] {
        let (found, text, at) = refusal(bytes);
        assert_eq!((found, at), (kind, byte), "{text}");
    }
    // The error is at the mark.
    for (text, kind) in [
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (3^), }", WrongFormat),
        ("{'descr': '<f4', 'fortran_order': ^0, 'shape': (3,), }", WrongFormat),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (^-3,), }", WrongFormat),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (3 ^3), }", WrongFormat),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (^18446744073709551616,), }",
            WrongFormat,
        ),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': ^(4611686018427387904,), }", Limit),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': ^(0, 99999999999, 99999999999), }",
            Limit,
        ),
        ("{'descr': ^'f4', 'fortran_order': False, 'shape': (3,), }", WrongFormat),
        ("{'descr': ^'<f3', 'fortran_order': False, 'shape': (3,), }", WrongFormat),
        ("{'descr': ^'|f4', 'fortran_order': False, 'shape': (3,), }", WrongFormat),
        ("{'descr': ^'<f99999999999', 'fortran_order': False, 'shape': (3,), }", WrongFormat),
        ("{'descr': '<f4', ^'descr': '<f4'}", WrongFormat),
        ("^{'descr': '<f4'}", WrongFormat),
        ("{^'color': 1}", WrongFormat),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': ()} ^1", WrongFormat),
        ("^__import__('os')", WrongFormat),
        ("{'descr': ^'", WrongFormat),
    ] {
        let byte = 10 + text.find('^').unwrap() as u64;
        let (found, why, at) = refusal(&with_text(&text.replace('^', "")));
        assert_eq!((found, at), (kind, byte), "{text}: {why}");
    }
}

#[test]
fn the_longest_head_is_read_and_one_byte_more_is_not() {
    let mut text = "{'descr': '<f4', 'fortran_order': False, 'shape': (), }".to_string();
    text.extend(std::iter::repeat_n(' ', MAX_HEAD - 12 - text.len()));
    fn head(text: &str) -> Vec<u8> {
        [b"\x93NUMPY\x02\x00", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
    }
    assert_eq!(Header::parse(&head(&text)).unwrap().data, MAX_HEAD as u64);
    text.push(' ');
    assert_eq!(refusal(&head(&text)).0, ErrorKind::Limit);
}

fn dtypes() -> impl Strategy<Value = Dtype> {
    let words = prop::sample::select(vec![
        ('f', 2),
        ('f', 4),
        ('f', 8),
        ('i', 1),
        ('i', 8),
        ('u', 2),
        ('b', 1),
        ('c', 8),
        ('S', 7),
        ('U', 12),
        ('V', 0),
    ]);
    (words, any::<bool>()).prop_map(|((kind, size), little)| {
        let little = little || size <= 1 || "SV".contains(kind);
        Dtype { kind, size, little }
    })
}

proptest! {
    #[test]
    fn written_data_are_read_back(
        dtype in dtypes(),
        fortran: bool,
        shape in prop::collection::vec(0u64..200, 0..=MAX_DIMS),
    ) {
        let mut bytes = Vec::new();
        write_header(&mut bytes, dtype, fortran, &shape).unwrap();
        let header = Header::parse(&bytes);
        // 200^8 elements of 12 bytes are more than u64 counts.
        if let Ok(header) = header {
            prop_assert_eq!((header.dtype, header.fortran), (dtype, fortran));
            prop_assert_eq!(header.shape(), &shape[..]);
            prop_assert_eq!(header.data, bytes.len() as u64);
        } else {
            prop_assert_eq!(header.unwrap_err().kind(), ErrorKind::Limit);
        }
    }

    #[test]
    fn no_bytes_cause_a_panic(
        golden in 0..READ.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        tail in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut bytes = READ[golden].1.to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let plain = Header::parse(&bytes);
        if let Ok(header) = &plain {
            prop_assert!(header.data <= bytes.len() as u64);
            prop_assert!(header.shape().len() <= MAX_DIMS);
            // Bytes after a header change nothing.
            bytes.extend(tail);
            prop_assert_eq!(&Header::parse(&bytes).unwrap(), header);
        }
    }
}
