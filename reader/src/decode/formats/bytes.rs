//! Numbers and parts at places in a file's bytes, which may end before.

/// `length` bytes from `at`.
pub(super) fn part(bytes: &[u8], at: usize, length: usize) -> Option<&[u8]> {
    bytes.get(at..)?.get(..length)
}

/// `N` bytes from `at`.
pub(super) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    part(bytes, at, N)?.try_into().ok()
}

/// A little-endian number of 16 bits.
pub(super) fn le16(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(|two| u16::from_le_bytes(two).into())
}

/// A little-endian number of 24 bits.
pub(super) fn le24(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]))
}

/// A little-endian number of 32 bits.
pub(super) fn le32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

/// A big-endian number of 32 bits.
pub(super) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_be_bytes)
}
