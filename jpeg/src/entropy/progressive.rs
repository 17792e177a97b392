//! One block of one scan: sequential or progressive codes to coefficients (T.81, annexes F.2 and G.2).
//!
//! For each block a mask says which of its coefficients are not 0, by their zigzag numbers. Which bits a
//! later scan has for a block follows from the mask alone, so a block that nobody wants to see needs no
//! more memory; and the corrections of a run of coefficients are taken at once.

use super::huffman::{END, Kind, LOOK, RARE, Table, Tables};
use super::lane::{Fault, PLACES, Predictors, difference, entry_value, value, window};
use super::unstuff::{PADDING, Unstuffed};
use crate::header::{Band, Work};

/// A place in the data of a scan.
#[derive(Debug)]
pub(crate) struct Bits<'a> {
    data: &'a [u8],
    /// Bits taken.
    pub(crate) at: usize,
    /// Bits that there are.
    end: usize,
}

/// A block's coefficients before dequantising, in natural order, and the zigzag numbers of those that are
/// not 0.
pub(crate) type Block<'a> = (&'a mut [i16; 64], &'a mut u64);

/// Blocks behind this one that end where they begin: a later scan has corrections alone for them.
pub(crate) type Run = u32;

type Taken<T> = Result<T, Fault>;

/// The most bits that are taken at once: a window has them from any bit on.
const MOST: u32 = 57;

