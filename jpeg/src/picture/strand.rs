//! `Strand`: one lane's walk over rows of MCUs of one picture.
//!
//! Handles where a row's data begin and must end, restart markers, and error messages. Knows no
//! samples or pixels.

use std::ops::Range;

use crate::entropy::{Fault, Lane, Predictors, Unstuffed, unstuff};
use crate::error::{Error, ErrorKind, Result};
use crate::header::{Header, finish};
use crate::positions::points::EntryPoints;
use crate::positions::position::{Cursor, Position, end_of, is_inside};

/// Limit on whole bytes after the last block: some cameras fill the data up to a word.
pub(crate) const SPARE: usize = 8;

/// The picture of a strand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Picture<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) header: &'a Header,
    /// MCUs across and down.
    pub(crate) mcus: (u32, u32),
    /// Where rows can start; `None` if the walk is from the first row on.
    pub(crate) points: Option<EntryPoints<'a>>,
    /// The entropy-coded bytes that may be read: first byte and end.
    pub(crate) data: (usize, usize),
}

impl Picture<'_> {
    /// Takes all its data. Returns the first byte behind them that breaks a rule without a loss.
    ///
    /// # Errors
    /// Returns an error if the data are not followed by the end of the image, or if memory is
    /// exhausted.
    pub(crate) fn unstuff(&self, to: &mut Unstuffed) -> Result<Option<usize>> {
        let range = self.header.data..self.bytes.len();
        unstuff(self.bytes, range, self.restarts(), to).map_err(|_| {
            Error::new(ErrorKind::Limit, "no memory for the entropy-coded data once more")
        })?;
        finish(self.bytes, to.end)
    }

    /// Returns the number of MCUs.
    pub(crate) fn all_mcus(&self) -> u64 {
        u64::from(self.mcus.0) * u64::from(self.mcus.1)
    }

    /// Returns the number of restart markers in all its data.
    fn restarts(&self) -> u64 {
        match self.header.restart {
            0 => 0,
            interval => self.all_mcus().saturating_sub(1) / u64::from(interval),
        }
    }
}

/// Why a strand cannot continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The codes are invalid.
    Fault(Fault),
    /// A restart marker is missing, or its number is not this one.
    Restart(u8),
    /// A restart marker comes too early.
    Early,
    /// A DC that is out of range for 8 bits.
    Dc,
    /// A row does not end at the next entry point.
    Disagrees,
    /// This many bytes are left after the last block.
    Left(usize),
}

impl Stop {
    /// Returns the message for the fault at `byte` of the JPEG.
    pub(crate) fn text(self, bytes: &[u8], byte: usize) -> String {
        match self {
            Stop::Fault(Fault::NoCode) => "no Huffman code begins with the bits here".into(),
            Stop::Fault(Fault::TooLong) => "a block has more than 64 coefficients".into(),
            Stop::Fault(Fault::TooMany) => "more blocks end here than there are".into(),
            Stop::Fault(Fault::Cut) => match bytes.get(byte..byte + 2) {
                Some([0xff, marker]) => {
                    format!("marker ff{marker:02x} is where more entropy-coded data should be")
                }
                _ => "the data end here, before the picture does: the file was cut".into(),
            },
            Stop::Restart(wanted) => {
                format!("restart marker ffd{wanted} should be here: the data are damaged")
            }
            Stop::Early => "a restart marker comes too early: the data are damaged".into(),
            Stop::Dc => "the codes add up to a brightness that no picture has".into(),
            Stop::Disagrees => "a row does not end at its next entry point".into(),
            Stop::Left(left) => {
                format!("{left} bytes are left after the last block: the data are damaged")
            }
        }
    }
}

/// The result of a part of a walk.
pub(crate) type WalkResult<T> = std::result::Result<T, Stop>;

