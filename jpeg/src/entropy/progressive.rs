//! Decodes one block of one scan, sequential or progressive, to coefficients (T.81, annexes F.2 and
//! G.2).
//!
//! For each block a mask records which of its coefficients are not 0, by their zigzag numbers. The
//! bits that a later scan has for a block depend only on that mask, so a block outside the region
//! needs no more memory, and the corrections of a run of coefficients are read at once.

use super::code::{PLACES, difference, entry_value, value, window};
use super::lane::{Fault, Predictors};
use super::unstuff::{PADDING, Unstuffed};
use crate::entropy::tables::huffman::{END, LOOK, RARE, SymbolKind, Table, Tables};
use crate::header::{Band, Work};

/// A position in the data of a scan.
#[derive(Debug)]
pub(crate) struct Bits<'a> {
    data: &'a [u8],
    /// Bits taken.
    pub(crate) at: usize,
    /// Number of available bits.
    end: usize,
}

/// A block's coefficients before dequantizing, in natural order, and the mask of the zigzag numbers
/// that are not 0.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub(crate) coefficients: &'a mut [i16; 64],
    pub(crate) filled: &'a mut u64,
}

/// Number of following blocks that end where they begin: a later scan has only corrections for
/// them.
pub(crate) type Run = u32;

type BitResult<T> = Result<T, Fault>;

/// Limit on the bits taken at once: a window has that many from any bit on.
const MOST: u32 = 57;

