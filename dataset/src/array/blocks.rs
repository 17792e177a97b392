//! `BlockCache`: the decoded blocks of an array whose rows are stored encoded: chunks of HDF5, row groups of Parquet.
//!
//! Bounded by bytes. A block is decoded by one thread while others wait for it; an error is not kept. Decodes nothing
//! itself.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use tarflume_formats::IgnorePoison;
use tarflume_types::{Error, ErrorKind, Result};

/// Decodes blocks of an array, from any thread.
pub trait DecodeRows: Send + Sync + fmt::Debug {
    /// Decodes the rows of one block: little-endian numbers, row by row, without gaps.
    ///
    /// # Errors
    /// Returns an error if the bytes cannot be read or decoded.
    fn decode(&self, rows: Range<u64>) -> Result<Vec<u8>>;
}

/// Which rows are decoded together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowBlocks {
    /// Blocks of so many rows, the last one shorter.
    Every {
        /// Rows of a block.
        block: u64,
        /// Rows of the array.
        rows: u64,
    },
    /// The first row of each block, then the number of rows.
    At(Arc<[u64]>),
}

impl RowBlocks {
    /// Rows of all blocks.
    pub fn rows(&self) -> u64 {
        match self {
            RowBlocks::Every { rows, .. } => *rows,
            RowBlocks::At(starts) => starts.last().copied().unwrap_or(0),
        }
    }

    /// Rows of the largest block.
    pub fn largest(&self) -> u64 {
        match self {
            RowBlocks::Every { block, rows } => *block.min(rows),
            RowBlocks::At(starts) => {
                starts.windows(2).map(|ends| ends[1].saturating_sub(ends[0])).max().unwrap_or(0)
            }
        }
    }

    /// The number of blocks.
    pub fn count(&self) -> u64 {
        match self {
            RowBlocks::Every { block, rows } => rows.div_ceil(*block.max(&1)),
            RowBlocks::At(starts) => (starts.len() as u64).saturating_sub(1),
        }
    }

    /// The number of rows of each block, in order.
    pub fn counts(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.count()).map(|number| self.range(number)).map(|rows| rows.end - rows.start)
    }

    /// The block that has a row.
    fn of(&self, row: u64) -> u64 {
        match self {
            RowBlocks::Every { block, .. } => row / block.max(&1),
            RowBlocks::At(starts) => starts.partition_point(|&start| start <= row) as u64 - 1,
        }
    }

    /// The rows of a block.
    fn range(&self, number: u64) -> Range<u64> {
        match self {
            RowBlocks::Every { block, rows } => {
                let first = number * block;
                first..first.saturating_add(*block).min(*rows)
            }
            RowBlocks::At(starts) => starts[number as usize]..starts[number as usize + 1],
        }
    }

    /// False if blocks do not follow each other.
    fn is_ordered(&self) -> bool {
        match self {
            RowBlocks::Every { block, .. } => *block > 0,
            RowBlocks::At(starts) => starts.first() == Some(&0) && starts.is_sorted(),
        }
    }
}

/// A decoded block; nothing before the first thread has decoded it.
type Decoded = Arc<Mutex<Option<Arc<Vec<u8>>>>>;

/// The blocks that are kept.
#[derive(Debug, Default)]
struct Kept {
    /// Each block, and when it was used last.
    blocks: HashMap<u64, (Decoded, u64)>,
    /// The blocks by the time of their last use.
    order: BTreeMap<u64, u64>,
    bytes: u64,
    clock: u64,
}

/// Decodes blocks and keeps those that were used last.
pub(super) struct BlockCache {
    pub(super) blocks: RowBlocks,
    decode: Arc<dyn DecodeRows>,
    row_bytes: u64,
    /// The most bytes that are kept, beside blocks in use.
    pub(super) most: u64,
    kept: Mutex<Kept>,
}

impl BlockCache {
    /// # Errors
    /// Returns an error if the blocks do not follow each other.
    pub(super) fn new(
        blocks: RowBlocks,
        decode: Arc<dyn DecodeRows>,
        row_bytes: usize,
        most: u64,
    ) -> Result<BlockCache> {
        if !blocks.is_ordered() {
            let text = "the blocks of the array do not follow each other";
            return Err(Error::new(ErrorKind::WrongFormat, text));
        }
        let kept = Mutex::default();
        Ok(BlockCache { blocks, decode, row_bytes: row_bytes as u64, most, kept })
    }

    /// Copies rows into `into`, in the order of `rows`. Each block is decoded at most once in a call.
    pub(super) fn read(&self, rows: &[u64], into: &mut [u8]) -> Result<()> {
        let size = self.row_bytes as usize;
        if size == 0 {
            return Ok(());
        }
        let mut order: Vec<(u64, usize)> =
            rows.iter().enumerate().map(|(at, &row)| (row, at)).collect();
        order.sort_unstable();
        let mut held: Option<(Range<u64>, Arc<Vec<u8>>)> = None;
        for (row, at) in order {
            let (range, bytes) = match held.take().filter(|(range, _)| range.contains(&row)) {
                Some(same) => held.insert(same),
                None => held.insert(self.block_of(row)?),
            };
            let from = (row - range.start) as usize * size;
            into[at * size..][..size].copy_from_slice(&bytes[from..][..size]);
        }
        Ok(())
    }

