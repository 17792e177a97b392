//! Reads an encoded sidecar in place: opening parses and copies no record.
//!
//! Opening checks the head (magic, version, byte order, lengths, its own checksum, the section
//! table). The body is checked in blocks of 16 KiB, each when it is first touched: a damaged
//! sidecar is never used, and a thousand of them still open in milliseconds. A sidecar that is
//! zeroed or written over while it is mapped is detected: its head at once, a block of its body
//! within milliseconds.

use std::fs::Metadata;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use super::body::{Body, RowRecord};
use super::head::{Head, whole_head};
use super::layout::{self as l, at};
use super::sample::Sample;
use super::stamp::Stamp;
use crate::bytes::checksum::Digest;
use crate::bytes::le::u64_at;
use crate::disk::files;
use crate::disk::lfs::Pointer;
use crate::disk::map::Mapped;
use crate::disk::publish::folder_of;
use crate::errors::error::{Error, ErrorKind, Result};
use crate::index::writing::build::TarFacts;
use crate::message;
use crate::message::{Call, Task};
use crate::text::url::url_of;

/// An opened sidecar. Lookups take nanoseconds and may run in many threads.
#[derive(Debug)]
pub struct Index {
    pub(super) body: Body,
    facts: TarFacts,
    samples: u64,
    pub(super) parts: u64,
    metadata: Option<Metadata>,
}

