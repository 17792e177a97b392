//! crc32c (RFC 3720), as FORMAT.md uses it.

use crc_fast::{CrcAlgorithm, Digest};

/// The checksum of `parts`, one behind the other.
pub(crate) fn crc32c(parts: &[&[u8]]) -> u32 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize() as u32
}
