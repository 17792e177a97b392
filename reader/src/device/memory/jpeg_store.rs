//! `JpegStore`: rows of different lengths that stay in device memory, one behind the other, in few large blocks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::device::driver::Driver;
use crate::device::memory::row_store::RowStore;
use crate::error::{Error, ErrorKind, Result};
use tarflume_formats::poison::IgnorePoison;

/// Rows begin at multiples of so many bytes.
pub(crate) const ALIGNED: u64 = 64;

/// Bytes of a block behind the first.
const MORE: u64 = 64 << 20;

/// What is kept, and how much more may be.
pub(crate) struct JpegStore {
    driver: Arc<dyn Driver>,
    /// Bytes of the first block.
    first: u64,
    /// Bytes that may be taken beside, by all heaps of a data set.
    spare: Arc<AtomicU64>,
    /// Each with the bytes that are taken of it.
    blocks: Mutex<Vec<(RowStore, u64)>>,
}

impl JpegStore {
    /// With room for `first` bytes, and `spare` ones if there turn out to be more. There is no memory for them
    /// until there are rows.
    pub(crate) fn new(driver: Arc<dyn Driver>, first: u64, spare: Arc<AtomicU64>) -> JpegStore {
        JpegStore { driver, first, spare, blocks: Mutex::default() }
    }

    fn blocks(&self) -> MutexGuard<'_, Vec<(RowStore, u64)>> {
        self.blocks.lock().ignore_poison()
    }

    /// Lets go of all rows.
    pub(crate) fn clear(&self) {
        let mut blocks = self.blocks();
        let beside: u64 = blocks.iter().skip(1).map(|(block, _)| block.bytes()).sum();
        blocks.clear();
        self.spare.fetch_add(beside, Ordering::Relaxed);
    }

    /// Copies so many bytes from elsewhere on the device behind those before, on our stream; says where they
    /// are.
    ///
    /// # Errors
    /// There is no more room; the device's.
    pub(crate) fn keep(&self, from: u64, bytes: u64) -> Result<u64> {
        let mut blocks = self.blocks();
        if blocks.last().is_none_or(|(block, used)| block.bytes() - used < bytes) {
            let block = self.block(&blocks, bytes)?;
            blocks.push((block, 0));
        }
        let full = || Error::new(ErrorKind::Device, "there is no block for the row");
        let (block, used) = blocks.last_mut().ok_or_else(full)?;
        block.keep(from, *used, bytes)?;
        let at = block.store().at + *used;
        *used = block.bytes().min((*used + bytes).next_multiple_of(ALIGNED));
        Ok(at)
    }

    /// One more, for `bytes` bytes at least.
    fn block(&self, blocks: &[(RowStore, u64)], bytes: u64) -> Result<RowStore> {
        let first = blocks.is_empty();
        let length = if first { self.first.max(bytes) } else { self.more(bytes)? };
        let block = RowStore::new(1, length, 0);
        block.allocate(&self.driver)?;
        Ok(block)
    }

    /// Takes so many bytes at least from what is spare.
    fn more(&self, bytes: u64) -> Result<u64> {
        let length = |spare: u64| spare.min(MORE).max(bytes);
        let take = |spare: u64| spare.checked_sub(length(spare));
        let before = self.spare.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        before.map(length).map_err(|spare| {
            let text = format!(
                "the device's memory for this data set is full: pictures that its decoder does not take stay \
                 decoded, and one of {bytes} bytes finds {spare} left; allow more, or keep all as RGB or planes"
            );
            Error::new(ErrorKind::Limit, text)
        })
    }
}
