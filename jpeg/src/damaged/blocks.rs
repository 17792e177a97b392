//! `Blocks`: decodes one block of a scan to coefficients, whatever its codes are.
//!
//! Invalid codes count as zeros, and coefficients behind the last one overwrite it, as in
//! libjpeg-turbo (jdhuff.c, jdphuff.c).

use super::bits::Bits;
use super::codes::Codes;
use crate::header::{Band, NATURAL};

/// The natural position of each zigzag number; for numbers behind the block that of its last
/// coefficient.
static PLACES: [u8; 80] = {
    let mut places = [63; 80];
    let mut n = 0;
    while n < 64 {
        places[n] = NATURAL[n];
        n += 1;
    }
    places
};

/// Limit on the bits of a value: T.81, tables F.1 and F.2, for samples of 8 bits.
const MOST_DC: u32 = 11;
const MOST_AC: u32 = 10;

/// The DC of a block is no number of 32 bits: libjpeg-turbo gives the picture up.
#[derive(Debug)]
pub(super) struct Overflow;

impl Bits<'_> {
    /// Takes the difference of a DC and adds it to the previous one.
    #[inline(always)]
    fn dc<const QUICK: bool>(&mut self, codes: &Codes, last: &mut i32) -> Result<(), Overflow> {
        let size = self.symbol::<QUICK>(codes).into();
        let difference = if size == 0 { 0 } else { self.value::<QUICK>(size) };
        *last = last.checked_add(difference).ok_or(Overflow)?;
        self.lost |= size > MOST_DC || i16::try_from(*last).is_err();
        Ok(())
    }

    /// Decodes a block of a sequential scan.
    pub(super) fn block<const QUICK: bool>(
        &mut self,
        dc: &Codes,
        ac: &Codes,
        last: &mut i32,
        block: &mut [i16; 64],
    ) -> Result<(), Overflow> {
        self.dc::<QUICK>(dc, last)?;
        block[0] = *last as i16;
        let mut k = 1;
        while k < 64 {
            let symbol = self.symbol::<QUICK>(ac);
            let run = usize::from(symbol >> 4);
            let size = u32::from(symbol & 15);
            if size > 0 {
                k += run;
                block[usize::from(PLACES[k])] = self.value::<QUICK>(size) as i16;
            } else if run == 15 {
                k += 15;
            } else {
                self.lost |= run > 0; // a symbol that no sequential scan has
                break;
            }
            self.lost |= size > MOST_AC || k > 63;
            k += 1;
        }
        Ok(())
    }

    /// Decodes the DC of a block in the first progressive scan of it.
    pub(super) fn dc_first(
        &mut self,
        codes: &Codes,
        last: &mut i32,
        low: u8,
        block: &mut [i16; 64],
    ) -> Result<(), Overflow> {
        self.dc::<false>(codes, last)?;
        block[0] = (*last << low) as i16;
        Ok(())
    }

    /// Decodes one more bit of the DC of a block.
    pub(super) fn dc_next(&mut self, low: u8, block: &mut [i16; 64]) {
        block[0] |= (self.bits::<false>(1) << low) as i16;
    }

    /// Decodes a range of coefficients in the first scan of it; `run` is the number of blocks that
    /// end where they begin.
    pub(super) fn ac_first(
        &mut self,
        codes: &Codes,
        band: &Band,
        run: &mut u32,
        block: &mut [i16; 64],
    ) {
        if *run > 0 {
            *run -= 1;
            return;
        }
        let mut k = usize::from(band.first);
        while k <= usize::from(band.last) {
            let symbol = self.symbol::<false>(codes);
            let zeros = u32::from(symbol >> 4);
            let size = u32::from(symbol & 15);
            if size > 0 {
                k += zeros as usize;
                let value = self.value::<false>(size);
                block[usize::from(PLACES[k])] = (value << band.low) as i16;
            } else if zeros == 15 {
                k += 15;
            } else {
                *run = self.ended_blocks(zeros) - 1;
                break;
            }
            k += 1;
        }
    }

    /// Takes the number of ended blocks, which has `size` bits after a leading one.
    fn ended_blocks(&mut self, size: u32) -> u32 {
        if size == 0 { 1 } else { 1 << size | self.bits::<false>(size) }
    }

    /// Decodes one more bit of a range of coefficients.
    pub(super) fn ac_next(
        &mut self,
        codes: &Codes,
        band: &Band,
        run: &mut u32,
        block: &mut [i16; 64],
    ) {
        let one = 1i16 << band.low;
        let last = usize::from(band.last);
        let mut k = usize::from(band.first);
        while *run == 0 && k <= last {
            let symbol = self.symbol::<false>(codes);
            let mut zeros = u32::from(symbol >> 4);
            let size = symbol & 15;
            let mut value = 0;
            if size > 0 {
                value = if self.bits::<false>(1) == 1 { one } else { one.wrapping_neg() };
            } else if zeros < 15 {
                *run = self.ended_blocks(zeros);
                break;
            }
            // Past the zeros of the run; coefficients that are not 0 have a bit each.
            loop {
                let coefficient = &mut block[usize::from(PLACES[k])];
                if *coefficient != 0 {
                    self.correct(coefficient, one);
                } else if zeros == 0 {
                    break;
                } else {
                    zeros -= 1;
                }
                k += 1;
                if k > last {
                    break;
                }
            }
            if value != 0 {
                block[usize::from(PLACES[k])] = value;
            }
            k += 1;
        }
        if *run > 0 {
            while k <= last {
                let coefficient = &mut block[usize::from(PLACES[k])];
                if *coefficient != 0 {
                    self.correct(coefficient, one);
                }
                k += 1;
            }
            *run -= 1;
        }
    }

    /// Takes a bit that corrects a coefficient.
    #[inline(always)]
    fn correct(&mut self, coefficient: &mut i16, one: i16) {
        if self.bits::<false>(1) == 1 && *coefficient & one == 0 {
            let step = if *coefficient < 0 { one.wrapping_neg() } else { one };
            *coefficient = coefficient.wrapping_add(step);
        }
    }
}
