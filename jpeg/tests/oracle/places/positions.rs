//! Entry points are where a reader of single bits finds each row and each step of a row, with the
//! same predictors.

use std::collections::HashMap;

use tarflume_jpeg::Header;

use crate::harness::decoder::TestDecoder;
use crate::harness::picture::{Motif, Picture};
use crate::harness::segments::segments;
use crate::harness::turbo::{Recipe, Turbo};

/// Byte, bit and predictors.
type Place = (i64, i64, [i64; 3]);

/// Symbols by length and code.
type Codes = HashMap<(u32, u32), u8>;

/// Reads entropy-coded data bit by bit.
struct Reader<'a> {
    jpeg: &'a [u8],
    at: usize,
    taken: u32,
}

impl Reader<'_> {
    fn bit(&mut self) -> u32 {
        let byte = self.jpeg[self.at];
        let bit = byte >> (7 - self.taken) & 1;
        self.taken += 1;
        if self.taken == 8 {
            self.taken = 0;
            self.at += if byte == 0xFF { 2 } else { 1 };
        }
        bit.into()
    }

    fn bits(&mut self, count: u32) -> i64 {
        (0..count).fold(0, |bits, _| bits << 1 | i64::from(self.bit()))
    }

    fn symbol(&mut self, codes: &Codes) -> u8 {
        let mut code = 0;
        for length in 1..=16 {
            code = code << 1 | self.bit();
            if let Some(&symbol) = codes.get(&(length, code)) {
                return symbol;
            }
        }
        panic!("no code at byte {}", self.at);
    }

    /// Returns the difference of the DC, and reads past the rest of the block.
    fn block(&mut self, dc: &Codes, ac: &Codes) -> i64 {
        let size = u32::from(self.symbol(dc));
        let bits = self.bits(size);
        let difference = if bits >> (size.max(1) - 1) == 0 { bits + 1 - (1 << size) } else { bits };
        let mut k = 0;
        while k < 63 {
            let symbol = self.symbol(ac);
            if symbol == 0 {
                break;
            }
            k += i64::from(symbol >> 4) + 1;
            self.bits(u32::from(symbol & 15));
        }
        assert!(k <= 63);
        difference
    }

    fn restart(&mut self) {
        if self.taken > 0 {
            self.at += if self.jpeg[self.at] == 0xFF { 2 } else { 1 };
            self.taken = 0;
        }
        assert!(self.jpeg[self.at] == 0xFF && self.jpeg[self.at + 1] >> 3 == 0xD0 >> 3);
        self.at += 2;
    }
}

/// Returns the Huffman tables by class and number.
fn tables(jpeg: &[u8]) -> HashMap<u8, Codes> {
    let mut found: HashMap<u8, Codes> = HashMap::new();
    for segment in segments(jpeg).iter().filter(|segment| segment.marker == 0xC4) {
        let mut rest = segment.body;
        while let Some((&number, after)) = rest.split_first() {
            let (counts, mut symbols) = after.split_at(16);
            let codes = found.entry(number).or_default();
            let mut code = 0;
            codes.clear();
            for (&count, length) in counts.iter().zip(1..) {
                let (these, others) = symbols.split_at(count.into());
                for &symbol in these {
                    codes.insert((length, code), symbol);
                    code += 1;
                }
                symbols = others;
                code <<= 1;
            }
            rest = symbols;
        }
    }
    found
}

