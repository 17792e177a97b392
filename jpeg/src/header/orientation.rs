//! The orientation of a picture from its metadata: one rule for every container.
//!
//! Finds no metadata; the caller passes the blocks that its container holds.

use memchr::memmem;

/// The tag of the orientation in TIFF and EXIF.
const TAG: u64 = 0x0112;
/// What precedes an EXIF block in APP1 of a JPEG. Some programs write it in other containers, too.
const PREFIX: &[u8] = b"Exif\0\0";
/// The property of XMP.
const PROPERTY: &[u8] = b"tiff:Orientation";

/// Returns the orientation, 1 to 8, that the metadata of a picture state; `None` if they state none.
/// `exif` is an EXIF block, with or without `Exif\0\0` before it, or a whole TIFF file; `xmp` is an
/// XMP packet.
///
/// EXIF decides if it has the tag, even if the value is invalid; otherwise XMP does. Damaged metadata
/// are no reason to reject a picture. The results are those of Pillow's `ImageOps.exif_transpose`,
/// which reads XMP values only in double quotes and without spaces.
///
/// ```
/// use tarflume_jpeg::{exif_of, orientation_in};
///
/// let xmp = b"<rdf:Description tiff:Orientation=\"8\"/>";
/// assert_eq!(orientation_in(Some(&exif_of(6)), Some(xmp)), Some(6));
/// assert_eq!(orientation_in(None, Some(xmp)), Some(8));
/// assert_eq!(orientation_in(None, None), None);
/// ```
pub fn orientation_in(exif: Option<&[u8]>, xmp: Option<&[u8]>) -> Option<u8> {
    let stated = exif.and_then(of_exif).or_else(|| xmp.and_then(of_xmp));
    stated.and_then(|value| u8::try_from(value).ok()).filter(|value| (1..=8).contains(value))
}

/// The value of the tag in the first directory. 0, which is no orientation, stands for a value that is no single
/// integer.
fn of_exif(block: &[u8]) -> Option<u64> {
    let block = block.strip_prefix(PREFIX).unwrap_or(block);
    let tiff = Tiff::open(block.strip_prefix(PREFIX).unwrap_or(block))?;
    let directory = tiff.number(tiff.first, tiff.first_bytes)?;
    let mut at = usize::try_from(directory).ok()?;
    let entries = tiff.number(at, tiff.count_bytes)?;
    at = at.checked_add(tiff.count_bytes)?;
    let mut stated = None;
    for _ in 0..entries {
        let Some(tag) = tiff.number(at, 2) else { break };
        if tag == TAG {
            // The last one counts if the tag is repeated.
            stated = Some(tiff.value(at).unwrap_or(0));
        }
        at = at.checked_add(tiff.entry_bytes)?;
    }
    stated
}

/// The structure of TIFF, which EXIF uses, or of BigTIFF.
struct Tiff<'a> {
    bytes: &'a [u8],
    big_endian: bool,
    /// Where the offset of the first directory is, and its bytes.
    first: usize,
    first_bytes: usize,
    /// Bytes of the number of entries of a directory, and of an entry.
    count_bytes: usize,
    entry_bytes: usize,
}

