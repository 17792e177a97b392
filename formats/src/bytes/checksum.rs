//! The two checksums: blake3 for whole files, crc32c for parts that a reader verifies while
//! streaming.
//!
//! Parts have a crc32c and not a blake3 cut to 64 bits because a part's checksum only has to detect
//! decay while training reads it; blake3 already protects the whole tar. FORMAT.md has the figures.

/// The blake3 digest of a whole file, in the form of `b3sum`.
pub type Digest = blake3::Hash;

/// A running crc32c over the pieces of one part.
#[derive(Debug)]
pub struct Crc(crc_fast::Digest);

impl Crc {
    /// Starts with no bytes.
    pub fn new() -> Self {
        Crc(crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi))
    }

    /// Adds the next piece.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the checksum of all pieces so far.
    pub fn value(&self) -> u32 {
        // crc-fast keeps every width in a u64; a 32-bit sum fills the low half.
        self.0.finalize() as u32
    }
}

impl Default for Crc {
    fn default() -> Self {
        Crc::new()
    }
}

/// Returns the crc32c (Castagnoli, RFC 3720 appendix B.4) of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32c_gives_the_published_check_values() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }

    #[test]
    fn pieces_add_up_to_the_whole() {
        let data: Vec<u8> = (0..10_000u32).map(|i| (i * 7) as u8).collect();
        let mut crc = Crc::new();
        data.chunks(777).for_each(|piece| crc.update(piece));
        assert_eq!(crc.value(), crc32c(&data));
    }
}
