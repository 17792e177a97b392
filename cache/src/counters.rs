//! Counters of a cache: of all processes in its header, and of this process.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a cache did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CacheStats {
    /// Reads that a block answered.
    pub hits: u64,
    /// Bytes of these reads.
    pub hit_bytes: u64,
    /// Reads of blocks that were not there.
    pub misses: u64,
    /// Blocks that were written.
    pub fills: u64,
    /// Blocks that were replaced by others.
    pub evictions: u64,
    /// Slots whose bytes did not have their checksums.
    pub damaged: u64,
    /// Errors of the disk. None ends an epoch.
    pub errors: u64,
}

/// Number of counters.
pub(crate) const COUNT: usize = 7;

/// Which counter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Counter {
    Hits,
    HitBytes,
    Misses,
    Fills,
    Evictions,
    Damaged,
    Errors,
}

impl CacheStats {
    pub(crate) fn of(value: impl Fn(usize) -> u64) -> CacheStats {
        CacheStats {
            hits: value(Counter::Hits as usize),
            hit_bytes: value(Counter::HitBytes as usize),
            misses: value(Counter::Misses as usize),
            fills: value(Counter::Fills as usize),
            evictions: value(Counter::Evictions as usize),
            damaged: value(Counter::Damaged as usize),
            errors: value(Counter::Errors as usize),
        }
    }
}

/// The counters of this process.
#[derive(Debug, Default)]
pub(crate) struct Own([AtomicU64; COUNT]);

impl Own {
    pub(crate) fn add(&self, counter: Counter, more: u64) {
        self.0[counter as usize].fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> CacheStats {
        CacheStats::of(|at| self.0[at].load(Ordering::Relaxed))
    }
}
