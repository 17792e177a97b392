//! `Scanner`: reads every Huffman code of a JPEG, records the positions at which decoding can
//! start, and thereby proves that the entropy-coded data are whole.
//!
//! Computes no pixel. `points` encodes the positions as a blob.

use std::sync::Arc;

use crate::coefficients::Grid;
use crate::entropy::{Lane, Lockstep, MOST_LANES, Tables, scan_lockstep};
use crate::error::{Error, ErrorKind, Result};
use crate::header::Header;
use crate::points::{encode, step};
use crate::position::{Cursor, Position};
use crate::scans::{Needed, Scans};
use crate::strand::{Picture, SPARE, Stop, Strand, WalkResult};

/// Limit on the bytes of a buffer that is kept.
const KEPT: usize = 8 << 20;

/// Makes entry points. It reuses its memory from picture to picture, so each thread should keep
/// one.
#[derive(Debug)]
pub struct Scanner {
    lanes: [Lane; MOST_LANES],
    notes: [Notes; MOST_LANES],
    lockstep: Lockstep,
    scans: Scans,
    blob: Vec<u8>,
}

/// The findings of a lane.
#[derive(Debug, Default)]
struct Notes {
    tables: Arc<Tables>,
    places: Vec<Position>,
    strand: Strand,
    /// The number of the lane's picture.
    number: usize,
    /// MCUs between two positions.
    step: u32,
    /// The byte of the last position, and its number among the unstuffed bytes.
    last: (usize, usize),
}

impl Default for Scanner {
    fn default() -> Scanner {
        Scanner {
            lanes: Default::default(),
            notes: Default::default(),
            lockstep: scan_lockstep(),
            scans: Scans::default(),
            blob: Vec::new(),
        }
    }
}

impl Scanner {
    /// Creates a scanner with the best steps for this processor.
    pub fn new() -> Scanner {
        Scanner::default()
    }

    /// Appends the entry points of a JPEG to `out`.
    ///
    /// # Errors
    /// Returns the errors that [`Scanner::scan_group`] describes.
    pub fn scan(&mut self, bytes: &[u8], header: &Header, out: &mut Vec<u8>) -> Result<()> {
        let mut result = Ok(());
        self.scan_group(&[(bytes, header)], |_, found| {
            result = found.map(|blob| out.extend_from_slice(blob));
        });
        result
    }

    /// Scans several JPEGs at once, in this thread. Calls `done` for each with its number and entry
    /// points, in any order.
    ///
    /// `done` gets these errors:
    /// - [`ErrorKind::Damaged`]: the data are not whole; byte and row of MCUs are named;
    /// - [`ErrorKind::Unsupported`]: pictures of this kind are not decoded
    ///   ([`Header::unsupported`]);
    /// - [`ErrorKind::Limit`]: memory is exhausted.
    ///
    /// For pictures without entry points ([`Header::without_entry_points`]) `done` gets an empty
    /// slice: their codes are read to find damage. That takes 8 bytes for each block of 8 x 8
    /// coefficients of a picture of several scans, and next to nothing for others.
    pub fn scan_group(
        &mut self,
        pictures: &[(&[u8], &Header)],
        mut done: impl FnMut(usize, Result<&[u8]>),
    ) {
        let (mut live, mut next) = (0, 0);
        loop {
            while live < MOST_LANES && next < pictures.len() {
                if pictures[next].1.has_several_scans() {
                    done(next, self.read(pictures[next]).map(|()| [].as_slice()));
                    next += 1;
                    continue;
                }
                match self.begin(live, next, &picture_of(pictures[next])) {
                    Ok(()) => live += 1,
                    Err(error) => done(next, Err(error)),
                }
                next += 1;
            }
            if live == 0 {
                return;
            }
            let lane = self.lockstep.run(&mut self.lanes[..live]);
            let number = self.notes[lane].number;
            let picture = picture_of(pictures[number]);
            let result = match self.go_on(lane, &picture) {
                Ok(false) => continue,
                Ok(true) => self.write(lane, &picture),
                Err(stop) => Err(self.notes[lane].strand.error(&picture, &self.lanes[lane], stop)),
            };
            done(number, result.map(|()| self.blob.as_slice()));
            live -= 1;
            self.lanes[lane].tables = None;
            self.lanes.swap(lane, live);
            self.notes.swap(lane, live);
        }
    }

