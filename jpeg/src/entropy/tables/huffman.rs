//! Huffman tables of single symbols: a lookup by the next ten bits returns run, size and length of
//! nearly every symbol and the sign of its value. They decode DC, progressive scans, and the symbols
//! that the entries of `pairs` and `skips` do not hold.
//!
//! Every photograph has its own tables, so building one must be cheap: an entry holds no value,
//! only what must be added to the bits after the code, and each code fills two runs of equal
//! entries.

use std::slice::Iter;

use crate::error::{Error, ErrorKind, Result};
use crate::header::{Header, HuffmanSpec, Pass, Work};

/// Number of bits of a lookup.
pub(crate) const LOOK: u32 = 10;
const ENTRIES: usize = 1 << LOOK;

/// The entries of a table, indexed by the next [`LOOK`] bits.
///
/// | bits | content |
/// |---|---|
/// | 0..8 | 64 minus the bits of code and value together |
/// | 8..16 | zigzag positions to advance: run + 1; [`END`] or [`RARE`] |
/// | 16..32 | a mask of the value's bits |
/// | 32..48 | what is added to the value's bits, signed |
///
/// In progressive scans the value of [`END`] is the number of blocks that end here (T.81, G.1.2.2).
pub(crate) type Entries = [u64; ENTRIES];

/// Advances past the block: the block has ended.
pub(crate) const END: u64 = 128;
/// The entry has no symbol: call [`Table::rare`]. Takes no bits.
pub(crate) const RARE: u64 = 192;
const ASK: u64 = RARE << 8 | 64;

/// Limit on the bits of a value: T.81, tables F.1 and F.2, for samples of 8 bits.
pub(in crate::entropy) const MOST_DC: u32 = 11;
pub(in crate::entropy) const MOST_AC: u32 = 10;

/// A table for DC or AC coefficients.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) entries: Entries,
    /// For each length, the first code after its last one, left-aligned in 16 bits.
    ends: [u32; 17],
    /// For each length, the offset from a code to its symbol's index.
    places: [i32; 17],
    /// Symbols and their codes' lengths, in the order of the codes.
    symbols: [u8; 256],
    lengths: [u8; 256],
    count: usize,
}

/// A symbol that the entries do not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rare {
    /// Number of zeros before the value.
    pub(crate) run: u32,
    /// Bits of the value.
    pub(crate) size: u32,
    /// Bits of the code.
    pub(crate) length: u32,
}

/// The meaning of a table's symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SymbolKind {
    Dc,
    Ac,
    /// AC in the first progressive scan of a coefficient: an end of block may end several blocks.
    AcFirst,
    /// AC in a later one: values are 1 or -1.
    AcNext,
}

impl SymbolKind {
    fn is_progressive(self) -> bool {
        matches!(self, SymbolKind::AcFirst | SymbolKind::AcNext)
    }

    /// Returns the most bits of a value.
    fn most(self) -> u32 {
        match self {
            SymbolKind::Dc => MOST_DC,
            SymbolKind::Ac | SymbolKind::AcFirst => MOST_AC,
            SymbolKind::AcNext => 1,
        }
    }
}

impl Default for Table {
    fn default() -> Table {
        Table {
            entries: [ASK; ENTRIES],
            ends: [0; 17],
            places: [0; 17],
            symbols: [0; 256],
            lengths: [0; 256],
            count: 0,
        }
    }
}

