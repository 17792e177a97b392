//! `Words`: header and index of a cache, mapped into memory that other processes write to.
//!
//! Contract: the memory is accessed through `AtomicU64` alone, for as long as the map lives. What it
//! contains is believed for nothing but the choice of a slot: a block counts only if its bytes have the
//! checksums that belong to its key. The file has its full length before it gets its name, and nobody
//! shortens it; a reader whose file is shortened by another program is ended by SIGBUS.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::sync::atomic::AtomicU64;

use memmap2::{MmapOptions, MmapRaw};

/// The mapped words.
#[derive(Debug)]
pub(crate) struct Words {
    map: MmapRaw,
    count: usize,
}

impl Words {
    /// Maps the first `bytes` bytes of a file.
    pub(crate) fn map(file: &File, bytes: u64) -> io::Result<Words> {
        let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
        let map = MmapOptions::new().len(bytes).map_raw(file)?;
        Ok(Words { map, count: bytes / 8 })
    }

    /// The word with number `at`.
    ///
    /// # Panics
    /// Panics if the map has no such word.
    pub(crate) fn at(&self, at: usize) -> &AtomicU64 {
        assert!(at < self.count, "word {at} of {}", self.count);
        let word = self.map.as_mut_ptr().wrapping_add(at * 8).cast::<u64>();
        // SAFETY: the word is within the map, which lives as long as `self` and begins at a page, so it is
        // aligned. All accesses, also those of other processes, are atomic (see above).
        unsafe { AtomicU64::from_ptr(word) }
    }
}