/// A lane's walk.
#[derive(Debug, Clone, Default)]
pub(crate) struct Strand {
    /// The current row, and the end of the rows.
    pub(crate) row: u32,
    pub(crate) end: u32,
    /// The MCUs that are decoded of each row.
    pub(crate) columns: Range<u32>,
    /// The next MCU of the current row.
    column: u32,
    /// The byte of the picture at which the lane's data begin.
    origin: usize,
    /// MCUs up to the next restart marker, and its number in the lane's data.
    until: u32,
    marker: usize,
    /// The next entry point of the row.
    target: Option<Target>,
}

/// An entry point that a row must not pass.
#[derive(Debug, Clone, Copy)]
struct Target {
    /// Its place: bits of the lane's data.
    bit: usize,
    predictors: Predictors,
    /// True if the row is decoded up to it, false if its last MCUs are left out.
    is_end: bool,
}

impl Target {
    /// Returns true if a lane that has decoded the row can be right.
    fn agrees(&self, lane: &Lane) -> bool {
        if self.is_end {
            (self.bit, self.predictors) == (lane.bit(), lane.predictors())
        } else {
            self.bit >= lane.bit()
        }
    }
}

/// How far a row is decoded whose last MCUs are not needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowEnd {
    /// Up to the last MCU that is needed.
    Needed,
    /// Up to the next entry point, where the row is verified.
    Place,
}

impl Strand {
    /// Creates a walk over `rows`, of which `columns` are needed.
    pub(crate) fn new(
        picture: &Picture<'_>,
        rows: Range<u32>,
        columns: &Range<u32>,
        row_end: RowEnd,
    ) -> Strand {
        // Decoding can only start, and be verified, at entry points; without them whole rows must
        // be decoded.
        let columns = match picture.points {
            Some(points) => {
                let step = points.step();
                let end = match row_end {
                    RowEnd::Needed => columns.end,
                    RowEnd::Place => columns.end.next_multiple_of(step),
                };
                columns.start / step * step..end.min(picture.mcus.0)
            }
            None => 0..picture.mcus.0,
        };
        Strand { row: rows.start, end: rows.end, columns, ..Strand::default() }
    }

    /// Goes to the picture's start if the walk begins there. Returns the first byte behind the data
    /// that breaks a rule without a loss.
    ///
    /// # Errors
    /// Returns an error if the data are not followed by the end of the image, or if memory is
    /// exhausted.
    pub(crate) fn start(
        &mut self,
        picture: &Picture<'_>,
        lane: &mut Lane,
    ) -> Result<Option<usize>> {
        if picture.points.is_some() {
            return Ok(None); // They were made from these bytes, whole.
        }
        self.origin = picture.header.data;
        lane.seek(0, Predictors::default());
        self.until = picture.header.restart;
        self.marker = 0;
        picture.unstuff(&mut lane.data)
    }

    /// Begins the current row.
    pub(crate) fn begin_row(&mut self, picture: &Picture<'_>, lane: &mut Lane) -> WalkResult<()> {
        self.column = self.columns.start;
        if let Some(points) = &picture.points {
            let from = points.place(self.row, self.columns.start);
            let to = points.place(self.row, self.columns.end);
            let step = points.step();
            let is_end =
                self.columns.end == picture.mcus.0 || self.columns.end.is_multiple_of(step);
            self.enter(picture, lane, from, to, is_end)?;
        }
        self.leg(picture, lane)
    }

    /// Takes the data between two entry points; `is_end` is true if the row is decoded up to the
    /// second one.
    fn enter(
        &mut self,
        picture: &Picture<'_>,
        lane: &mut Lane,
        from: Position,
        to: Position,
        is_end: bool,
    ) -> WalkResult<()> {
        // The blob is untrusted: a position inside a marker or a stuffed pair would shift all
        // bytes.
        let (first, last) = picture.data;
        let end = end_of(picture.bytes, &to);
        let split = |place: &Position| is_inside(picture.bytes, first, place.byte);
        if from.byte < first || from.byte > end || end > last || split(&from) || split(&to) {
            return Err(Stop::Disagrees);
        }
        self.origin = from.byte;
        // If there is no memory for a row, decoding the whole picture reports it.
        let unstuffed = unstuff(picture.bytes, from.byte..end, picture.restarts(), &mut lane.data);
        unstuffed.map_err(|_| Stop::Disagrees)?;
        lane.seek(from.bit as usize, from.all_predictors());
        let bits = 8 * lane.data.len();
        // The last byte holds bits of the next row, too: the row ends `to.bit` bits into it.
        let bit = if to.bit == 0 { bits } else { (bits + to.bit as usize).wrapping_sub(8) };
        self.target = Some(Target { bit, predictors: to.all_predictors(), is_end });
        let number = u64::from(self.row) * u64::from(picture.mcus.0) + u64::from(self.column);
        let interval = picture.header.restart;
        if interval > 0 {
            self.until = interval - (number % u64::from(interval)) as u32;
        }
        self.marker = 0;
        Ok(())
    }

