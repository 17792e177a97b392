//! A read-only memory map of a whole file, and [`SharedWords`], which processes write. This file and
//! its submodules hold all unsafe code that maps files.
//!
//! What a caller of [`Mapped::open`] relies on, and why it holds:
//! - no file of this project is shortened while it is mapped: files are published by rename, and a
//!   file is never written to under its final name;
//! - if another program truncates it, the process is not killed by SIGBUS: the lost bytes read as
//!   zeros, and [`Mapped::is_intact`] returns false from then on (`map/guard.rs` has the limits of
//!   that). Readers check after they have read and before they use the bytes;
//! - the bytes may change under the map if another program writes to the file: this module returns
//!   only `&[u8]`, never a type with invalid byte patterns, and readers verify checksums. The
//!   language promises less for a `&[u8]`, as with every map of a file.
#![allow(unsafe_code)]

#[cfg(not(target_os = "linux"))]
compile_error!("the guard of mapped files knows Linux alone");

mod atomics;
#[cfg(all(test, not(miri)))] // Miri knows no stacks of other threads than the system's.
mod explored;
mod guard;
mod loss;
mod ranges;
mod slot;
mod words;

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::ptr::read_volatile;
use std::sync::atomic::{Ordering, fence};

use crate::disk::files;
use crate::errors::error::{Error, Result};
use guard::{Protection, Watch};
use loss::Origin;

pub use words::SharedWords;

/// The bytes of a file, mapped or owned.
#[derive(Debug)]
pub enum Mapped {
    /// Shared with the page cache and with every other process that maps the file.
    Map(FileMap),
    /// In this process's memory: tests, pipes, empty files.
    Owned(Vec<u8>),
}

/// The expected access order of a map's bytes: determines how much the system reads around a page
/// that is not in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Unknown: 128 KiB around each page and, by the system's settings, far more.
    Normal,
    /// Scattered: nothing around it.
    Random,
    /// From front to back: more, and in advance.
    Sequential,
}

/// A watched map. The watch ends before the map is unmapped, because fields are dropped in this
/// order.
#[derive(Debug)]
pub struct FileMap {
    watch: Watch,
    map: memmap2::Mmap,
    origin: Origin,
}

impl Mapped {
    /// Maps the whole file at `path`.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to open or map it, or if it is not a
    /// regular file.
    pub fn open(path: impl AsRef<Path>) -> Result<Mapped> {
        let path = path.as_ref();
        let (file, found) = files::open(path)?;
        Mapped::of(&file, found.len(), path)
    }

    /// Maps the first `length` bytes of an open file, which must have them; `path` is for messages.
    /// Touches no page of it.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to map it.
    pub fn of(file: &File, length: u64, path: impl AsRef<Path>) -> Result<Mapped> {
        let path = path.as_ref();
        let origin = Origin::of(file, path)?;
        let length = usize::try_from(length)
            .map_err(|_| unmapped(io::ErrorKind::OutOfMemory.into(), path))?;
        if length == 0 {
            return Ok(Mapped::Owned(Vec::new()));
        }
        if cfg!(miri) {
            // Miri maps no files.
            let mut bytes = vec![0; length];
            files::read_exact_at(file, &mut bytes, 0).map_err(|e| unmapped(e, path))?;
            return Ok(Mapped::Owned(bytes));
        }
        // SAFETY: the map is read-only and only used as `&[u8]`; the contract at the head of this
        // file covers a change of the file's length.
        let map = unsafe { memmap2::MmapOptions::new().len(length).map(file) }
            .map_err(|e| unmapped(e, path))?;
        // SAFETY: the map begins here, is read-only, belongs to `FileMap` and is dropped after its watch.
        let watch = unsafe { Watch::over(map.as_ptr(), map.len(), Protection::Read) }
            .map_err(|e| unmapped(e, path))?;
        Ok(Mapped::Map(FileMap { watch, map, origin }))
    }

    /// Tells the system the expected access order. A hint: it changes speed only, and an error of
    /// the system is ignored.
    pub fn advise(&self, access: Access) {
        let Mapped::Map(FileMap { map, .. }) = self else { return };
        let advice = match access {
            Access::Normal => memmap2::Advice::Normal,
            Access::Random => memmap2::Advice::Random,
            Access::Sequential => memmap2::Advice::Sequential,
        };
        let _ = map.advise(advice);
    }

    /// Tells the system that these bytes are needed soon: it starts to read them together, whatever
    /// the [`Access`]. A hint, as [`Mapped::advise`].
    pub fn prefetch(&self, at: usize, length: usize) {
        let Mapped::Map(FileMap { map, .. }) = self else { return };
        if at.checked_add(length).is_some_and(|end| length > 0 && end <= map.len()) {
            let _ = map.advise_range(memmap2::Advice::WillNeed, at, length);
        }
    }

    /// Releases the touched pages: they stay in the system's cache but leave this process's memory,
    /// and the next touch maps them again. Concurrent readers read the same bytes. A hint, as
    /// [`Mapped::advise`].
    pub fn forget(&self) {
        let Mapped::Map(FileMap { map, .. }) = self else { return };
        // SAFETY: the map is of a file and never written to, so a released page reads as the file's
        // bytes again; the zeros that replace lost pages read as zeros.
        let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
    }

    /// Returns false once the file was found truncated, or its storage failed, while it was mapped:
    /// bytes read before may then have been zeros that the file never had. Call it after reading;
    /// it costs a nanosecond or two. It touches the last page, so it detects every truncation but
    /// one inside that page.
    #[inline]
    #[must_use]
    pub fn is_intact(&self) -> bool {
        let Mapped::Map(FileMap { watch, map, .. }) = self else { return true };
        // Complete the caller's reads before touching the page.
        fence(Ordering::Acquire);
        // SAFETY: the last byte of a non-empty map; if it is lost, it reads as zero.
        unsafe { read_volatile(&raw const map[map.len() - 1]) };
        !watch.is_torn()
    }

    /// Returns the eight bytes at `at` as they are at this moment, little-endian: the compiler may
    /// not reuse bytes that were read before.
    ///
    /// # Panics
    /// Panics if they end after the last byte.
    #[inline]
    #[must_use]
    pub fn now(&self, at: usize) -> u64 {
        let bytes: &[u8] = &self[at..at + 8];
        // SAFETY: the slice has eight readable bytes.
        u64::from_le_bytes(unsafe { read_volatile(bytes.as_ptr().cast::<[u8; 8]>()) })
    }

    /// Returns [`Mapped::is_intact`] as a result.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Truncated`](crate::ErrorKind::Truncated), without the path, if the file
    /// was truncated, and an error of the machine (see [`Blame`](crate::Blame)) if it could not be
    /// read.
    #[inline]
    pub fn intact(&self) -> Result<()> {
        match self {
            Mapped::Map(file) if !self.is_intact() => Err(file.origin.loss()),
            _ => Ok(()),
        }
    }
}

fn unmapped(e: io::Error, path: &Path) -> Error {
    Error::io(e, "map into memory", path)
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Mapped::Map(file) => &file.map,
            Mapped::Owned(bytes) => bytes,
        }
    }
}
