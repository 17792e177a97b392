//! `Ordinals`: finds the shard and the row of an ordinal in a listing.

use tarflume_formats::Result;
use tarflume_formats::index::Sample;
use tarflume_shards::listing::{Listing, Shard};

/// The first ordinal of each shard of a listing.
#[derive(Debug, Clone)]
pub struct Ordinals {
    starts: Vec<u64>,
}

impl Ordinals {
    /// Counts the samples of each shard.
    pub fn of(listing: &Listing) -> Ordinals {
        let mut starts = vec![0];
        for shard in &listing.shards {
            starts.push(starts[starts.len() - 1] + shard.index.samples());
        }
        Ordinals { starts }
    }

    /// Returns the number of samples.
    pub fn samples(&self) -> u64 {
        self.starts.last().copied().unwrap_or_default()
    }

    /// Returns the ordinal of the first sample of a shard.
    pub fn start(&self, shard: usize) -> u64 {
        self.starts[shard]
    }

    /// Returns the sample with this ordinal, and its shard; `None` past the end.
    ///
    /// # Errors
    /// Returns an error if the sidecar is damaged.
    pub fn sample<'a>(
        &self,
        listing: &'a Listing,
        ordinal: u64,
    ) -> Result<Option<(&'a Shard, Sample<'a>)>> {
        if ordinal >= self.samples() {
            return Ok(None);
        }
        let number = self.starts.partition_point(|&start| start <= ordinal) - 1;
        let shard = &listing.shards[number];
        let sample = shard.index.sample(ordinal - self.starts[number])?;
        Ok(sample.map(|sample| (shard, sample)))
    }
}