    /// Reads all codes of a picture of several scans.
    fn read(&mut self, (bytes, header): (&[u8], &Header)) -> Result<()> {
        header.check_supported()?;
        let read = self.scans.read((bytes, header), Grid::read(header), [Needed::All; 4]);
        // Buffers for one huge picture are not kept.
        self.scans.drop_large(KEPT);
        read.map(|_| ())
    }

    fn begin(&mut self, lane: usize, number: usize, picture: &Picture<'_>) -> Result<()> {
        let header = picture.header;
        header.check_bytes(picture.bytes)?;
        header.check_supported()?;
        if u32::try_from(picture.bytes.len()).is_err() {
            return Err(Error::new(ErrorKind::Limit, "no entry points beyond 4 GiB"));
        }
        let (columns, rows) = picture.mcus;
        let each = u64::from(columns) * header.components.blocks() as u64;
        header.check_rows(picture.bytes, rows, each)?;
        let (lane, notes) = (&mut self.lanes[lane], &mut self.notes[lane]);
        // The lane of the previous picture may still share its tables; new ones are then allocated.
        if Arc::get_mut(&mut notes.tables).is_none() {
            notes.tables = Arc::default();
        }
        if let Some(tables) = Arc::get_mut(&mut notes.tables) {
            tables.build(header, picture.bytes)?;
        }
        (notes.number, notes.step) = (number, step(picture.mcus.0));
        notes.places.clear();
        notes.last = (header.data, 0);
        lane.set_components(&header.components, &notes.tables);
        lane.set_room(notes.step as usize * header.components.blocks());
        notes.strand = Strand::new(picture, 0..picture.mcus.1, &(0..0));
        notes.strand.start(picture, lane)?;
        notes.leg(picture, lane, 0).map_err(|stop| notes.strand.error(picture, lane, stop))
    }

    /// Handles a lane that stopped; returns true at the end of its picture.
    fn go_on(&mut self, lane: usize, picture: &Picture<'_>) -> WalkResult<bool> {
        let (lane, notes) = (&mut self.lanes[lane], &mut self.notes[lane]);
        if !notes.strand.go_on(picture, lane)? {
            return Ok(false);
        }
        let mut column = notes.strand.columns.end;
        if column == picture.mcus.0 {
            column = 0;
            notes.strand.row += 1;
            if notes.strand.row == picture.mcus.1 {
                return Ok(true);
            }
        }
        notes.leg(picture, lane, column).map(|()| false)
    }

    /// Encodes the entry points after the last block. Nothing but the end of the image may follow.
    fn write(&mut self, lane: usize, picture: &Picture<'_>) -> Result<()> {
        let (lane, notes) = (&self.lanes[lane], &mut self.notes[lane]);
        let data = &lane.data;
        let left = data.len() - lane.bit().div_ceil(8).min(data.len());
        // Some cameras fill the data up to a word; more than that means missing blocks or damage.
        if left > SPARE || notes.strand.markers() != data.restarts.len() {
            let mut cursor = Cursor::new(picture.bytes, picture.header.data);
            let byte = cursor.find(lane.bit().div_ceil(8));
            return Err(Error::damaged(byte, Stop::Left(left).text(picture.bytes, byte)));
        }
        let end = notes.place(picture, lane);
        notes.places.push(end);
        self.blob.clear();
        if picture.header.without_entry_points().is_some() {
            return Ok(());
        }
        let (columns, rows) = picture.mcus;
        let count = picture.header.components.count();
        let grid = (rows, columns.div_ceil(notes.step), notes.step);
        encode(picture.bytes, count, grid, &notes.places, &mut self.blob);
        Ok(())
    }
}

impl Notes {
    /// Records the position before MCU `column`, and begins the leg up to the next one.
    fn leg(&mut self, picture: &Picture<'_>, lane: &mut Lane, column: u32) -> WalkResult<()> {
        let place = self.place(picture, lane);
        self.places.push(place);
        self.strand.columns = column..(column + self.step).min(picture.mcus.0);
        self.strand.begin_row(picture, lane)
    }

    /// Returns the lane's position. The search starts at the last one, so that a picture takes one
    /// pass.
    fn place(&mut self, picture: &Picture<'_>, lane: &Lane) -> Position {
        let (bit, [a, b, c, _]) = (lane.bit(), lane.predictors());
        let byte = Cursor::from(picture.bytes, self.last).find(bit >> 3);
        self.last = (byte, bit >> 3);
        Position { byte, bit: (bit & 7) as u32, predictors: [a, b, c] }
    }
}

fn picture_of<'a>((bytes, header): (&'a [u8], &'a Header)) -> Picture<'a> {
    Picture { bytes, header, mcus: header.mcus(), points: None }
}
