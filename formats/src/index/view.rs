//! Reads an encoded sidecar in place: nothing is parsed or copied when it is opened.
//!
//! Opening checks the head (magic, version, byte order, lengths, its own checksum, the section
//! table). The body is checked in blocks of 16 KiB, each when it is first touched, so that a
//! damaged sidecar is never believed and a thousand of them still open in milliseconds.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::build::TarFacts;
use super::head::{Head, Sections, whole_head};
use super::layout as l;
use super::sample::{Part, Sample};
use crate::checksum::{Digest, crc32c};
use crate::error::{Error, ErrorKind, Result};
use crate::le::{u32_at, u64_at};
use crate::map::Mapped;

/// An opened sidecar. Lookups cost nanoseconds and may run in many threads.
#[derive(Debug)]
pub struct Index {
    pub(super) bytes: Mapped,
    path: Option<PathBuf>,
    facts: TarFacts,
    samples: u64,
    pub(super) parts: u64,
    /// Where the block checksums begin.
    sums: usize,
    pub(super) body: usize,
    pub(super) sections: Sections,
    /// One bit a block of the body: set once its checksum was found right.
    checked: Box<[AtomicU64]>,
}

impl Index {
    /// Maps the sidecar at `path`.
    ///
    /// # Errors
    /// The file can't be read, is no sidecar, is of a newer version, is cut or damaged.
    pub fn open(path: &Path) -> Result<Index> {
        let file = File::open(path).map_err(|e| Error::io(e, "open", path))?;
        let failed = |e| Error::io(e, "read", path);
        let length = file.metadata().map_err(failed)?.len();
        // The head is read and not mapped: a first touch of the map would bring in pages around it.
        let mut start = [0; 4096];
        let start = &mut start[..length.min(4096) as usize];
        file.read_exact_at(start, 0).map_err(failed)?;
        let more = |n| {
            let mut head = vec![0; n];
            file.read_exact_at(&mut head, 0).map_err(failed).map(|()| head)
        };
        let map = || Mapped::of(&file, length, path);
        let head = whole_head(start, length, more);
        let index = head.and_then(|head| Index::new(&head, length, map));
        let mut index = index.map_err(|e| e.with_path(path))?;
        index.path = Some(path.to_path_buf());
        Ok(index)
    }

