//! The entry points of JPEG parts in a sidecar, and the checksums of their strips, borrowed from the map or copied
//! out.
//!
//! Treats them as blobs; only the JPEG decoder interprets them.

use std::ops::Range;

use crate::bytes::le::u32_at;
use crate::errors::error::{Error, ErrorKind, Result};
use crate::index::body::make_room;
use crate::index::layout as l;
use crate::index::view::Index;

/// Where blobs of parts are in the file: their starts, and the blobs.
type Section = Option<(Range<usize>, Range<usize>)>;

impl Index {
    /// Returns true if any part has entry points.
    pub fn has_entry_points(&self) -> bool {
        self.body.sections.points.is_some()
    }

    /// Returns true if any part has checksums of strips.
    pub fn has_strips(&self) -> bool {
        self.body.sections.strips.is_some()
    }

    /// Returns the entry points of part number `part` of the shard, if it has any: bytes of the
    /// mapped sidecar, see [`Index::intact`].
    ///
    /// # Errors
    /// Returns [`ErrorKind::Damaged`] if a needed block fails its checksum or the entry points are
    /// outside their section, [`ErrorKind::Truncated`] if the file was truncated while it was
    /// mapped.
    pub fn entry_points(&self, part: u64) -> Result<Option<&[u8]>> {
        self.blob(&self.body.sections.points, part)
    }

    /// Returns the checksums of the strips of part number `part`, if it has any; see [`Index::entry_points`].
    ///
    /// # Errors
    /// Returns the errors of [`Index::entry_points`].
    pub fn strips(&self, part: u64) -> Result<Option<&[u8]>> {
        self.blob(&self.body.sections.strips, part)
    }

    fn blob(&self, section: &Section, part: u64) -> Result<Option<&[u8]>> {
        self.body.intact_after(|| {
            let place = self.place(section, part, &mut |at, into| self.body.copy(at, into))?;
            place.map(|place| self.body.read(place.start, place.len())).transpose()
        })
    }

    /// Appends the entry points of a part to `into`. Returns false and appends nothing if the part
    /// has none or more than `most` bytes.
    ///
    /// # Errors
    /// Returns the errors of [`Index::entry_points`], and [`ErrorKind::Io`] if memory is exhausted.
    pub fn copy_entry_points(&self, part: u64, most: u64, into: &mut Vec<u8>) -> Result<bool> {
        self.copy_blob(&self.body.sections.points, part, most, into)
    }

    /// Appends the checksums of the strips of a part to `into`, as [`Index::copy_entry_points`].
    ///
    /// # Errors
    /// Returns the errors of [`Index::copy_entry_points`].
    pub fn copy_strips(&self, part: u64, most: u64, into: &mut Vec<u8>) -> Result<bool> {
        self.copy_blob(&self.body.sections.strips, part, most, into)
    }

    fn copy_blob(
        &self,
        section: &Section,
        part: u64,
        most: u64,
        into: &mut Vec<u8>,
    ) -> Result<bool> {
        let before = into.len();
        self.body.intact_after(|| {
            into.truncate(before);
            self.gather_blob(section, part, most, into, &mut |at, to| self.body.copy(at, to))
        })
    }

    /// As [`Index::copy_entry_points`], through `read` as in [`Index::look_up_by`]: two reads.
    ///
    /// # Errors
    /// Returns the errors of [`Index::copy_entry_points`] and of `read`.
    pub fn copy_entry_points_by<E: From<Error>>(
        &self,
        part: u64,
        most: u64,
        read: impl Fn(u64, &mut [u8]) -> Result<(), E>,
        into: &mut Vec<u8>,
    ) -> Result<bool, E> {
        self.copy_blob_by(&self.body.sections.points, part, most, read, into)
    }

    /// As [`Index::copy_strips`], through `read` as in [`Index::copy_entry_points_by`].
    ///
    /// # Errors
    /// Returns the errors of [`Index::copy_entry_points_by`].
    pub fn copy_strips_by<E: From<Error>>(
        &self,
        part: u64,
        most: u64,
        read: impl Fn(u64, &mut [u8]) -> Result<(), E>,
        into: &mut Vec<u8>,
    ) -> Result<bool, E> {
        self.copy_blob_by(&self.body.sections.strips, part, most, read, into)
    }

