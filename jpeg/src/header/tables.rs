//! Quantization and Huffman tables in the segments of a JPEG.

use super::components::Components;
use super::standard::{self, Standard};
use crate::error::{Error, Result};

/// Maps a coefficient's zigzag number to its row-major position in the block.
pub(crate) const NATURAL: [u8; 64] = natural();

const fn natural() -> [u8; 64] {
    let mut order = [0; 64];
    let mut row = 0i32;
    let mut column = 0i32;
    let mut n = 0;
    while n < 64 {
        order[n] = (8 * row + column) as u8;
        let up = (row + column) % 2 == 0;
        let (down, right) = if up { (-1, 1) } else { (1, -1) };
        if up && column == 7 || !up && row == 7 {
            if up { row += 1 } else { column += 1 }
        } else if up && row == 0 {
            column += 1;
        } else if !up && column == 0 {
            row += 1;
        } else {
            row += down;
            column += right;
        }
        n += 1;
    }
    order
}

fn in_natural_order(divisors: impl Iterator<Item = u16>) -> [u16; 64] {
    let mut table = [0; 64];
    for (&place, divisor) in NATURAL.iter().zip(divisors) {
        table[usize::from(place & 63)] = divisor;
    }
    table
}

/// The location of a quantization table in the bytes of the JPEG. Only decoding reads the table: most headers are parsed
/// for the size of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QuantSpec {
    /// The first divisor.
    at: usize,
    /// Whether divisors have two bytes.
    wide: bool,
}

impl QuantSpec {
    fn length(self) -> usize {
        if self.wide { 128 } else { 64 }
    }

    /// Returns the divisors in natural order, or `None` if these bytes are too short.
    pub(crate) fn read(self, bytes: &[u8]) -> Option<[u16; 64]> {
        let divisors = bytes.get(self.at..)?.get(..self.length())?;
        Some(if self.wide {
            in_natural_order(divisors.as_chunks().0.iter().map(|&pair| u16::from_be_bytes(pair)))
        } else {
            in_natural_order(divisors.iter().map(|&byte| byte.into()))
        })
    }
}

/// The location of a Huffman table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HuffmanSpec {
    /// In the bytes of the JPEG.
    At {
        /// The first of the 16 bytes that hold the number of codes with 1, 2, ... 16 bits; the
        /// symbols follow.
        at: usize,
        /// Total number of codes: 256 at most.
        codes: usize,
    },
    /// Not in the file: a typical table of T.81.
    Standard(&'static Standard),
}

impl HuffmanSpec {
    /// Returns the number of codes with 1, 2, ... 16 bits, all symbols, and their position; `None`
    /// if these bytes do not contain them.
    pub(crate) fn read<'a>(&self, bytes: &'a [u8]) -> Option<(&'a [u8; 16], &'a [u8], usize)> {
        match *self {
            HuffmanSpec::Standard(table) => Some((&table.counts, table.symbols, 0)),
            HuffmanSpec::At { at, codes } => {
                let (counts, symbols) = bytes.get(at..)?.split_first_chunk::<16>()?;
                let all = counts.iter().map(|&n| usize::from(n)).sum::<usize>() == codes;
                Some((counts, symbols.get(..codes).filter(|_| all)?, at))
            }
        }
    }
}

/// The tables of a picture, by number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tables {
    pub(crate) quant: [Option<QuantSpec>; 4],
    pub(crate) dc: [Option<HuffmanSpec>; 4],
    pub(crate) ac: [Option<HuffmanSpec>; 4],
}

impl Tables {
    /// Takes the tables of a segment whose content is `length` bytes from `start`.
    pub(super) fn quantization(
        &mut self,
        bytes: &[u8],
        mut start: usize,
        length: usize,
        at: usize,
    ) -> Result<()> {
        let end = start + length;
        while start < end {
            let kind = bytes[start];
            let wide = kind >> 4;
            let number = usize::from(kind & 15);
            // All decoders take any number but 0 for divisors of 16 bits.
            let table = QuantSpec { at: start + 1, wide: wide > 0 };
            if number > 3 || end - table.at < table.length() {
                return Err(Error::damaged(at, "a quantization table is cut or has no number"));
            }
            self.quant[number] = Some(table);
            start = table.at + table.length();
        }
        Ok(())
    }

