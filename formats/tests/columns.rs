//! Typed columns of a sidecar: written, read through the map and by reads, damaged.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use tarflume_formats::crc32c;
use tarflume_formats::index::layout::{self as l, at};
use tarflume_formats::index::{
    ColumnSpec, Index, IndexBuilder, OwnedValue, TarFacts, Value, ValueType,
};

const COLUMNS: &str = "b:bool,u1:u8,i1:i8,u2:u16,i2:i16,u4:u32,i4:i32,u8:u64,i8:i64,f4:f32,f8:f64,\
                       s:str,cap=txt:str,deep=json:/a/0:u8";

/// The value of sample `n` in a column of type `kind`; some samples have none.
fn value(kind: ValueType, n: u64) -> Option<OwnedValue> {
    let number = i128::from(n * 37 % 251) - if n.is_multiple_of(3) { 0 } else { 100 };
    if n % 5 == 4 {
        return None;
    }
    Some(match kind {
        ValueType::Bool => Value::Bool(n.is_multiple_of(2)).into(),
        ValueType::F32 => Value::Float(n as f64 / 4.0).into(),
        ValueType::F64 => Value::Float(n as f64 / 3.0).into(),
        ValueType::Str => OwnedValue::Text("é".repeat(n as usize % 4)),
        ValueType::I8 | ValueType::I16 => Value::Whole(number.clamp(-128, 127)).into(),
        ValueType::I32 | ValueType::I64 => Value::Whole(number).into(),
        ValueType::U64 => Value::Whole(i128::from(u64::MAX - n)).into(),
        _ => Value::Whole(number.unsigned_abs() as i128).into(),
    })
}

fn encode(columns: &[ColumnSpec], samples: u64) -> Vec<u8> {
    let mut index = IndexBuilder::new();
    index.set_columns(columns.to_vec());
    for n in 0..samples {
        index.sample(format!("{n:04}").as_bytes(), n * 1024);
        index.part(b"json", n * 1024 + 512, 10, Some(7)).unwrap();
        for (number, spec) in columns.iter().enumerate() {
            if let Some(value) = value(spec.kind, n) {
                index.value(number, value.borrowed());
            }
        }
    }
    let facts = TarFacts { length: samples * 1024, digest: None };
    index.encode(&facts).unwrap()
}

#[test]
fn values_come_back_through_the_map_and_by_reads() {
    let columns = ColumnSpec::parse_all(COLUMNS).unwrap();
    for samples in [0, 1, 7, 8, 9, 1000] {
        let bytes = encode(&columns, samples);
        let index = Index::from_bytes(bytes.clone()).unwrap();
        index.check().unwrap();
        let found: Vec<_> = index.columns().unwrap().iter().map(|c| c.spec().clone()).collect();
        assert_eq!(found, columns);
        let mut one = Vec::new();
        let mut other = Vec::new();
        for (number, spec) in columns.iter().enumerate() {
            assert_eq!(index.column(&spec.name).unwrap(), Some(number));
            assert_eq!(index.columns().unwrap()[number].has_nulls(), samples > 4);
            for n in 0..samples {
                let expected = value(spec.kind, n);
                let expected = expected.as_ref().map(OwnedValue::borrowed);
                assert_eq!(index.value(number, n, &mut one).unwrap(), expected, "{spec} {n}");
                assert_eq!(
                    index
                        .value_by(
                            number,
                            n,
                            |at: u64, into: &mut [u8]| {
                                into.copy_from_slice(&bytes[at as usize..at as usize + into.len()]);
                                Ok::<(), tarflume_formats::Error>(())
                            },
                            &mut other
                        )
                        .unwrap(),
                    expected
                );
            }
            assert_eq!(index.value(number, samples, &mut one).unwrap(), None);
        }
        assert_eq!(index.value(columns.len(), 0, &mut one).unwrap(), None);
        assert_eq!(index.column("none").unwrap(), None);
    }
}

#[test]
fn a_sidecar_without_columns_has_no_section_for_them() {
    let with = encode(&ColumnSpec::parse_all("a:u8").unwrap(), 9);
    let without = encode(&[], 9);
    assert!(with.len() > without.len());
    assert!(!without.windows(4).any(|four| four == l::COLUMNS || four == l::VALUES));
    assert!(Index::from_bytes(without).unwrap().columns().unwrap().is_empty());
}

#[test]
fn each_damaged_bit_is_found_before_a_value_is_returned() {
    let columns = ColumnSpec::parse_all("a:u32,s:str,b:bool").unwrap();
    let bytes = encode(&columns, 40);
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        let Ok(index) = Index::from_bytes(bytes) else { continue };
        assert!(index.check().is_err(), "byte {at}");
    }
}

/// Makes all checksums right again.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    fn number(bytes: &[u8], at: usize) -> usize {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
    }
    let sections = number(&bytes, at::SECTIONS);
    let body = number(&bytes, at::BODY);
    let sums = l::FIXED + sections * l::SECTION;
    for (block, start) in (body..bytes.len()).step_by(l::CHECK_BLOCK).enumerate() {
        let sum = crc32c(&bytes[start..(start + l::CHECK_BLOCK).min(bytes.len())]);
        bytes[sums + block * 4..][..4].copy_from_slice(&sum.to_le_bytes());
    }
    bytes[at::CHECKSUM..][..4].fill(0);
    let sum = crc32c(&bytes[..body]);
    bytes[at::CHECKSUM..][..4].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// A hostile description with right checksums is refused or read within its section; nothing panics.
#[test]
fn a_false_description_never_leads_outside_its_section() {
    fn long(bytes: &[u8], at: usize) -> usize {
        u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
    }

    let columns = ColumnSpec::parse_all("a:u32,s:str,b:bool,c=txt:str").unwrap();
    let bytes = encode(&columns, 40);
    let index = Index::from_bytes(bytes.clone()).unwrap();
    let place =
        (0..).map(|n| l::FIXED + n * l::SECTION).find(|&at| bytes[at..at + 4] == l::COLUMNS);
    let line = place.unwrap();
    let start = long(&bytes, line + 8);
    let length = long(&bytes, line + 16);
    assert_eq!(index.columns().unwrap().len(), 4);
    let mut refused = 0;
    let mut text = Vec::new();
    for at in start..start + length {
        for value in [0, 1, 2, 3, 0x7f, 0x80, 0xff] {
            let mut bytes = bytes.clone();
            bytes[at] = value;
            let index = Index::from_bytes(sealed(bytes)).unwrap();
            refused += usize::from(index.check().is_err());
            for column in 0..index.columns().map_or(0, <[_]>::len) {
                for row in 0..index.samples() {
                    let _ = index.value(column, row, &mut text);
                }
            }
        }
    }
    assert!(refused > length, "{refused}");
}

#[test]
fn a_value_of_another_type_counts_as_none() {
    let mut index = IndexBuilder::new();
    index.set_columns(ColumnSpec::parse_all("a:u8").unwrap());
    for value in [Value::Whole(256), Value::Text("7"), Value::Whole(7)] {
        index.sample(b"k", 0);
        index.value(0, value);
        index.value(9, Value::Whole(1));
    }
    let bytes = index.encode(&TarFacts { length: 0, digest: None }).unwrap();
    let index = Index::from_bytes(bytes).unwrap();
    let mut text = Vec::new();
    let found: Vec<_> =
        (0..3).map(|row| index.value(0, row, &mut text).unwrap().is_some()).collect();
    assert_eq!(found, [false, false, true]);
}
