//! Copies one row of a sidecar into memory of the caller: from the map, or by reads of the file.
//!
//! A lookup through the map leaves the pages around it in the process's memory; lookups all over a
//! large data set leave all of its sidecars there. A lookup by reads costs some system calls and
//! leaves nothing. Both make the same checks. The caller opens the file and chooses the way.

use std::fmt;
use std::ops::Range;

use super::body::{Body, Part, RowRecord, make_room};
use super::layout as l;
use super::view::Index;
use crate::bytes::le::{u32_at, u64_at};
use crate::errors::error::{Error, Result};
use crate::parts::name;
use crate::text::shown::Quoted;

/// A copy of a sample's description. Reusable for row after row: once its vectors have grown, a
/// lookup allocates nothing.
#[derive(Clone, Default)]
pub struct SampleRow {
    first: u64,
    key: Vec<u8>,
    /// The concatenated extensions.
    exts: Vec<u8>,
    parts: Vec<FoundPart>,
    /// Records in the layout of the file.
    records: Vec<u8>,
}

#[derive(Debug, Clone)]
struct FoundPart {
    number: u64,
    ext: Range<usize>,
    offset: u64,
    length: u64,
    checksum: Option<u32>,
}

impl fmt::Debug for SampleRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SampleRow");
        shown.field("key", &Quoted(&self.key)).field("first", &self.first);
        shown.field("parts", &self.parts.len()).finish()
    }
}

impl SampleRow {
    /// Creates an empty value.
    pub fn new() -> SampleRow {
        SampleRow::default()
    }

    /// Returns the key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Returns the key as text for messages.
    pub fn shown_key(&self) -> String {
        name::shown(&self.key)
    }

    /// Returns the byte of the tar at which the sample's first header block begins.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Returns the parts in the order of the tar.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = Part<'_>> {
        self.parts.iter().map(|part| Part {
            number: part.number,
            ext: &self.exts[part.ext.clone()],
            offset: part.offset,
            length: part.length,
            checksum: part.checksum,
        })
    }

    fn clear(&mut self) {
        self.first = 0;
        self.key.clear();
        self.exts.clear();
        self.parts.clear();
    }
}

impl Index {
    /// Copies the sample at `row` out of the map; returns false past the end.
    ///
    /// # Errors
    /// Returns the errors of [`Index::sample`] and [`super::Sample::parts`].
    pub fn look_up(&self, row: u64, found: &mut SampleRow) -> Result<bool> {
        let body = &self.body;
        body.intact_after(|| {
            self.gather(row, found, &mut |at, into: &mut [u8]| body.copy(at, into))
        })
    }

    /// As [`Index::look_up`], but calls `read(at, into)` for bytes of the sidecar's file: four
    /// reads per sample, one more if parts have checksums. Touches no page of the map.
    ///
    /// # Errors
    /// Returns the errors of [`Index::look_up`] and of `read`.
    pub fn look_up_by<E: From<Error>>(
        &self,
        row: u64,
        read: impl Fn(u64, &mut [u8]) -> Result<(), E>,
        found: &mut SampleRow,
    ) -> Result<bool, E> {
        self.gather(row, found, &mut |at, into: &mut [u8]| self.body.copy_by(at, into, &read))
    }

    /// Returns width and height of the first image of the sample at `row`, if the sidecar has them,
    /// from the map.
    ///
    /// # Errors
    /// Returns the errors of [`Index::sample`].
    pub fn dimensions(&self, row: u64) -> Result<Option<(u32, u32)>> {
        let body = &self.body;
        body.intact_after(|| self.sides(row, &mut |at, into: &mut [u8]| body.copy(at, into)))
    }