    /// The block that has a row: its rows and their bytes.
    fn block_of(&self, row: u64) -> Result<(Range<u64>, Arc<Vec<u8>>)> {
        let number = self.blocks.of(row);
        let rows = self.blocks.range(number);
        let bytes = (rows.end - rows.start) * self.row_bytes;
        let slot = self.slot(number, bytes);
        let mut decoded = slot.lock().ignore_poison();
        if let Some(decoded) = &*decoded {
            return Ok((rows, decoded.clone()));
        }
        let found = self.decode.decode(rows.clone()).and_then(|found| match found.len() as u64 {
            length if length == bytes => Ok(Arc::new(found)),
            length => {
                let text = format!(
                    "rows {}..{} were decoded to {length} bytes instead of {bytes}",
                    rows.start, rows.end
                );
                Err(Error::new(ErrorKind::Decode, text))
            }
        });
        match found {
            Ok(found) => {
                *decoded = Some(found.clone());
                Ok((rows, found))
            }
            Err(error) => {
                self.forget(number, bytes);
                Err(error)
            }
        }
    }

    /// The slot of a block. Makes room for it by forgetting the blocks whose last use is longest ago.
    fn slot(&self, number: u64, bytes: u64) -> Decoded {
        let mut kept = self.kept.lock().ignore_poison();
        let kept = &mut *kept;
        kept.clock += 1;
        let now = kept.clock;
        if let Some((slot, used)) = kept.blocks.get_mut(&number) {
            kept.order.remove(used);
            kept.order.insert(now, number);
            *used = now;
            return slot.clone();
        }
        while kept.bytes + bytes > self.most
            && let Some((_, oldest)) = kept.order.pop_first()
        {
            kept.blocks.remove(&oldest);
            let rows = self.blocks.range(oldest);
            kept.bytes -= (rows.end - rows.start) * self.row_bytes;
        }
        let slot = Decoded::default();
        kept.blocks.insert(number, (slot.clone(), now));
        kept.order.insert(now, number);
        kept.bytes += bytes;
        slot
    }

    /// Forgets a block that could not be decoded.
    fn forget(&self, number: u64, bytes: u64) {
        let mut kept = self.kept.lock().ignore_poison();
        if let Some((_, used)) = kept.blocks.remove(&number) {
            kept.order.remove(&used);
            kept.bytes -= bytes;
        }
    }
}

impl fmt::Debug for BlockCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockCache").field("blocks", &self.blocks).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Row n is the byte n. Counts the blocks that it decodes, and refuses the row 13.
    #[derive(Debug, Default)]
    struct Counting(AtomicU64);

    impl DecodeRows for Counting {
        fn decode(&self, rows: Range<u64>) -> Result<Vec<u8>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            if rows.contains(&13) {
                return Err(Error::new(ErrorKind::Decode, "row 13"));
            }
            Ok(rows.map(|row| row as u8).collect())
        }
    }

    fn cache(most: u64) -> (Arc<Counting>, BlockCache) {
        let decode = Arc::new(Counting::default());
        let blocks = RowBlocks::Every { block: 4, rows: 18 };
        (decode.clone(), BlockCache::new(blocks, decode, 1, most).unwrap())
    }

    #[test]
    fn rows_come_in_the_order_asked_for_and_a_block_is_decoded_once() {
        let (decode, cache) = cache(100);
        let mut bytes = [0; 6];
        cache.read(&[9, 1, 17, 8, 1, 0], &mut bytes).unwrap();
        assert_eq!(bytes, [9, 1, 17, 8, 1, 0]);
        assert_eq!(decode.0.load(Ordering::Relaxed), 3);
        cache.read(&[3, 11, 16], &mut bytes[..3]).unwrap();
        assert_eq!(decode.0.load(Ordering::Relaxed), 3, "all three are kept");
    }

    #[test]
    fn the_block_that_was_used_longest_ago_goes_first() {
        let (decode, cache) = cache(8);
        let mut byte = [0];
        for row in [0, 4, 0, 8, 0] {
            cache.read(&[row], &mut byte).unwrap();
        }
        assert_eq!(decode.0.load(Ordering::Relaxed), 3, "block 1 went, block 0 stayed");
        cache.read(&[5], &mut byte).unwrap();
        assert_eq!(decode.0.load(Ordering::Relaxed), 4);
        assert!(cache.kept.lock().unwrap().bytes <= 8);
    }

    #[test]
    fn an_error_is_not_kept() {
        let (decode, cache) = cache(100);
        for times in 1..3 {
            assert_eq!(cache.read(&[12], &mut [0]).unwrap_err().text().to_string(), "row 13");
            assert_eq!(decode.0.load(Ordering::Relaxed), times);
        }
        assert_eq!(cache.kept.lock().unwrap().bytes, 0);
    }

    #[test]
    fn blocks_of_different_sizes_are_found_by_their_first_rows() {
        let starts = RowBlocks::At([0, 3, 3, 10, 11].into());
        assert_eq!((starts.rows(), starts.largest()), (11, 7));
        for row in 0..11 {
            assert!(starts.range(starts.of(row)).contains(&row), "{row}");
        }
        assert!(
            !RowBlocks::At([0, 5, 3].into()).is_ordered()
                && !RowBlocks::At([1, 2].into()).is_ordered()
        );
    }
}