impl Index {
    /// Maps the sidecar at `path`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is not a sidecar, has a newer version, or is
    /// truncated or damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Index> {
        let path = path.as_ref();
        let (file, metadata) =
            files::open(path).map_err(|e| match e.io_error().map(io::Error::kind) {
                Some(kind @ io::ErrorKind::NotFound) => {
                    let index = Call::of(Task::Index).on_path(folder_of(path));
                    let doing = message!("find the sidecar of this tar; `{index}` makes one"; index = index);
                    Error::io(kind.into(), doing, path)
                }
                _ => e,
            })?;
        let length = metadata.len();
        // Read the head instead of mapping it: a first touch of the map would load the pages around
        // it.
        let mut start = [0; 4096];
        let start = &mut start[..length.min(4096) as usize];
        files::read_exact_at(&file, start, 0).map_err(|e| Error::io(e, "read", path))?;
        let head = whole_head(start, length, |n| {
            let mut head = vec![0; n];
            files::read_exact_at(&file, &mut head, 0)
                .map_err(|e| Error::io(e, "read", path))
                .map(|()| head)
        });
        let index =
            head.and_then(|head| Index::new(&head, length, || Mapped::of(&file, length, path)));
        let mut index = index.map_err(|e| e.with_path(path))?;
        index.body.path = Some(path.to_path_buf());
        index.body.stamp = Some(Stamp::of(path, &metadata));
        index.metadata = Some(metadata);
        index.learn_tar_length()?;
        Ok(index)
    }

    /// Reads a sidecar from memory.
    ///
    /// # Errors
    /// Returns the errors of [`Index::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Index> {
        let mut index = Index::new(&bytes, bytes.len() as u64, || Ok(Mapped::Owned(Vec::new())))?;
        index.body.bytes = Mapped::Owned(bytes);
        index.learn_tar_length()?;
        Ok(index)
    }

    /// Sets the length of the tar, which differs from that of a compressed file.
    fn learn_tar_length(&mut self) -> Result<()> {
        if self.body.sections.frames.is_none() {
            return Ok(());
        }
        let (file, data) = self.frame_start(self.frames())?;
        if file > self.facts.length {
            let text = "the sidecar is inconsistent: the frames are longer than the file";
            return Err(self.body.error(ErrorKind::Damaged, text));
        }
        self.body.tar_length = data;
        Ok(())
    }

    fn new(head: &[u8], length: u64, bytes: impl FnOnce() -> Result<Mapped>) -> Result<Index> {
        let parsed = Head::parse(head, length)?;
        let sections = parsed.sections(head)?;
        let Head { facts, samples, parts, sums, body: start, .. } = parsed;
        let blocks = (length - start as u64).div_ceil(l::CHECK_BLOCK as u64);
        let checked = (0..blocks.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        let bytes = bytes()?;
        let path = None;
        let stamp = None;
        let tar_length = facts.length;
        let head = u64_at(head, at::BODY);
        let body = Body {
            bytes,
            path,
            head,
            stamp,
            tar_length,
            sums,
            start,
            sections,
            checked,
            exts: OnceLock::new(),
            columns: OnceLock::new(),
        };
        Ok(Index { body, facts, samples, parts, metadata: None })
    }

    /// Checks that the tar at `tar` is `length` bytes long.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Stale`] with both lengths if it is not, and the command that makes the sidecar again.
    pub fn check_tar_length(&self, tar: impl AsRef<Path>, length: u64) -> Result<()> {
        let tar = tar.as_ref();
        if length == self.facts.length {
            return Ok(());
        }
        let text = message!(
            "the sidecar describes a tar of {} bytes, but the tar has {length}; if the tar is right, \
             make a new sidecar with `{renewal}`",
            self.facts.length;
            renewal = self.renewal(tar)
        );
        Err(self.body.error(ErrorKind::Stale, text))
    }

    /// As [`Index::check_tar_length`], for the file at `tar`. Recognizes a Git LFS pointer in its place.
    ///
    /// # Errors
    /// Returns [`ErrorKind::WrongFormat`] for a pointer, and an error if the operating system refuses to read it.
    pub fn check_tar(&self, tar: impl AsRef<Path>, length: u64) -> Result<()> {
        let tar = tar.as_ref();
        let checked = self.check_tar_length(tar, length);
        let is_local = url_of(tar).is_none();
        if checked.is_err() && is_local && Pointer::read(tar, length)?.is_some() {
            return Err(Pointer::error(tar));
        }
        checked
    }

    /// Returns length and digest of the tar that this sidecar was made for.
    pub fn tar(&self) -> &TarFacts {
        &self.facts
    }

    /// Returns the number of samples.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Returns the number of parts.
    pub fn parts(&self) -> u64 {
        self.parts
    }

    /// Returns the bytes of the sidecar itself.
    pub fn length(&self) -> u64 {
        self.body.bytes.len() as u64
    }

    /// Returns the file's metadata from when it was opened; `None` for a sidecar in memory.
    pub fn metadata(&self) -> Option<&Metadata> {
        self.metadata.as_ref()
    }

    /// Releases the pages that lookups have mapped, see [`Mapped::forget`]. The sidecar stays open.
    pub fn forget(&self) {
        self.body.bytes.forget();
    }

    /// Returns true if every part has a checksum.
    pub fn has_checksums(&self) -> bool {
        self.body.sections.checksums.is_some()
    }

    /// Returns the bytes of the sidecar itself, borrowed from the map; see [`Index::intact`].
    pub fn stored(&self) -> &[u8] {
        &self.body.bytes
    }

    /// Returns the blake3 of the sidecar itself; reads all of it. The result is meaningless if
    /// [`Index::intact`] fails afterwards.
    pub fn digest(&self) -> Digest {
        blake3::hash(&self.body.bytes)
    }

    /// Checks that the sidecar is still what was opened. Every lookup calls it; keys and extensions
    /// are borrowed from the map, so a caller that copies or compares them must call it again
    /// afterwards.
    ///
    /// The check queries the file's times every 5 ms at most, and checks the used blocks again if
    /// the times changed. A block that is overwritten in place can therefore be used for that long.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Truncated`] if the file was truncated while it was mapped,
    /// [`ErrorKind::Damaged`] if it was written over.
    #[inline]
    pub fn intact(&self) -> Result<()> {
        self.body.intact()
    }

    /// Returns the sample at `row`, or `None` past the end.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Damaged`] if the blocks that describe it fail their checksum or are
    /// inconsistent, [`ErrorKind::Truncated`] if the file was truncated while it was mapped.
    pub fn sample(&self, row: u64) -> Result<Option<Sample<'_>>> {
        if row >= self.samples {
            return Ok(None);
        }
        self.body.intact_after(|| {
            let here = self.body.row(row)?;
            let (key, parts) = self.check_row(row, here, self.body.row(row + 1)?)?;
            let key = self.body.read(key.start, key.len())?;
            let dimensions = self.body.dimensions(row)?;
            let first = here.first;
            let first_part = parts.start;
            let end_part = parts.end;
            Ok(Some(Sample { body: &self.body, row, key, first, dimensions, first_part, end_part }))
        })
    }

    /// Returns the key's range in the file and the range of parts, from the records of a row and of
    /// the next one.
    pub(super) fn check_row(
        &self,
        row: u64,
        here: RowRecord,
        next: RowRecord,
    ) -> Result<(Range<usize>, Range<u64>)> {
        if here.part > next.part || next.part > self.parts || here.first > self.body.tar_length {
            return Err(self
                .body
                .inconsistent(row, "its parts or its first byte are outside the shard"));
        }
        let keys = &self.body.sections.keys;
        if here.key > next.key || next.key > keys.len() as u64 {
            return Err(self.body.inconsistent(row, "its key is outside the section of keys"));
        }
        let key = keys.start + here.key as usize..keys.start + next.key as usize;
        Ok((key, here.part..next.part))
    }

    /// Returns the byte of the tar after the last sample; 0 if there is none. End markers before it are
    /// between tars that were joined.
    ///
    /// # Errors
    /// Returns the errors of [`Index::sample`].
    pub fn samples_end(&self) -> Result<u64> {
        let Some(last) = self.samples.checked_sub(1) else { return Ok(0) };
        self.sample(last)?.map_or(Ok(0), |sample| sample.end())
    }

    /// Returns all samples in the order of the tar.
    pub fn iter(&self) -> impl Iterator<Item = Result<Sample<'_>>> {
        (0..self.samples).filter_map(|row| self.sample(row).transpose())
    }

    /// Returns the first row with this key, by binary search.
    ///
    /// # Errors
    /// Returns the errors of [`Index::sample`].
    pub fn find(&self, key: &[u8]) -> Result<Option<u64>> {
        let first = self.first_by_key(key)?;
        if first == self.samples {
            return Ok(None);
        }
        let row = self.by_key(first)?;
        let found = self.key(row)? == key;
        self.body.intact()?;
        Ok(found.then_some(row))
    }

    /// Counts the samples whose keys are before `key` in byte order. [`Index::by_key`] of that
    /// number is the first row with this key, if there is one, and equal keys follow.
    ///
    /// # Errors
    /// Returns the errors of [`Index::sample`].
    pub fn first_by_key(&self, key: &[u8]) -> Result<u64> {
        let mut low = 0;
        let mut high = self.samples;
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(self.by_key(middle)?)? < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.body.intact()?;
        Ok(low)
    }

    /// Returns the row whose key is the `n`th in byte order.
    ///
    /// # Errors
    /// Returns the errors of [`Index::sample`].
    pub fn by_key(&self, n: u64) -> Result<u64> {
        let Some(order) = &self.body.sections.order else { return Ok(n) };
        self.body.intact_after(|| {
            let row = u64::from(u32::from_le_bytes(self.body.number(order, n)?));
            if row >= self.samples {
                return Err(self
                    .body
                    .inconsistent(n, "the order of keys names a row past the end"));
            }
            Ok(row)
        })
    }

    /// Returns the key at `row`.
    ///
    /// # Errors
    /// Returns the errors of [`Index::sample`], and [`ErrorKind::Damaged`] for a row past the end.
    pub fn key(&self, row: u64) -> Result<&[u8]> {
        let sample = self.sample(row)?;
        sample.map(|s| s.key).ok_or_else(|| self.body.inconsistent(row, "there is no such row"))
    }
}