impl<'a> Tiff<'a> {
    fn open(bytes: &'a [u8]) -> Option<Tiff<'a>> {
        let start = bytes.first_chunk::<4>()?;
        match start {
            // The second number is in the wrong order in some files.
            b"II\x2a\0" | b"II\0\x2a" => Some(Tiff::classic(bytes, false)),
            b"MM\0\x2a" | b"MM\x2a\0" => Some(Tiff::classic(bytes, true)),
            b"II\x2b\0" => Some(Tiff::big(bytes, false)),
            b"MM\0\x2b" => Some(Tiff::big(bytes, true)),
            _ => None,
        }
    }

    fn classic(bytes: &'a [u8], big_endian: bool) -> Tiff<'a> {
        Tiff { bytes, big_endian, first: 4, first_bytes: 4, count_bytes: 2, entry_bytes: 12 }
    }

    /// BigTIFF.
    fn big(bytes: &'a [u8], big_endian: bool) -> Tiff<'a> {
        Tiff { bytes, big_endian, first: 8, first_bytes: 8, count_bytes: 8, entry_bytes: 20 }
    }

    /// A number of `length` bytes at `at`.
    fn number(&self, at: usize, length: usize) -> Option<u64> {
        let bytes = self.bytes.get(at..at.checked_add(length)?)?;
        fn add(sum: u64, byte: &u8) -> u64 {
            sum << 8 | u64::from(*byte)
        }
        Some(if self.big_endian {
            bytes.iter().fold(0, add)
        } else {
            bytes.iter().rev().fold(0, add)
        })
    }

    /// The value of the entry at `at`; `None` if it is no single integer of at least 16 bits.
    fn value(&self, at: usize) -> Option<u64> {
        let kind = self.number(at + 2, 2)?;
        let words = self.first_bytes;
        (self.number(at + 4, words)? == 1).then_some(())?;
        let bytes = match kind {
            3 | 8 => 2,
            4 | 9 => 4,
            16 | 17 if words == 8 => 8,
            _ => return None,
        };
        self.number(at + 4 + words, bytes)
    }
}

/// The value of the first property, as an attribute or an element.
fn of_xmp(packet: &[u8]) -> Option<u64> {
    memmem::find_iter(packet, PROPERTY).find_map(|at| {
        let rest = packet[at + PROPERTY.len()..].trim_ascii_start();
        let value = match rest.strip_prefix(b"=") {
            Some(rest) => match rest.trim_ascii_start() {
                [b'"' | b'\'', value @ ..] => value,
                _ => return None,
            },
            None => rest.strip_prefix(b">")?,
        };
        let digit = value.trim_ascii_start().first().filter(|digit| digit.is_ascii_digit())?;
        Some(u64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An EXIF block of these entries: tag, type, count, value.
    fn exif(big_endian: bool, entries: &[(u16, u16, u32, u32)]) -> Vec<u8> {
        fn short(big_endian: bool, n: u16) -> [u8; 2] {
            if big_endian { n.to_be_bytes() } else { n.to_le_bytes() }
        }

        fn long(big_endian: bool, n: u32) -> [u8; 4] {
            if big_endian { n.to_be_bytes() } else { n.to_le_bytes() }
        }

        let mut block = if big_endian { b"MM\0\x2a".to_vec() } else { b"II\x2a\0".to_vec() };
        block.extend(long(big_endian, 8));
        block.extend(short(big_endian, entries.len() as u16));
        for &(tag, kind, count, value) in entries {
            block.extend([short(big_endian, tag), short(big_endian, kind)].concat());
            block.extend(long(big_endian, count));
            if kind == 3 {
                block.extend([short(big_endian, value as u16), [0; 2]].concat());
            } else {
                block.extend(long(big_endian, value));
            }
        }
        block.extend([0; 4]);
        block
    }

    #[test]
    fn integers_of_16_and_32_bits_state_an_orientation() {
        for big_endian in [false, true] {
            for kind in [3, 4, 8, 9] {
                let value = if kind == 8 && big_endian { 6 << 16 } else { 6 };
                let block = exif(big_endian, &[(256, 3, 1, 9), (0x0112, kind, 1, value)]);
                assert_eq!(orientation_in(Some(&block), None), Some(6), "type {kind}");
                let prefixed = [b"Exif\0\0", &block[..]].concat();
                assert_eq!(orientation_in(Some(&prefixed), None), Some(6));
                let twice = [b"Exif\0\0", &prefixed[..]].concat();
                assert_eq!(orientation_in(Some(&twice), None), Some(6));
            }
        }
    }

    #[test]
    fn xmp_decides_only_where_exif_has_no_tag() {
        let xmp: &[u8] = b"<x tiff:Orientation=\"6\">";
        let without = exif(false, &[(256, 3, 1, 9)]);
        assert_eq!(orientation_in(Some(&without), Some(xmp)), Some(6));
        assert_eq!(orientation_in(Some(b"no EXIF at all"), Some(xmp)), Some(6));
        for (kind, count, value) in [(3, 1, 3), (3, 1, 1)] {
            let block = exif(true, &[(0x0112, kind, count, value)]);
            assert_eq!(orientation_in(Some(&block), Some(xmp)), Some(value as u8));
        }
        // An invalid value states that the picture is not turned.
        for (kind, count, value) in
            [(3, 1, 0), (3, 1, 9), (3, 2, 6), (1, 1, 6), (2, 2, 6), (4, 1, 262)]
        {
            let block = exif(false, &[(0x0112, kind, count, value)]);
            assert_eq!(orientation_in(Some(&block), Some(xmp)), None, "{kind} {count} {value}");
        }
    }

    #[test]
    fn xmp_states_it_as_attribute_or_element() {
        for (packet, orientation) in [
            ("<a tiff:Orientation=\"6\"/>", Some(6)),
            ("<a tiff:Orientation='3'/>", Some(3)),
            ("<a tiff:Orientation = \"5\"/>", Some(5)),
            ("<tiff:Orientation>8</tiff:Orientation>", Some(8)),
            ("about tiff:Orientation in general, <a tiff:Orientation=\"2\"/>", Some(2)),
            ("<a tiff:Orientation=\"0\"/>", None),
            ("<a tiff:Orientation=\"9\"/>", None),
            ("<a tiff:Orientation=\"\"/>", None),
            ("tiff:Orientation", None),
            ("<a exif:Orientation=\"6\"/>", None),
        ] {
            assert_eq!(orientation_in(None, Some(packet.as_bytes())), orientation, "{packet}");
        }
    }

    #[test]
    fn a_tag_before_the_damage_counts_and_no_cut_panics() {
        let block = exif(false, &[(0x0112, 3, 1, 6), (0x0112, 3, 1, 8), (305, 2, 9, 900)]);
        assert_eq!(orientation_in(Some(&block), None), Some(8), "the last one counts");
        assert_eq!(orientation_in(Some(&block[..22]), None), Some(6));
        for cut in 0..block.len() {
            orientation_in(Some(&block[..cut]), None);
        }
        let mut far = block;
        far[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(orientation_in(Some(&far), None), None);
    }

    #[test]
    fn a_big_tiff_has_longer_offsets() {
        let mut file = b"II\x2b\0\x08\0\0\0".to_vec();
        file.extend(16u64.to_le_bytes());
        file.extend(1u64.to_le_bytes());
        file.extend([0x0112u16.to_le_bytes(), 3u16.to_le_bytes()].concat());
        file.extend([1u64.to_le_bytes(), 7u64.to_le_bytes()].concat());
        assert_eq!(orientation_in(Some(&file), None), Some(7));
    }
}