impl Table {
    /// Builds the table from the `counts` of codes of each length and the `symbols` in order of
    /// length (T.81, annex C).
    pub(in crate::entropy) fn fill(
        &mut self,
        kind: SymbolKind,
        counts: &[u8; 16],
        symbols: &[u8],
        at: usize,
    ) -> Result<()> {
        self.symbols[..symbols.len()].copy_from_slice(symbols);
        self.count = symbols.len();
        self.entries.fill(ASK);
        let mut code = 0u32;
        let mut next = 0usize;
        let mut from = 0usize;
        for (length, &codes) in (1..=16u32).zip(counts) {
            self.places[length as usize] = next as i32 - code as i32;
            let end = next + usize::from(codes);
            self.lengths[next..end].fill(length as u8);
            // T.81 forbids a code of all ones; libjpeg-turbo refuses such a table, too.
            if codes > 0 && code + u32::from(codes) >= 1 << length {
                let text = format!("a Huffman table has too many codes of {length} bits");
                return Err(Error::damaged(at, text));
            }
            // Entries of longer codes ask `symbol`.
            if length <= LOOK {
                let span = ENTRIES >> length;
                for &symbol in &symbols[next..end] {
                    enter(kind, &mut self.entries[from..from + span], symbol, length);
                    from += span;
                }
            }
            code += u32::from(codes);
            // Left-aligned, the ends of all lengths are compared with the same 16 bits.
            self.ends[length as usize] = code << (16 - length);
            code <<= 1;
            next = end;
        }
        Ok(())
    }

    /// Returns symbol and length of each code, in the order of the codes.
    pub(in crate::entropy) fn codes(&self) -> Codes<'_> {
        Codes { symbols: self.symbols[..self.count].iter(), lengths: self.lengths.iter() }
    }

    /// Returns the symbol whose code `window` begins with; `None` if no code matches or the entries
    /// hold the symbol.
    fn symbol(&self, window: u64) -> Option<(u8, u32)> {
        let bits = (window >> 48) as u32;
        // Codes this short reach here only if their symbol is invalid.
        if bits < self.ends[LOOK as usize - 1] {
            return None;
        }
        // `ends` is ascending, so counting the passed ones needs no branch.
        let ends = &self.ends[LOOK as usize..];
        let length =
            LOOK as usize + ends.iter().map(|&end| usize::from(bits >= end)).sum::<usize>();
        if length > 16 {
            return None;
        }
        let place = self.places[length] + (bits >> (16 - length)) as i32;
        Some((*self.symbols.get(usize::try_from(place).ok()?)?, length as u32))
    }

    /// Returns the DC symbol at the start of `window`; `None` if no code matches.
    #[cold]
    pub(crate) fn rare_dc(&self, window: u64) -> Option<Rare> {
        let (size, length) = self.symbol(window)?;
        let size = u32::from(size);
        (size <= MOST_DC).then_some(Rare { run: 0, size, length })
    }

    /// Returns the AC symbol of a progressive scan of this kind at the start of `window`; `None` if
    /// no code matches. Size 0 means 16 zeros, or the end of blocks, whose number has `run` bits
    /// after a leading one.
    #[cold]
    pub(crate) fn rare_progressive(&self, kind: SymbolKind, window: u64) -> Option<Rare> {
        let (symbol, length) = self.symbol(window)?;
        let run = u32::from(symbol >> 4);
        let size = u32::from(symbol & 15);
        (size <= kind.most()).then_some(Rare { run, size, length })
    }

    /// Returns the AC symbol at the start of `window`; `None` if no code matches.
    #[cold]
    pub(crate) fn rare_ac(&self, window: u64) -> Option<Rare> {
        let (symbol, length) = self.symbol(window)?;
        let run = u32::from(symbol >> 4);
        let size = u32::from(symbol & 15);
        let known = size <= MOST_AC && (size > 0 || run == 0 || run == 15);
        known.then_some(Rare { run, size, length })
    }
}

/// Symbols and lengths of the codes of a table, in the order of the codes.
#[derive(Debug, Clone)]
pub(in crate::entropy) struct Codes<'a> {
    symbols: Iter<'a, u8>,
    lengths: Iter<'a, u8>,
}

impl Iterator for Codes<'_> {
    type Item = (u8, u32);

    #[inline(always)]
    fn next(&mut self) -> Option<(u8, u32)> {
        Some((*self.symbols.next()?, (*self.lengths.next()?).into()))
    }
}

