//! `Walk`: the way of a scan over the blocks of a damaged picture.

use super::bits::Bits;
use super::blocks::Overflow;
use super::codes::Codes;
use super::scans::ScanOf;
use super::store::Store;
use crate::coefficients::Grid;
use crate::error::{Error, Result};
use crate::header::Header;

/// Number of bytes that must be left for each block of an MCU for the quick reader.
const ROOM: usize = 512;

/// What a scan does with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Whole,
    DcFirst,
    DcNext,
    AcFirst,
    AcNext,
}

/// A walk over the blocks of a scan.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    scan: &'a ScanOf,
    work: Work,
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
        let work = match (header.is_progressive(), scan.band.first, scan.band.before) {
            (false, ..) => Work::Whole,
            (true, 0, 0) => Work::DcFirst,
            (true, 0, _) => Work::DcNext,
            (true, _, 0) => Work::AcFirst,
            (true, ..) => Work::AcNext,
        };
        let rows = header.mcus().1;
        let (_, factors) = header.declared_rows();
        let together = if header.components.count() == 1 { factors[0] } else { 1 };
        Walk {
            scan,
            work,
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
            [part] => self.blocks((row, part), bits, to),
            _ => (0..self.grid.mcus).try_for_each(|column| self.mcu((row, column), bits, to)),
        };
        done.map_err(|Overflow| {
            let text = "the codes add up to a brightness that no picture has";
            Error::damaged(bits.source.at(), text).in_row(row)
        })
    }

    /// Reads the blocks of the only component of the scan.
    fn blocks(
        &mut self,
        (row, part): (u32, usize),
        bits: &mut Bits<'_>,
        to: &mut Store,
    ) -> std::result::Result<(), Overflow> {
        let of = self.grid.part(part);
        for y in row * of.v..((row + 1) * of.v).min(of.down) {
            for x in 0..of.across {
                self.begin(row, bits);
                let number = y % of.v * of.h + x % of.h;
                self.unit(bits, to, &[((row, x / of.h), number, 0)])?;
            }
        }
        Ok(())
    }

    /// Reads an MCU of several components.
    fn mcu(
        &mut self,
        place: (u32, u32),
        bits: &mut Bits<'_>,
        to: &mut Store,
    ) -> std::result::Result<(), Overflow> {
        self.begin(place.0, bits);
        let mut blocks = [((0, 0), 0, 0); crate::header::MCU_BLOCKS];
        let mut count = 0;
        for (n, &part) in self.scan.parts.iter().enumerate() {
            let of = self.grid.part(part);
            for number in 0..of.h * of.v {
                blocks[count] = (place, number, n);
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
                (self.last, self.run, self.until) = ([0; 4], 0, self.scan.restart);
            }
            self.until -= 1;
        }
    }

    /// Reads the blocks of an MCU: place, number in the MCU, and which of the scan's components.
    fn unit(
        &mut self,
        bits: &mut Bits<'_>,
        to: &mut Store,
        blocks: &[((u32, u32), u32, usize)],
    ) -> std::result::Result<(), Overflow> {
        if self.work == Work::Whole {
            return self.whole(bits, to, blocks);
        }
        // Bits that are missing are zeros, which change nothing.
        if bits.ended && self.work != Work::DcNext {
            return Ok(());
        }
        let (band, run) = (&self.scan.band, &mut self.run);
        for &(place, number, n) in blocks {
            let block = to.block(place, self.scan.parts[n], number);
            match (self.work, &self.scan.dc[n], &self.scan.ac[n]) {
                (Work::DcFirst, Some(codes), _) => {
                    bits.dc_first(codes, &mut self.last[n], (band.low, block))?;
                }
                (Work::AcFirst, _, Some(codes)) => bits.ac_first(codes, band, (run, block)),
                (Work::AcNext, _, Some(codes)) => bits.ac_next(codes, band, (run, block)),
                _ => bits.dc_next(band.low, block),
            }
        }
        Ok(())
    }

    /// Reads whole blocks, with the quick reader where libjpeg-turbo uses its own: if that comes to a
    /// marker, the MCU is read again, and what it has stored stays.
    fn whole(
        &mut self,
        bits: &mut Bits<'_>,
        to: &mut Store,
        blocks: &[((u32, u32), u32, usize)],
    ) -> std::result::Result<(), Overflow> {
        if bits.ended {
            return Ok(());
        }
        let room = bits.source.left() >= ROOM * blocks.len();
        if room && bits.source.marker == 0 && self.scan.restart == 0 {
            let (place, last) = (bits.place(), self.last);
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
        blocks: &[((u32, u32), u32, usize)],
    ) -> std::result::Result<(), Overflow> {
        for &(place, number, n) in blocks {
            let block = to.block(place, self.scan.parts[n], number);
            let tables: (&Option<Codes>, &Option<Codes>) = (&self.scan.dc[n], &self.scan.ac[n]);
            if let (Some(dc), Some(ac)) = tables {
                bits.block::<QUICK>((dc, ac), &mut self.last[n], block)?;
            }
        }
        Ok(())
    }
}
