//! `Reread`: reads all codes of a picture with a lane that decodes, and names the fault.
//!
//! The scanner's own lanes are faster, but only find that there is one.

use std::sync::Arc;

use crate::entropy::{Lane, LaneTables, Lockstep, lockstep};
use crate::error::{Error, Result};
use crate::picture::strand::{Picture, RowEnd, SPARE, Stop, Strand, WalkResult};
use crate::positions::position::{Cursor, Position, Reached};

/// The state for reading a picture.
#[derive(Debug)]
pub(crate) struct Reread {
    lane: Lane,
    tables: Arc<LaneTables>,
    lockstep: Lockstep,
    strand: Strand,
    /// The position before each step of each row, and after the last block.
    pub(crate) places: Vec<Position>,
    /// The first byte that breaks a rule without a loss.
    pub(crate) irregular: Option<usize>,
    /// MCUs between two positions of a row.
    step: u32,
    /// The byte of the last position.
    last: Reached,
}

impl Default for Reread {
    fn default() -> Reread {
        Reread {
            lane: Lane::default(),
            tables: Arc::default(),
            lockstep: lockstep(),
            strand: Strand::default(),
            places: Vec::new(),
            irregular: None,
            step: 1,
            last: Reached::default(),
        }
    }
}

impl Reread {
    /// Reads a picture and records positions that are `step` MCUs apart.
    ///
    /// # Errors
    /// Returns an error if its tables or data are damaged, or memory is exhausted.
    pub(crate) fn read(&mut self, picture: &Picture<'_>, step: u32) -> Result<()> {
        let mut tables = LaneTables::default();
        tables.build(picture.header, picture.bytes)?;
        self.tables = Arc::new(tables);
        self.step = step;
        self.places.clear();
        self.last = Reached { at: picture.header.data, taken: 0 };
        let components = &picture.header.components;
        self.lane.set_components(components, &self.tables);
        self.lane.set_room(step.min(picture.mcus.0) as usize * components.blocks());
        self.strand = Strand::new(picture, 0..picture.mcus.1, &(0..0), RowEnd::Needed);
        self.irregular = self.strand.start(picture, &mut self.lane)?;
        let walked = self.walk(picture);
        self.lane.tables = None;
        walked.map_err(|stop| self.strand.error(picture, &self.lane, stop))?;
        self.check_end(picture)
    }

    pub(crate) fn drop_large(&mut self, bytes: usize) {
        self.lane.drop_large(bytes);
    }

    /// Walks over all rows.
    fn walk(&mut self, picture: &Picture<'_>) -> WalkResult<()> {
        let mut column = 0;
        while self.strand.row < picture.mcus.1 {
            self.note(picture);
            self.strand.columns = column..(column + self.step).min(picture.mcus.0);
            self.strand.begin_row(picture, &mut self.lane)?;
            loop {
                self.lockstep.run(std::slice::from_mut(&mut self.lane));
                if self.strand.go_on(picture, &mut self.lane)? {
                    break;
                }
            }
            column = self.strand.columns.end;
            if column == picture.mcus.0 {
                column = 0;
                self.strand.row += 1;
            }
        }
        self.note(picture);
        Ok(())
    }

    /// Records the lane's position.
    fn note(&mut self, picture: &Picture<'_>) {
        let bit = self.lane.bit();
        let [a, b, c, _] = self.lane.predictors();
        let byte = Cursor::from(picture.bytes, self.last).find(bit >> 3);
        self.last = Reached { at: byte, taken: bit >> 3 };
        self.places.push(Position { byte, bit: (bit & 7) as u32, predictors: [a, b, c] });
    }

    /// Checks that nothing but the end of the image follows the last block.
    fn check_end(&mut self, picture: &Picture<'_>) -> Result<()> {
        let data = &self.lane.data;
        let bit = self.lane.bit();
        let left = data.len() - bit.div_ceil(8).min(data.len());
        // Some cameras fill the data up to a word; more than that means missing blocks or damage.
        let is_whole = self.strand.markers() == data.restarts.len();
        if left > SPARE || !is_whole {
            let mut cursor = Cursor::new(picture.bytes, picture.header.data);
            let byte = cursor.find(bit.div_ceil(8));
            if is_whole && data.is_filling(bit) {
                self.irregular = Some(byte);
                return Ok(());
            }
            return Err(Error::damaged(byte, Stop::Left(left).text(picture.bytes, byte)));
        }
        Ok(())
    }
}
