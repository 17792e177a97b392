//! `Source`: the bytes of one shard, from a file, a mapping or memory.
//!
//! The trait; the implementations are in the files below. A source knows nothing of samples.

pub(crate) mod ahead;
pub(crate) mod behind;
pub(crate) mod by_url;
pub(crate) mod cache;
pub(crate) mod disk;
pub(crate) mod fetch_stats;
pub(crate) mod framed;
pub(crate) mod identity;
pub(crate) mod memory;
pub(crate) mod open;
pub(crate) mod price;

use std::fmt;
use std::time::SystemTime;

use tarflume_types::Result;

/// Bytes that many threads can read concurrently at any offset.
///
/// ```
/// use tarflume::{MemorySource, Source};
///
/// let source = MemorySource::new(vec![1, 2, 3, 4]);
/// let mut bytes = [0; 2];
/// source.read_at(1, &mut bytes)?;
/// assert_eq!(bytes, [2, 3]);
/// # Ok::<(), tarflume::Error>(())
/// ```
pub trait Source: fmt::Debug + Send + Sync {
    /// Length in bytes.
    fn len(&self) -> u64;

    /// Fills `into` with the bytes from `at`.
    ///
    /// # Errors
    /// Returns an error if the bytes cannot be read or the source became shorter than [`Source::len`].
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()>;

    /// Fills `into` with the bytes from `at`, which were read before and were not the expected ones: a source
    /// that keeps bytes reads them from where it has them.
    ///
    /// # Errors
    /// As [`Source::read_at`].
    fn read_again(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.read_at(at, into)
    }

    /// Returns a view of the bytes if they are in memory. If a mapped file is truncated, they may turn into
    /// zeros: call [`Source::check`] after using them.
    fn view(&self, _at: u64, _length: usize) -> Option<&[u8]> {
        None
    }

    /// Announces that these bytes will be read soon. A hint: never fails and does not wait for I/O.
    fn advise(&self, _at: u64, _length: u64) {}

    /// Announces `length` bytes from `at` that have several samples, each of which will be read once, possibly much later.
    /// `starts` are the first bytes of the samples, ascending. A source that keeps bytes reads them when it has room and
    /// drops them after the last sample. A hint, as [`Source::advise`].
    fn expect(&self, at: u64, length: u64, _starts: &[u64]) {
        self.advise(at, length);
    }

    /// Checks that the source is the file that was opened, unchanged.
    ///
    /// # Errors
    /// Returns an error if it was truncated, replaced or written to.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// The time at which the object was changed, as its store stated in an answer; `None` before the first answer, and
    /// of files, whose times a data set looks at by itself.
    fn modified(&self) -> Option<SystemTime> {
        None
    }

    /// Asks the store when the object was changed, unless an answer has stated it: one request, after which
    /// [`Source::modified`] returns the time, if the store states one.
    ///
    /// # Errors
    /// As [`Source::read_at`].
    fn learn_modified(&self) -> Result<()> {
        Ok(())
    }

    /// True if the source has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
