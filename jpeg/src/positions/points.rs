//! `EntryPoints`: positions in the entropy-coded data of a JPEG at which decoding can start.
//!
//! A blob beside the image, bound to it by length and checksum. A position is found without
//! unpacking the others. FORMAT.md has the layout; `scanner` creates the blob.

mod bits;
mod blob;
mod encode;

pub(crate) use self::encode::encode;

use self::bits::take;
use self::blob::{FIXED, Fixed, VERSION};
use crate::error::{Error, ErrorKind, Result};
use crate::positions::checksum::crc32c;
use crate::positions::position::Position;

/// Number of MCUs from which on a row has more than one position.
const WIDE: u32 = 24;
/// Limit on the MCUs between two positions of such a row.
const MOST_STEP: u32 = 16;
/// The least number of MCUs between two positions, if the row has as many. With fewer, positions
/// take much more memory than a blob that claims to have them.
const LEAST_STEP: u32 = 8;

/// Returns the number of MCUs between two positions in a row of `columns`: `asked`, but at least
/// [`LEAST_STEP`], or the usual number.
pub(crate) fn step(columns: u32, asked: Option<u32>) -> u32 {
    match asked {
        Some(asked) => asked.clamp(LEAST_STEP.min(columns).max(1), u16::MAX.into()),
        None if columns < WIDE => columns.max(1),
        None => columns.div_ceil(columns.div_ceil(MOST_STEP)),
    }
}

/// Positions at which the decoding of one JPEG can start: one for each row of MCUs, more in wide
/// rows.
#[derive(Debug, Clone, Copy)]
pub struct EntryPoints<'a> {
    fixed: Fixed,
    /// The bit-packed positions.
    places: &'a [u8],
}

/// Returns the error for bytes that are not a valid blob of entry points; `what` is the reason.
fn bad<T>(what: &str) -> Result<T> {
    let text = format!("these are not valid entry points: {what}; index the shard again");
    Err(Error::new(ErrorKind::Damaged, text))
}

