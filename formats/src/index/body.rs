//! The body of a sidecar: records read in place; each block is checked on first use, and again if
//! the file may have been written to since.
//!
//! Knows the sections and the record layout. [`super::view`] knows what the records mean together.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::columns::StoredColumn;
use super::head::Sections;
use super::layout::{self as l, at};
use super::stamp::Stamp;
use crate::bytes::checksum::crc32c;
use crate::bytes::le::{u32_at, u64_at};
use crate::disk::map::Mapped;
use crate::errors::error::{Error, ErrorKind, Result};
use crate::message;
use crate::message::{Call, Message, Name, Task};

/// One part of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// Its number in the shard; see [`super::Index::entry_points`].
    pub number: u64,
    /// Its extension, borrowed from the mapped sidecar; see [`super::Index::intact`].
    pub ext: &'a [u8],
    /// Byte of the tar at which its data begins.
    pub offset: u64,
    /// Bytes of data.
    pub length: u64,
    /// crc32c of the data; `None` if the tar was indexed from its headers alone.
    pub checksum: Option<u32>,
}

impl Part<'_> {
    /// Returns the byte after the part's padding, where the next header begins.
    pub fn end(&self) -> u64 {
        self.offset + self.length.next_multiple_of(512)
    }
}

/// The record of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowRecord {
    /// First byte of the sample in the tar.
    pub(super) first: u64,
    /// Where its key begins in the section of keys.
    pub(super) key: u64,
    /// Its first part.
    pub(super) part: u64,
}

impl RowRecord {
    #[inline]
    pub(super) fn of(bytes: &[u8; l::ROW]) -> RowRecord {
        RowRecord { first: u64_at(bytes, 0), key: u64_at(bytes, 8), part: u64_at(bytes, 16) }
    }
}

/// The bytes of a sidecar whose head passed its checks.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) bytes: Mapped,
    pub(super) path: Option<PathBuf>,
    /// The last eight bytes of the head's fixed part as they were when the file was opened. They
    /// include the head's checksum, so they differ for any other sidecar.
    pub(super) head: u64,
    /// Detects writes to a mapped file; `None` for owned bytes.
    pub(super) stamp: Option<Stamp>,
    /// Bytes of the tar: no part may end after them.
    pub(super) tar_length: u64,
    /// Where the block checksums begin.
    pub(super) sums: usize,
    /// Where the body begins.
    pub(super) start: usize,
    pub(super) sections: Sections,
    /// One bit per block of the body: set once its checksum matched.
    pub(super) checked: Box<[AtomicU64]>,
    /// The section of extensions, kept once it was read instead of mapped.
    pub(super) exts: OnceLock<Box<[u8]>>,
    /// The typed columns, kept once their description was read.
    pub(super) columns: OnceLock<Box<[StoredColumn]>>,
}

impl Body {
    pub(super) fn row(&self, row: u64) -> Result<RowRecord> {
        Ok(RowRecord::of(&self.number(&self.sections.rows, row)?))
    }

    pub(super) fn dimensions(&self, row: u64) -> Result<Option<(u32, u32)>> {
        let Some(dims) = &self.sections.dims else { return Ok(None) };
        let record: [u8; l::DIM] = self.number(dims, row)?;
        let width = u32_at(&record, 0);
        let height = u32_at(&record, 4);
        Ok((width != 0).then_some((width, height)))
    }

