//! `Share`: a part of all bytes of the given data sets, a function of their lengths and a few numbers.
//!
//! The bytes of all tars, one after the other, are a line. The line is divided into equal pieces; `of` neighboring pieces
//! are a block. Of each block a share has `taken` pieces. A sample belongs to the piece in which it begins. So the shares
//! 1/30 to 30/30 are disjoint, and have all samples together.

use tarflume_formats::message::Name;

/// The least bytes of a piece, where the line is long enough.
const PIECE: u64 = 4 << 20;
/// The most slices.
const MOST: u64 = 1_000_000;
/// Digits after the point of a percentage.
const DIGITS: usize = 4;

/// A part of all bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The first piece of a block that is taken.
    first: u64,
    taken: u64,
    /// Pieces of a block.
    of: u64,
    name: Name,
    text: String,
}

impl Share {
    /// Parses a slice, `3/30`: the third of thirty.
    ///
    /// # Errors
    /// Returns an error that shows the expected form.
    pub fn slice(text: &str) -> Result<Share, String> {
        let (number, of) = numbers(text)
            .filter(|&(number, of)| (1..=of).contains(&number) && of <= MOST)
            .ok_or_else(|| {
                format!("'{text}': give a slice N/COUNT, such as 3/30, with 1 <= N <= COUNT")
            })?;
        let text = format!("slice {number}/{of}");
        Ok(Share { first: number - 1, taken: 1, of, name: Name::Slice, text })
    }

    /// Parses a percentage, `1%`; `seed` chooses which of the samples of this size.
    ///
    /// # Errors
    /// Returns an error that shows the expected form.
    pub fn sample(text: &str, seed: u64) -> Result<Share, String> {
        let whole = 100 * 10u64.pow(DIGITS as u32);
        let percent = text.trim().strip_suffix('%').unwrap_or_default().trim();
        let parsed = decimal(percent).filter(|parsed| (1..=whole).contains(parsed)).ok_or_else(|| {
            format!(
                "'{text}': give a percentage above 0% and at most 100%, such as 1% or 0.5%, with at most \
                 {DIGITS} digits after the point"
            )
        })?;
        let common = greatest_divisor(parsed, whole);
        let taken = parsed / common;
        let of = whole / common;
        let first = (u128::from(seed) * u128::from(taken) % u128::from(of)) as u64;
        let text = format!("sample {percent}% with seed {seed}");
        Ok(Share { first, taken, of, name: Name::Sample, text })
    }

    /// Returns the setting that names the share.
    pub(crate) fn name(&self) -> Name {
        self.name
    }

    /// Returns what the share is called in a report: `slice 3/30`.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Divides a line of `total` bytes.
    pub(crate) fn over(&self, total: u64) -> Pieces {
        let blocks = (total / self.of.saturating_mul(PIECE)).max(1);
        Pieces { first: self.first, taken: self.taken, of: self.of, count: self.of * blocks, total }
    }
}

/// Returns the numbers of `3/30`.
fn numbers(text: &str) -> Option<(u64, u64)> {
    let (number, of) = text.split_once('/')?;
    Some((number.trim().parse().ok()?, of.trim().parse().ok()?))
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns a decimal number as a multiple of 10^-[`DIGITS`].
fn decimal(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if !is_number(whole) || !is_number(fraction) || fraction.len() > DIGITS || whole.len() > 3 {
        return None;
    }
    let fraction = format!("{fraction:0<DIGITS$}");
    Some(whole.parse::<u64>().ok()? * 10u64.pow(DIGITS as u32) + fraction.parse::<u64>().ok()?)
}

fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

/// The pieces of a line, and which of them are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pieces {
    first: u64,
    taken: u64,
    of: u64,
    /// Pieces of the line.
    count: u64,
    /// Bytes of the line.
    total: u64,
}

impl Pieces {
    /// Returns true if a sample that begins at `byte` of the line is taken.
    pub(crate) fn has(&self, byte: u64) -> bool {
        let byte = byte.min(self.total.saturating_sub(1));
        let piece =
            (u128::from(byte) * u128::from(self.count) / u128::from(self.total.max(1))) as u64;
        // Each block is turned by another number, so that no period of the data meets that of the pieces.
        let turn = mixed(piece / self.of) % self.of;
        let place = (piece % self.of + turn) % self.of;
        (place + self.of - self.first) % self.of < self.taken
    }
}

/// Mixes the bits of a number, as SplitMix64 does. The first block stays as it is.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_and_samples_are_parsed_and_others_refused() {
        for text in ["1/1", "3/30", "30/30", " 2 / 5 "] {
            assert!(Share::slice(text).is_ok(), "{text}");
        }
        for text in ["", "3", "0/3", "4/3", "1/0", "a/3", "1/3/5", "-1/3", "1/1000001"] {
            assert!(Share::slice(text).unwrap_err().contains("such as 3/30"), "{text}");
        }
        for (text, taken, of) in
            [("1%", 1, 100), ("0.5%", 1, 200), ("30%", 3, 10), ("100%", 1, 1), ("12.5 %", 1, 8)]
        {
            let share = Share::sample(text, 0).unwrap();
            assert_eq!((share.taken, share.of), (taken, of), "{text}");
        }
        for text in ["", "1", "0%", "0.0%", "101%", "1.%", ".5%", "1e1%", "-1%", "0.00001%"] {
            assert!(Share::sample(text, 0).unwrap_err().contains("such as 1%"), "{text}");
        }
    }

    #[test]
    fn each_byte_of_a_line_is_in_one_slice_and_slices_are_alike() {
        for (total, of) in [(1, 1), (1, 3), (100, 7), (1 << 20, 30), (7 << 30, 30), (50 << 30, 3)] {
            let slices: Vec<Pieces> =
                (1..=of).map(|n| Share::slice(&format!("{n}/{of}")).unwrap().over(total)).collect();
            let mut counts = vec![0u64; slices.len()];
            for step in 0..9000u64 {
                let byte = (u128::from(step) * u128::from(total) / 9000) as u64;
                let mine: Vec<usize> =
                    (0..slices.len()).filter(|&slice| slices[slice].has(byte)).collect();
                assert_eq!(mine.len(), 1, "byte {byte} of {total} in {of} slices");
                counts[mine[0]] += 1;
            }
            if total > 9000 {
                let mean = 9000 / of;
                assert!(counts.iter().all(|&n| n.abs_diff(mean) <= mean / 5 + 1), "{counts:?}");
            }
        }
    }

    #[test]
    fn samples_of_all_seeds_have_every_byte_as_often() {
        let samples: Vec<Pieces> =
            (0..10).map(|seed| Share::sample("30%", seed).unwrap().over(1 << 30)).collect();
        for step in 0..1000u64 {
            let byte = step << 20;
            assert_eq!(samples.iter().filter(|sample| sample.has(byte)).count(), 3);
        }
        assert!(Share::sample("100%", u64::MAX).unwrap().over(5).has(4));
    }
}