    /// Reads a sidecar from memory.
    ///
    /// # Errors
    /// As [`Index::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Index> {
        let mut index = Index::new(&bytes, bytes.len() as u64, || Ok(Mapped::Owned(Vec::new())))?;
        index.bytes = Mapped::Owned(bytes);
        Ok(index)
    }

    fn new(head: &[u8], length: u64, bytes: impl FnOnce() -> Result<Mapped>) -> Result<Index> {
        let parsed = Head::parse(head, length)?;
        let sections = parsed.sections(head)?;
        let Head { facts, samples, parts, sums, body, .. } = parsed;
        let blocks = (length - body as u64).div_ceil(l::CHECK_BLOCK as u64);
        let checked = (0..blocks.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        let bytes = bytes()?;
        Ok(Index { bytes, path: None, facts, samples, parts, sums, body, sections, checked })
    }

    /// Refuses a sidecar whose tar is not `length` bytes long.
    ///
    /// # Errors
    /// [`ErrorKind::Stale`], with both lengths.
    pub fn check_tar_length(&self, length: u64) -> Result<()> {
        if length == self.facts.length {
            return Ok(());
        }
        let text = format!(
            "the sidecar describes a tar of {} bytes, but the tar has {length}; if the tar is right, \
             make its sidecar anew with `pack index --force`",
            self.facts.length
        );
        Err(self.error(ErrorKind::Stale, text))
    }

    /// Length and digest of the tar that this sidecar was made for.
    pub fn tar(&self) -> &TarFacts {
        &self.facts
    }

    /// Number of samples.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Number of parts.
    pub fn parts(&self) -> u64 {
        self.parts
    }

    /// Bytes of the sidecar itself.
    pub fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// True if every part has a checksum.
    pub fn has_checksums(&self) -> bool {
        self.sections.checksums.is_some()
    }

    /// blake3 of the sidecar itself; reads all of it.
    pub fn digest(&self) -> Digest {
        blake3::hash(&self.bytes)
    }

    /// The sample at `row`, or `None` past the end.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`] if the blocks that describe it fail their checksum or lie.
    pub fn sample(&self, row: u64) -> Result<Option<Sample<'_>>> {
        if row >= self.samples {
            return Ok(None);
        }
        let (first, key_start, first_part) = self.row(row)?;
        let (_, key_end, end_part) = self.row(row + 1)?;
        if first_part > end_part || end_part > self.parts || first > self.facts.length {
            return Err(self.lie(row, "its parts or its first byte lie outside the shard"));
        }
        let keys = &self.sections.keys;
        if key_start > key_end || key_end > keys.len() as u64 {
            return Err(self.lie(row, "its key lies outside the section of keys"));
        }
        let key = self.read(keys.start + key_start as usize, (key_end - key_start) as usize)?;
        let dimensions = self.dimensions(row)?;
        Ok(Some(Sample { index: self, row, key, first, dimensions, first_part, end_part }))
    }

    /// All samples in the order of the tar.
    pub fn iter(&self) -> impl Iterator<Item = Result<Sample<'_>>> {
        (0..self.samples).filter_map(|row| self.sample(row).transpose())
    }

    /// The first row with this key, by binary search.
    ///
    /// # Errors
    /// As [`Index::sample`].
    pub fn find(&self, key: &[u8]) -> Result<Option<u64>> {
        let (mut low, mut high) = (0, self.samples);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(self.by_key(middle)?)? < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == self.samples {
            return Ok(None);
        }
        let row = self.by_key(low)?;
        Ok((self.key(row)? == key).then_some(row))
    }

    /// The row whose key is the `n`th in byte order.
    ///
    /// # Errors
    /// As [`Index::sample`].
    pub fn by_key(&self, n: u64) -> Result<u64> {
        let Some(order) = &self.sections.order else { return Ok(n) };
        let row = u64::from(u32::from_le_bytes(self.number(order, n)?));
        if row >= self.samples {
            return Err(self.lie(n, "the order of keys names a row past the end"));
        }
        Ok(row)
    }

    /// The key at `row`.
    ///
    /// # Errors
    /// As [`Index::sample`]; a row past the end is damage, too.
    pub fn key(&self, row: u64) -> Result<&[u8]> {
        let sample = self.sample(row)?;
        sample.map(|s| s.key).ok_or_else(|| self.lie(row, "there is no such row"))
    }

    pub(super) fn row(&self, row: u64) -> Result<(u64, u64, u64)> {
        let record: [u8; l::ROW] = self.number(&self.sections.rows, row)?;
        Ok((u64_at(&record, 0), u64_at(&record, 8), u64_at(&record, 16)))
    }

    fn dimensions(&self, row: u64) -> Result<Option<(u32, u32)>> {
        let Some(dims) = &self.sections.dims else { return Ok(None) };
        let record: [u8; l::DIM] = self.number(dims, row)?;
        let (width, height) = (u32_at(&record, 0), u32_at(&record, 4));
        Ok((width != 0).then_some((width, height)))
    }

    pub(super) fn part(&self, part: u64) -> Result<Part<'_>> {
        let span: [u8; l::SPAN] = self.number(&self.sections.spans, part)?;
        let (offset, length) = (u64_at(&span, 0), u64_at(&span, 8));
        let end = length.checked_next_multiple_of(512).and_then(|n| n.checked_add(offset));
        if end.is_none_or(|end| end > self.facts.length) {
            let text = format!("the sidecar lies: part {part} ends past the end of the tar");
            return Err(self.error(ErrorKind::Damaged, text));
        }
        let checksum = match &self.sections.checksums {
            Some(sums) => Some(u32::from_le_bytes(self.number(sums, part)?)),
            None => None,
        };
        let id = u16::from_le_bytes(self.number(&self.sections.ext_ids, part)?);
        Ok(Part { ext: self.ext(id)?, offset, length, checksum })
    }

    fn ext(&self, id: u16) -> Result<&[u8]> {
        let exts = &self.sections.exts;
        let count = u32_at(self.read(exts.start, 4)?, 0) as usize;
        let table = 4 + (count + 1) * 4;
        let id = usize::from(id);
        if id >= count || table > exts.len() {
            return Err(self.error(ErrorKind::Damaged, "the sidecar lies: no such extension"));
        }
        let starts = self.read(exts.start + 4 + id * 4, 8)?;
        let (start, end) = (u32_at(starts, 0) as usize, u32_at(starts, 4) as usize);
        if start > end || end > exts.len() - table {
            let text = "the sidecar lies: an extension lies outside its section";
            return Err(self.error(ErrorKind::Damaged, text));
        }
        self.read(exts.start + table + start, end - start)
    }

    /// Record `i` of a section of `N`-byte records.
    fn number<const N: usize>(&self, section: &Range<usize>, i: u64) -> Result<[u8; N]> {
        let start = usize::try_from(i).ok().and_then(|i| i.checked_mul(N));
        match start {
            Some(start) if start + N <= section.len() => {
                let bytes = self.read(section.start + start, N)?;
                let mut record = [0; N];
                record.copy_from_slice(bytes);
                Ok(record)
            }
            _ => Err(self.error(ErrorKind::Damaged, format!("the sidecar lies: no record {i}"))),
        }
    }

    /// Bytes of the body, after their blocks were checked.
    #[inline]
    pub(super) fn read(&self, start: usize, length: usize) -> Result<&[u8]> {
        if length > 0 {
            let first = (start - self.body) / l::CHECK_BLOCK;
            let last = (start + length - 1 - self.body) / l::CHECK_BLOCK;
            for block in first..=last {
                let bit = 1 << (block % 64);
                // Relaxed is enough: the bit guards nothing but repeated work.
                if self.checked[block / 64].load(Ordering::Relaxed) & bit == 0 {
                    self.check_block(block)?;
                    self.checked[block / 64].fetch_or(bit, Ordering::Relaxed);
                }
            }
        }
        Ok(&self.bytes[start..start + length])
    }

    #[cold]
    fn check_block(&self, block: usize) -> Result<()> {
        let start = self.body + block * l::CHECK_BLOCK;
        let end = (start + l::CHECK_BLOCK).min(self.bytes.len());
        let want = u32_at(&self.bytes, self.sums + block * 4);
        let found = crc32c(&self.bytes[start..end]);
        if want == found {
            return Ok(());
        }
        let text = format!(
            "the sidecar is damaged: the block at bytes {start}..{end} has checksum {found:08x}, \
             not {want:08x}; make it anew with `pack index --force`"
        );
        Err(self.error(ErrorKind::Damaged, text).with_byte(start as u64))
    }

    #[cold]
    pub(super) fn lie(&self, row: u64, what: &str) -> Error {
        self.error(ErrorKind::Damaged, format!("the sidecar lies about row {row}: {what}"))
    }

    #[cold]
    fn error(&self, kind: ErrorKind, text: impl Into<String>) -> Error {
        let error = Error::new(kind, text);
        match &self.path {
            Some(path) => error.with_path(path),
            None => error,
        }
    }
}
