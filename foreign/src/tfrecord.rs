//! TFRecord: `u64` length, masked crc32c of the length, data, masked crc32c of the data; and
//! `tf.train.Example`, read from the wire format of protocol buffers.
//!
//! An example is features by name: lists of bytes, floats or integers. Ranges of bytes features are
//! positions in the record, so that a caller need not copy them.

use std::collections::HashMap;
use std::ops::Range;

use crate::le::{u32_at, u64_at};
use tarflume_formats::crc32c;
use tarflume_formats::{Error, ErrorKind, Result};

/// Bytes before a record's data.
pub const HEAD: usize = 12;
/// Bytes after a record's data.
pub const FOOT: usize = 4;

/// Limit on the features of an example.
const FEATURES_MAX: usize = 1 << 16;
/// Limit on the values of all features of an example, checked after each feature.
const VALUES_MAX: usize = 1 << 24;

/// Returns the masked form of a crc32c, as TFRecord stores it.
pub fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Parses the bytes before a record's data, which begin at byte `at`; returns the bytes of data.
///
/// # Errors
/// Returns [`ErrorKind::WrongFormat`] for gzip at the start of a file, and [`ErrorKind::Damaged`]
/// if the length is damaged.
pub fn head(bytes: &[u8; HEAD], at: u64) -> Result<u64> {
    if at == 0 && bytes.starts_with(b"\x1f\x8b") {
        let text = "the file is compressed with gzip; decompress it: `gunzip -k FILE`";
        return Err(Error::new(ErrorKind::WrongFormat, text).with_byte(0));
    }
    if masked(crc32c(&bytes[..8])) != u32_at(bytes, 8) {
        let kind = if at == 0 { ErrorKind::WrongFormat } else { ErrorKind::Damaged };
        let text = match at {
            0 => "this is not a TFRecord file: the checksum of its first length differs",
            _ => "the length of a record is damaged: its checksum differs",
        };
        return Err(Error::new(kind, text).with_byte(at));
    }
    Ok(u64_at(bytes, 0))
}

/// Returns true if the four bytes after a record's data are the checksum of `data`.
pub fn is_whole(data: &[u8], foot: [u8; FOOT]) -> bool {
    masked(crc32c(data)) == u32::from_le_bytes(foot)
}

/// The values of a feature.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Positions of byte strings in the record.
    Bytes(Vec<Range<usize>>),
    /// Floats.
    Floats(Vec<f32>),
    /// Integers.
    Ints(Vec<i64>),
    /// No list was set.
    Nothing,
}

impl Values {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            Values::Bytes(ranges) => ranges.len(),
            Values::Floats(floats) => floats.len(),
            Values::Ints(ints) => ints.len(),
            Values::Nothing => 0,
        }
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A feature of an example.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Values,
}

/// Parses a `tf.train.Example`.
///
/// # Errors
/// Returns [`ErrorKind::WrongFormat`] for bytes that are not one, [`ErrorKind::Unsupported`] for a
/// `SequenceExample`, and [`ErrorKind::Limit`] for more than 65,536 features or 16 million values.
/// The byte is a position in `record`.
pub fn example(record: &[u8]) -> Result<Vec<Feature>> {
    let mut features = Vec::<Feature>::new();
    let mut numbers = HashMap::new();
    let mut values = 0;
    let mut top = Message { bytes: record, at: 0, end: record.len() };
    while let Some((field, value)) = top.next()? {
        match (field, value) {
            (1, Wire::Bytes(inside)) => {
                let mut map = Message { bytes: record, at: inside.start, end: inside.end };
                while let Some((field, value)) = map.next()? {
                    if let (1, Wire::Bytes(entry)) = (field, value) {
                        let at = entry.start;
                        let feature = entry_of(record, entry)?;
                        values += feature.values.len();
                        // Of a name that comes twice, protocol buffers keep the last.
                        let next = features.len();
                        match *numbers.entry(feature.name.clone()).or_insert(next) {
                            number if number < next => features[number] = feature,
                            _ => features.push(feature),
                        }
                        if features.len() > FEATURES_MAX || values > VALUES_MAX {
                            let text = "a record of more than 65,536 features or 16 million values";
                            return Err(Error::new(ErrorKind::Limit, text).with_byte(at as u64));
                        }
                    }
                }
            }
            (2, _) => {
                let text = "the record is a SequenceExample; records of tf.train.Example are read";
                return Err(Error::new(ErrorKind::Unsupported, text).with_byte(0));
            }
            _ => {}
        }
    }
    Ok(features)
}

