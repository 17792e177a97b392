//! The entry points of JPEG parts: where they stand in a sidecar, lent by the map or copied out.
//!
//! Their bytes are the business of whoever decodes; here they are blobs.

use std::ops::Range;

use super::body::make_room;
use super::layout as l;
use super::view::Index;
use crate::error::{Error, ErrorKind, Result};
use crate::le::u32_at;

impl Index {
    /// True if some part has entry points.
    pub fn has_entry_points(&self) -> bool {
        self.body.sections.points.is_some()
    }

    /// The entry points of part number `part` of the shard, if it has any: bytes in the mapped sidecar,
    /// see [`Index::intact`].
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`] if a block that is needed fails its checksum or they lie outside their
    /// section; [`ErrorKind::Truncated`] if the file was cut while it was mapped.
    pub fn entry_points(&self, part: u64) -> Result<Option<&[u8]>> {
        self.body.intact_after(|| {
            let place = self.place(part, &mut |at, into| self.body.copy(at, into))?;
            place.map(|place| self.body.read(place.start, place.len())).transpose()
        })
    }

    /// Puts the entry points of a part behind what `into` holds; false, and nothing is put, if it has
    /// none or more than `most` bytes.
    ///
    /// # Errors
    /// As [`Index::entry_points`]; [`ErrorKind::Io`]: there is no memory for them.
    pub fn copy_entry_points(&self, part: u64, most: u64, into: &mut Vec<u8>) -> Result<bool> {
        let before = into.len();
        self.body.intact_after(|| {
            into.truncate(before);
            self.gather_points(part, most, into, &mut |at, to| self.body.copy(at, to))
        })
    }

    /// As [`Index::copy_entry_points`], by `read`, as in [`Index::look_up_by`]: two reads.
    ///
    /// # Errors
    /// As [`Index::copy_entry_points`]; what `read` gives.
    pub fn copy_entry_points_by<E: From<Error>>(
        &self,
        part: u64,
        most: u64,
        read: impl Fn(u64, &mut [u8]) -> Result<(), E>,
        into: &mut Vec<u8>,
    ) -> Result<bool, E> {
        self.gather_points(part, most, into, &mut |at, to| self.body.copy_by(at, to, &read))
    }

    /// How many parts have entry points, and how many bytes these are: reads four bytes a part.
    ///
    /// # Errors
    /// As [`Index::entry_points`].
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

    /// Entry points take in all of their section: with [`Index::entry_points`] of every part, no byte of
    /// it is missed or counted twice.
    pub(super) fn check_points(&self) -> Result<()> {
        let Some((starts, points)) = &self.body.sections.points else { return Ok(()) };
        let number = |at: usize| self.body.read(at, 4).map(|bytes| u32_at(bytes, 0) as usize);
        if (number(starts.start)?, number(starts.end - 4)?) != (0, points.len()) {
            let text = "the sidecar lies: the entry points do not take in their section";
            let error = self.body.error(ErrorKind::Damaged, text);
            return Err(error.with_byte(starts.start as u64));
        }
        (0..self.parts).try_for_each(|part| self.entry_points(part).map(drop))
    }

    /// Where the entry points of a part stand in the file; `get` as in [`Index::gather_points`].
    fn place<E: From<Error>>(
        &self,
        part: u64,
        get: &mut impl FnMut(usize, &mut [u8]) -> Result<(), E>,
    ) -> Result<Option<Range<usize>>, E> {
        let Some((starts, points)) = &self.body.sections.points else { return Ok(None) };
        if part >= self.parts {
            let text = format!("the sidecar has no part {part}, whose entry points are wanted");
            return Err(self.body.error(ErrorKind::Damaged, text).into());
        }
        // Opening has checked that there is a start for each part, and one more.
        let at = starts.start + part as usize * l::POINT_START;
        let mut pair = [0; 2 * l::POINT_START];
        get(at, &mut pair)?;
        let (start, end) = (u32_at(&pair, 0) as usize, u32_at(&pair, l::POINT_START) as usize);
        if start > end || end > points.len() {
            let text = format!("the sidecar lies: the entry points of part {part} lie outside it");
            return Err(self.body.error(ErrorKind::Damaged, text).with_byte(at as u64).into());
        }
        Ok((start < end).then(|| points.start + start..points.start + end))
    }

    /// Copies entry points; `get` fills bytes from a place of the file on, after their blocks were
    /// checked.
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
