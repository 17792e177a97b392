//! `ContentDigest`: the digest of all samples of a data set. Reads sidecars only.

use tarflume_formats::{Index, Result};

/// A digest of samples that does not depend on their order: the sum of the digests of each, modulo 2^128.
///
/// It finds changes, not forgeries: a person who may choose the bytes of many samples can make two sums equal.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ContentDigest {
    sum: u128,
    /// True if a sidecar has no checksums.
    is_unknown: bool,
}

impl ContentDigest {
    /// Adds the samples of a shard, from its sidecar.
    ///
    /// # Errors
    /// Returns an error if the sidecar is damaged.
    pub(crate) fn add(&mut self, index: &Index) -> Result<()> {
        self.is_unknown |= !index.has_checksums();
        for sample in index.iter() {
            let sample = sample?;
            let mut hasher = blake3::Hasher::new();
            hasher.update(&(sample.key.len() as u64).to_le_bytes()).update(sample.key);
            // The order of parts in the tar does not matter.
            let mut parts = sample.parts().collect::<Result<Vec<_>>>()?;
            parts.sort_by(|a, b| a.ext.cmp(b.ext));
            for part in parts {
                hasher.update(&(part.ext.len() as u64).to_le_bytes()).update(part.ext);
                hasher.update(&part.length.to_le_bytes());
                hasher.update(&part.checksum.unwrap_or_default().to_le_bytes());
            }
            let mut half = [0; 16];
            half.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
            self.sum = self.sum.wrapping_add(u128::from_le_bytes(half));
        }
        index.intact()
    }

    /// Returns the digest in hex; `None` if a sidecar has no checksums.
    pub(crate) fn hex(self) -> Option<String> {
        (!self.is_unknown).then(|| format!("{:032x}", self.sum))
    }
}
