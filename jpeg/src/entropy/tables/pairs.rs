//! Huffman tables for AC coefficients whose entries hold one or two symbols with their values.
//!
//! Every photograph has its own tables, so they must be cheap to build: the entries of a pair are
//! sums of those of its symbols.

use super::huffman::{Codes, MOST_AC, Tables};
use crate::error::Result;
use crate::header::Header;

/// Number of bits of a look-up.
pub(in crate::entropy) const BITS: u32 = 11;
// 16 KiB for each table. Look-ups of 12 bits measured the same, of 10 and 13 bits slower
// (bench/jpeg/README.md).
const ENTRIES: usize = 1 << BITS;

/// The entries of a table, indexed by the next [`BITS`] bits.
///
/// | bits | content |
/// |---|---|
/// | 0..8 | zigzag positions to advance, for all symbols; plus [`END`] if the block ends |
/// | 8..16 | bits of codes and values together |
/// | 16..24 | positions from the start to the first value |
/// | 24..32 | bits of the last value |
/// | 32..48 | what is added to them, signed |
/// | 48..64 | the first value |
///
/// The last value is stored first, then the first one. An entry of one symbol has only one of them:
/// the other is a zero that is stored at the same place before, or behind the block.
pub(in crate::entropy) type Pairs = [u64; ENTRIES];

/// Advances past the block: the block has ended.
pub(in crate::entropy) const END: u64 = 128;
/// Both advances of an entry without a symbol. It takes no bits.
/// 64 above `END`: added to any coefficient of a block, it is neither a coefficient nor an end.
const RARE: u64 = 192 | 192 << 16;
/// Place of the value that an entry of one symbol lacks.
const BEHIND: u64 = 128 << 16;
/// Limit on the bits of an entry, so that three fit into a window of 57.
const MOST_BITS: u32 = 19;

/// The Huffman tables of a picture for lanes that keep coefficients.
#[derive(Debug, Default)]
pub(crate) struct LaneTables {
    pub(in crate::entropy) tables: Tables,
    /// By the number of the AC table.
    pub(in crate::entropy) pairs: Vec<Pairs>,
    singles: Singles,
}

impl LaneTables {
    /// Builds the tables that the components of `header` use; `bytes` is the JPEG.
    ///
    /// # Errors
    /// Returns an error if the codes of a table are invalid.
    pub(crate) fn build(&mut self, header: &Header, bytes: &[u8]) -> Result<()> {
        self.tables.build(header, bytes)?;
        let mut built = [false; 4];
        for number in header.components.iter().map(|component| component.ac & 3) {
            if std::mem::replace(&mut built[number], true) {
                continue;
            }
            self.fill(number);
        }
        Ok(())
    }

    /// Fills the entries of pairs of an AC table.
    fn fill(&mut self, number: usize) {
        if self.pairs.len() <= number {
            self.pairs.resize(number + 1, [RARE; ENTRIES]);
        }
        let codes = self.tables.ac[number].codes();
        self.singles.fill(codes.clone());
        fill(&mut self.pairs[number], codes, &self.singles);
    }

    /// Takes one AC table.
    #[cfg(test)]
    pub(in crate::entropy) fn set(&mut self, number: usize, table: super::huffman::Table) {
        self.tables.ac[number] = table;
        self.fill(number);
    }
}

/// The second symbols of pairs: a table for each number of bits that the first one leaves.
#[derive(Debug)]
struct Singles([u64; ENTRIES]);

impl Default for Singles {
    fn default() -> Singles {
        Singles([0; ENTRIES])
    }
}

impl Singles {
    /// Returns the table for look-ups of `bits` bits. Entries without a symbol are 0.
    fn of(&self, bits: u32) -> &[u64] {
        // The tables of 0 to 10 bits fill the 2,048 entries, so no offset is stored. That of 0 bits is one
        // entry without a symbol.
        &self.0[1 << bits..2 << bits]
    }

    fn fill(&mut self, codes: Codes<'_>) {
        for bits in 1..BITS {
            let table = &mut self.0[1 << bits..2 << bits];
            table.fill(0);
            let mut from = 0;
            for (symbol, length) in codes.clone().take_while(|&(_, length)| length <= bits) {
                let span = &mut table[from..from + (1 << (bits - length))];
                from += span.len();
                // Longer values would make pairs of more than `MOST_BITS`.
                if let Some(symbol) = Symbol::of(symbol, length).filter(|s| s.size < MOST_AC) {
                    symbol.enter_last(span, 0);
                }
            }
        }
    }
}

fn fill(table: &mut Pairs, codes: Codes<'_>, singles: &Singles) {
    table.fill(RARE);
    let mut from = 0;
    for (symbol, length) in codes.take_while(|&(_, length)| length <= BITS) {
        let span = &mut table[from..from + (1 << (BITS - length))];
        from += span.len();
        let Some(symbol) = Symbol::of(symbol, length) else { continue };
        // No second symbol fits: the block has ended, or the value goes beyond the index.
        if symbol.advance == END || symbol.taken() > BITS {
            symbol.enter_last(span, BEHIND);
        } else {
            symbol.enter_first(span, singles);
        }
    }
}

/// A symbol and its code.
#[derive(Debug, Clone, Copy)]
struct Symbol {
    advance: u64,
    /// Bits of the value, and of the code.
    size: u32,
    length: u32,
}

impl Symbol {
    /// Returns `None` if no AC has the symbol.
    fn of(symbol: u8, length: u32) -> Option<Symbol> {
        let run = u64::from(symbol >> 4);
        let size = u32::from(symbol & 15);
        let advance = match (run, size) {
            (0, 0) => END,
            (15, 0) | (_, 1..=MOST_AC) => run + 1,
            _ => return None,
        };
        Some(Symbol { advance, size, length })
    }

    fn taken(self) -> u32 {
        self.length + self.size
    }

    /// Fills the entries that begin with the code, as the last symbol of an entry; `other` is the
    /// place of the first one. Does nothing if the bits do not show the sign, or are too many.
    fn enter_last(self, span: &mut [u64], other: u64) {
        if self.taken() > MOST_BITS || (self.size > 0 && span.len() == 1) {
            return;
        }
        let entry = self.advance | u64::from(self.taken()) << 8 | other;
        let entry = entry | u64::from(self.size) << 24;
        let negative = 1 - (1i32 << self.size); // T.81, F.2.2.1, EXTEND
        let (low, high) = span.split_at_mut(if self.size > 0 { span.len() / 2 } else { 0 });
        low.fill(entry | u64::from(negative as u16) << 32);
        high.fill(entry);
    }

    /// Fills the entries that begin with the code, as the first symbol: each of its values is
    /// followed by what `singles` hold for the bits after it.
    fn enter_first(self, span: &mut [u64], singles: &Singles) {
        let next = singles.of(BITS - self.taken());
        let entry = self.advance | u64::from(self.taken()) << 8 | self.advance << 16;
        for (bits, span) in span.chunks_exact_mut(next.len()).enumerate() {
            let bits = bits as i32;
            let is_negative = self.size > 0 && bits >> (self.size - 1) == 0;
            let value = if is_negative { bits + 1 - (1 << self.size) } else { bits };
            let entry = entry | u64::from(value as u16) << 48;
            for (to, next) in span.iter_mut().zip(next) {
                // No field carries into the next one: one of the two is 0 there, or the sum fits into 8 bits.
                *to = entry + next;
            }
        }
    }
}
