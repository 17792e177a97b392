//! `Coverage`: how much of the data sets a verification has read.

use serde::{Deserialize, Serialize};
use tarflume_base::units;

/// How much was read. What was not read was checked as the level quick does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// The part that was asked for: `slice 3/30`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<String>,
    /// Shards of which all or some was read, or that have not changed since they were read.
    pub shards: u64,
    /// All shards.
    pub of_shards: u64,
    /// Shards of which every byte was read, so that the digest of the tar was compared.
    pub whole_shards: u64,
    /// Samples that were read.
    pub samples: u64,
    /// All samples.
    pub of_samples: u64,
    /// Bytes that were read, or that have not changed since they were read.
    pub bytes: u64,
    /// Bytes of all tars.
    pub of_bytes: u64,
    /// Shards of `shards` that have not changed since they were verified, by the cache. They were not read again.
    pub unchanged: u64,
    /// True if the time was over before all was read.
    pub ended_early: bool,
}

/// What was read of one shard.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Covered {
    pub samples: u64,
    pub bytes: u64,
    /// Bytes of a tar that is not here, as far as they are stated.
    #[serde(default)]
    pub absent: u64,
    /// True if every byte was read.
    pub is_whole: bool,
    /// True if the cache has the result.
    pub is_unchanged: bool,
    /// True if the time was over before all that belongs to the share was read.
    pub ended_early: bool,
}

impl Coverage {
    /// Adds a shard of this many samples and bytes.
    pub(crate) fn add(&mut self, covered: &Covered, samples: u64, bytes: u64) {
        self.of_shards += 1;
        self.of_samples += samples;
        self.of_bytes += bytes.max(covered.absent);
        self.shards += u64::from(covered.bytes > 0 || covered.is_whole);
        self.whole_shards += u64::from(covered.is_whole);
        self.samples += covered.samples;
        self.bytes += covered.bytes;
        self.unchanged += u64::from(covered.is_unchanged);
        self.ended_early |= covered.ended_early;
    }

    /// Returns true if every byte was read.
    pub fn is_complete(&self) -> bool {
        self.whole_shards == self.of_shards
    }

    /// Returns how much was read: `3.3 % of 12.4 GB`.
    pub fn part(&self) -> String {
        format!("{} of {}", percent(self.bytes, self.of_bytes), units::bytes(self.of_bytes))
    }
}

/// Returns a part in percent with one digit, neither rounded up to all nor down to nothing.
fn percent(part: u64, whole: u64) -> String {
    if part >= whole {
        return if whole == 0 { "0 %".into() } else { "100 %".into() };
    }
    let tenths = (u128::from(part) * 1000 / u128::from(whole)) as u64;
    match (part, tenths) {
        (0, _) => "0 %".into(),
        (_, 0) => "less than 0.1 %".into(),
        _ if tenths.is_multiple_of(10) => format!("{} %", tenths / 10),
        _ => format!("{}.{} %", tenths / 10, tenths % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_never_rounded_to_all_or_nothing() {
        for (part, whole, text) in [
            (0, 0, "0 %"),
            (0, 5, "0 %"),
            (1, 5000, "less than 0.1 %"),
            (1, 30, "3.3 %"),
            (1, 2, "50 %"),
            (9999, 10_000, "99.9 %"),
            (5, 5, "100 %"),
        ] {
            assert_eq!(percent(part, whole), text);
        }
    }
}