    /// As [`Index::dimensions`], through `read`; see [`Index::look_up_by`].
    ///
    /// # Errors
    /// Returns the errors of [`Index::look_up_by`].
    pub fn dimensions_by<E: From<Error>>(
        &self,
        row: u64,
        read: impl Fn(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<Option<(u32, u32)>, E> {
        self.sides(row, &mut |at, into: &mut [u8]| self.body.copy_by(at, into, &read))
    }

    fn sides<E: From<Error>>(
        &self,
        row: u64,
        get: &mut impl FnMut(usize, &mut [u8]) -> Result<(), E>,
    ) -> Result<Option<(u32, u32)>, E> {
        let section = self.body.sections.dims.as_ref().filter(|_| row < self.samples());
        let Some(section) = section else { return Ok(None) };
        let mut record = [0; l::DIM];
        get(section.start + row as usize * l::DIM, &mut record)?;
        let width = u32_at(&record, 0);
        let height = u32_at(&record, 4);
        Ok((width != 0).then_some((width, height)))
    }

    /// Collects the description of a sample. `get` fills bytes from a position of the file on,
    /// after checking their blocks.
    fn gather<E: From<Error>>(
        &self,
        row: u64,
        found: &mut SampleRow,
        get: &mut impl FnMut(usize, &mut [u8]) -> Result<(), E>,
    ) -> Result<bool, E> {
        found.clear();
        if row >= self.samples() {
            return Ok(false);
        }
        // The next row's record marks where this row's key and parts end.
        let mut rows = [[0; l::ROW]; 2];
        // `rows` has one record more than rows; opening has checked their number.
        get(self.body.sections.rows.start + row as usize * l::ROW, rows.as_flattened_mut())?;
        let [here, next] = rows.map(|bytes| RowRecord::of(&bytes));
        let (key, parts) = self.check_row(row, here, next)?;
        found.first = here.first;
        make_room(&mut found.key, 0, key.len())?;
        get(key.start, &mut found.key)?;
        self.gather_parts(parts, found, get)?;
        Ok(true)
    }

    fn gather_parts<E: From<Error>>(
        &self,
        parts: Range<u64>,
        found: &mut SampleRow,
        get: &mut impl FnMut(usize, &mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Body { sections, .. } = &self.body;
        // Opening has checked that each section has one record per part.
        let first = parts.start as usize;
        let count = (parts.end - parts.start) as usize;
        // One buffer for spans, ids and checksums, and one read per section: the number of reads
        // does not grow with the number of parts.
        let sums = if sections.checksums.is_some() { 4 } else { 0 };
        make_room(&mut found.records, 0, count.saturating_mul(l::SPAN + 2 + sums))?;
        let (spans, rest) = found.records.split_at_mut(count * l::SPAN);
        let (ids, checksums) = rest.split_at_mut(count * 2);
        get(sections.spans.start + first * l::SPAN, spans)?;
        get(sections.ext_ids.start + first * 2, ids)?;
        if let Some(section) = &sections.checksums {
            get(section.start + first * 4, checksums)?;
        }
        let exts = self.exts(get)?;
        for (n, part) in parts.enumerate() {
            let offset = u64_at(spans, n * l::SPAN);
            let length = u64_at(spans, n * l::SPAN + 8);
            self.body.check_span(part, offset, length)?;
            let id = u16::from_le_bytes([ids[n * 2], ids[n * 2 + 1]]);
            let start = found.exts.len();
            found.exts.extend_from_slice(self.body.ext_of(exts, id)?);
            let ext = start..found.exts.len();
            let checksum = (sums > 0).then(|| u32_at(checksums, n * 4));
            found.parts.push(FoundPart { number: part, ext, offset, length, checksum });
        }
        Ok(())
    }

    /// Returns the section of extensions. Every lookup needs it, so it is read once and kept.
    fn exts<E: From<Error>>(
        &self,
        get: &mut impl FnMut(usize, &mut [u8]) -> Result<(), E>,
    ) -> Result<&[u8], E> {
        if let Some(exts) = self.body.exts.get() {
            return Ok(exts);
        }
        let section = &self.body.sections.exts;
        let mut exts = Vec::new();
        make_room(&mut exts, 0, section.len())?;
        // The kept copy is not checked again, so do not count its blocks as checked.
        self.body.uncheck(section);
        get(section.start, &mut exts)?;
        Ok(self.body.exts.get_or_init(|| exts.into()))
    }
}
