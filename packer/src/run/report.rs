//! What a run counts while it works, and what it reports at its end.

use std::sync::atomic::AtomicU64;

use tarflume_base::Problem;
use tarflume_formats::{Durability, IrregularJpegs};

use crate::pictures::PictureTotals;

/// Counters of a run for the progress display.
#[derive(Debug, Default)]
pub struct RunCounter {
    /// Bytes of source files packed.
    pub bytes: AtomicU64,
    /// Samples packed.
    pub samples: AtomicU64,
    /// Shards finished, including those finished before.
    pub shards: AtomicU64,
    /// Problems found.
    pub problems: AtomicU64,
}

/// Result of a run.
#[derive(Debug)]
pub struct RunReport {
    /// Whether its shards survive a power failure.
    pub durability: Durability,
    /// Shards packed by this run.
    pub packed: u64,
    /// Shards packed by this run that are of other machines' shares.
    pub stolen: u64,
    /// Shards that were finished before, or by another machine meanwhile.
    pub skipped: u64,
    /// Problems in the order of the plan, including those of skipped shards.
    pub problems: Vec<Problem>,
    /// Shards that are not finished because they have problems and the policy is to fail.
    pub refused: u64,
    /// What preparation did to the images of the shards packed by this run.
    pub pictures: PictureTotals,
    /// The JPEGs of all shards, including skipped ones, that break rules of their format without losing a pixel. They are
    /// found where Huffman codes are read.
    pub irregular_jpegs: IrregularJpegs,
}
