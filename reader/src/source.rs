//! `Source`: the bytes of one shard, wherever they are.
//!
//! The trait; implementations stand in the files below. A source knows nothing of samples.

pub(crate) mod file;
pub(crate) mod identity;
mod limit;
pub(crate) mod mapped;
pub(crate) mod memory;
pub(crate) mod open;
pub(crate) mod shelf;

use std::fmt;

use crate::error::Result;

/// Bytes that can be read at any place by many threads at once.
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
    /// Bytes in all.
    fn len(&self) -> u64;

    /// Fills `into` from byte `at` on.
    ///
    /// # Errors
    /// The bytes can't be read, or the source became shorter than [`Source::len`].
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()>;

    /// The bytes themselves, where they are in memory already. They may turn to zeros if the file is
    /// cut while it is mapped: ask [`Source::check`] after they were used.
    fn view(&self, _at: u64, _length: usize) -> Option<&[u8]> {
        None
    }

    /// Says that these bytes will be wanted soon. A hint: it never fails and never waits long.
    fn advise(&self, _at: u64, _length: u64) {}

    /// Asks whether the source still is what was opened.
    ///
    /// # Errors
    /// It was cut, replaced or written to since.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// True if there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