    /// Begins a leg: up to the row's end or the next restart marker.
    fn leg(&mut self, picture: &Picture<'_>, lane: &mut Lane) -> WalkResult<()> {
        let blocks = picture.header.components.blocks();
        let mcus = self.ahead(picture) as usize;
        // The legs of a row are stored one behind the other: `put` takes the row as a whole.
        let first = (self.column - self.columns.start) as usize * blocks;
        lane.begin(first, mcus * blocks).map_err(Stop::Fault)
    }

    /// Returns the MCUs of the current leg.
    fn ahead(&self, picture: &Picture<'_>) -> u32 {
        let left = self.columns.end - self.column;
        if picture.header.restart > 0 { left.min(self.until) } else { left }
    }

    /// Handles a stop of the lane: returns true if the row is complete; otherwise its next leg has
    /// begun.
    pub(crate) fn go_on(&mut self, picture: &Picture<'_>, lane: &mut Lane) -> WalkResult<bool> {
        if let Some(fault) = lane.fault() {
            return Err(Stop::Fault(fault));
        }
        // A code that spans a restart marker would decode bits of the next interval.
        if lane.data.restarts.get(self.marker).is_some_and(|&(byte, _)| 8 * byte < lane.bit()) {
            return Err(Stop::Early);
        }
        if lane.predictors().iter().any(|&dc| i16::try_from(dc).is_err()) {
            return Err(Stop::Dc);
        }
        let mcus = self.ahead(picture);
        self.column += mcus;
        if picture.header.restart > 0 {
            self.until -= mcus;
            // No marker follows the last interval.
            let last = (self.column, self.row + 1) == picture.mcus;
            if self.until == 0 && !last {
                self.restart(picture, lane)?;
            }
        }
        if self.column < self.columns.end {
            return self.leg(picture, lane).map(|()| false);
        }
        match self.target {
            Some(target) if !target.agrees(lane) => Err(Stop::Disagrees),
            _ => Ok(true),
        }
    }

    /// Passes a restart marker (T.81, E.2.4): checks its number and resets the predictors.
    fn restart(&mut self, picture: &Picture<'_>, lane: &mut Lane) -> WalkResult<()> {
        let number = u64::from(self.row) * u64::from(picture.mcus.0) + u64::from(self.column);
        // The marker after the first interval has number 0, and 0 follows 7.
        let wanted = ((number / u64::from(picture.header.restart) - 1) & 7) as u8;
        let byte = lane.bit().div_ceil(8);
        if lane.data.restarts.get(self.marker) != Some(&(byte, wanted)) {
            return Err(Stop::Restart(wanted));
        }
        self.marker += 1;
        self.until = picture.header.restart;
        lane.seek(8 * byte, Predictors::default());
        Ok(())
    }

    /// Returns the number of restart markers of the lane's data that were passed.
    pub(crate) fn markers(&self) -> usize {
        self.marker
    }

    /// Returns the error for a stop.
    pub(crate) fn error(&self, picture: &Picture<'_>, lane: &Lane, stop: Stop) -> Error {
        let byte = Cursor::new(picture.bytes, self.origin).find(lane.bit() >> 3);
        Error::damaged(byte, stop.text(picture.bytes, byte)).in_row(self.row)
    }
}
