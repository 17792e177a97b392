//! Huffman tables for reading past codes: an entry holds every symbol that fits into the next
//! twelve bits, but only the bits and the coefficients that they take together.
//!
//! The kernel in `skim` uses them. The tables hold no values, so nothing can be decoded with them.

use super::huffman::{Codes, MOST_AC, MOST_DC, Tables};
use crate::header::Components;

/// Number of bits of a look-up.
pub(in crate::entropy) const BITS: u32 = 12;
// Tables of 13 bits measured slower (bench/jpeg/README.md).
const ENTRIES: usize = 1 << BITS;

/// The entries of a table, indexed by the next [`BITS`] bits.
///
/// | bits | content |
/// |---|---|
/// | 0..7 | coefficients to advance, at most 64 |
/// | 7 | the block has ended; with bit 6 as well: the entry holds no symbol |
/// | 8..13 | bits of codes and values together |
///
/// An entry is added to a state of the same layout, whose bits from 8 on are the position.
pub(in crate::entropy) type Skips = [u16; ENTRIES];

/// The block has ended.
pub(in crate::entropy) const ENDED: u16 = 128;
/// Set in a state whose block has ended, is full or too long, or whose entry holds no symbol.
pub(in crate::entropy) const TURN: u64 = 0xc0;
/// The entry holds no symbol.
const ASK: u16 = 0xc0;
/// The coefficients of an entry without its flag.
const COUNT: u16 = 0x7f;
/// Limit on the bits of an entry, so that three look-ups of 12 bits fit into a window of 57.
/// Two entries and the index of the third one take 22 + 22 + 12 = 56 bits. What the third one
/// takes beyond the window is not looked at: there are no values.
pub(in crate::entropy) const MOST_BITS: u32 = 22;

/// How many symbols an entry holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::entropy) enum Entry {
    /// As many as fit.
    Several,
    /// One: such tables are built faster and read slower.
    One,
}

impl Entry {
    /// Returns what takes less time in all for so many bytes of data.
    pub(in crate::entropy) fn for_data(bytes: usize) -> Entry {
        if bytes < 8 << 10 { Entry::One } else { Entry::Several }
    }
}

/// The numbers of two Huffman tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::entropy) struct Numbers {
    pub(in crate::entropy) dc: usize,
    pub(in crate::entropy) ac: usize,
}

/// The tables of components with the same pair of Huffman tables.
#[derive(Debug, Clone)]
pub(in crate::entropy) struct Pair {
    numbers: Numbers,
    /// For the start of a block: a DC, and the AC symbols after it.
    pub(in crate::entropy) first: Skips,
    /// For AC symbols. The table for a look-up of n bits begins at entry 2^n.
    rest: [u16; 2 * ENTRIES],
}

impl Pair {
    fn new(numbers: Numbers) -> Pair {
        Pair { numbers, first: [ASK; ENTRIES], rest: [0; 2 * ENTRIES] }
    }

    /// Builds the tables of these DC and AC tables.
    #[cfg(test)]
    pub(in crate::entropy) fn of(numbers: Numbers, tables: &Tables, entry: Entry) -> Pair {
        let mut pair = Pair::new(numbers);
        pair.fill(tables, entry);
        pair
    }

    /// Returns the table for AC symbols.
    pub(in crate::entropy) fn rest(&self) -> &Skips {
        &self.rest.as_chunks().0[1]
    }

    fn fill(&mut self, tables: &Tables, entry: Entry) {
        let dc = tables.dc[self.numbers.dc & 3].codes();
        let ac = tables.ac[self.numbers.ac & 3].codes();
        match entry {
            Entry::One => {
                fill_one(ac, ac_symbol, &mut self.rest[ENTRIES..]);
                fill_one(dc, dc_symbol, &mut self.first);
            }
            Entry::Several => {
                self.rest[1] = 0;
                for bits in 1..=BITS {
                    let (narrower, table) = self.rest.split_at_mut(1 << bits);
                    fill(ac.clone(), ac_symbol, &mut table[..1 << bits], narrower);
                }
                fill(dc, dc_symbol, &mut self.first, &self.rest);
            }
        }
        ask(&mut self.first);
        ask(&mut self.rest[ENTRIES..]);
    }
}

