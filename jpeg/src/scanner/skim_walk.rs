//! `SkimWalk`: the walk of a scanner's lane over one picture: legs, restart markers, positions.
//!
//! Only accepts or rejects: `reread` finds out what is wrong with a rejected picture.

use crate::entropy::Skim;
use crate::error::Result;
use crate::picture::strand::{Picture, SPARE};
use crate::positions::position::{Cursor, Position, Reached};

/// Limit on the blocks of a leg, so that its data are still in the cache for the second pass.
const MOST_BLOCKS: u32 = 1024;

/// A lane's walk.
#[derive(Debug, Default)]
pub(crate) struct SkimWalk {
    /// The number of the picture.
    pub(crate) number: usize,
    /// MCUs between two positions of a row.
    pub(crate) step: u32,
    /// The position before each step of each row, and after the last block.
    pub(crate) places: Vec<Position>,
    /// MCUs read, and MCUs of the current leg.
    mcu: u64,
    leg: u32,
    /// Restart markers passed.
    markers: usize,
    /// The byte of the last position.
    last: Reached,
    /// The first byte behind the data that breaks a rule without a loss.
    pub(crate) irregular: Option<usize>,
}

impl SkimWalk {
    /// Begins a picture, whose positions are `step` MCUs apart.
    ///
    /// # Errors
    /// Returns an error if a Huffman table is invalid, the data are not followed by the end of the
    /// image, or memory is exhausted.
    pub(crate) fn start(
        &mut self,
        picture: &Picture<'_>,
        step: u32,
        skim: &mut Skim,
    ) -> Result<()> {
        skim.open(picture.header, picture.bytes)?;
        self.irregular = picture.unstuff(&mut skim.data)?;
        self.step = step;
        self.mcu = 0;
        self.markers = 0;
        self.places.clear();
        self.last = Reached { at: picture.header.data, taken: 0 };
        skim.seek(0);
        self.note(picture, skim, 0);
        self.begin(picture, skim);
        Ok(())
    }

    /// Handles a lane that stopped: returns true at the end of its picture, and `None` if the data
    /// are invalid.
    pub(crate) fn go_on(&mut self, picture: &Picture<'_>, skim: &mut Skim) -> Option<bool> {
        let each = picture.header.components.blocks();
        let bit = skim.bit(self.leg as usize * each);
        // The codes may have run into the zeros behind the data.
        if !skim.is_valid() || bit > 8 * skim.data.len() {
            return None;
        }
        let mut from = 0;
        while from < self.leg {
            let to = (from + self.ahead(picture)).min(self.leg);
            skim.add(from as usize * each, to as usize * each);
            let in_range = skim.predictors().iter().all(|&dc| i16::try_from(dc).is_ok());
            if !in_range || !skim.is_valid() {
                return None;
            }
            self.mcu += u64::from(to - from);
            // The position at the end of the leg is noted below: a restart marker may move it.
            if to < self.leg {
                self.note(picture, skim, skim.bit(to as usize * each));
            }
            from = to;
        }
        if self.mcu == picture.all_mcus() {
            self.note(picture, skim, bit);
            return self.is_whole(skim, bit).then_some(true);
        }
        let bit = self.restart(picture, skim, bit)?;
        if self.column(picture).is_multiple_of(self.step) {
            self.note(picture, skim, bit);
        }
        self.begin(picture, skim);
        Some(false)
    }

    /// Returns the column of the next MCU.
    fn column(&self, picture: &Picture<'_>) -> u32 {
        (self.mcu % u64::from(picture.mcus.0)) as u32
    }

    /// Returns the number of MCUs up to the next position.
    fn ahead(&self, picture: &Picture<'_>) -> u32 {
        let column = self.column(picture);
        (self.step - column % self.step).min(picture.mcus.0 - column)
    }

    /// Passes a restart marker if one is due; returns the bit after it, or `None` if it is missing.
    fn restart(&mut self, picture: &Picture<'_>, skim: &mut Skim, bit: usize) -> Option<usize> {
        let interval = u64::from(picture.header.restart);
        if interval == 0 || !self.mcu.is_multiple_of(interval) {
            return Some(bit);
        }
        let byte = bit.div_ceil(8);
        let wanted = (self.markers & 7) as u8;
        if skim.data.restarts.get(self.markers) != Some(&(byte, wanted)) {
            return None;
        }
        self.markers += 1;
        skim.seek(8 * byte);
        Some(8 * byte)
    }

    /// Begins the leg up to the next restart marker or the end of the picture.
    fn begin(&mut self, picture: &Picture<'_>, skim: &mut Skim) {
        let each = picture.header.components.blocks();
        let interval = u64::from(picture.header.restart);
        let left = picture.all_mcus() - self.mcu;
        let left = match interval {
            0 => left,
            _ => left.min(interval - self.mcu % interval),
        };
        self.leg = left.min(u64::from(MOST_BLOCKS) / each as u64).max(1) as u32;
        skim.begin(self.leg as usize * each);
    }

    /// Records the position of the next MCU.
    fn note(&mut self, picture: &Picture<'_>, skim: &Skim, bit: usize) {
        // The search starts at the last position, so that a picture takes one pass.
        let mut cursor = Cursor::from(picture.bytes, self.last);
        let byte = if skim.data.restarts.is_empty() {
            cursor.find_without_restarts(bit >> 3)
        } else {
            cursor.find(bit >> 3)
        };
        self.last = Reached { at: byte, taken: bit >> 3 };
        let [a, b, c, _] = skim.predictors();
        self.places.push(Position { byte, bit: (bit & 7) as u32, predictors: [a, b, c] });
    }

    /// Returns true if nothing but padding follows the last block.
    fn is_whole(&self, skim: &Skim, bit: usize) -> bool {
        skim.data.len() - bit.div_ceil(8) <= SPARE && self.markers == skim.data.restarts.len()
    }
}
