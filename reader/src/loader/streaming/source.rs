//! `StreamSource`: what workers and planners of a stream share.

use crate::loader::pipeline::columns::ColumnSet;
use crate::loader::pipeline::worker::SampleWriter;

/// Bits of the row in a stream sample's number.
const ROW_BITS: u32 = 40;

/// The number of a stream sample, in place of an ordinal: its shard's index in the list, and its row in the lower 40 bits.
/// A sample has the same number in all epochs, and no two samples have the same one.
pub(crate) fn number(shard: u64, row: u64) -> u64 {
    (shard << ROW_BITS) | (row & ((1 << ROW_BITS) - 1))
}

/// Makes batches from streamed samples.
pub(crate) struct StreamSource {
    /// Samples arrive in memory, so a thread needs no buffers to read into.
    pub(crate) writer: SampleWriter<()>,
    pub(crate) seed: u64,
}

impl StreamSource {
    pub(crate) fn columns(&self) -> &ColumnSet {
        &self.writer.columns
    }
}
