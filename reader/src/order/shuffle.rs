//! `Shuffle`: the five orders that a user can choose from.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The largest buffer, in samples.
pub const MAX_BUFFER: u64 = 1 << 22;

/// In which order the samples of a pass come. docs/MIXING.md helps to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Shuffle {
    /// As they stand in the shards.
    None,
    /// Shards in random order, each as it stands.
    Shards {
        /// Another seed, another order.
        seed: u64,
    },
    /// Shards in random order, read one after the other into a buffer from which samples are drawn:
    /// what WebDataset users mean by a shuffle.
    Buffer {
        /// Samples in the buffer.
        size: u64,
        /// Another seed, another order.
        seed: u64,
    },
    /// Runs of neighbours in random order, and the samples of a few runs dealt at random: nearly
    /// sequential reads, far better mixed than a buffer of that size.
    Blocks {
        /// Samples of a run.
        block: u64,
        /// Runs that are dealt together.
        window: u64,
        /// Another seed, another order.
        seed: u64,
    },
    /// Every order of all samples is equally likely: an exact permutation.
    Full {
        /// Another seed, another order.
        seed: u64,
    },
}

impl Shuffle {
    /// Its seed; 0 if it has none.
    pub fn seed(&self) -> u64 {
        match *self {
            Shuffle::None => 0,
            Shuffle::Shards { seed }
            | Shuffle::Buffer { seed, .. }
            | Shuffle::Blocks { seed, .. }
            | Shuffle::Full { seed } => seed,
        }
    }

    /// Refuses what can't be meant.
    ///
    /// # Errors
    /// A size of nothing, or one that is too large, with what to say instead.
    pub fn check(&self) -> Result<()> {
        match *self {
            Shuffle::Buffer { size: 0, .. } => {
                Err(Error::usage("a buffer of no samples shuffles nothing: give it a size, or say Shards"))
            }
            Shuffle::Buffer { size, .. } if size > MAX_BUFFER => Err(Error::usage(format!(
                "a buffer of {size} samples is more than the {MAX_BUFFER} that are allowed: Full is exact \
                 and needs no buffer, Blocks reads nearly in sequence"
            ))),
            Shuffle::Blocks { block, window, .. } if block == 0 || window == 0 => Err(Error::usage(
                format!("Blocks of {block} samples in windows of {window}: both must be at least 1"),
            )),
            Shuffle::Blocks { block, window, .. } if block.checked_mul(window).is_none() => {
                Err(Error::usage("the window of Blocks holds more samples than can be counted"))
            }
            _ => Ok(()),
        }
    }
}
