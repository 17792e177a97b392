//! How the memory of a stream is shared out between its parts: numbers, and nothing that holds them.

use crate::error::{Error, Result};

/// Memory of a stream that was told nothing else, in bytes.
pub(super) const DEFAULT: u64 = 1 << 30;
/// Least memory of a stream, in bytes: below it not even a long tar header has room.
pub(super) const LEAST: u64 = 16 << 20;

/// Bytes for each part of a stream; together no more than its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shares {
    /// All of it.
    pub(super) memory: u64,
    /// The decompressor's window, an eighth. The pieces that are read at a time are below it too.
    pub(super) unpack: u64,
    /// One sample. Twice that is set aside, for a sample that grows moves to a larger buffer.
    pub(super) sample: u64,
    /// What the shuffle buffer holds.
    pub(super) buffer: u64,
    /// What waits for the caller and what the caller holds.
    pub(super) queue: u64,
}

impl Shares {
    /// Shares of `memory` bytes, with a shuffle buffer or without.
    ///
    /// # Errors
    /// It is too little for any stream.
    pub(super) fn of(memory: u64, buffered: bool) -> Result<Shares> {
        if memory < LEAST {
            let text = format!("a stream needs {LEAST} bytes of memory at least, not {memory}");
            return Err(Error::usage(text));
        }
        let eighth = memory / 8;
        let (buffer, queue) = if buffered { (3 * eighth, 2 * eighth) } else { (0, 5 * eighth) };
        Ok(Shares { memory, unpack: eighth, sample: eighth, buffer, queue })
    }

    /// What the pool may have: all but the decompressor's.
    pub(super) fn pool(&self) -> u64 {
        self.memory - self.unpack
    }

    /// The memory with which a sample of `bytes` would be taken.
    pub(super) fn memory_for(bytes: u64) -> u64 {
        bytes.saturating_mul(8).saturating_add(8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_are_no_more_than_the_whole() {
        for memory in [LEAST, LEAST + 7, DEFAULT, u64::MAX] {
            for buffered in [false, true] {
                let s = Shares::of(memory, buffered).unwrap();
                let sum = u128::from(s.unpack)
                    + 2 * u128::from(s.sample)
                    + u128::from(s.buffer)
                    + u128::from(s.queue);
                assert!(sum <= u128::from(memory), "{s:?}");
                assert!(!buffered || s.buffer >= s.sample);
            }
        }
        assert!(Shares::of(LEAST - 1, true).is_err());
    }

    #[test]
    fn the_memory_that_is_asked_for_is_enough() {
        for bytes in [LEAST / 8, 20_000_001] {
            let shares = Shares::of(Shares::memory_for(bytes), false).unwrap();
            assert!(shares.sample >= bytes);
        }
    }
}
