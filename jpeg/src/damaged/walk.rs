//! `Walk`: the way of a scan over the blocks of a damaged picture.

use super::bits::Bits;
use super::blocks::Overflow;
use super::scans::ScanOf;
use super::store::Store;
use crate::error::{Error, Result};
use crate::header::{Header, MCU_BLOCKS, Work};
use crate::several_scans::coefficients::Grid;

/// Number of bytes that must be left for each block of an MCU for the quick reader.
const ROOM: usize = 512;

/// A block that a scan visits.
#[derive(Debug, Clone, Copy, Default)]
struct Visit {
    /// Row of its MCU.
    row: u32,
    /// Column of its MCU.
    column: u32,
    /// Its number among the blocks of its component in that MCU.
    number: u32,
    /// Which of the scan's components it is of.
    nth: usize,
}

/// A walk over the blocks of a scan.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    scan: &'a ScanOf,
    grid: Grid,
    /// Rows of MCUs of the picture.
    pub(super) rows: u32,
    /// Rows of MCUs that libjpeg-turbo takes together: more than one only for a single component.
    together: u32,
    /// The last of these rows for which there are data.
    pub(super) good: u32,
    /// MCUs up to the next restart marker.
    until: u32,
    last: [i32; 4],
    run: u32,
}

impl<'a> Walk<'a> {
    pub(super) fn new(header: &Header, scan: &'a ScanOf) -> Walk<'a> {
        let rows = header.mcus().1;
        let (_, factors) = header.declared_rows();
        let together = if header.components.count() == 1 { factors[0] } else { 1 };
        Walk {
            scan,
            grid: Grid::read(header),
            rows,
            together,
            good: 0,
            until: scan.restart,
            last: [0; 4],
            run: 0,
        }
    }

    /// Reads the blocks of the scan in a row of MCUs of the picture.
    ///
    /// # Errors
    /// Returns an error if a DC overflows.
    pub(super) fn row(&mut self, row: u32, bits: &mut Bits<'_>, to: &mut Store) -> Result<()> {
        let done = match *self.scan.parts {
            [part] => self.blocks(row, part, bits, to),
            _ => (0..self.grid.mcus).try_for_each(|column| self.mcu(row, column, bits, to)),
        };
        done.map_err(|Overflow| {
            let text = "the codes add up to a brightness that no picture has";
            Error::damaged(bits.source.at(), text).in_row(row)
        })
    }

    /// Reads the blocks of the only component of the scan.
    fn blocks(
        &mut self,
        row: u32,
        part: usize,
        bits: &mut Bits<'_>,
        to: &mut Store,
    ) -> std::result::Result<(), Overflow> {
        let of = self.grid.part(part);
        for y in row * of.v..((row + 1) * of.v).min(of.down) {
            for x in 0..of.across {
                self.begin(row, bits);
                let number = y % of.v * of.h + x % of.h;
                self.unit(bits, to, &[Visit { row, column: x / of.h, number, nth: 0 }])?;
            }
        }
        Ok(())
    }

    /// Reads an MCU of several components.
    fn mcu(
        &mut self,
        row: u32,
        column: u32,
        bits: &mut Bits<'_>,
        to: &mut Store,
    ) -> std::result::Result<(), Overflow> {
        self.begin(row, bits);
        let mut blocks = [Visit::default(); MCU_BLOCKS];
        let mut count = 0;
        for (nth, &part) in self.scan.parts.iter().enumerate() {
            let of = self.grid.part(part);
            for number in 0..of.h * of.v {
                blocks[count] = Visit { row, column, number, nth };
                count += 1;
            }
        }
        self.unit(bits, to, &blocks[..count])
    }

    /// Begins an MCU: passes a restart marker if one is due.
    fn begin(&mut self, row: u32, bits: &mut Bits<'_>) {
        if !bits.ended {
            self.good = row / self.together;
        }
        if self.scan.restart > 0 {
            if self.until == 0 {
                bits.restart();
                self.last = [0; 4];
                self.run = 0;
                self.until = self.scan.restart;
            }
            self.until -= 1;
        }
    }

    /// Reads the blocks of an MCU.
    fn unit(
        &mut self,
        bits: &mut Bits<'_>,
        to: &mut Store,
        blocks: &[Visit],
    ) -> std::result::Result<(), Overflow> {
        let work = self.scan.work;
        if work == Work::Whole {
            return self.whole(bits, to, blocks);
        }
        // Bits that are missing are zeros, which change nothing.
        if bits.ended && work != Work::DcNext {
            return Ok(());
        }
        let band = &self.scan.band;
        let run = &mut self.run;
        for &Visit { row, column, number, nth } in blocks {
            let block = to.block(row, column, self.scan.parts[nth], number);
            match (work, &self.scan.dc[nth], &self.scan.ac[nth]) {
                (Work::DcFirst, Some(codes), _) => {
                    bits.dc_first(codes, &mut self.last[nth], band.low, block)?;
                }
                (Work::AcFirst, _, Some(codes)) => bits.ac_first(codes, band, run, block),
                (Work::AcNext, _, Some(codes)) => bits.ac_next(codes, band, run, block),
                _ => bits.dc_next(band.low, block),
            }
        }
        Ok(())
    }

    /// Reads the blocks of an MCU of a sequential scan. Far from the end of the file libjpeg-turbo
    /// uses a quick reader. If that comes to a marker, the other reader reads the MCU again, and
    /// overwrites only the coefficients that it finds.
    fn whole(
        &mut self,
        bits: &mut Bits<'_>,
        to: &mut Store,
        blocks: &[Visit],
    ) -> std::result::Result<(), Overflow> {
        if bits.ended {
            return Ok(());
        }
        let room = bits.source.left() >= ROOM * blocks.len();
        if room && bits.source.marker == 0 && self.scan.restart == 0 {
            let place = bits.place();
            let last = self.last;
            self.read::<true>(bits, to, blocks)?;
            if bits.source.marker == 0 {
                return Ok(());
            }
            bits.go_back(place);
            self.last = last;
        }
        self.read::<false>(bits, to, blocks)
    }

    fn read<const QUICK: bool>(
        &mut self,
        bits: &mut Bits<'_>,
        to: &mut Store,
        blocks: &[Visit],
    ) -> std::result::Result<(), Overflow> {
        for &Visit { row, column, number, nth } in blocks {
            let block = to.block(row, column, self.scan.parts[nth], number);
            if let (Some(dc), Some(ac)) = (&self.scan.dc[nth], &self.scan.ac[nth]) {
                bits.block::<QUICK>(dc, ac, &mut self.last[nth], block)?;
            }
        }
        Ok(())
    }
}
