//! A set of ordinals as one bit each, with counts so that rank and select are fast.
//!
//! 1.19 bits an ordinal at most: a count every 512 bits, and for every 512th of the set the block it
//! is in. Select searches the few counts between two of those, then eight words: three or four
//! cache lines.

use std::ops::Range;

use crate::error::{Error, ErrorKind, Result};

/// Words of 64 bits between two counts.
const BLOCK: usize = 8;
/// Indexes between two hints.
const HINT: u64 = 512;
/// The largest set: 8 GiB of bits. Numbers of blocks fit 32 bits.
pub(crate) const MAX_BITS: u64 = 1 << 36;

/// The set. Ordinals past `samples` are never in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Bits {
    samples: u64,
    words: Vec<u64>,
    /// How many are in the set before each block, and after the last.
    counts: Vec<u64>,
    /// The block of every [`HINT`]-th index.
    hints: Vec<u32>,
}

impl Bits {
    /// A set to be filled, of at most [`MAX_BITS`] samples.
    ///
    /// # Errors
    /// No memory for a bit a sample.
    pub(crate) fn empty(samples: u64) -> Result<Bits> {
        let mut words = Vec::new();
        let wanted = usize::try_from(samples.div_ceil(64)).unwrap_or(usize::MAX);
        words.try_reserve_exact(wanted).map_err(|e| {
            let bytes = samples.div_ceil(8);
            let text = format!(
                "a selection among {samples} samples needs {bytes} bytes of memory, which are not \
                 there; pack the selected samples into a data set of their own"
            );
            Error::new(ErrorKind::Limit, text).with_source(e)
        })?;
        words.resize(wanted, 0);
        Ok(Bits { samples, words, counts: Vec::new(), hints: Vec::new() })
    }

    /// Adds the ordinals of `run`, which are below the number of samples.
    pub(crate) fn fill(&mut self, run: Range<u64>) {
        let mut at = run.start;
        while at < run.end {
            let here = (64 - at % 64).min(run.end - at);
            self.words[(at / 64) as usize] |= (u64::MAX >> (64 - here)) << (at % 64);
            at += here;
        }
    }

    /// The full set, ready for [`Bits::rank`] and [`Bits::select`].
    pub(crate) fn counted(mut self) -> Bits {
        let mut sum = 0;
        self.counts = Vec::with_capacity(self.words.len() / BLOCK + 2);
        for (number, block) in self.words.chunks(BLOCK).enumerate() {
            self.counts.push(sum);
            sum += block.iter().map(|w| u64::from(w.count_ones())).sum::<u64>();
            // A block holds no more than one index that is a multiple of 512.
            if self.hints.len() as u64 * HINT < sum {
                self.hints.push(number as u32);
            }
        }
        self.counts.push(sum);
        self
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    pub(crate) fn contains(&self, ordinal: u64) -> bool {
        let word = self.words.get((ordinal / 64) as usize);
        word.is_some_and(|word| word >> (ordinal % 64) & 1 == 1)
    }

    /// How many are below `ordinal`.
    pub(crate) fn rank(&self, ordinal: u64) -> u64 {
        let ordinal = ordinal.min(self.samples);
        let word = (ordinal / 64) as usize;
        let block = word / BLOCK;
        let whole = &self.words[block * BLOCK..word];
        let whole: u64 = whole.iter().map(|w| u64::from(w.count_ones())).sum();
        let rest = match ordinal % 64 {
            0 => 0,
            bits => (self.words[word] & ((1 << bits) - 1)).count_ones(),
        };
        self.counts[block] + whole + u64::from(rest)
    }

    /// The ordinal with `index` others below it; `index` must be below the size of the set.
    pub(crate) fn select(&self, index: u64) -> u64 {
        let hint = (index / HINT) as usize;
        let first = self.hints[hint] as usize;
        let last =
            self.hints.get(hint + 1).map_or(self.counts.len() - 1, |&next| next as usize + 1);
        let later = self.counts[first + 1..last].partition_point(|&before| before <= index);
        let block = first + later;
        let mut rest = index - self.counts[block];
        let mut word = block * BLOCK;
        loop {
            let ones = u64::from(self.words[word].count_ones());
            if rest < ones {
                return word as u64 * 64 + u64::from(select_in_word(self.words[word], rest as u32));
            }
            rest -= ones;
            word += 1;
        }
    }

    /// The longest runs of ordinals in the set, ascending.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = self.next(at, 0).filter(|&start| start < self.samples)?;
            at = self.next(start, u64::MAX).unwrap_or(self.samples).min(self.samples);
            Some(start..at)
        })
    }

    /// The first bit from `at` on that is set; with `flip` all ones, the first that is not.
    fn next(&self, at: u64, flip: u64) -> Option<u64> {
        let first = (at / 64) as usize;
        let mut mask = u64::MAX << (at % 64);
        for (index, word) in self.words.iter().enumerate().skip(first) {
            let found = (word ^ flip) & mask;
            if found != 0 {
                return Some(index as u64 * 64 + u64::from(found.trailing_zeros()));
            }
            mask = u64::MAX;
        }
        None
    }
}

/// The place of the bit with `rest` set bits below it: halves of halves, six steps without branches,
/// which could not be foretold.
fn select_in_word(mut word: u64, mut rest: u32) -> u32 {
    let mut place = 0;
    for half in [32, 16, 8, 4, 2, 1] {
        let low = (word & ((1 << half) - 1)).count_ones();
        let upper = u32::from(rest >= low);
        rest -= low * upper;
        place += half * upper;
        word >>= half * upper;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_a_word_are_found() {
        for word in [1, u64::MAX, 1 << 63, 0x8000_0000_0001_0001, 0x5555_5555_5555_5555] {
            let places = (0..64).filter(|&place| word >> place & 1 == 1);
            for (rest, place) in places.enumerate() {
                assert_eq!(select_in_word(word, rest as u32), place);
            }
        }
    }
}
