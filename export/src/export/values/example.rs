//! `tf.train.Example` in the wire format of protocol buffers, and the frame of a TFRecord.
//!
//! An example is a map from names to lists of bytes, of 32-bit floats, or of 64-bit integers. A
//! message begins with its length, so large values are added as lengths and written later.

use tarflume_formats::crc32c;

/// Field 1 with bytes or a message: `Example.features`, `Features.feature`, the key of a map entry,
/// `BytesList.value`, packed numbers, `Feature.bytes_list`.
const FIRST: u8 = 0x0a;
/// Field 2: the value of a map entry, `Feature.float_list`.
const SECOND: u8 = 0x12;
/// Field 3: `Feature.int64_list`.
const THIRD: u8 = 0x1a;

/// The features of one example that are held in memory, and the lengths of the others.
#[derive(Debug, Default)]
pub(crate) struct Features {
    /// Whole entries of the map.
    small: Vec<u8>,
    /// Bytes of all entries.
    length: u64,
}

impl Features {
    /// Returns features without entries.
    pub(crate) fn new() -> Features {
        Features::default()
    }

    /// Adds lists of bytes.
    pub(crate) fn bytes<'b>(&mut self, name: &str, values: impl IntoIterator<Item = &'b [u8]>) {
        let mut list = Vec::new();
        for value in values {
            field(&mut list, FIRST, value);
        }
        self.entry(name, FIRST, &list);
    }

    /// Adds a list of floats.
    pub(crate) fn floats(&mut self, name: &str, values: impl IntoIterator<Item = f32>) {
        let packed: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
        let mut list = Vec::new();
        field(&mut list, FIRST, &packed);
        self.entry(name, SECOND, &list);
    }

    /// Adds a list of integers.
    pub(crate) fn integers(&mut self, name: &str, values: impl IntoIterator<Item = i64>) {
        let mut packed = Vec::new();
        values.into_iter().for_each(|value| varint(&mut packed, value.cast_unsigned()));
        let mut list = Vec::new();
        field(&mut list, FIRST, &packed);
        self.entry(name, THIRD, &list);
    }

    /// Adds the length of an entry whose bytes are written after [`head_of_bytes`].
    pub(crate) fn later(&mut self, name: &str, length: u64) {
        self.length += head_of_bytes(name, length).len() as u64 + length;
    }

    /// Returns the bytes of the example before the entries that are written later, and the bytes of
    /// the whole example.
    pub(crate) fn head(self) -> (Vec<u8>, u64) {
        let mut head = vec![FIRST];
        varint(&mut head, self.length);
        let whole = head.len() as u64 + self.length;
        head.extend_from_slice(&self.small);
        (head, whole)
    }

    fn entry(&mut self, name: &str, kind: u8, list: &[u8]) {
        let mut entry = Vec::new();
        let mut feature = Vec::new();
        field(&mut entry, FIRST, name.as_bytes());
        field(&mut feature, kind, list);
        field(&mut entry, SECOND, &feature);
        let before = self.small.len();
        field(&mut self.small, FIRST, &entry);
        self.length += (self.small.len() - before) as u64;
    }
}

/// Returns the bytes of a map entry before a value of `length` bytes.
pub(crate) fn head_of_bytes(name: &str, length: u64) -> Vec<u8> {
    let list = 1 + varint_length(length) + length;
    let feature = 1 + varint_length(list) + list;
    let named = 1 + varint_length(name.len() as u64) + name.len() as u64;
    let mut head = vec![FIRST];
    varint(&mut head, named + 1 + varint_length(feature) + feature);
    field(&mut head, FIRST, name.as_bytes());
    for (tag, length) in [(SECOND, feature), (FIRST, list), (FIRST, length)] {
        head.push(tag);
        varint(&mut head, length);
    }
    head
}

/// Returns the bytes before the data of a record: its length and the checksum of that.
pub(crate) fn head_of_record(length: u64) -> [u8; 12] {
    let mut head = [0; 12];
    head[..8].copy_from_slice(&length.to_le_bytes());
    let sum = masked(crc32c(&length.to_le_bytes()));
    head[8..].copy_from_slice(&sum.to_le_bytes());
    head
}

/// Returns a crc32c as a TFRecord stores it: a checksum of bytes that contain checksums would
/// otherwise be weak.
pub(crate) fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

fn field(to: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    to.push(tag);
    varint(to, bytes.len() as u64);
    to.extend_from_slice(bytes);
}

fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn varint_length(value: u64) -> u64 {
    u64::from((64 - value.leading_zeros()).max(1).div_ceil(7))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_protocol_buffers() {
        let mut features = Features::new();
        features.integers("n", [300]);
        let (head, whole) = features.head();
        // Example { features { feature { key: "n" value { int64_list { value: 300 } } } } }
        let want = b"\x0a\x0d\x0a\x0b\x0a\x01n\x12\x06\x1a\x04\x0a\x02\xac\x02";
        assert_eq!((head.as_slice(), whole), (&want[..], want.len() as u64));
        let mut features = Features::new();
        features.floats("f", [1.0]);
        features.bytes("b", [b"x".as_slice(), b""]);
        let want = b"\x0a\x1d\x0a\x0d\x0a\x01f\x12\x08\x12\x06\x0a\x04\0\0\x80\x3f\
                     \x0a\x0c\x0a\x01b\x12\x07\x0a\x05\x0a\x01x\x0a\0";
        assert_eq!(features.head().0, want);
    }

    #[test]
    fn a_value_written_later_gives_the_same_bytes() {
        for length in [0, 1, 127, 128, 16_383, 16_384, 3_000_000] {
            let value = vec![7; length];
            let mut now = Features::new();
            now.bytes("part", [value.as_slice()]);
            let (now, whole) = now.head();
            let mut later = Features::new();
            later.later("part", length as u64);
            let (mut bytes, whole_later) = later.head();
            bytes.extend(head_of_bytes("part", length as u64));
            bytes.extend(&value);
            assert!(bytes == now, "{length}");
            assert_eq!((whole, whole_later), (now.len() as u64, now.len() as u64));
        }
    }

    #[test]
    fn the_frame_is_that_of_tensorflow() {
        // (0xe3069283 >> 15 | 0xe3069283 << 17) + 0xa282ead8
        assert_eq!(masked(crc32c(b"123456789")), 0xc78a_b0e5);
        let head = head_of_record(5);
        assert_eq!(head[..8], [5, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(head[8..], [0xea, 0xb2, 0x04, 0x3e]);
    }

    #[test]
    fn negative_integers_take_ten_bytes() {
        let mut bytes = Vec::new();
        varint(&mut bytes, (-1i64).cast_unsigned());
        assert_eq!(bytes.len(), 10);
        assert_eq!((varint_length(u64::MAX), varint_length(0), varint_length(128)), (10, 1, 2));
    }
}
