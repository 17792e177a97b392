//! What the order must know of a data set: how many samples each shard has.
//!
//! Names, bytes and files are unknown here.

use std::sync::Arc;

use super::fingerprint::Fingerprint;
use crate::error::{Error, Result};

/// More samples than any data set has; sums of two such numbers still fit 64 bits.
pub const MAX_SAMPLES: u64 = 1 << 62;

/// The shards of a data set, by their numbers of samples. 8 bytes for each shard; clones share them.
///
/// ```
/// use tarflume_order::{Contents, Fingerprint};
///
/// let contents = Contents::new(Fingerprint::of("data", ["v1"]), [1000, 0, 500])?;
/// assert_eq!(contents.place(1003), Some((2, 3))); // shard 2, row 3
/// # Ok::<(), tarflume_order::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    fingerprint: Fingerprint,
    /// The ordinal with which each shard begins, then the number of samples.
    starts: Arc<[u64]>,
}

impl Contents {
    /// Shards of `counts` samples each, in the order that gives samples their ordinals.
    /// `fingerprint` must bind the counts.
    ///
    /// # Errors
    /// More than [`MAX_SAMPLES`] in all.
    pub fn new(
        fingerprint: Fingerprint,
        counts: impl IntoIterator<Item = u64>,
    ) -> Result<Contents> {
        let mut starts = vec![0];
        let mut sum = 0_u64;
        for (shard, count) in counts.into_iter().enumerate() {
            sum = sum.checked_add(count).filter(|&sum| sum <= MAX_SAMPLES).ok_or_else(|| {
                Error::usage(format!(
                    "shard {shard} is said to have {count} samples, which is more than a data \
                     set can have; make its index again"
                ))
            })?;
            starts.push(sum);
        }
        Ok(Contents { fingerprint, starts: starts.into() })
    }

    /// Which data set this is.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Samples in all shards.
    pub fn samples(&self) -> u64 {
        self.starts[self.shards()]
    }

    /// Number of shards.
    pub fn shards(&self) -> usize {
        self.starts.len() - 1
    }

    /// The ordinal with which each shard begins, then the number of samples: one more than shards.
    pub fn starts(&self) -> &Arc<[u64]> {
        &self.starts
    }

    /// The shard and the row of the sample `ordinal`; `None` past the last. Binary search.
    pub fn place(&self, ordinal: u64) -> Option<(usize, u64)> {
        if ordinal >= self.samples() {
            return None;
        }
        // Of shards that begin with the same ordinal all but the last are empty.
        let shard = self.starts.partition_point(|&start| start <= ordinal) - 1;
        Some((shard, ordinal - self.starts[shard]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(counts: &[u64]) -> Result<Contents> {
        Contents::new(Fingerprint::of("test", ["contents"]), counts.iter().copied())
    }

    #[test]
    fn every_ordinal_has_its_place() {
        let counts = [3, 0, 0, 5, 1, 0];
        let contents = contents(&counts).unwrap();
        let places = counts.iter().enumerate().flat_map(|(s, &n)| (0..n).map(move |row| (s, row)));
        let found = (0..contents.samples()).map(|ordinal| contents.place(ordinal).unwrap());
        assert!(found.eq(places));
        assert_eq!(contents.place(9), None);
        assert_eq!((contents.samples(), contents.shards()), (9, 6));
    }

    #[test]
    fn counts_that_lie_are_an_error() {
        assert!(contents(&[u64::MAX, 2]).unwrap_err().text().contains("shard 0"));
        assert!(contents(&[1 << 62, 1]).unwrap_err().text().contains("shard 1"));
        assert_eq!(contents(&[]).unwrap().place(0), None);
    }
}
