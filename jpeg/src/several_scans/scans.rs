//! `Scans`: reads all scans of a picture that has several, and collects its coefficients.
//!
//! Knows no samples. Skips scans that contribute nothing to the wanted coefficients.

use crate::entropy::{Bits, Fault, Predictors, Run, Tables, Unstuffed, unstuff};
use crate::error::{Error, ErrorKind, Result};
use crate::header::{Header, Pass, Passes, Work};
use crate::picture::planes::Divisors;
use crate::picture::strand::{SPARE, Stop, WalkResult};
use crate::positions::position::Cursor;
use crate::several_scans::coefficients::{Coefficients, Grid};

/// The state for reading scans, kept from picture to picture.
#[derive(Debug, Default)]
pub(crate) struct Scans {
    pub(crate) coefficients: Coefficients,
    /// Allocated for the first picture of several scans: other pictures do not need it, and 140 KiB
    /// cost more time than a small picture.
    tables: Option<Box<Tables>>,
    data: Unstuffed,
    /// The first byte of the last picture that breaks a rule without a loss.
    pub(crate) irregular: Option<usize>,
}

/// Which coefficients of a component are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needed {
    Nothing,
    /// The DC of each block, its mean.
    Dc,
    All,
}

impl Scans {
    /// Reads the blocks of a grid, and returns the quantization tables for them.
    ///
    /// # Errors
    /// Returns an error if a scan is damaged or missing, or memory is exhausted.
    pub(crate) fn read(
        &mut self,
        bytes: &[u8],
        header: &Header,
        grid: Grid,
        wanted: [Needed; 4],
    ) -> Result<Divisors> {
        header.check_bytes(bytes)?;
        header.check_blocks(bytes)?;
        self.irregular = header.irregular();
        let mut passes = header.passes(bytes);
        let read = self.read_passes(bytes, &mut passes, grid.clone(), wanted);
        if let Err(error) = &read
            && error.kind() == ErrorKind::Damaged
        {
            // A file without its end, or with bytes that belong to nothing, may be whole, if that is
            // so for all its codes.
            let mut passes = header.passes(bytes);
            passes.reads_all();
            let again = self.read_passes(bytes, &mut passes, grid.whole(), [Needed::All; 4]);
            if again.is_ok() {
                return again;
            }
        }
        read
    }

    fn read_passes(
        &mut self,
        bytes: &[u8],
        passes: &mut Passes<'_>,
        grid: Grid,
        wanted: [Needed; 4],
    ) -> Result<Divisors> {
        self.coefficients.set(grid)?;
        while let Some(pass) = passes.next()? {
            if pass.parts().iter().any(|&c| match pass.work {
                Work::AcFirst | Work::AcNext => wanted[c] == Needed::All,
                _ => wanted[c] != Needed::Nothing,
            }) {
                let end = self.pass(bytes, &pass)?;
                passes.went_to(end);
            } else {
                passes.skip(&pass)?;
            }
        }
        self.irregular = self.irregular.or(passes.irregular());
        Ok(*passes.divisors())
    }

    pub(crate) fn drop_large(&mut self, bytes: usize) {
        self.coefficients.drop_large(bytes);
        self.data.drop_large(bytes);
    }

    /// Reads a scan, and returns the byte after its data.
    fn pass(&mut self, bytes: &[u8], pass: &Pass) -> Result<usize> {
        let Scans { coefficients, tables, data, .. } = self;
        let tables = tables.get_or_insert_default();
        tables.build_pass(pass, bytes)?;
        let units = coefficients.grid().units(pass.parts());
        let restarts = units.saturating_sub(1).checked_div(pass.restart.into()).unwrap_or(0);
        let range = pass.data..bytes.len();
        unstuff(bytes, range, restarts, data).map_err(|_| {
            Error::new(ErrorKind::Limit, "no memory for the entropy-coded data once more")
        })?;
        let mut walk = Walk::new(pass, data);
        let walked = match pass.work {
            Work::AcFirst | Work::AcNext => walk.ranges(tables, coefficients),
            _ if pass.parts().len() == 1 => walk.blocks(tables, coefficients),
            _ => walk.mcus(tables, coefficients),
        };
        let walked = walked.and_then(|()| walk.end(coefficients.grid()));
        let irregular = walk.irregular.then_some(pass.data);
        self.irregular = self.irregular.or(irregular);
        walked.map_err(|stop| {
            let byte = Cursor::new(bytes, pass.data).find(walk.bits.at >> 3);
            Error::damaged(byte, stop.text(bytes, byte)).in_row(walk.row)
        })?;
        Ok(data.end)
    }
}

/// A walk over the blocks of a scan.
struct Walk<'a> {
    pass: &'a Pass,
    data: &'a Unstuffed,
    bits: Bits<'a>,
    /// MCUs of the scan up to the next restart marker, and the number of markers passed.
    until: u64,
    markers: usize,
    predictors: Predictors,
    run: Run,
    /// The row of MCUs of the picture.
    row: u32,
    /// Whether a restart marker has a wrong number, or bytes fill the data at the end.
    irregular: bool,
}