/// Fills a table with single symbols. Entries without one become 0.
fn fill_one(codes: Codes<'_>, meaning: fn(u8) -> Option<(u16, u32)>, table: &mut [u16]) {
    let bits = table.len().ilog2();
    table.fill(0);
    let mut from = 0;
    for (symbol, length) in codes.take_while(|&(_, length)| length <= bits) {
        let span = &mut table[from..from + (1 << (bits - length))];
        from += span.len();
        if let Some((advance, size)) =
            meaning(symbol).filter(|(_, size)| length + size <= MOST_BITS)
        {
            span.fill(((length + size) << 8) as u16 | advance);
        }
    }
}

/// Fills a table: each code is followed by what `narrower` tables hold for the bits after it.
/// Entries without a symbol become 0.
fn fill(
    codes: Codes<'_>,
    meaning: fn(u8) -> Option<(u16, u32)>,
    table: &mut [u16],
    narrower: &[u16],
) {
    let bits = table.len().ilog2();
    table.fill(0);
    let mut from = 0;
    for (symbol, length) in codes {
        if length > bits {
            return;
        }
        let span = &mut table[from..from + (1 << (bits - length))];
        from += span.len();
        let Some((advance, size)) = meaning(symbol) else { continue };
        let taken = length + size;
        let entry = (taken << 8) as u16 | advance;
        if advance == ENDED || taken >= bits {
            if taken <= MOST_BITS {
                span.fill(entry);
            }
            continue;
        }
        let width = 1 << (bits - taken);
        for span in span.chunks_exact_mut(width) {
            for (to, next) in span.iter_mut().zip(&narrower[width..2 * width]) {
                // A sum above 64 would look like a flag. The symbols that do not fit are left to the next
                // look-up, which finds the fault, if they are one.
                let fits = (next & COUNT) + advance <= 64;
                *to = entry + if fits { *next } else { 0 };
            }
        }
    }
}

/// Marks the entries without a symbol.
fn ask(table: &mut [u16]) {
    for entry in table {
        // A selection, not a branch: so the compiler handles many entries at once.
        *entry = if *entry == 0 { ASK } else { *entry };
    }
}

/// Returns the coefficients and the bits of the value of an AC symbol; `None` if it is invalid.
fn ac_symbol(symbol: u8) -> Option<(u16, u32)> {
    match (symbol >> 4, u32::from(symbol & 15)) {
        (0, 0) => Some((ENDED, 0)),
        (15, 0) => Some((16, 0)),
        (run, size @ 1..=MOST_AC) => Some((u16::from(run) + 1, size)),
        _ => None,
    }
}

/// The same for a DC symbol.
fn dc_symbol(symbol: u8) -> Option<(u16, u32)> {
    (u32::from(symbol) <= MOST_DC).then_some((1, symbol.into()))
}

/// The tables of a picture.
#[derive(Debug, Default)]
pub(in crate::entropy) struct SkipTables {
    pub(in crate::entropy) pairs: Vec<Pair>,
    /// The pair of each component.
    pub(in crate::entropy) of: [u8; 4],
}

impl SkipTables {
    /// Builds the tables of these components from those that decode.
    pub(in crate::entropy) fn build(
        &mut self,
        components: &Components,
        tables: &Tables,
        entry: Entry,
    ) {
        let mut count = 0;
        for (c, component) in components.iter().enumerate() {
            let numbers = Numbers { dc: component.dc, ac: component.ac };
            let known = self.pairs[..count].iter().position(|pair| pair.numbers == numbers);
            let pair = known.unwrap_or_else(|| {
                // Tables of an earlier picture are filled again: they are 24 KiB a pair.
                if self.pairs.len() == count {
                    self.pairs.push(Pair::new(numbers));
                }
                self.pairs[count].numbers = numbers;
                self.pairs[count].fill(tables, entry);
                count += 1;
                count - 1
            });
            self.of[c & 3] = pair as u8;
        }
    }
}
