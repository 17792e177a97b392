//! Divides the memory limit of a stream among its parts. Arithmetic only; allocates nothing.

use tarflume_types::{Error, Result};

/// Default memory of a stream in bytes.
pub(super) const DEFAULT: u64 = 1 << 30;
/// Minimum memory of a stream in bytes, which a long tar header needs.
pub(super) const LEAST: u64 = 16 << 20;

/// Bytes for each part of a stream; the sum is at most its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemoryLimits {
    /// The whole.
    pub(super) memory: u64,
    /// The decompressor's window, an eighth. Includes the buffer for packed bytes.
    pub(super) unpack: u64,
    /// One sample. Twice that is reserved, because a growing sample is copied to a larger buffer.
    pub(super) sample: u64,
    /// The shuffle buffer.
    pub(super) buffer: u64,
    /// Samples that wait for the caller or are held by it.
    pub(super) queue: u64,
}

impl MemoryLimits {
    /// Divides `memory` bytes, with or without a shuffle buffer.
    ///
    /// # Errors
    /// Returns an error if `memory` is below the minimum.
    pub(super) fn of(memory: u64, buffered: bool) -> Result<MemoryLimits> {
        if memory < LEAST {
            let text = format!("a stream needs at least {LEAST} bytes of memory, not {memory}");
            return Err(Error::usage(text));
        }
        let eighth = memory / 8;
        let (buffer, queue) = if buffered { (3 * eighth, 2 * eighth) } else { (0, 5 * eighth) };
        Ok(MemoryLimits { memory, unpack: eighth, sample: eighth, buffer, queue })
    }

    /// The limit of the buffer pool: all but the decompressor's share.
    pub(super) fn pool(&self) -> u64 {
        self.memory - self.unpack
    }

    /// The memory of a stream that accepts a sample of `bytes` bytes.
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
                let s = MemoryLimits::of(memory, buffered).unwrap();
                let sum = u128::from(s.unpack)
                    + 2 * u128::from(s.sample)
                    + u128::from(s.buffer)
                    + u128::from(s.queue);
                assert!(sum <= u128::from(memory), "{s:?}");
                assert!(!buffered || s.buffer >= s.sample);
            }
        }
        assert!(MemoryLimits::of(LEAST - 1, true).is_err());
    }

    #[test]
    fn the_requested_memory_suffices() {
        for bytes in [LEAST / 8, 20_000_001] {
            let limits = MemoryLimits::of(MemoryLimits::memory_for(bytes), false).unwrap();
            assert!(limits.sample >= bytes);
        }
    }
}
