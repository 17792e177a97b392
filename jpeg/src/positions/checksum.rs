//! crc32c (RFC 3720) of the JPEG and of its entry points, as FORMAT.md specifies.

use crc_fast::{CrcAlgorithm, Digest};

/// Returns the checksum of the concatenated `parts`.
pub(crate) fn crc32c(parts: &[&[u8]]) -> u32 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize() as u32
}