impl<'a> Bits<'a> {
    pub(crate) fn of(data: &'a Unstuffed) -> Bits<'a> {
        let end = 8 * data.bytes.len().saturating_sub(PADDING);
        Bits { data: &data.bytes, at: 0, end }
    }

    #[inline(always)]
    fn window(&self) -> BitResult<u64> {
        window(self.data, self.at).ok_or(Fault::Cut)
    }

    /// Checks at the end of a block that its bits existed.
    #[inline(always)]
    fn check(&self) -> BitResult<()> {
        if self.at > self.end { Err(Fault::Cut) } else { Ok(()) }
    }

    /// Takes the next `count` bits, up to [`MOST`], left-aligned.
    #[inline(always)]
    fn take(&mut self, count: u32) -> BitResult<u64> {
        let bits = self.window()?;
        self.at += count as usize;
        Ok(bits & !(u64::MAX >> count))
    }

    /// Decodes the DC of a block in a scan that has one.
    #[inline(always)]
    fn dc(&mut self, table: &Table, predictor: &mut i32, low: u8) -> BitResult<i16> {
        let (difference, bits) = difference(table, self.window()?).ok_or(Fault::NoCode)?;
        self.at += bits;
        *predictor = predictor.wrapping_add(difference);
        // `Walk` refuses a DC that is out of range; here it wraps.
        Ok((*predictor << low) as i16)
    }

    /// Decodes a block of a scan of DC or of whole blocks; its component is the scan's `n`-th.
    #[inline(always)]
    pub(crate) fn block(
        &mut self,
        work: Work,
        low: u8,
        tables: &Tables,
        n: usize,
        predictors: &mut Predictors,
        block: Block<'_>,
    ) -> BitResult<()> {
        let Block { coefficients: block, filled } = block;
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

    /// Decodes the AC of a block of a sequential scan.
    fn rest(&mut self, table: &Table, block: &mut [i16; 64], filled: &mut u64) -> BitResult<()> {
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

    /// Decodes a block of the first scan of a range of coefficients that no run has ended.
    #[inline(always)]
    pub(crate) fn first(&mut self, table: &Table, band: &Band, block: Block<'_>) -> BitResult<Run> {
        let Block { coefficients: block, filled } = block;
        let mut k = u64::from(band.first) - 1;
        let last = u64::from(band.last);
        let mut mask = *filled;
        let mut run = 0;
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
            match self.symbol(SymbolKind::AcFirst, table, window)? {
                Symbol::Ends(blocks) => {
                    // This block is one of them.
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

    /// Decodes a block of a later scan of a range of coefficients that no run has ended.
    #[inline(always)]
    pub(crate) fn next(&mut self, table: &Table, band: &Band, block: Block<'_>) -> BitResult<Run> {
        let Block { coefficients: block, filled } = block;
        // The part of the range that is still ahead.
        let mut ahead = band.bits();
        while ahead != 0 {
            let symbol = self.symbol(SymbolKind::AcNext, table, self.window()?)?;
            let (zeros, found) = match symbol {
                Symbol::Value(zeros, found) => (zeros, found),
                Symbol::Ends(blocks) => {
                    self.correct(*filled & ahead, band.low, block)?;
                    self.check()?;
                    return Ok(blocks - 1);
                }
            };
            // Only coefficients that are still 0 count as zeros of the run (T.81, G.1.2.3): clearing the
            // lowest bits of `free` leads to the place of the new value.
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
            // The positions after this one; none follow the last one.
            ahead &= !(place | (place - 1));
        }
        self.check()?;
        Ok(0)
    }

    /// Decodes a block of a later scan that a run has ended: corrections only.
    #[inline(always)]
    pub(crate) fn next_ended(&mut self, band: &Band, block: Block<'_>) -> BitResult<()> {
        let Block { coefficients: block, filled } = block;
        self.correct(*filled & band.bits(), band.low, block)?;
        self.check()
    }

    /// Reads one correction bit for each of these coefficients.
    #[inline(always)]
    fn correct(&mut self, mut of: u64, low: u8, block: &mut [i16; 64]) -> BitResult<()> {
        // Corrections add to the magnitude, so a negative coefficient is reduced.
        let one = 1i16 << low;
        while of != 0 {
            let count = of.count_ones().min(MOST);
            let mut bits = self.take(count)?;
            for _ in 0..count {
                let coefficient = &mut block[usize::from(PLACES[of.trailing_zeros() as usize])];
                of &= of - 1;
                let step = if *coefficient < 0 { one.wrapping_neg() } else { one };
                // A bit that is already set stays, as in libjpeg (jdphuff.c, `decode_mcu_AC_refine`).
                let wanted = bits >> 63 == 1 && *coefficient & one == 0;
                *coefficient = coefficient.wrapping_add(if wanted { step } else { 0 });
                bits <<= 1;
            }
        }
        Ok(())
    }

    /// Decodes the next symbol of a progressive scan.
    #[inline(always)]
    fn symbol(&mut self, kind: SymbolKind, table: &Table, window: u64) -> BitResult<Symbol> {
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
    fn rare(&mut self, kind: SymbolKind, table: &Table, window: u64) -> BitResult<Symbol> {
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
    /// This many blocks end, including this one.
    Ends(u32),
    /// This many zeros, then a value; a value of 0 is one more zero.
    Value(u32, i16),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::unstuff;

    /// Returns a table of codes of two bits: 00 for the first symbol, 01 for the next, and so on.
    fn table(kind: SymbolKind, symbols: &[u8]) -> Table {
        let mut counts = [0; 16];
        counts[1] = symbols.len() as u8;
        let mut table = Table::default();
        table.fill(kind, &counts, symbols, 0).unwrap();
        table
    }

    fn data(bits: &str) -> Unstuffed {
        let filled = format!("{bits}{}", "1".repeat(bits.len().next_multiple_of(8) - bits.len()));
        let mut bytes = Vec::new();
        for bits in filled.as_bytes().chunks(8) {
            bytes.push(bits.iter().fold(0, |byte, bit| byte << 1 | (bit - b'0')));
            bytes.extend((bytes.last() == Some(&0xff)).then_some(0));
        }
        let mut data = Unstuffed::default();
        unstuff(&bytes, 0..bytes.len(), 0, &mut data).unwrap();
        data
    }

    /// Returns the coefficients that are not 0, by zigzag number; checks that the mask agrees.
    fn found(block: &[i16; 64], filled: u64) -> Vec<(usize, i16)> {
        let all = (0..64).map(|k| (k, block[usize::from(PLACES[k])]));
        let found: Vec<_> = all.filter(|&(_, value)| value != 0).collect();
        assert_eq!(found.iter().fold(0u64, |mask, (k, _)| mask | 1u64 << k), filled);
        found
    }

    const FIRST: Band = Band { first: 1, last: 8, before: 0, low: 3 };
    const NEXT: Band = Band { first: 1, last: 63, before: 2, low: 1 };

    #[test]
    fn a_first_scan_brings_high_bits_and_runs_of_ends() {
        let table = table(SymbolKind::AcFirst, &[0x21, 0x00, 0x30]);
        // Two zeros and 1, two zeros and -1, an end; an end of 8 blocks and 5 more.
        let data = data("0010000110101");
        let mut bits = Bits::of(&data);
        let mut block = [0; 64];
        let mut filled = 0;
        assert_eq!(
            bits.first(&table, &FIRST, Block { coefficients: &mut block, filled: &mut filled }),
            Ok(0)
        );
        assert_eq!(found(&block, filled), [(3, 8), (6, -8)]);
        let mut block = [0; 64];
        let mut filled = 0;
        assert_eq!(
            bits.first(&table, &FIRST, Block { coefficients: &mut block, filled: &mut filled }),
            Ok(12)
        );
        assert_eq!((found(&block, filled), bits.at), (vec![], 13));
    }

    #[test]
    fn values_stay_in_their_range() {
        let table = table(SymbolKind::AcFirst, &[0x21, 0x00, 0xf0]);
        for bits in ["001001001", "10"] {
            let data = data(bits);
            let mut block = [0; 64];
            let mut filled = 0;
            let read = Bits::of(&data).first(
                &table,
                &FIRST,
                Block { coefficients: &mut block, filled: &mut filled },
            );
            assert_eq!(read, Err(Fault::TooLong), "{bits}");
        }
        // Two bits that no code begins with, of four.
        let data = data("11110000");
        let mut block = [0; 64];
        let mut filled = 0;
        let read = Bits::of(&data).first(
            &table,
            &FIRST,
            Block { coefficients: &mut block, filled: &mut filled },
        );
        assert_eq!(read, Err(Fault::NoCode));
    }

    #[test]
    fn a_later_scan_corrects_what_it_passes_and_what_a_run_ends() {
        let table = table(SymbolKind::AcNext, &[0x01, 0x11, 0x10]);
        // A zero and 1, past two values: the first is corrected; the end of 2 blocks and 1 more.
        // Then the one value of the next block is corrected.
        let data = data("011101011");
        let mut bits = Bits::of(&data);
        let mut block = [0; 64];
        let mut filled = 0b1010;
        block[usize::from(PLACES[1])] = 4;
        block[usize::from(PLACES[3])] = -4;
        assert_eq!(
            bits.next(&table, &NEXT, Block { coefficients: &mut block, filled: &mut filled }),
            Ok(2)
        );
        assert_eq!(found(&block, filled), [(1, 6), (3, -4), (4, 2)]);
        let mut block = [0; 64];
        let mut filled = 0b10;
        block[usize::from(PLACES[1])] = -4;
        bits.next_ended(&NEXT, Block { coefficients: &mut block, filled: &mut filled }).unwrap();
        assert_eq!((found(&block, filled), bits.at), (vec![(1, -6)], 9));
    }

    #[test]
    fn corrections_of_a_full_block_exceed_a_window() {
        let data = data(&"10".repeat(32)[..63]);
        let mut block = [4; 64];
        let mut filled = u64::MAX;
        Bits::of(&data)
            .next_ended(&NEXT, Block { coefficients: &mut block, filled: &mut filled })
            .unwrap();
        for k in 1..64 {
            let right = if k % 2 == 1 { 6 } else { 4 };
            assert_eq!(block[usize::from(PLACES[k])], right, "{k}");
        }
        assert_eq!(block[0], 4, "DC is not of the range");
    }

    #[test]
    fn the_end_of_the_data_is_noticed() {
        let table = table(SymbolKind::AcNext, &[0x01, 0x11, 0x10]);
        let data = data("011101");
        let mut bits = Bits::of(&data);
        let mut block = [4; 64];
        let mut filled = u64::MAX;
        assert_eq!(
            bits.next_ended(&NEXT, Block { coefficients: &mut block, filled: &mut filled }),
            Err(Fault::Cut)
        );
        let mut bits = Bits::of(&data);
        bits.at = 100;
        assert_eq!(
            bits.next(&table, &NEXT, Block { coefficients: &mut block, filled: &mut filled }),
            Err(Fault::Cut)
        );
    }
}