    fn copy_blob_by<E: From<Error>>(
        &self,
        section: &Section,
        part: u64,
        most: u64,
        read: impl Fn(u64, &mut [u8]) -> Result<(), E>,
        into: &mut Vec<u8>,
    ) -> Result<bool, E> {
        self.gather_blob(section, part, most, into, &mut |at, to| self.body.copy_by(at, to, &read))
    }

    /// Counts the parts that have entry points, and the bytes of these; reads four bytes per part.
    ///
    /// # Errors
    /// Returns the errors of [`Index::entry_points`].
    pub fn count_entry_points(&self) -> Result<(u64, u64)> {
        self.count(&self.body.sections.points)
    }

    /// Counts the parts that have checksums of strips, and the bytes of these.
    ///
    /// # Errors
    /// Returns the errors of [`Index::entry_points`].
    pub fn count_strips(&self) -> Result<(u64, u64)> {
        self.count(&self.body.sections.strips)
    }

    fn count(&self, section: &Section) -> Result<(u64, u64)> {
        let Some((_, blobs)) = section else { return Ok((0, 0)) };
        let mut parts = 0;
        for part in 0..self.parts {
            let place = self.place(section, part, &mut |at, into| self.body.copy(at, into))?;
            parts += u64::from(place.is_some());
        }
        self.body.intact()?;
        Ok((parts, blobs.len() as u64))
    }

    /// Checks that entry points fill their section, and checksums of strips theirs. Together with
    /// [`Index::entry_points`] of every part this shows that no byte of it is missed or used twice.
    pub(in crate::index) fn check_blobs(&self) -> Result<()> {
        let sections = &self.body.sections;
        for section in [&sections.points, &sections.strips] {
            let Some((starts, blobs)) = section else { continue };
            if (self.number_at(starts.start)?, self.number_at(starts.end - 4)?) != (0, blobs.len())
            {
                let text =
                    "the sidecar is inconsistent: entry points or strips do not fill their section";
                let error = self.body.error(ErrorKind::Damaged, text);
                return Err(error.with_byte(starts.start as u64));
            }
            (0..self.parts).try_for_each(|part| self.blob(section, part).map(drop))?;
        }
        Ok(())
    }

    fn number_at(&self, at: usize) -> Result<usize> {
        self.body.read(at, 4).map(|bytes| u32_at(bytes, 0) as usize)
    }

    /// Returns the byte range of a part's blob in the file; `get` as in [`Index::gather_blob`].
    fn place<E: From<Error>>(
        &self,
        section: &Section,
        part: u64,
        get: &mut impl FnMut(usize, &mut [u8]) -> Result<(), E>,
    ) -> Result<Option<Range<usize>>, E> {
        let Some((starts, blobs)) = section else { return Ok(None) };
        if part >= self.parts {
            let text = format!("the sidecar has no part {part}");
            return Err(self.body.error(ErrorKind::Damaged, text).into());
        }
        // Opening has checked that there is one start per part, and one more.
        let at = starts.start + part as usize * l::BLOB_START;
        let mut pair = [0; 2 * l::BLOB_START];
        get(at, &mut pair)?;
        let start = u32_at(&pair, 0) as usize;
        let end = u32_at(&pair, l::BLOB_START) as usize;
        if start > end || end > blobs.len() {
            let text = format!(
                "the sidecar is inconsistent: the entry points or strips of part {part} are outside their \
                 section"
            );
            return Err(self.body.error(ErrorKind::Damaged, text).with_byte(at as u64).into());
        }
        Ok((start < end).then(|| blobs.start + start..blobs.start + end))
    }

    /// Copies a blob. `get` fills bytes from a position of the file on, after checking their
    /// blocks.
    fn gather_blob<E: From<Error>>(
        &self,
        section: &Section,
        part: u64,
        most: u64,
        into: &mut Vec<u8>,
        get: &mut impl FnMut(usize, &mut [u8]) -> Result<(), E>,
    ) -> Result<bool, E> {
        let place = self.place(section, part, get)?.filter(|place| place.len() as u64 <= most);
        let Some(place) = place else { return Ok(false) };
        let before = into.len();
        make_room(into, before, place.len())?;
        get(place.start, &mut into[before..]).inspect_err(|_| into.truncate(before))?;
        Ok(true)
    }
}
