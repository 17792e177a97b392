//! Little-endian numbers in a slice. Callers have checked that the bytes are there.

/// The `u32` that begins at `at`.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut n = [0; 4];
    n.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(n)
}

/// The `u64` that begins at `at`.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut n = [0; 8];
    n.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(n)
}
