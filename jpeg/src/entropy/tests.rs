//! Compares the entries of several symbols with a reader of single bits, for random tables.

use tarflume_fixtures::SplitMix64;

use crate::entropy::tables::huffman::{MOST_AC, MOST_DC, SymbolKind, Table, Tables};
use crate::entropy::tables::pairs::{self, LaneTables};
use crate::entropy::tables::skips::{self, Entry, Numbers, Pair};

/// The codes of a table.
#[derive(Debug)]
struct Codes {
    /// How many codes there are of each length.
    counts: [u8; 16],
    symbols: Vec<u8>,
}

/// A random table: some symbols are invalid, and some bits are no code.
fn random(rng: &mut SplitMix64, most: u32) -> Codes {
    let mut counts = [0; 16];
    let mut symbols = Vec::new();
    let mut free = 1u32;
    for count in &mut counts {
        free *= 2;
        let room = (free - 1).min(most - symbols.len() as u32);
        let most = rng.below(room.min(40) + 1);
        let codes = rng.below(most + 1);
        *count = codes as u8;
        free -= codes;
        symbols.extend((0..codes).map(|_| rng.below(most) as u8));
    }
    Codes { counts, symbols }
}

/// Reads the symbol at the start of `window`, bit by bit; returns it and its length.
fn symbol(codes: &Codes, window: u64) -> Option<(u8, u32)> {
    let mut first = 0;
    let mut next = 0;
    for (length, &count) in (1..).zip(&codes.counts) {
        let code = (window >> (64 - length)) as i64;
        if code - first < i64::from(count) {
            return Some((codes.symbols[next + (code - first) as usize], length));
        }
        next += usize::from(count);
        first = (first + i64::from(count)) * 2;
    }
    None
}

/// Coefficients, bits, value and whether the block ends: of the AC symbol at the start of `window`.
fn ac(codes: &Codes, window: u64) -> Option<(u64, u32, i16, bool)> {
    let (symbol, length) = symbol(codes, window)?;
    let run = symbol >> 4;
    let size = u32::from(symbol & 15);
    if size > MOST_AC || (size == 0 && run != 0 && run != 15) {
        return None;
    }
    let bits = if size == 0 { 0 } else { (window << length >> (64 - size)) as i32 };
    let is_negative = size > 0 && bits >> (size - 1) == 0;
    let value = if is_negative { bits + 1 - (1 << size) } else { bits };
    let advance = if symbol == 0 { 0 } else { u64::from(run) + 1 };
    Some((advance, length + size, value as i16, symbol == 0))
}

fn table(kind: SymbolKind, codes: &Codes) -> Table {
    let mut table = Table::default();
    table.fill(kind, &codes.counts, &codes.symbols, 0).unwrap();
    table
}

/// What an entry of `pairs` stores behind coefficient 0, by the rules of its documentation.
fn stored(entry: u64, window: u64) -> Vec<i16> {
    let mut block = vec![0; 256];
    let size = entry >> 24 & 0xff;
    let taken = window.rotate_left((entry >> 8 & 0xff) as u32);
    let bits = (taken & ((1 << size) - 1)) as u16;
    block[(entry & 0xff) as usize] = bits.wrapping_add((entry >> 32) as u16) as i16;
    block[(entry >> 16 & 0xff) as usize] = (entry >> 48) as i16;
    block
}

#[test]
fn entries_of_pairs_hold_the_next_one_or_two_symbols() {
    let mut rng = SplitMix64::new(1);
    let mut counts = [0; 3];
    for _ in 0..300 {
        let codes = random(&mut rng, 256);
        let mut tables = LaneTables::default();
        tables.set(0, table(SymbolKind::Ac, &codes));
        for _ in 0..2000 {
            let window = rng.next_u64();
            let entry = tables.pairs[0][(window >> (64 - pairs::BITS)) as usize];
            let taken = (entry >> 8 & 0xff) as u32;
            let mut block = vec![0; 256];
            let mut k = 0;
            let mut bits = 0;
            let mut symbols = 0;
            while bits < taken {
                let (advance, more, value, ends) = ac(&codes, window << bits).unwrap();
                k += advance;
                bits += more;
                symbols += 1;
                if ends {
                    k += pairs::END;
                } else {
                    block[k as usize] = value;
                }
            }
            counts[symbols] += 1;
            assert_eq!(bits, taken);
            if symbols > 0 {
                assert_eq!((entry & 0xff, stored(entry, window)), (k, block));
            } else if let Some((_, bits, ..)) = ac(&codes, window) {
                let length = symbol(&codes, window).unwrap().1;
                assert!(bits > 19 || length >= pairs::BITS, "{codes:?} {window:x}");
            }
        }
    }
    assert!(counts.iter().all(|&count| count > 1000), "{counts:?}");
}

#[test]
fn entries_of_the_scanner_hold_what_the_next_symbols_take() {
    let mut rng = SplitMix64::new(2);
    let mut counts = [0; 4];
    for kind in [Entry::One, Entry::Several].repeat(300) {
        let dc_codes = random(&mut rng, 16);
        let ac_codes = random(&mut rng, 256);
        let mut tables = Tables::default();
        tables.dc[0] = table(SymbolKind::Dc, &dc_codes);
        tables.ac[0] = table(SymbolKind::Ac, &ac_codes);
        let pair = Pair::of(Numbers { dc: 0, ac: 0 }, &tables, kind);
        for n in 0..2000 {
            let window = rng.next_u64();
            let is_first = n % 2 == 0;
            let table = if is_first { &pair.first } else { pair.rest() };
            let entry = table[(window >> (64 - skips::BITS)) as usize];
            let taken = u32::from(entry >> 8);
            let mut advance = 0;
            let mut bits = 0;
            let mut symbols = 0;
            let mut ended = false;
            if is_first && taken > 0 {
                let (size, length) = symbol(&dc_codes, window).unwrap();
                assert!(u32::from(size) <= MOST_DC);
                advance = 1;
                bits = length + u32::from(size);
                symbols = 1;
            }
            while bits < taken {
                let (more, length, _, ends) = ac(&ac_codes, window << bits).unwrap();
                advance += more;
                bits += length;
                ended = ends;
                symbols += 1;
            }
            assert!(symbols < 2 || kind == Entry::Several);
            if symbols == 0 {
                // The first symbol is invalid, or its code or its value is too long.
                let first = if is_first {
                    symbol(&dc_codes, window)
                        .filter(|&(size, _)| u32::from(size) <= MOST_DC)
                        .map(|(size, length)| (length, length + u32::from(size)))
                } else {
                    ac(&ac_codes, window)
                        .map(|(_, taken, ..)| (symbol(&ac_codes, window).unwrap().1, taken))
                };
                let fits = first.is_some_and(|(length, taken)| {
                    length <= skips::BITS && taken <= skips::MOST_BITS
                });
                assert!(!fits, "{first:?}");
            }
            counts[symbols.min(3)] += 1;
            let flag = if ended { u64::from(skips::ENDED) } else { 0 };
            let flag = if taken == 0 { skips::TURN } else { flag };
            assert_eq!((bits, advance | flag), (taken, u64::from(entry & 0xff)));
        }
    }
    assert!(counts.iter().all(|&count| count > 1000), "{counts:?}");
}
