//! `JpegStore`: rows of different lengths in device memory, one after the other, in few large blocks. Never frees one
//! row.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::device::driver::Driver;
use crate::device::memory::row_store::RowStore;
use tarflume_formats::IgnorePoison;
use tarflume_types::{Error, ErrorKind, Result};

/// Rows begin at multiples of this many bytes.
pub const ALIGNED: u64 = 64;

/// Size in bytes of a block after the first.
const MORE: u64 = 64 << 20;

/// The stored rows, and the limit of their memory.
pub struct JpegStore {
    driver: Arc<dyn Driver>,
    /// Size of the first block in bytes.
    first: u64,
    /// Bytes available in addition, shared by all stores of a data set.
    spare: Arc<AtomicU64>,
    /// The blocks, each with the number of used bytes.
    blocks: Mutex<Vec<(RowStore, u64)>>,
}

impl JpegStore {
    /// A store of `first` bytes, and of up to `spare` bytes more if needed. Allocates nothing until the first row.
    pub fn new(driver: Arc<dyn Driver>, first: u64, spare: Arc<AtomicU64>) -> JpegStore {
        JpegStore { driver, first, spare, blocks: Mutex::default() }
    }

    fn blocks(&self) -> MutexGuard<'_, Vec<(RowStore, u64)>> {
        self.blocks.lock().ignore_poison()
    }

    /// Frees all rows.
    pub fn clear(&self) {
        let mut blocks = self.blocks();
        let beside: u64 = blocks.iter().skip(1).map(|(block, _)| block.bytes()).sum();
        blocks.clear();
        self.spare.fetch_add(beside, Ordering::Relaxed);
    }

    /// Copies `bytes` bytes from device address `from` to the end of the store, in the copy stream. Returns their
    /// address.
    ///
    /// # Errors
    /// Returns an error if the store is full or the device fails.
    pub fn keep(&self, from: u64, bytes: u64) -> Result<u64> {
        let mut blocks = self.blocks();
        if blocks.last().is_none_or(|(block, used)| block.bytes() - used < bytes) {
            let block = self.block(&blocks, bytes)?;
            blocks.push((block, 0));
        }
        let full = || Error::new(ErrorKind::Device, "the row has no block");
        let (block, used) = blocks.last_mut().ok_or_else(full)?;
        block.keep(from, *used, bytes)?;
        let at = block.store().at + *used;
        *used = block.bytes().min((*used + bytes).next_multiple_of(ALIGNED));
        Ok(at)
    }

    /// Allocates a block of at least `bytes` bytes.
    fn block(&self, blocks: &[(RowStore, u64)], bytes: u64) -> Result<RowStore> {
        let first = blocks.is_empty();
        let length = if first { self.first.max(bytes) } else { self.more(bytes)? };
        let block = RowStore::new(1, length, 0);
        block.allocate(&self.driver)?;
        Ok(block)
    }

    /// Takes at least `bytes` bytes from the spare ones.
    fn more(&self, bytes: u64) -> Result<u64> {
        let length = |spare: u64| spare.min(MORE).max(bytes);
        let take = |spare: u64| spare.checked_sub(length(spare));
        let before = self.spare.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        before.map(length).map_err(|spare| {
            let text = format!(
                "the device memory for this data set is full: pictures that the device cannot decode are stored as \
                 pixels, and one of {bytes} bytes exceeds the {spare} left; allow more, or store all as RGB or planes"
            );
            Error::new(ErrorKind::Limit, text)
        })
    }
}