/// Reads the places before every `step` MCUs of each row, and the end.
fn places(jpeg: &[u8], step: u32) -> Vec<Place> {
    let header = Header::parse(jpeg).unwrap();
    let tables = tables(jpeg);
    let all = segments(jpeg);
    let body = |marker| all.iter().find(|segment| segment.marker == marker).unwrap();
    let frame = body(0xC0).body;
    let scan = body(0xDA);
    let restart = all.iter().find(|segment| segment.marker == 0xDD);
    let restart = restart.map_or(0, |s| u32::from(s.body[0]) << 8 | u32::from(s.body[1]));
    let count = usize::from(frame[5]);
    let parts: Vec<(u32, u32, u8)> = (0..count)
        .map(|c| {
            let factors = frame[7 + 3 * c];
            let numbers = scan.body[2 + 2 * c];
            let factors = if count == 1 { 0x11 } else { factors };
            (u32::from(factors >> 4), u32::from(factors & 15), numbers)
        })
        .collect();
    let across = 8 * parts.iter().map(|part| part.0).max().unwrap();
    let down = 8 * parts.iter().map(|part| part.1).max().unwrap();
    let columns = header.width().div_ceil(across);
    let rows = header.height().div_ceil(down);
    let mut reader = Reader { jpeg, at: scan.at + scan.body.len(), taken: 0 };
    let mut found = Vec::new();
    let mut predictors = [0; 3];
    for mcu in 0..columns * rows {
        if restart > 0 && mcu > 0 && mcu % restart == 0 {
            reader.restart();
            predictors = [0; 3];
        }
        if (mcu % columns).is_multiple_of(step) {
            found.push((reader.at as i64, reader.taken.into(), predictors));
        }
        for (&(h, v, numbers), predictor) in parts.iter().zip(&mut predictors) {
            let dc = &tables[&(numbers >> 4)];
            let ac = &tables[&(numbers & 15 | 16)];
            (0..h * v).for_each(|_| *predictor += reader.block(dc, ac));
        }
    }
    found.push((reader.at as i64, reader.taken.into(), predictors));
    found
}

/// Returns a place of a blob, as specified in FORMAT.md.
fn place_of(blob: &[u8], n: usize) -> Place {
    fn number(blob: &[u8], at: usize, length: usize) -> i64 {
        blob[at..at + length].iter().rev().fold(0, |n, &byte| n << 8 | i64::from(byte))
    }

    let signed = |at, length: usize| {
        let sign = 1 << (8 * length - 1);
        (number(blob, at, length) ^ sign) - sign
    };
    let widths = [38, 39, 40, 41].map(|at| usize::from(blob[at]));
    let mut at = n * (widths.iter().sum::<usize>() + 3);
    let mut take = |width: usize| {
        let bits = (at..at + width).map(|bit| i64::from(blob[42 + bit / 8] >> (bit % 8) & 1));
        at += width;
        bits.enumerate().map(|(i, bit)| bit << i).sum::<i64>()
    };
    let steps = (number(blob, 2, 2) * number(blob, 4, 2)).max(1);
    let line = number(blob, 20, 4) + n as i64 * number(blob, 24, 4) / steps;
    let byte = line + signed(28, 4) + take(widths[0]);
    let bit = take(3);
    (byte, bit, [0, 1, 2].map(|c| signed(32 + 2 * c, 2) + take(widths[c + 1])))
}

#[test]
fn places_are_those_of_a_reader_of_single_bits() {
    let mut turbo = Turbo::new();
    let mut ours = TestDecoder::default();
    let sampled = Recipe::sampled;
    fn quality(quality: u32, recipe: Recipe) -> Recipe {
        Recipe { quality, ..recipe }
    }
    let recipes = [
        (200, 90, 3, sampled(2, 2)),
        (1100, 40, 3, sampled(2, 2)),
        (90, 200, 3, quality(100, sampled(1, 1))),
        (90, 130, 3, Recipe { optimized: true, ..quality(98, sampled(2, 1)) }),
        (400, 60, 3, Recipe { optimized: true, ..quality(30, sampled(1, 2)) }),
        (777, 50, 1, Recipe { optimized: true, ..Recipe::default() }),
        (300, 300, 3, Recipe { restart: 1, ..sampled(2, 2) }),
        (300, 300, 3, Recipe { restart: 7, ..sampled(1, 1) }),
        (900, 120, 3, Recipe { restart: 500, optimized: true, ..sampled(1, 1) }),
        (5, 3, 3, sampled(2, 2)),
    ];
    for (n, (width, height, channels, recipe)) in recipes.into_iter().enumerate() {
        for motif in Motif::ALL {
            let picture = Picture::new(width, height, channels, motif, n as u64);
            let jpeg = turbo.encode(&picture, &recipe);
            let usual = ours.points(&jpeg).unwrap();
            let others = [8, 13, 32, 70_000].map(|n| ours.points_every(n, &jpeg).unwrap());
            for blob in [usual].iter().chain(&others) {
                let expected = places(&jpeg, u32::from(blob[6]) | u32::from(blob[7]) << 8);
                let found: Vec<Place> = (0..expected.len()).map(|n| place_of(blob, n)).collect();
                assert_eq!(found, expected, "{motif:?} {recipe:?}");
            }
        }
    }
}