    /// Returns the divisors of quantization table `number` for a scan at `at`.
    ///
    /// # Errors
    /// These bytes do not hold the table.
    pub(crate) fn divisors(&self, number: usize, bytes: &[u8], at: usize) -> Result<[u16; 64]> {
        let table = self.quant[number].and_then(|table| table.read(bytes));
        table.ok_or_else(|| missing_divisors(number, at))
    }

    /// Takes the tables of a segment whose content is `length` bytes from `start`.
    pub(super) fn huffman(
        &mut self,
        bytes: &[u8],
        mut start: usize,
        length: usize,
        at: usize,
    ) -> Result<()> {
        let end = start + length;
        while start < end {
            let (&kind, rest) = bytes[start..end].split_first().ok_or_else(|| cut(at))?;
            let counts = rest.get(..16).ok_or_else(|| cut(at))?;
            let codes = counts.iter().map(|&n| usize::from(n)).sum();
            let number = usize::from(kind & 15);
            if kind >> 4 > 1 || number > 3 || codes > 256 {
                return Err(Error::damaged(at, "a Huffman table has no number, or too many codes"));
            }
            if rest.len() < 16 + codes {
                return Err(cut(at));
            }
            let tables = if kind >> 4 == 0 { &mut self.dc } else { &mut self.ac };
            tables[number] = Some(HuffmanSpec::At { at: start + 1, codes });
            start += 17 + codes;
        }
        Ok(())
    }

    /// Sets the typical tables: frames of motion JPEG omit their Huffman tables, and libjpeg-turbo
    /// substitutes these for sequential pictures.
    pub(super) fn set_standard(&mut self) {
        for (n, (dc, ac)) in self.dc.iter_mut().zip(&mut self.ac).take(2).enumerate() {
            dc.get_or_insert(HuffmanSpec::Standard(&standard::DC[n]));
            ac.get_or_insert(HuffmanSpec::Standard(&standard::AC[n]));
        }
    }

    /// Returns true if the file has the Huffman tables of these components.
    pub(super) fn are_in_file(&self, components: &Components) -> bool {
        fn is_in_file(spec: &Option<HuffmanSpec>) -> bool {
            matches!(spec, Some(HuffmanSpec::At { .. }))
        }
        components.iter().all(|c| is_in_file(&self.dc[c.dc]) && is_in_file(&self.ac[c.ac]))
    }

    /// # Errors
    /// Returns an error if a table that the components need is missing.
    pub(super) fn check(&self, components: &Components, at: usize) -> Result<()> {
        for component in components.iter() {
            if self.quant[component.quant].is_none() {
                return Err(missing_divisors(component.quant, at));
            }
            for (tables, n) in [(&self.dc, component.dc), (&self.ac, component.ac)] {
                if tables[n].is_none() {
                    return Err(missing_codes(n, at));
                }
            }
        }
        Ok(())
    }
}

fn cut(at: usize) -> Error {
    Error::damaged(at, "a Huffman table is cut")
}

/// Returns the error for a scan at `at` whose quantization table is missing.
fn missing_divisors(number: usize, at: usize) -> Error {
    Error::damaged(at, format!("quantization table {number} was never given"))
}

/// Returns the error for a scan at `at` whose Huffman table is missing.
pub(super) fn missing_codes(number: usize, at: usize) -> Error {
    Error::damaged(at, format!("Huffman table {number} was never given"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zigzag_visits_every_place_once_as_the_standard_draws_it() {
        let mut seen = [false; 64];
        NATURAL.iter().for_each(|&n| seen[usize::from(n)] = true);
        assert!(seen.iter().all(|&s| s));
        assert_eq!(NATURAL[..10], [0, 1, 8, 16, 9, 2, 3, 10, 17, 24]);
        assert_eq!(NATURAL[54..], [39, 46, 53, 60, 61, 54, 47, 55, 62, 63]);
        assert_eq!(NATURAL[27..36], [6, 7, 14, 21, 28, 35, 42, 49, 56]);
    }
}
