//! Bounds-checked reads of numbers and ranges from a file's bytes. `None` if the bytes end before.

/// `length` bytes at `at`.
pub(in crate::formats) fn part(bytes: &[u8], at: usize, length: usize) -> Option<&[u8]> {
    bytes.get(at..)?.get(..length)
}

/// `N` bytes at `at`.
pub(in crate::formats) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    part(bytes, at, N)?.try_into().ok()
}

/// A 16-bit little-endian number.
pub(in crate::formats) fn le16(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(|two| u16::from_le_bytes(two).into())
}

/// A 24-bit little-endian number.
pub(in crate::formats) fn le24(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]))
}

/// A 32-bit little-endian number.
pub(in crate::formats) fn le32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

/// A 32-bit big-endian number.
pub(in crate::formats) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_be_bytes)
}
