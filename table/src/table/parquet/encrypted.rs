//! Finds out whether columns of a Parquet file with a readable footer are encrypted, to say so in an error.
//!
//! The footer is a structure of the compact protocol of Thrift. Its eighth field, the algorithm, is there if and only if
//! columns are encrypted. Reads nothing else of it.

use std::fs::File;

use tarflume_formats::files;

/// The field with the algorithm of an encrypted file.
const ALGORITHM: i64 = 8;
/// Limit on structures and lists within each other.
const DEPTH: u32 = 32;

/// Returns true if the footer of a file of `bytes` bytes names an algorithm of encryption. A damaged footer, and one of
/// more than `most` bytes, names none.
pub(super) fn has_encrypted_columns(file: &File, bytes: u64, most: u64) -> bool {
    footer(file, bytes, most).is_some_and(|footer| has_field(&footer, ALGORITHM) == Some(true))
}

fn footer(file: &File, bytes: u64, most: u64) -> Option<Vec<u8>> {
    let tail = bytes.checked_sub(8)?;
    let mut length = [0; 4];
    files::read_exact_at(file, &mut length, tail).ok()?;
    let length = u64::from(u32::from_le_bytes(length));
    if length > most {
        return None;
    }
    let mut footer = vec![0; usize::try_from(length).ok()?];
    files::read_exact_at(file, &mut footer, tail.checked_sub(length)?).ok()?;
    Some(footer)
}

/// Returns true if a structure itself, not one within it, has a field with this number; `None` if it is damaged.
fn has_field(bytes: &[u8], wanted: i64) -> Option<bool> {
    let mut compact = Compact(bytes);
    let mut number = 0;
    while let Some(kind) = compact.field(&mut number)? {
        if number == wanted {
            return Some(true);
        }
        compact.skip(kind, DEPTH)?;
    }
    Some(false)
}

/// The rest of a text of the compact protocol.
struct Compact<'a>(&'a [u8]);

impl Compact<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn take(&mut self, count: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(count).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// Reads the head of a field and returns its type; the inner `None` at the end of the structure.
    fn field(&mut self, number: &mut i64) -> Option<Option<u8>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        *number = match head >> 4 {
            0 => {
                let zigzag = self.varint()?;
                (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64)
            }
            delta => number.checked_add(i64::from(delta))?,
        };
        Some(Some(head & 15))
    }

    /// Skips a value of this type.
    fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            1 | 2 => Some(()), // the type is the truth value
            3 => self.take(1),
            4..=6 => self.varint().map(drop),
            7 => self.take(8),
            8 => {
                let length = self.varint()?;
                self.take(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                (0..count).try_for_each(|_| self.element(head & 15, depth))
            }
            11 => {
                let count = self.varint()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                (0..count).try_for_each(|_| {
                    self.element(kinds >> 4, depth)?;
                    self.element(kinds & 15, depth)
                })
            }
            12 => {
                let mut number = 0;
                while let Some(kind) = self.field(&mut number)? {
                    self.skip(kind, depth)?;
                }
                Some(())
            }
            _ => None,
        }
    }

    /// Skips an element of a list or map, where a truth value has a byte.
    fn element(&mut self, kind: u8, depth: u32) -> Option<()> {
        match kind {
            1 | 2 => self.take(1),
            kind => self.skip(kind, depth),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_algorithm_is_found_after_fields_of_all_types() {
        // 1: i32, 2: list of one structure with a truth value and a text, 3: i64, 6: text, 8: structure.
        let footer =
            [0x15, 2, 0x19, 0x1c, 0x11, 0x18, 2, b'a', b'b', 0, 0x16, 4, 0x38, 1, b'x', 0x2c, 0, 0];
        assert_eq!(has_field(&footer, ALGORITHM), Some(true));
        assert_eq!(has_field(&footer, 7), Some(false));
        for end in 0..footer.len() - 1 {
            assert_ne!(has_field(&footer[..end], 9), Some(true), "{end}");
        }
        assert_eq!(has_field(&[0x19; 200], 8), None); // lists without end
    }
}