impl<'a> Bits<'a> {
    pub(crate) fn of(data: &'a Unstuffed) -> Bits<'a> {
        let end = 8 * data.bytes.len().saturating_sub(PADDING);
        Bits { data: &data.bytes, at: 0, end }
    }

    #[inline(always)]
    fn window(&self) -> Taken<u64> {
        window(self.data, self.at).ok_or(Fault::Cut)
    }

    /// A block ended here: are there so many bits?
    #[inline(always)]
    fn check(&self) -> Taken<()> {
        if self.at > self.end { Err(Fault::Cut) } else { Ok(()) }
    }

    /// The next `count` bits, up to [`MOST`], at the left end.
    #[inline(always)]
    fn take(&mut self, count: u32) -> Taken<u64> {
        let bits = self.window()?;
        self.at += count as usize;
        Ok(bits & !(u64::MAX >> count))
    }

    /// The DC of a block that has one.
    #[inline(always)]
    fn dc(&mut self, table: &Table, predictor: &mut i32, low: u8) -> Taken<i16> {
        let (difference, bits) = difference(table, self.window()?).ok_or(Fault::NoCode)?;
        self.at += bits;
        *predictor += difference;
        // A brightness that no picture has is found by whoever looks at predictors: here it wraps.
        Ok((*predictor << low) as i16)
    }

    /// A block of a scan that brings DC or whole blocks; its component is the scan's `n`-th.
    #[inline(always)]
    pub(crate) fn block(
        &mut self,
        (work, low): (Work, u8),
        (tables, n): (&Tables, usize),
        predictors: &mut Predictors,
        (block, filled): Block<'_>,
    ) -> Taken<()> {
        match work {
            Work::DcNext => {
                let bit = self.take(1)? >> 63;
                block[0] |= (bit as i16) << low;
            }
            _ => block[0] = self.dc(&tables.dc[n & 3], &mut predictors[n & 3], low)?,
        }
        if work == Work::Whole {
            self.rest(&tables.ac[n & 3], block, filled)?;
        }
        self.check()
    }

    /// The AC of a block of a sequential scan.
    fn rest(&mut self, table: &Table, block: &mut [i16; 64], filled: &mut u64) -> Taken<()> {
        let mut k = 0;
        while k < 63 {
            let window = self.window()?;
            let mut entry = table.entries[(window >> (64 - LOOK)) as usize];
            let mut moves = entry >> 8 & 0xff;
            let mut found = entry_value(entry, window);
            if moves == RARE {
                let rare = table.rare_ac(window).ok_or(Fault::NoCode)?;
                let ends = rare.run == 0 && rare.size == 0;
                moves = if ends { END } else { u64::from(rare.run) + 1 };
                found = value(window, rare.length, rare.size) as i16;
                entry = u64::from(64 - rare.length - rare.size);
            }
            self.at += 64 - (entry & 0xff) as usize;
            if moves == END {
                break;
            }
            k += moves as usize;
            if k > 63 {
                return Err(Fault::TooLong);
            }
            block[usize::from(PLACES[k])] = found;
            *filled |= u64::from(found != 0) << k;
        }
        Ok(())
    }

    /// A block of the first scan of a range of coefficients, that no run has ended.
    #[inline(always)]
    pub(crate) fn first(
        &mut self,
        table: &Table,
        band: &Band,
        (block, filled): Block<'_>,
    ) -> Taken<Run> {
        let (mut k, last) = (u64::from(band.first) - 1, u64::from(band.last));
        let (mut mask, mut run) = (*filled, 0);
        while k < last {
            let window = self.window()?;
            let entry = table.entries[(window >> (64 - LOOK)) as usize];
            let moves = entry >> 8 & 0xff;
            if moves < END {
                k += moves;
                self.at += 64 - (entry & 0xff) as usize;
                if k > last {
                    return Err(Fault::TooLong);
                }
                let found = entry_value(entry, window) << band.low;
                block[usize::from(PLACES[k as usize & 63])] = found;
                mask |= u64::from(found != 0) << k;
                continue;
            }
            match self.symbol(Kind::AcFirst, table, window)? {
                Symbol::Ends(blocks) => {
                    run = blocks - 1;
                    break;
                }
                Symbol::Value(zeros, found) => {
                    k += u64::from(zeros) + 1;
                    if k > last {
                        return Err(Fault::TooLong);
                    }
                    let found = found << band.low;
                    block[usize::from(PLACES[k as usize & 63])] = found;
                    mask |= u64::from(found != 0) << k;
                }
            }
        }
        *filled = mask;
        self.check()?;
        Ok(run)
    }

    /// A block of a later scan of a range of coefficients, that no run has ended.
    #[inline(always)]
    pub(crate) fn next(
        &mut self,
        table: &Table,
        band: &Band,
        (block, filled): Block<'_>,
    ) -> Taken<Run> {
        // What of the range lies ahead.
        let mut ahead = band.bits();
        while ahead != 0 {
            let symbol = self.symbol(Kind::AcNext, table, self.window()?)?;
            let (zeros, found) = match symbol {
                Symbol::Value(zeros, found) => (zeros, found),
                Symbol::Ends(blocks) => {
                    self.correct(*filled & ahead, band.low, block)?;
                    self.check()?;
                    return Ok(blocks - 1);
                }
            };
            let mut free = !*filled & ahead;
            for _ in 0..zeros {
                free &= free.wrapping_sub(1);
            }
            if free == 0 {
                return Err(Fault::TooLong);
            }
            let place = free & free.wrapping_neg();
            self.correct(*filled & ahead & (place - 1), band.low, block)?;
            if found != 0 {
                block[usize::from(PLACES[place.trailing_zeros() as usize])] = found << band.low;
                *filled |= place;
            }
            // Above the place; nothing is above the last one.
            ahead &= !(place | (place - 1));
        }
        self.check()?;
        Ok(0)
    }

    /// A block of a later scan that a run has ended.
    #[inline(always)]
    pub(crate) fn next_ended(&mut self, band: &Band, (block, filled): Block<'_>) -> Taken<()> {
        self.correct(*filled & band.bits(), band.low, block)?;
        self.check()
    }

    /// A bit more for each of these coefficients.
    #[inline(always)]
    fn correct(&mut self, mut of: u64, low: u8, block: &mut [i16; 64]) -> Taken<()> {
        let one = 1i16 << low;
        while of != 0 {
            let count = of.count_ones().min(MOST);
            let mut bits = self.take(count)?;
            for _ in 0..count {
                let coefficient = &mut block[usize::from(PLACES[of.trailing_zeros() as usize])];
                of &= of - 1;
                let step = if *coefficient < 0 { one.wrapping_neg() } else { one };
                let wanted = bits >> 63 == 1 && *coefficient & one == 0;
                *coefficient = coefficient.wrapping_add(if wanted { step } else { 0 });
                bits <<= 1;
            }
        }
        Ok(())
    }

    /// The next symbol of a progressive scan.
    #[inline(always)]
    fn symbol(&mut self, kind: Kind, table: &Table, window: u64) -> Taken<Symbol> {
        let entry = table.entries[(window >> (64 - LOOK)) as usize];
        let moves = entry >> 8 & 0xff;
        if moves == RARE {
            return self.rare(kind, table, window);
        }
        self.at += 64 - (entry & 0xff) as usize;
        let found = entry_value(entry, window);
        Ok(match moves {
            END => Symbol::Ends(found as u32),
            moves => Symbol::Value(moves as u32 - 1, found),
        })
    }

    #[cold]
    fn rare(&mut self, kind: Kind, table: &Table, window: u64) -> Taken<Symbol> {
        let rare = table.rare_progressive(kind, window).ok_or(Fault::NoCode)?;
        if rare.size == 0 && rare.run < 15 {
            self.at += (rare.length + rare.run) as usize;
            let low = (window << rare.length).checked_shr(64 - rare.run).unwrap_or(0);
            return Ok(Symbol::Ends(1 << rare.run | low as u32));
        }
        self.at += (rare.length + rare.size) as usize;
        Ok(Symbol::Value(rare.run, value(window, rare.length, rare.size) as i16))
    }
}

/// A symbol of a progressive scan of AC coefficients.
enum Symbol {
    /// So many blocks end, this one among them.
    Ends(u32),
    /// So many zeros, and a value behind them; of 0: one more.
    Value(u32, i16),
}
