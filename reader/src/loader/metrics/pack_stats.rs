//! `PackStats`: how full the packs of a loader are. Plain data.

use serde::{Serialize, Serializer};

use crate::order::PackTotals;

/// What an epoch of packed samples became.
///
/// ```
/// use tarflume::{Loader, Packing};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let lengths: Vec<i64> = (1..=16).collect();
/// let loader = Loader::builder(shards).text("txt").packs(Packing::new(lengths, 17)).build()?;
/// let packs = loader.stats().packs.expect("the loader has packs");
/// assert_eq!((packs.totals.packs, packs.totals.filled(), packs.too_long), (8, 1.0, 0));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackStats {
    /// Packs, samples and tokens of an epoch of all ranks.
    pub totals: PackTotals,
    /// Samples of the data set that are longer than a pack, and were left out or are cut.
    pub too_long: u64,
}

#[derive(Serialize)]
struct PackRecord {
    packs: u64,
    samples: u64,
    tokens: u64,
    max_tokens: u64,
    filled: f64,
    too_long: u64,
}

impl Serialize for PackStats {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let PackStats { totals, too_long } = *self;
        let PackTotals { packs, samples, tokens, capacity: max_tokens } = totals;
        let filled = totals.filled();
        PackRecord { packs, samples, tokens, max_tokens, filled, too_long }.serialize(serializer)
    }
}