/// Parses an entry of the map of features.
fn entry_of(record: &[u8], entry: Range<usize>) -> Result<Feature> {
    let mut message = Message { bytes: record, at: entry.start, end: entry.end };
    let mut name = String::new();
    let mut values = Values::Nothing;
    while let Some((field, value)) = message.next()? {
        match (field, value) {
            (1, Wire::Bytes(range)) => {
                let text = std::str::from_utf8(&record[range.clone()]);
                name = text
                    .map_err(|_| no_example(range.start, "a feature's name is not UTF-8"))?
                    .into();
            }
            (2, Wire::Bytes(range)) => values = values_of(record, range)?,
            _ => {}
        }
    }
    Ok(Feature { name, values })
}

/// Parses a `Feature`: a list of one of three kinds.
fn values_of(record: &[u8], range: Range<usize>) -> Result<Values> {
    let mut message = Message { bytes: record, at: range.start, end: range.end };
    let mut values = Values::Nothing;
    while let Some((field, value)) = message.next()? {
        let Wire::Bytes(list) = value else { continue };
        let list = Message { bytes: record, at: list.start, end: list.end };
        values = match field {
            1 => Values::Bytes(byte_strings(list)?),
            2 => Values::Floats(floats(list)?),
            3 => Values::Ints(integers(list)?),
            _ => continue,
        };
    }
    Ok(values)
}

/// Refuses a list of too many values.
fn within(values: usize, at: usize) -> Result<()> {
    if values <= VALUES_MAX {
        return Ok(());
    }
    let text = "a feature of more than 16 million values";
    Err(Error::new(ErrorKind::Limit, text).with_byte(at as u64))
}

fn byte_strings(mut list: Message<'_>) -> Result<Vec<Range<usize>>> {
    let mut out = Vec::new();
    while let Some((field, value)) = list.next()? {
        if let (1, Wire::Bytes(range)) = (field, value) {
            out.push(range);
        }
        within(out.len(), list.at)?;
    }
    Ok(out)
}

fn floats(mut list: Message<'_>) -> Result<Vec<f32>> {
    let mut out = Vec::new();
    while let Some((field, value)) = list.next()? {
        match (field, value) {
            (1, Wire::Fixed32(bits)) => out.push(f32::from_bits(bits)),
            (1, Wire::Bytes(packed)) => {
                let bytes = &list.bytes[packed.clone()];
                if !bytes.len().is_multiple_of(4) {
                    return Err(no_example(packed.start, "a list of floats has part of one"));
                }
                out.extend(bytes.chunks_exact(4).map(|chunk| f32::from_bits(u32_at(chunk, 0))));
            }
            _ => {}
        }
    }
    Ok(out)
}

fn integers(mut list: Message<'_>) -> Result<Vec<i64>> {
    let mut out = Vec::new();
    while let Some((field, value)) = list.next()? {
        match (field, value) {
            (1, Wire::Varint(number)) => out.push(number as i64),
            (1, Wire::Bytes(packed)) => {
                let mut numbers = Message { bytes: list.bytes, at: packed.start, end: packed.end };
                while numbers.at < numbers.end {
                    out.push(numbers.varint()? as i64);
                    within(out.len(), numbers.at)?;
                }
            }
            _ => {}
        }
    }
    Ok(out)
}