impl<'a> EntryPoints<'a> {
    /// Parses a blob of [`crate::Scanner::scan`].
    ///
    /// # Errors
    /// Returns [`ErrorKind::Damaged`] if it is not one or was changed.
    pub fn read(blob: &'a [u8]) -> Result<EntryPoints<'a>> {
        let Some((first, places)) = blob.split_first_chunk::<FIXED>() else {
            return bad("they are too short");
        };
        let (fixed, sum) = Fixed::read(first);
        if fixed.version != VERSION {
            return bad("their version is not known");
        }
        if sum != crc32c(&[&fixed.bytes(0), places]) {
            return bad("their checksum does not fit");
        }
        let known = fixed.step > 0 && fixed.widths.iter().all(|&width| width <= 32);
        if !known || places.len() != (fixed.count as usize * fixed.width()).div_ceil(8) {
            return bad("their length does not fit");
        }
        Ok(EntryPoints { fixed, places })
    }

    /// Returns length and crc32c of the JPEG that they were made from.
    pub fn made_from(&self) -> (u64, u32) {
        (u64::from(self.fixed.length), self.fixed.image)
    }

    /// Returns true if they were made from these bytes: compares length and checksum.
    pub fn fit(&self, image: &[u8]) -> bool {
        self.fixed.length as usize == image.len() && self.fixed.image == crc32c(&[image])
    }

    /// Returns true if they match a picture with these MCUs and components whose data begin at
    /// `data`.
    pub(crate) fn are_of(&self, columns: u32, rows: u32, components: usize, data: usize) -> bool {
        let fixed = &self.fixed;
        let step = u32::from(fixed.step);
        let each = u32::from(fixed.each);
        usize::from(fixed.components) == components
            && u32::from(fixed.rows) == rows
            && each == columns.div_ceil(step)
            && fixed.data as usize == data
            && self.place(0, 0) == Position { byte: data, ..Position::default() }
    }

    /// Returns the number of rows of MCUs.
    pub(crate) fn rows(&self) -> u32 {
        u32::from(self.fixed.rows)
    }

    /// Returns the first byte of the entropy-coded data.
    pub(crate) fn data(&self) -> usize {
        self.fixed.data as usize
    }

    /// Returns the bytes from there to the last position.
    pub(crate) fn span(&self) -> usize {
        self.fixed.span as usize
    }

    /// Returns the number of MCUs of a row between two positions.
    pub fn step(&self) -> u32 {
        u32::from(self.fixed.step)
    }

    /// Returns the position before MCU `column` of row `row`, a multiple of the step; at the row's
    /// end that of the next row.
    pub(crate) fn place(&self, row: u32, column: u32) -> Position {
        let each = u32::from(self.fixed.each);
        let number = row * each + column.div_ceil(self.step()).min(each);
        let mut at = number as usize * self.fixed.width();
        let mut next = |width: u32| {
            let found = take(self.places, at, width);
            at += width as usize;
            found
        };
        let [byte, widths @ ..] = self.fixed.widths.map(u32::from);
        let byte = self.fixed.line(number) + i64::from(self.fixed.base) + i64::from(next(byte));
        let bit = next(3);
        let mut predictors = [0; 3];
        for ((found, width), base) in predictors.iter_mut().zip(widths).zip(self.fixed.bases) {
            *found = (next(width) as i32).wrapping_add(i32::from(base));
        }
        Position { byte: usize::try_from(byte).unwrap_or(usize::MAX), bit, predictors }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(count: usize) -> Vec<Position> {
        (0..count)
            .map(|n| Position {
                byte: 600 + n * n * 3,
                bit: (n * 5 % 8) as u32,
                predictors: [n as i32 * if n < 20 { -17 } else { 40 }, -(n as i32), 0],
            })
            .collect()
    }

    #[test]
    fn places_come_back_and_any_change_is_noticed() {
        let image = [7; 30_000];
        let rows = 11;
        let each = 4;
        let step = 16;
        let all = places(45);
        let mut blob = Vec::new();
        encode(&image, 3, rows, each, step, &all, &mut blob);
        let points = EntryPoints::read(&blob).unwrap();
        assert!(points.fit(&image) && !points.fit(&image[1..]) && !points.fit(&[8; 30_000]));
        assert_eq!(points.made_from(), (30_000, crc32c(&[&image])));
        assert!(points.are_of(64, 11, 3, 600) && !points.are_of(65, 11, 3, 600));
        for row in 0..rows {
            for place in 0..each {
                let found = points.place(row, place * step);
                assert_eq!(found, all[(row * each + place) as usize]);
            }
            assert_eq!(points.place(row, 64), all[(row as usize + 1) * 4]);
        }
        for at in 0..blob.len() {
            let mut changed = blob.clone();
            changed[at] ^= 0x10;
            EntryPoints::read(&changed).unwrap_err();
            EntryPoints::read(&blob[..at]).unwrap_err();
        }
    }

    #[test]
    fn wide_rows_have_more_places_and_no_step_is_beyond_the_row() {
        fn usual(columns: u32) -> u32 {
            step(columns, None)
        }
        assert_eq!([0, 1, 23, 24, 31, 32, 33, 250].map(usual), [1, 1, 23, 12, 16, 16, 11, 16]);
        assert!((1..9000).all(|columns| usual(columns) <= columns));
    }

    #[test]
    fn a_step_that_is_asked_for_is_taken_but_none_below_eight() {
        fn asked(columns: u32, asked: u32) -> u32 {
            step(columns, Some(asked))
        }
        assert_eq!([asked(60, 30), asked(60, 8), asked(60, 65_535)], [30, 8, 65_535]);
        assert_eq!([asked(60, 7), asked(60, 0), asked(5, 3), asked(0, 0)], [8, 8, 5, 1]);
    }
}
