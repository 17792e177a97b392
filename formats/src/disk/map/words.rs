//! `SharedWords`: the words of a file that several processes read and write, mapped into memory.
//!
//! Contract: the memory is accessed through `AtomicU64` alone, for as long as the map lives, so every value that
//! another process writes is valid. If another program truncates the file, or its storage fails, the lost words
//! become zeros that belong to this process alone, and [`SharedWords::is_intact`] returns false from then on
//! (`map/guard.rs` has the limits of that).
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};

use super::guard::{Protection, Watch};

/// The mapped words. The watch ends before the map is unmapped, because fields are dropped in this order.
#[derive(Debug)]
pub struct SharedWords {
    watch: Watch,
    map: MmapRaw,
}

impl SharedWords {
    /// Maps the first `bytes` bytes of a file that is open for reading and writing.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses, or if `bytes` is not at least one word.
    pub fn map(file: &File, bytes: u64) -> io::Result<SharedWords> {
        let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
        if bytes < size_of::<u64>() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let map = MmapOptions::new().len(bytes).map_raw(file)?;
        // SAFETY: the map begins here, has this protection, belongs to `SharedWords` and is dropped after its watch.
        let watch = unsafe { Watch::over(map.as_ptr(), map.len(), Protection::ReadWrite) }?;
        Ok(SharedWords { watch, map })
    }

    /// The word with number `at`.
    ///
    /// # Panics
    /// Panics if the map has no such word.
    #[must_use]
    pub fn at(&self, at: usize) -> &AtomicU64 {
        let count = self.count();
        assert!(at < count, "word {at} of {count}");
        let word = self.map.as_mut_ptr().wrapping_add(at * size_of::<u64>()).cast::<u64>();
        // SAFETY: the word is within the map, which lives as long as `self` and begins at a page, so it is
        // aligned. All accesses, also those of other processes, are atomic (see above).
        unsafe { AtomicU64::from_ptr(word) }
    }

    /// Returns false once words were lost. It touches the last word, so it detects every truncation but one inside
    /// its page.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        self.at(self.count() - 1).load(Ordering::Acquire);
        !self.watch.is_torn()
    }

    fn count(&self) -> usize {
        self.map.len() / size_of::<u64>()
    }
}
