//! `Lengths`: the length of each sample of a data set, and how many of them are packed together.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::samples::fingerprint::Fingerprint;
use crate::samples::small_numbers::SmallNumbers;

/// The length of each ordinal, and the limits of a pack. Clones share it. Takes as many bits for each sample as the capacity
/// needs: 13 with packs of 4,096 tokens.
///
/// ```
/// use tarflume_order::{Lengths, PackLimits};
///
/// let limits = PackLimits { capacity: 4096, samples: 64, window: 4096 };
/// let lengths = Lengths::new(limits, [700, 4096, 12])?;
/// assert_eq!((lengths.samples(), lengths.of(0), lengths.limits().capacity), (3, 700, 4096));
/// # Ok::<(), tarflume_order::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Lengths(Arc<Limited>);

/// The limits of a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PackLimits {
    /// The most tokens of a pack.
    pub capacity: u64,
    /// The most samples of a pack.
    pub samples: u64,
    /// So many samples of the order are packed among each other.
    pub window: u64,
}

#[derive(Debug)]
struct Limited {
    limits: PackLimits,
    numbers: SmallNumbers,
    print: Fingerprint,
}

/// The most tokens of a pack, and the most samples of a window.
const MOST: u64 = 1 << 24;

impl PackLimits {
    /// Checks that each limit is 1 to 16,777,216.
    fn check(&self) -> Result<()> {
        let PackLimits { capacity, samples, window } = *self;
        let given = [("tokens", capacity), ("samples", samples), ("samples a window", window)];
        match given.into_iter().find(|(_, limit)| !(1..=MOST).contains(limit)) {
            Some((what, limit)) => Err(Error::usage(format!(
                "packs of {limit} {what} are impossible: give 1 to {MOST}"
            ))),
            None => Ok(()),
        }
    }
}

impl Lengths {
    /// `lengths` has the length of each sample, in the order of ordinals.
    ///
    /// # Errors
    /// A limit is 0 or too large; a sample is longer than the capacity; there is no memory for the numbers.
    pub fn new(limits: PackLimits, lengths: impl IntoIterator<Item = u64>) -> Result<Lengths> {
        limits.check()?;
        let PackLimits { capacity, samples, window } = limits;
        let mut numbers = SmallNumbers::up_to(capacity);
        for length in lengths {
            if length > capacity {
                let ordinal = numbers.count();
                let text =
                    format!("sample {ordinal} has {length} tokens, and a pack at most {capacity}");
                return Err(Error::usage(text));
            }
            numbers.push(length)?;
        }
        let head = [capacity, samples, window, numbers.count()];
        let hashed = head.iter().chain(numbers.words()).map(|number| number.to_le_bytes());
        let print = Fingerprint::of("tarflume packs", hashed);
        Ok(Lengths(Arc::new(Limited { limits, numbers, print })))
    }

    /// The number of samples.
    pub fn samples(&self) -> u64 {
        self.0.numbers.count()
    }

    /// The length of a sample.
    ///
    /// # Panics
    /// Panics if there is no such ordinal.
    #[inline]
    pub fn of(&self, ordinal: u64) -> u64 {
        self.0.numbers.get(ordinal)
    }

    /// The limits of a pack.
    pub fn limits(&self) -> PackLimits {
        self.0.limits
    }

    /// What identifies the length of each sample and the limits.
    pub fn fingerprint(&self) -> Fingerprint {
        self.0.print
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_packs_are_errors() {
        let limits = PackLimits { capacity: 10, samples: 4, window: 8 };
        assert!(Lengths::new(PackLimits { capacity: 0, ..limits }, []).is_err());
        assert!(Lengths::new(PackLimits { samples: 0, ..limits }, []).is_err());
        assert!(Lengths::new(PackLimits { window: MOST + 1, ..limits }, []).is_err());
        let error = Lengths::new(limits, [10, 11]).unwrap_err();
        assert!(error.text().contains("sample 1 has 11 tokens"), "{error}");
    }

    fn print(limits: PackLimits, lengths: [u64; 2]) -> Fingerprint {
        Lengths::new(limits, lengths).unwrap().fingerprint()
    }

    #[test]
    fn what_decides_packs_is_identified() {
        let limits = PackLimits { capacity: 10, samples: 4, window: 8 };
        let first = print(limits, [3, 4]);
        assert_eq!(first, print(limits, [3, 4]));
        assert_ne!(first, print(limits, [4, 3]));
        assert_ne!(first, print(PackLimits { window: 9, ..limits }, [3, 4]));
    }
}
