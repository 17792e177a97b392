//! `Codes`: a Huffman table that decodes invalid codes as libjpeg-turbo does.

use crate::error::{Error, Result};

/// Number of bits of a lookup.
pub(super) const LOOK: u32 = 8;
/// The length of a code that is not in the lookup table.
const LONGER: u16 = LOOK as u16 + 1;

/// The codes of a table as they are in the file.
#[derive(Debug, Clone)]
pub(super) struct Spec {
    pub(super) counts: [u8; 16],
    /// The symbols of the codes; zeros follow the last one.
    pub(super) symbols: [u8; 256],
}

impl Spec {
    /// Takes the counts of codes and their symbols, 256 at most.
    pub(super) fn new(counts: &[u8; 16], symbols: &[u8]) -> Spec {
        let mut all = [0; 256];
        let count = symbols.len().min(256);
        all[..count].copy_from_slice(&symbols[..count]);
        Spec { counts: *counts, symbols: all }
    }
}

/// A table, ready for decoding.
#[derive(Debug, Clone)]
pub(super) struct Codes {
    /// By the next [`LOOK`] bits: length and symbol.
    look: [u16; 1 << LOOK],
    /// For each length, the greatest code; -1 if there is none.
    greatest: [i32; 18],
    /// For each length, the offset from a code to its symbol's index.
    offsets: [i32; 18],
    symbols: [u8; 256],
}

impl Codes {
    /// Builds the table for symbols of DC, which may be up to 15, or of AC.
    ///
    /// # Errors
    /// Returns an error for tables that libjpeg-turbo refuses; `at` is the byte that is named.
    pub(super) fn new(spec: &Spec, dc: bool, at: usize) -> Result<Codes> {
        let mut codes = Codes {
            look: [LONGER << 8; 1 << LOOK],
            greatest: [-1; 18],
            offsets: [0; 18],
            symbols: spec.symbols,
        };
        // A code of 17 bits is always accepted: it is invalid, whatever its bits.
        codes.greatest[17] = i32::MAX;
        let mut code = 0u32;
        let mut next = 0usize;
        for (length, &count) in (1..=16u32).zip(&spec.counts) {
            let end = next + usize::from(count);
            if count > 0 && (end > 256 || code + u32::from(count) >= 1 << length) {
                return Err(Error::damaged(at, "a Huffman table has too many codes"));
            }
            codes.offsets[length as usize] = next as i32 - code as i32;
            for &symbol in &spec.symbols[next..end] {
                if dc && symbol > 15 {
                    let text = "a Huffman table of DC has symbols that are none";
                    return Err(Error::damaged(at, text));
                }
                if length <= LOOK {
                    let from = (code << (LOOK - length)) as usize;
                    let entry = (length as u16) << 8 | u16::from(symbol);
                    codes.look[from..from + (1 << (LOOK - length))].fill(entry);
                }
                codes.greatest[length as usize] = code as i32;
                code += 1;
            }
            code <<= 1;
            next = end;
        }
        Ok(codes)
    }

    /// Returns length and symbol of the code at the start of [`LOOK`] bits; a length above that of
    /// the bits if the code is longer or none.
    #[inline(always)]
    pub(super) fn look(&self, bits: u64) -> (u32, u8) {
        let entry = self.look[bits as usize & ((1 << LOOK) - 1)];
        (u32::from(entry >> 8), entry as u8)
    }

    /// Returns true if a code has more than `length` bits.
    #[inline(always)]
    pub(super) fn is_longer(&self, code: u32, length: u32) -> bool {
        length < 17 && code as i32 > self.greatest[length as usize]
    }

    /// Returns the symbol of a code; 0 for one of 17 bits, which is none.
    #[inline(always)]
    pub(super) fn symbol(&self, code: u32, length: u32) -> u8 {
        if length > 16 {
            return 0;
        }
        self.symbols[(code as i32 + self.offsets[length as usize]) as usize & 0xff]
    }
}
