//! `SmallNumbers`: a number for each sample, each in as few bits as the largest one needs.

use crate::error::{Error, ErrorKind, Result};

/// Numbers below a bound that is known before.
#[derive(Debug)]
pub(crate) struct SmallNumbers {
    /// Bits of a number.
    bits: u32,
    count: u64,
    words: Vec<u64>,
}

impl SmallNumbers {
    /// No numbers yet; each will be at most `most`.
    pub(crate) fn up_to(most: u64) -> SmallNumbers {
        SmallNumbers { bits: u64::BITS - most.leading_zeros(), count: 0, words: Vec::new() }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The memory of all numbers.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The number of sample `at`.
    ///
    /// # Panics
    /// Panics if there is no such sample.
    #[inline]
    pub(crate) fn get(&self, at: u64) -> u64 {
        let SmallNumbers { bits, count, words } = self;
        assert!(at < *count, "ordinal {at} of {count}");
        if *bits == 0 {
            return 0;
        }
        let place = at * u64::from(*bits);
        let word = (place / 64) as usize;
        let shift = place % 64;
        let mut number = words[word] >> shift;
        if shift + u64::from(*bits) > 64 {
            number |= words[word + 1] << (64 - shift);
        }
        number & (u64::MAX >> (u64::BITS - bits))
    }

    /// Adds the number of the next sample.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(crate) fn push(&mut self, number: u64) -> Result<()> {
        debug_assert!(
            u64::BITS - number.leading_zeros() <= self.bits,
            "{number} in {} bits",
            self.bits
        );
        let place = self.count * u64::from(self.bits);
        let end = ((place + u64::from(self.bits)).div_ceil(64)) as usize;
        if end > self.words.len() {
            self.words.try_reserve(1).map_err(|e| {
                let text = "there is no memory for the numbers of the samples";
                Error::new(ErrorKind::Limit, text).with_source(e)
            })?;
            self.words.push(0);
        }
        if self.bits > 0 {
            let word = (place / 64) as usize;
            let shift = place % 64;
            self.words[word] |= number << shift;
            if shift + u64::from(self.bits) > 64 {
                self.words[word + 1] |= number >> (64 - shift);
            }
        }
        self.count += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number up to `most`.
    fn number(n: u64, most: u64) -> u64 {
        let any = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        most.checked_add(1).map_or(any, |bound| any % bound)
    }

    #[test]
    fn each_bound_keeps_its_numbers() {
        for most in [0, 1, 2, 4, 7, 30, 31, 32, 999, 65_535, u64::from(u32::MAX), u64::MAX] {
            let mut numbers = SmallNumbers::up_to(most);
            (0..997).for_each(|n| numbers.push(number(n, most)).unwrap());
            assert_eq!(numbers.count(), 997);
            assert!((0..997).all(|n| numbers.get(n) == number(n, most)), "up to {most}");
            let bits = u64::BITS - most.leading_zeros();
            assert!(numbers.words().len() <= (997 * bits as usize).div_ceil(64));
        }
    }
}