/// Fills the entries of one code of `length` bits.
fn enter(kind: SymbolKind, entries: &mut [u64], symbol: u8, length: u32) {
    let run = u32::from(symbol >> 4);
    let size = u32::from(symbol & 15);
    if kind.is_progressive() && size == 0 && run < 15 {
        // The number of ended blocks: `run` bits after a leading one (T.81, table G.1).
        let entry = u64::from(64 - length - run) | END << 8 | ((1 << run) - 1) << 16;
        entries.fill(entry | 1 << (32 + run));
        return;
    }
    let (moves, size) = match (kind, symbol) {
        (SymbolKind::Dc, _) => (0, u32::from(symbol)),
        (SymbolKind::Ac, 0) => (END, 0),
        _ => (u64::from(run) + 1, size),
    };
    let unknown =
        size > kind.most() || (kind != SymbolKind::Dc && size == 0 && moves != END && moves != 16);
    // A code as long as the lookup leaves no bit to show the sign.
    if unknown || (size > 0 && length == LOOK) {
        return;
    }
    let entry = u64::from(64 - length - size) | moves << 8 | ((1 << size) - 1) << 16;
    // The sign is the first bit of the value, so it is known when the table is built: one half
    // of the entries of a code for each.
    let negative = 1 - (1i32 << size); // for values whose first bit is 0 (T.81, F.2.2.1, EXTEND)
    let (low, high) = entries.split_at_mut(if size > 0 { entries.len() / 2 } else { 0 });
    low.fill(entry | u64::from(negative as u16) << 32);
    high.fill(entry);
}

/// All tables of a picture, by number.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) dc: [Table; 4],
    pub(crate) ac: [Table; 4],
}

impl Tables {
    /// Builds the tables that the components of `header` use; `bytes` is the JPEG.
    ///
    /// # Errors
    /// Returns an error if the codes of a table are invalid.
    pub(crate) fn build(&mut self, header: &Header, bytes: &[u8]) -> Result<()> {
        let mut dc = [false; 4];
        let mut ac = [false; 4];
        for component in header.components.iter() {
            let d = component.dc;
            let a = component.ac;
            if !std::mem::replace(&mut dc[d], true) {
                build(SymbolKind::Dc, &mut self.dc[d], header.tables.dc[d], bytes)?;
            }
            if !std::mem::replace(&mut ac[a], true) {
                build(SymbolKind::Ac, &mut self.ac[a], header.tables.ac[a], bytes)?;
            }
        }
        Ok(())
    }
}

impl Tables {
    /// Builds the tables of one scan: its `n`-th component uses number `n`.
    ///
    /// # Errors
    /// Returns an error if the codes of a table are invalid.
    pub(crate) fn build_pass(&mut self, pass: &Pass, bytes: &[u8]) -> Result<()> {
        let ac = match pass.work {
            Work::AcFirst => SymbolKind::AcFirst,
            Work::AcNext => SymbolKind::AcNext,
            _ => SymbolKind::Ac,
        };
        for n in 0..pass.parts().len() {
            if let Some(spec) = pass.dc[n] {
                build(SymbolKind::Dc, &mut self.dc[n], Some(spec), bytes)?;
            }
            if let Some(spec) = pass.ac[n] {
                build(ac, &mut self.ac[n], Some(spec), bytes)?;
            }
        }
        Ok(())
    }
}

fn build(
    kind: SymbolKind,
    table: &mut Table,
    spec: Option<HuffmanSpec>,
    bytes: &[u8],
) -> Result<()> {
    let Some((counts, symbols, at)) = spec.and_then(|spec| spec.read(bytes)) else {
        return Err(Error::new(ErrorKind::Usage, "the header belongs to other bytes"));
    };
    if kind == SymbolKind::Dc && symbols.iter().any(|&size| size > 15) {
        return Err(Error::damaged(at, "a Huffman table of DC has symbols that are none"));
    }
    table.fill(kind, counts, symbols, at)
}
