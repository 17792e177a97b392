//! A read-only memory map of a whole file. This room and its two chambers are the only ones of this
//! crate with unsafe code.
//!
//! What a caller of [`Mapped::open`] relies on, and why it holds:
//! - no file of this project is shortened while it is mapped: they are published by rename, and
//!   nobody writes to a file that bears its final name;
//! - if somebody else cuts it nevertheless, the process is not killed by SIGBUS: what is lost reads
//!   as zeros, and [`Mapped::is_intact`] says so from then on (`map/guard.rs` has the limits of that).
//!   Readers ask after they have read, and before they believe;
//! - the bytes may change under the map if somebody else writes to the file: nothing here hands
//!   out types for which some byte patterns are invalid, only `&[u8]`, and readers check sums.
//!   That is more than the language promises for a `&[u8]`, as with every map of a file.
#![allow(unsafe_code)]

#[cfg(not(target_os = "linux"))]
compile_error!("the guard of mapped files knows Linux alone");

mod atomics;
mod guard;
mod loss;
mod ranges;
mod slot;

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::ptr::read_volatile;
use std::sync::atomic::{Ordering, fence};

use crate::error::{Error, Result};
use crate::files;
use guard::Watch;
use loss::Origin;

/// The bytes of a file, mapped or owned.
#[derive(Debug)]
pub enum Mapped {
    /// Shared with the page cache and with every other process that maps the file.
    Map(FileMap),
    /// In this process's memory: tests, pipes, empty files.
    Owned(Vec<u8>),
}

/// In which order the bytes of a map will be wanted: how much the system reads around a page that is
/// not in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Unknown: 128 KB around each and, as the system is set, far more.
    Normal,
    /// Here and there: nothing around it.
    Random,
    /// From front to back: more, and ahead.
    Sequential,
}

/// A map that is watched. It is forgotten before it is unmapped: fields are dropped in this order.
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
    /// The operating system's refusal to open or map it; it is no regular file.
    pub fn open(path: &Path) -> Result<Mapped> {
        let (file, found) = files::open(path)?;
        Mapped::of(&file, found.len(), path)
    }

    /// Maps the first `length` bytes of an open file, which must have them; `path` is for messages.
    /// No page of it is touched.
    ///
    /// # Errors
    /// The operating system's refusal to map it.
    pub fn of(file: &File, length: u64, path: &Path) -> Result<Mapped> {
        let refused = |e| Error::io(e, "map into memory", path);
        let origin = Origin::of(file, path)?;
        let length =
            usize::try_from(length).map_err(|_| refused(io::ErrorKind::OutOfMemory.into()))?;
        if length == 0 {
            return Ok(Mapped::Owned(Vec::new()));
        }
        // SAFETY: the map is read-only and handed out as `&[u8]` alone; that the file keeps its
        // length, or what happens if not, is the contract written at the head of this file.
        let map = unsafe { memmap2::MmapOptions::new().len(length).map(file) }.map_err(refused)?;
        // SAFETY: the map begins here, belongs to `FileMap` and is dropped after its watch.
        let watch = unsafe { Watch::over(map.as_ptr(), map.len()) }.map_err(refused)?;
        Ok(Mapped::Map(FileMap { watch, map, origin }))
    }

    /// Says in which order bytes will be wanted. A hint: it changes speed alone, and a system that
    /// does not take it is not asked again.
    pub fn expect(&self, access: Access) {
        let Mapped::Map(FileMap { map, .. }) = self else { return };
        let advice = match access {
            Access::Normal => memmap2::Advice::Normal,
            Access::Random => memmap2::Advice::Random,
            Access::Sequential => memmap2::Advice::Sequential,
        };
        let _ = map.advise(advice);
    }

    /// Says that these bytes will be wanted soon: the system begins to read them together, whatever
    /// [`Access`] says. A hint, as [`Mapped::expect`].
    pub fn want(&self, at: usize, length: usize) {
        let Mapped::Map(FileMap { map, .. }) = self else { return };
        if at.checked_add(length).is_some_and(|end| length > 0 && end <= map.len()) {
            let _ = map.advise_range(memmap2::Advice::WillNeed, at, length);
        }
    }

    /// Lets go of the pages that were touched: they stay in the system's cache, but are this
    /// process's no longer, and the next touch asks for them again. Whoever reads meanwhile reads
    /// the same. A hint, as [`Mapped::expect`].
    pub fn forget(&self) {
        let Mapped::Map(FileMap { map, .. }) = self else { return };
        // SAFETY: the map is of a file and never written to, so a page that was let go reads as the
        // file's bytes again; of the zeros that replace what is lost, as zeros.
        let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
    }

    /// False once the file was found cut, or its storage failed, while it was mapped: then bytes
    /// read before may have been zeros that the file never had. To be asked after reading; costs
    /// a nanosecond or two. It touches the last page, so it notices every cut but one inside that.
    #[inline]
    #[must_use]
    pub fn is_intact(&self) -> bool {
        let Mapped::Map(FileMap { watch, map, .. }) = self else { return true };
        // What was read before the call was read before the page is touched.
        fence(Ordering::Acquire);
        // SAFETY: the last byte of a map that has at least one; if it is lost, zeros stand there.
        unsafe { read_volatile(&raw const map[map.len() - 1]) };
        !watch.is_torn()
    }

    /// The eight bytes at `at` as they are now, little end first: the compiler may not take them for
    /// those that were read before.
    ///
    /// # Panics
    /// They end behind the last byte.
    #[inline]
    #[must_use]
    pub fn now(&self, at: usize) -> u64 {
        let bytes: &[u8] = &self[at..at + 8];
        // SAFETY: eight bytes that may be read, as the slice has so many.
        u64::from_le_bytes(unsafe { read_volatile(bytes.as_ptr().cast::<[u8; 8]>()) })
    }

    /// [`Mapped::is_intact`] as an error.
    ///
    /// # Errors
    /// The file was cut: [`ErrorKind::Truncated`](crate::ErrorKind::Truncated), without the path. It could not be
    /// read: an error of the machine, see [`Blame`](crate::Blame).
    #[inline]
    pub fn intact(&self) -> Result<()> {
        match self {
            Mapped::Map(file) if !self.is_intact() => Err(file.origin.loss()),
            _ => Ok(()),
        }
    }
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
