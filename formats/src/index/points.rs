//! The entry points of JPEG parts in a sidecar, borrowed from the map or copied out.
//!
//! Treats them as blobs; only the JPEG decoder interprets them.

use std::ops::Range;

use super::body::make_room;
use super::layout as l;
use super::view::Index;
use crate::error::{Error, ErrorKind, Result};
use crate::le::u32_at;

impl Index {
    /// Returns true if any part has entry points.
    pub fn has_entry_points(&self) -> bool {
        self.body.sections.points.is_some()
    }

    /// Returns the entry points of part number `part` of the shard, if it has any: bytes of the
    /// mapped sidecar, see [`Index::intact`].
    ///
    /// # Errors
    /// Returns [`ErrorKind::Damaged`] if a needed block fails its checksum or the entry points are
    /// outside their section, [`ErrorKind::Truncated`] if the file was truncated while it was
    /// mapped.
    pub fn entry_points(&self, part: u64) -> Result<Option<&[u8]>> {
        self.body.intact_after(|| {
            let place = self.place(part, &mut |at, into| self.body.copy(at, into))?;
            place.map(|place| self.body.read(place.start, place.len())).transpose()
        })
    }

    /// Appends the entry points of a part to `into`. Returns false and appends nothing if the part
    /// has none or more than `most` bytes.
    ///
    /// # Errors
    /// Returns the errors of [`Index::entry_points`], and [`ErrorKind::Io`] if memory is exhausted.
    pub fn copy_entry_points(&self, part: u64, most: u64, into: &mut Vec<u8>) -> Result<bool> {
        let before = into.len();
        self.body.intact_after(|| {
            into.truncate(before);
            self.gather_points(part, most, into, &mut |at, to| self.body.copy(at, to))
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
        self.gather_points(part, most, into, &mut |at, to| self.body.copy_by(at, to, &read))
    }

    /// Counts the parts that have entry points, and the bytes of these; reads four bytes per part.
    ///
    /// # Errors
    /// Returns the errors of [`Index::entry_points`].
    pub fn count_entry_points(&self) -> Result<(u64, u64)> {
        let Some((_, points)) = &self.body.sections.points else { return Ok((0, 0)) };
        let mut parts = 0;
        for part in 0..self.parts {
            parts +=
                u64::from(self.place(part, &mut |at, into| self.body.copy(at, into))?.is_some());
        }
        self.body.intact()?;
        Ok((parts, points.len() as u64))
    }

    /// Checks that entry points fill their section. Together with [`Index::entry_points`] of every
    /// part this shows that no byte of it is missed or used twice.
    pub(super) fn check_points(&self) -> Result<()> {
        let Some((starts, points)) = &self.body.sections.points else { return Ok(()) };
        let number = |at: usize| self.body.read(at, 4).map(|bytes| u32_at(bytes, 0) as usize);
        if (number(starts.start)?, number(starts.end - 4)?) != (0, points.len()) {
            let text = "the sidecar is inconsistent: the entry points do not fill their section";
            let error = self.body.error(ErrorKind::Damaged, text);
            return Err(error.with_byte(starts.start as u64));
        }
        (0..self.parts).try_for_each(|part| self.entry_points(part).map(drop))
    }

    /// Returns the byte range of a part's entry points in the file; `get` as in
    /// [`Index::gather_points`].
    fn place<E: From<Error>>(
        &self,
        part: u64,
        get: &mut impl FnMut(usize, &mut [u8]) -> Result<(), E>,
    ) -> Result<Option<Range<usize>>, E> {
        let Some((starts, points)) = &self.body.sections.points else { return Ok(None) };
        if part >= self.parts {
            let text = format!("the sidecar has no part {part}");
            return Err(self.body.error(ErrorKind::Damaged, text).into());
        }
        // Opening has checked that there is one start per part, and one more.
        let at = starts.start + part as usize * l::POINT_START;
        let mut pair = [0; 2 * l::POINT_START];
        get(at, &mut pair)?;
        let (start, end) = (u32_at(&pair, 0) as usize, u32_at(&pair, l::POINT_START) as usize);
        if start > end || end > points.len() {
            let text = format!(
                "the sidecar is inconsistent: the entry points of part {part} are outside their section"
            );
            return Err(self.body.error(ErrorKind::Damaged, text).with_byte(at as u64).into());
        }
        Ok((start < end).then(|| points.start + start..points.start + end))
    }

    /// Copies entry points. `get` fills bytes from a position of the file on, after checking their
    /// blocks.
    fn gather_points<E: From<Error>>(
        &self,
        part: u64,
        most: u64,
        into: &mut Vec<u8>,
        get: &mut impl FnMut(usize, &mut [u8]) -> Result<(), E>,
    ) -> Result<bool, E> {
        let place = self.place(part, get)?.filter(|place| place.len() as u64 <= most);
        let Some(place) = place else { return Ok(false) };
        let before = into.len();
        make_room(into, before, place.len())?;
        get(place.start, &mut into[before..]).inspect_err(|_| into.truncate(before))?;
        Ok(true)
    }
}