impl<'a> Walk<'a> {
    fn new(pass: &'a Pass, data: &'a Unstuffed) -> Walk<'a> {
        let bits = Bits::of(data);
        let mut walk = Walk {
            pass,
            data,
            bits,
            until: 0,
            markers: 0,
            predictors: Predictors::default(),
            run: 0,
            row: 0,
            irregular: false,
        };
        walk.until = walk.interval();
        walk
    }

    fn interval(&self) -> u64 {
        if self.pass.restart == 0 { u64::MAX } else { self.pass.restart.into() }
    }

    /// Reads DC or all coefficients of interleaved blocks of several components.
    fn mcus(&mut self, tables: &Tables, to: &mut Coefficients) -> WalkResult<()> {
        let work = self.pass.work;
        let low = self.pass.band.low;
        let rows = to.grid().rows;
        let columns = to.grid().mcus;
        for row in 0..rows {
            self.row = row;
            for column in 0..columns {
                self.unit()?;
                for (n, &c) in self.pass.parts().iter().enumerate() {
                    let part = to.grid().part(c);
                    for block in 0..part.h * part.v {
                        let block = to.block(row, column, c, block);
                        let read =
                            self.bits.block(work, low, tables, n, &mut self.predictors, block);
                        read.map_err(Stop::Fault)?;
                    }
                }
            }
            self.end_line()?;
        }
        Ok(())
    }

    /// Reads DC or all coefficients of the blocks of one component.
    fn blocks(&mut self, tables: &Tables, to: &mut Coefficients) -> WalkResult<()> {
        let work = self.pass.work;
        let low = self.pass.band.low;
        let c = self.pass.parts()[0];
        let part = to.grid().part(c);
        for y in 0..to.grid().lines(c) {
            self.row = y / part.v;
            for x in 0..part.across {
                self.unit()?;
                let number = y % part.v * part.h + x % part.h;
                let block = to.block(self.row, x / part.h, c, number);
                let read = self.bits.block(work, low, tables, 0, &mut self.predictors, block);
                read.map_err(Stop::Fault)?;
            }
            self.end_line()?;
        }
        Ok(())
    }

    /// Reads a range of the AC of one component.
    fn ranges(&mut self, tables: &Tables, to: &mut Coefficients) -> WalkResult<()> {
        let c = self.pass.parts()[0];
        let band = &self.pass.band;
        let table = &tables.ac[0];
        let part = to.grid().part(c);
        let first = self.pass.work == Work::AcFirst;
        for y in 0..to.grid().lines(c) {
            self.row = y / part.v;
            let mut x = 0;
            while x < part.across {
                // Blocks in an end-of-band run have no bits in a first scan: skip them all at once.
                if first && self.run > 0 && self.until > 0 {
                    let ended = self.run.min(part.across - x);
                    let ended = u32::try_from(self.until).map_or(ended, |until| ended.min(until));
                    x += ended;
                    self.run -= ended;
                    self.until -= u64::from(ended);
                    continue;
                }
                self.unit()?;
                let number = y % part.v * part.h + x % part.h;
                let block = to.block(self.row, x / part.h, c, number);
                let run = match (self.run, first) {
                    (0, true) => self.bits.first(table, band, block),
                    (0, false) => self.bits.next(table, band, block),
                    (run, _) => self.bits.next_ended(band, block).map(|()| run - 1),
                };
                self.run = run.map_err(Stop::Fault)?;
                x += 1;
            }
            self.end_line()?;
        }
        Ok(())
    }

    /// Begins an MCU of the scan; passes a restart marker if one is due.
    #[inline(always)]
    fn unit(&mut self) -> WalkResult<()> {
        if self.until == 0 {
            self.restart()?;
        }
        self.until -= 1;
        Ok(())
    }

    #[cold]
    fn restart(&mut self) -> WalkResult<()> {
        if self.run > 0 {
            return Err(Stop::Fault(Fault::TooMany));
        }
        let byte = self.bits.at.div_ceil(8);
        let wanted = (self.markers & 7) as u8;
        let found = self.data.restarts.get(self.markers).filter(|restart| restart.0 == byte);
        let Some(&(_, number)) = found else { return Err(Stop::Restart(wanted)) };
        let distance = number.wrapping_sub(wanted) & 7;
        // libjpeg-turbo takes a number that is far from the right one for the right one.
        if !matches!(distance, 0 | 3..=5) {
            return Err(Stop::Restart(wanted));
        }
        self.irregular |= distance != 0;
        self.markers += 1;
        self.until = self.interval();
        self.bits.at = 8 * byte;
        self.predictors = Predictors::default();
        Ok(())
    }

    /// Checks the end of a row of blocks or MCUs.
    fn end_line(&self) -> WalkResult<()> {
        // Checked per line and not per block, to keep the inner loops short.
        let marker = self.data.restarts.get(self.markers);
        if marker.is_some_and(|&(byte, _)| 8 * byte < self.bits.at) {
            return Err(Stop::Early);
        }
        let low = self.pass.band.low;
        if self.predictors.iter().any(|&dc| is_too_bright(dc, low)) {
            return Err(Stop::Dc);
        }
        Ok(())
    }

    /// Checks the end of the scan: nothing may follow the last block if all blocks were read.
    fn end(&mut self, grid: &Grid) -> WalkResult<()> {
        if !grid.is_whole() {
            return Ok(());
        }
        if self.run > 0 {
            return Err(Stop::Fault(Fault::TooMany));
        }
        let bytes = self.data.len();
        let left = bytes - self.bits.at.div_ceil(8).min(bytes);
        let is_whole = self.markers == self.data.restarts.len();
        if left > SPARE || !is_whole {
            if !is_whole || !self.data.is_filling(self.bits.at) {
                return Err(Stop::Left(left));
            }
            self.irregular = true;
        }
        Ok(())
    }
}

/// Returns true if a DC, whose lowest `low` bits come later, is out of a block's range.
fn is_too_bright(dc: i32, low: u8) -> bool {
    i16::try_from(i64::from(dc) << low).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bit_of_a_brightness_is_lost() {
        assert!(!is_too_bright(3, 13) && !is_too_bright(-4, 13) && !is_too_bright(-0x8000, 0));
        assert!(is_too_bright(4, 13) && is_too_bright(0x8000, 0));
        for dc in [1 << 19, 1 << 30, i32::MIN] {
            assert!(is_too_bright(dc, 13), "{dc}");
        }
    }
}
