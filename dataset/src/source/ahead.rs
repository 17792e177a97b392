//! Readahead for sources that are slow to answer: ranges that were advised are fetched in the background, many at
//! the same time, into memory.
//!
//! [`Fetcher`](fetcher::Fetcher) decides what is fetched when. What fetches is a [`Background`]: the runtime of a
//! store, or threads with `pread` ([`threads`]).

pub(crate) mod depth;
pub(crate) mod fetcher;
mod latency;
pub(crate) mod offers;
pub mod pieces;
pub(crate) mod threads;

use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use tarflume_types::Result;

/// Is called once with the bytes of a range, or with `None` if they could not be read. Dropping it is the same as
/// `None`.
pub(crate) type Done = Box<dyn FnOnce(Option<Bytes>) + Send>;

/// One file whose ranges can be fetched in the background.
pub(crate) trait Background: fmt::Debug + Send + Sync {
    /// Reads a range; waits for it.
    ///
    /// # Errors
    /// Returns an error if the bytes cannot be read.
    fn read(&self, at: u64, length: u64) -> Result<Bytes>;

    /// As [`Background::read`], of bytes that were read before and were not the expected ones.
    ///
    /// # Errors
    /// As [`Background::read`].
    fn read_again(&self, at: u64, length: u64) -> Result<Bytes> {
        self.read(at, length)
    }

    /// Begins to read a range.
    fn begin(&self, at: u64, length: u64, done: Done);
}

/// What keeps a block that was claimed.
pub(crate) type Keep = Box<dyn FnOnce(Bytes)>;

/// What became of a lookup of a kept block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "remote"),
    allow(dead_code, reason = "only data sets in stores have a cache")
)]
pub(crate) enum Kept {
    /// So many bytes were copied.
    Here(usize),
    /// Another process fetches them now.
    Coming,
    /// They are not kept.
    No,
}

/// Blocks of one file that are kept on this machine.
pub(crate) trait Blocks: fmt::Debug + Send + Sync {
    /// Bytes of a block.
    fn grain(&self) -> u64;

    /// What has to be fetched of a range: whole blocks where they should be kept. The ranges are in order and do
    /// not touch each other. This process has the right to write their blocks then.
    fn missing(&self, range: Range<u64>) -> Vec<Range<u64>>;

    /// Gives back the right to write the blocks of a range that nobody will fetch. `is_planned` tells whether a
    /// request has all bytes of a block.
    fn release(&self, range: Range<u64>, is_planned: &dyn Fn(Range<u64>) -> bool);

    /// Bytes have arrived from byte `at`: the blocks that they have whole are written.
    fn arrived(&self, at: u64, bytes: &Bytes);

    /// Copies the bytes from `at`, up to the end of their block.
    fn read(&self, at: u64, into: &mut [u8]) -> Kept;

    /// The block that has byte `at`, if it should be kept and nobody writes it.
    fn claim(&self, at: u64) -> Option<(Range<u64>, Keep)>;

    /// Drops the blocks of a range, because its bytes are wrong.
    fn forget(&self, range: Range<u64>);
}
