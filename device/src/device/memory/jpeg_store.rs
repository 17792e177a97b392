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

/// A block of device memory.
struct JpegBlock {
    store: RowStore,
    /// Bytes of it that rows take.
    used: u64,
}

/// The stored rows, and the limit of their memory.
pub struct JpegStore {
    driver: Arc<dyn Driver>,
    /// Size of the first block in bytes.
    first: u64,
    /// Bytes available in addition, shared by all stores of a data set.
    spare: Arc<AtomicU64>,
    blocks: Mutex<Vec<JpegBlock>>,
}

impl JpegStore {
    /// A store of `first` bytes, and of up to `spare` bytes more if needed. Allocates nothing until the first row.
    pub fn new(driver: Arc<dyn Driver>, first: u64, spare: Arc<AtomicU64>) -> JpegStore {
        JpegStore { driver, first, spare, blocks: Mutex::default() }
    }

    fn blocks(&self) -> MutexGuard<'_, Vec<JpegBlock>> {
        self.blocks.lock().ignore_poison()
    }

    /// Frees all rows.
    pub fn clear(&self) {
        let mut blocks = self.blocks();
        let beside: u64 = blocks.iter().skip(1).map(|block| block.store.bytes()).sum();
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
        if blocks.last().is_none_or(|block| block.store.bytes() - block.used < bytes) {
            let store = self.block(blocks.is_empty(), bytes)?;
            blocks.push(JpegBlock { store, used: 0 });
        }
        let JpegBlock { store, used } =
            blocks.last_mut().expect("a block was added if none was there");
        store.keep(from, *used, bytes)?;
        let at = store.store().at + *used;
        *used = store.bytes().min((*used + bytes).next_multiple_of(ALIGNED));
        Ok(at)
    }

    /// Allocates a block of at least `bytes` bytes, the first one or a further one.
    fn block(&self, first: bool, bytes: u64) -> Result<RowStore> {
        let length = if first { self.first.max(bytes) } else { self.more(bytes)? };
        let block = RowStore::new(1, length, 0);
        block.allocate(&self.driver)?;
        Ok(block)
    }

    /// Takes at least `bytes` bytes from the spare ones.
    fn more(&self, bytes: u64) -> Result<u64> {
        let before = self.spare.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |spare: u64| {
            spare.checked_sub(taken(spare, bytes))
        });
        before.map(|spare| taken(spare, bytes)).map_err(|spare| {
            let text = format!(
                "the device memory for this data set is full: pictures that the device cannot decode are stored as \
                 pixels, and one of {bytes} bytes exceeds the {spare} left; allow more, or store all as RGB or planes"
            );
            Error::new(ErrorKind::Limit, text)
        })
    }
}

fn taken(spare: u64, bytes: u64) -> u64 {
    spare.min(MORE).max(bytes)
}
