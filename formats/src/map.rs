//! The only room of this crate with unsafe code: a read-only memory map of a whole file.
//!
//! What a caller of [`Mapped::open`] relies on, and why it holds:
//! - the file is not shortened while it is mapped: this project publishes files by rename and never
//!   writes to a file that bears its final name. Somebody else who truncates a mapped index kills
//!   the process with SIGBUS, as with every memory map;
//! - the bytes may change under the map if somebody else writes to the file: nothing here hands
//!   out types for which some byte patterns are invalid, only `&[u8]`, and readers check sums.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

use crate::error::{Error, Result};

/// The bytes of a file, mapped or owned.
#[derive(Debug)]
pub enum Mapped {
    /// Shared with the page cache and with every other process that maps the file.
    Map(memmap2::Mmap),
    /// In this process's memory: tests, pipes, empty files.
    Owned(Vec<u8>),
}

impl Mapped {
    /// Maps the whole file at `path`.
    ///
    /// # Errors
    /// The operating system's refusal to open or map it.
    pub fn open(path: &Path) -> Result<Mapped> {
        let file = File::open(path).map_err(|e| Error::io(e, "open", path))?;
        let length = file.metadata().map_err(|e| Error::io(e, "read", path))?.len();
        Mapped::of(&file, length, path)
    }

    /// Maps the first `length` bytes of an open file, which must have them; `path` is for messages.
    /// No page of it is touched.
    ///
    /// # Errors
    /// The operating system's refusal to map it.
    pub(crate) fn of(file: &File, length: u64, path: &Path) -> Result<Mapped> {
        let refused = |e| Error::io(e, "map into memory", path);
        let length =
            usize::try_from(length).map_err(|_| refused(io::ErrorKind::OutOfMemory.into()))?;
        if length == 0 {
            return Ok(Mapped::Owned(Vec::new()));
        }
        // SAFETY: the map is read-only and handed out as `&[u8]` alone; that the file keeps its
        // length is the contract written at the head of this file.
        let map = unsafe { memmap2::MmapOptions::new().len(length).map(file) };
        map.map(Mapped::Map).map_err(refused)
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Mapped::Map(map) => map,
            Mapped::Owned(bytes) => bytes,
        }
    }
}