/// A value of the wire format.
enum Wire {
    Varint(u64),
    Fixed64,
    Fixed32(u32),
    Bytes(Range<usize>),
}

/// A message: a range of the record, and the position in it.
struct Message<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

fn no_example(at: usize, why: &str) -> Error {
    let text = format!("the record is not a tf.train.Example: {why}");
    Error::new(ErrorKind::WrongFormat, text).with_byte(at as u64)
}

impl Message<'_> {
    fn next(&mut self) -> Result<Option<(u64, Wire)>> {
        if self.at == self.end {
            return Ok(None);
        }
        let start = self.at;
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => {
                self.take(8)?;
                Wire::Fixed64
            }
            2 => {
                let length = self.varint()?;
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Fixed32(u32_at(&self.bytes[self.take(4)?], 0)),
            _ => return Err(no_example(start, "an unknown type of field")),
        };
        Ok(Some((tag >> 3, value)))
    }

    fn take(&mut self, length: usize) -> Result<Range<usize>> {
        let start = self.at;
        match start.checked_add(length).filter(|end| *end <= self.end) {
            Some(end) => {
                self.at = end;
                Ok(start..end)
            }
            None => Err(no_example(start, "a field ends past its message")),
        }
    }

    fn varint(&mut self) -> Result<u64> {
        let start = self.at;
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let at = self.take(1)?.start;
            let byte = self.bytes[at];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(no_example(start, "a number has more than ten bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field of bytes: its tag, length and bytes.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, bytes.len() as u8][..], bytes].concat()
    }

    fn feature(name: &str, list: &[u8]) -> Vec<u8> {
        field(1, &[field(1, name.as_bytes()), field(2, list)].concat())
    }

    #[test]
    fn a_frame_has_checksums_of_length_and_data() {
        let mut bytes = [0; HEAD];
        bytes[0] = 3;
        let sum = masked(crc32c(&bytes[..8]));
        bytes[8..].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(head(&bytes, 0).unwrap(), 3);
        assert!(is_whole(b"abc", masked(crc32c(b"abc")).to_le_bytes()));
        assert!(!is_whole(b"abd", masked(crc32c(b"abc")).to_le_bytes()));
        bytes[1] ^= 1;
        assert_eq!(head(&bytes, 0).unwrap_err().kind(), ErrorKind::WrongFormat);
        assert_eq!(head(&bytes, 99).unwrap_err().kind(), ErrorKind::Damaged);
    }

    #[test]
    fn an_example_has_bytes_floats_and_integers() {
        let mut packed = 1.5f32.to_le_bytes().to_vec();
        packed.extend((-2f32).to_le_bytes());
        let lists = [
            feature("image/encoded", &field(1, &field(1, b"\xff\xd8"))),
            feature("w", &field(2, &field(1, &packed))),
            feature("label", &field(3, &field(1, &[7, 0xac, 0x02]))),
            feature("old", &field(3, &[8, 5])), // not packed, as protocol buffers 2 write it
            feature("none", b""),
        ]
        .concat();
        let record = field(1, &lists);
        let found = example(&record).unwrap();
        let Values::Bytes(ranges) = &found[0].values else { panic!("{found:?}") };
        assert_eq!(&record[ranges[0].clone()], b"\xff\xd8");
        assert_eq!(found[1].values, Values::Floats(vec![1.5, -2.0]));
        assert_eq!(found[2].values, Values::Ints(vec![7, 300]));
        assert_eq!(found[3].values, Values::Ints(vec![5]));
        assert_eq!(found[4], Feature { name: "none".into(), values: Values::Nothing });
        for cut in 1..record.len() {
            assert!(example(&record[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn other_messages_are_refused() {
        assert!(example(&field(2, b"")).unwrap_err().text().contains("SequenceExample"));
        assert!(example(&[0x0b]).is_err());
        assert!(example(&[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255]).is_err());
        assert_eq!(example(&[]).unwrap(), []);
    }
}