    pub(super) fn part(&self, part: u64) -> Result<Part<'_>> {
        let span: [u8; l::SPAN] = self.number(&self.sections.spans, part)?;
        let offset = u64_at(&span, 0);
        let length = u64_at(&span, 8);
        self.check_span(part, offset, length)?;
        let checksum = match &self.sections.checksums {
            Some(sums) => Some(u32::from_le_bytes(self.number(sums, part)?)),
            None => None,
        };
        let id = u16::from_le_bytes(self.number(&self.sections.ext_ids, part)?);
        let part = Part { number: part, ext: self.ext(id)?, offset, length, checksum };
        if self.is_held() { Ok(part) } else { Err(self.error(ErrorKind::Truncated, "")) }
    }

    /// Checks that a part is inside the tar.
    pub(super) fn check_span(&self, part: u64, offset: u64, length: u64) -> Result<()> {
        let end = length.checked_next_multiple_of(512).and_then(|n| n.checked_add(offset));
        if end.is_some_and(|end| end <= self.tar_length) {
            return Ok(());
        }
        let text = format!("the sidecar is inconsistent: part {part} ends past the end of the tar");
        Err(self.error(ErrorKind::Damaged, text))
    }

    /// Returns the extension with this number. Reads only its entry of a large section, so that the
    /// cost of a lookup does not grow with the number of extensions.
    pub(super) fn ext(&self, id: u16) -> Result<&[u8]> {
        let exts = &self.sections.exts;
        if exts.len() <= l::CHECK_BLOCK {
            return self.ext_of(self.read(exts.start, exts.len())?, id);
        }
        let count = u32_at(self.read(exts.start, 4)?, 0) as usize;
        let table = 4 + (count + 1) * 4;
        let id = usize::from(id);
        if id >= count || table > exts.len() {
            return Err(
                self.error(ErrorKind::Damaged, "the sidecar is inconsistent: no such extension")
            );
        }
        let pair = self.read(exts.start + 4 + id * 4, 8)?;
        let start = u32_at(pair, 0) as usize;
        let end = u32_at(pair, 4) as usize;
        if start > end || end > exts.len() - table {
            return Err(self.outside());
        }
        self.read(exts.start + table + start, end - start)
    }

    fn outside(&self) -> Error {
        self.error(
            ErrorKind::Damaged,
            "the sidecar is inconsistent: an extension is outside its section",
        )
    }

    /// Returns the extension with this number from the bytes of the section.
    pub(super) fn ext_of<'a>(&self, exts: &'a [u8], id: u16) -> Result<&'a [u8]> {
        let count = u32_at(exts, 0) as usize;
        let table = 4 + (count + 1) * 4;
        let id = usize::from(id);
        if id >= count || table > exts.len() {
            return Err(
                self.error(ErrorKind::Damaged, "the sidecar is inconsistent: no such extension")
            );
        }
        let start = u32_at(exts, 4 + id * 4) as usize;
        let end = u32_at(exts, 8 + id * 4) as usize;
        if start > end || end > exts.len() - table {
            return Err(self.outside());
        }
        Ok(&exts[table + start..table + end])
    }

    /// Returns record `i` of a section of `N`-byte records.
    pub(super) fn number<const N: usize>(&self, section: &Range<usize>, i: u64) -> Result<[u8; N]> {
        let start = usize::try_from(i).ok().and_then(|i| i.checked_mul(N));
        match start {
            Some(start) if start + N <= section.len() => {
                let bytes = self.read(section.start + start, N)?;
                let mut record = [0; N];
                record.copy_from_slice(bytes);
                Ok(record)
            }
            _ => Err(self
                .error(ErrorKind::Damaged, format!("the sidecar is inconsistent: no record {i}"))),
        }
    }

    /// Checks that the file is still what was opened. Every lookup ends with this check, because a
    /// block that matched once may have been truncated or overwritten since.
    #[inline]
    pub(super) fn intact(&self) -> Result<()> {
        if !self.is_held() {
            return Err(self.error(ErrorKind::Truncated, ""));
        }
        // The head is one load and is compared on every lookup. Times take a system call, so they
        // are queried only when the last answer is old.
        match &self.stamp {
            Some(stamp) if stamp.is_due() => stamp.check(|| self.check_again()),
            _ => Ok(()),
        }
    }

    /// Runs `read`, then checks whether the file changed. If a check fails, marks all blocks as
    /// unchecked and runs `read` once more: the damage may be in a block that it does not use.
    #[inline]
    pub(super) fn intact_after<T>(&self, mut read: impl FnMut() -> Result<T>) -> Result<T> {
        let found = read()?;
        if self.intact().is_ok() { Ok(found) } else { self.read_again(&mut read) }
    }

    #[cold]
    fn read_again<T>(&self, read: &mut dyn FnMut() -> Result<T>) -> Result<T> {
        let found = read()?;
        if self.is_held() { Ok(found) } else { Err(self.error(ErrorKind::Truncated, "")) }
    }

    /// Returns false once the file was found truncated or its head differs, because it was zeroed
    /// or another sidecar was written over it.
    #[inline]
    fn is_held(&self) -> bool {
        self.bytes.is_intact() && self.bytes.now(at::BODY) == self.head
    }

    /// Checks every block again that matched before. If one fails, all blocks count as unchecked.
    #[cold]
    fn check_again(&self) -> Result<()> {
        let found: Vec<u64> = self.checked.iter().map(|w| w.load(Ordering::Relaxed)).collect();
        for block in 0..found.len() * 64 {
            if found[block / 64] >> (block % 64) & 1 == 1 {
                self.check_block(block).inspect_err(|_| {
                    self.checked.iter().for_each(|word| word.store(0, Ordering::Relaxed));
                })?;
            }
        }
        Ok(())
    }

    /// Returns bytes of the body after checking their blocks.
    #[inline]
    pub(super) fn read(&self, start: usize, length: usize) -> Result<&[u8]> {
        if !self.is_checked(start, length) {
            self.check(start, length)?;
        }
        Ok(&self.bytes[start..start + length])
    }

    /// Returns true if these bytes are in one block whose checksum matched.
    #[inline]
    fn is_checked(&self, start: usize, length: usize) -> bool {
        let start = start - self.start;
        let first = start / l::CHECK_BLOCK;
        let last = (start + length).wrapping_sub(1) / l::CHECK_BLOCK;
        // The common case is one block and one load; everything else takes the slow path.
        let word = self.checked.get(first / 64).filter(|_| first == last);
        word.is_some_and(|word| word.load(Ordering::Relaxed) >> (first % 64) & 1 == 1)
    }

    #[cold]
    fn check(&self, start: usize, length: usize) -> Result<()> {
        self.check_first(start, length, |block| self.check_block(block))
    }

    /// Copies bytes of the body out of the map after checking their blocks.
    #[inline]
    pub(super) fn copy(&self, start: usize, into: &mut [u8]) -> Result<()> {
        into.copy_from_slice(self.read(start, into.len())?);
        Ok(())
    }

    /// As [`Body::copy`], but calls `read(at, into)` for bytes of the file instead of using the
    /// map. Touches no page of the map.
    pub(super) fn copy_by<E: From<Error>>(
        &self,
        start: usize,
        into: &mut [u8],
        read: &impl Fn(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check_first(start, into.len(), |block| self.check_block_by(block, read))?;
        read(start as u64, into)
    }

    /// Marks the blocks of these bytes as unchecked, so that their next read checks them again.
    pub(super) fn uncheck(&self, bytes: &Range<usize>) {
        for block in self.blocks(bytes.start, bytes.len()) {
            self.checked[block / 64].fetch_and(!(1 << (block % 64)), Ordering::Relaxed);
        }
    }

    /// Returns the numbers of the blocks that hold these bytes.
    #[inline]
    fn blocks(&self, start: usize, length: usize) -> Range<usize> {
        let start = start - self.start;
        let end = start + length;
        start / l::CHECK_BLOCK..if length == 0 { 0 } else { end.div_ceil(l::CHECK_BLOCK) }
    }

    /// Calls `check` for every block of these bytes that is not marked as checked.
    #[inline]
    fn check_first<E>(
        &self,
        start: usize,
        length: usize,
        mut check: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        for block in self.blocks(start, length) {
            let bit = 1 << (block % 64);
            // Relaxed is enough: the bit guards nothing but repeated work.
            if self.checked[block / 64].load(Ordering::Relaxed) & bit == 0 {
                check(block)?;
                self.checked[block / 64].fetch_or(bit, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    #[cold]
    fn check_block(&self, block: usize) -> Result<()> {
        let want = u32_at(&self.bytes, self.sum_of(block));
        self.compare(block, want, &self.bytes[self.block(block)])
    }

    /// Reads a block and its checksum and compares them.
    #[cold]
    fn check_block_by<E: From<Error>>(
        &self,
        block: usize,
        read: &impl Fn(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut want = [0; 4];
        let mut bytes = vec![0; self.block(block).len()];
        read(self.sum_of(block) as u64, &mut want)?;
        read(self.block(block).start as u64, &mut bytes)?;
        Ok(self.compare(block, u32::from_le_bytes(want), &bytes)?)
    }

    /// Returns the byte range of this block in the file.
    fn block(&self, block: usize) -> Range<usize> {
        let start = self.start + block * l::CHECK_BLOCK;
        start..(start + l::CHECK_BLOCK).min(self.bytes.len())
    }

    /// Returns the position of this block's checksum in the file.
    fn sum_of(&self, block: usize) -> usize {
        self.sums + block * 4
    }

    /// Compares the block's bytes with the checksum from the file.
    fn compare(&self, block: usize, want: u32, bytes: &[u8]) -> Result<()> {
        let found = crc32c(bytes);
        if want == found {
            return Ok(());
        }
        let Range { start, end } = self.block(block);
        let text = message!(
            "the sidecar is damaged: the block at bytes {start}..{end} has checksum {found:08x}, \
             not {want:08x}; make it again with `{index}`";
            index = Call::of(Task::Index).with(Name::Force.on()).on_stand("DIR")
        );
        Err(self.error(ErrorKind::Damaged, text).with_byte(start as u64))
    }

    #[cold]
    pub(super) fn inconsistent(&self, row: u64, what: &str) -> Error {
        self.error(ErrorKind::Damaged, format!("the sidecar is inconsistent at row {row}: {what}"))
    }

    #[cold]
    pub(super) fn error(&self, kind: ErrorKind, text: impl Into<Message>) -> Error {
        // A truncated file reads as zeros, which look like damage: report the truncation instead.
        let error =
            self.bytes.intact().err().unwrap_or_else(|| {
                if self.is_held() { Error::new(kind, text) } else { overwritten() }
            });
        match &self.path {
            Some(path) => error.with_path(path),
            None => error,
        }
    }
}

fn overwritten() -> Error {
    let text = message!(
        "the sidecar was overwritten or zeroed while it was in use; open the data set again when the file is \
         right (`{index}` writes a new one). To replace a file in use, rename another to its name";
        index = Call::of(Task::Index).with(Name::Force.on()).on_stand("DIR")
    );
    Error::new(ErrorKind::Damaged, text)
}

/// Makes `bytes` `keep + more` long, keeping its first `keep` bytes.
///
/// # Errors
/// Returns an error of the machine if memory is exhausted.
pub(super) fn make_room(bytes: &mut Vec<u8>, keep: usize, more: usize) -> Result<()> {
    bytes.truncate(keep);
    bytes.try_reserve(more).map_err(|_| {
        let text = format!("not enough memory for the {more} bytes of a sample of the sidecar");
        Error::new(ErrorKind::Io, text).with_cause(io::ErrorKind::OutOfMemory.into())
    })?;
    bytes.resize(keep + more, 0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri ends where memory is lacking")]
    fn a_lack_of_memory_is_an_error_of_the_machine() {
        let mut bytes = vec![1, 2, 3];
        let error = make_room(&mut bytes, 2, 1 << 62).unwrap_err();
        assert!(error.blame().is_machine(), "{error}");
        make_room(&mut bytes, 1, 2).unwrap();
        assert_eq!(bytes, [1, 0, 0]);
    }
}
