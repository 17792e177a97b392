//! `Subset`: samples of a data set by ordinal or by key, one bit each.
//!
//! Reads sidecars only. Does not decide the order of samples.

use tarflume_formats::name;
use tarflume_types::{Error, ErrorKind, Result};

use crate::dataset::Dataset;
use crate::dataset::selection::exclude::Exclude;
use crate::dataset::selection::key_set::KeySet;

/// Some samples of a data set: one bit of memory for each sample of the whole.
///
/// ```
/// use tarflume::Dataset;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let dataset = Dataset::open(shards)?;
/// let some = dataset.subset([3, 5, 3])?;
/// assert_eq!((some.len(), some.contains(5)), (2, true));
/// assert_eq!(dataset.subset_of_keys(["photo/003", "photo/005"])?, some);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subset {
    samples: u64,
    kept: u64,
    words: Vec<u64>,
}

impl Subset {
    /// No sample of a data set of `samples` samples.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`]: a bit for each sample does not fit in memory.
    pub fn none(samples: u64) -> Result<Subset> {
        let wanted = usize::try_from(samples.div_ceil(64)).unwrap_or(usize::MAX);
        let mut words = Vec::new();
        words.try_reserve_exact(wanted).map_err(|e| {
            let text = format!("a selection among {samples} samples does not fit in memory");
            Error::new(ErrorKind::Limit, text).with_source(e)
        })?;
        words.resize(wanted, 0);
        Ok(Subset { samples, kept: 0, words })
    }

    /// The subset whose bits are `bytes`, the lowest bit of the first byte first, as [`Subset::bytes`] returns them.
    ///
    /// # Errors
    /// The number of bytes is not that of `samples` samples, or a bit past the last sample is set.
    pub fn of_bytes(samples: u64, bytes: &[u8]) -> Result<Subset> {
        let mut subset = Subset::none(samples)?;
        let past = samples % 64;
        for (word, bytes) in subset.words.iter_mut().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(whole);
        }
        let last = subset.words.last().copied().unwrap_or(0);
        if bytes.len() != 8 * subset.words.len() || (past > 0 && last >> past != 0) {
            let text = format!("these bytes are no selection among {samples} samples");
            return Err(Error::new(ErrorKind::WrongFormat, text));
        }
        subset.kept = subset.words.iter().map(|word| u64::from(word.count_ones())).sum();
        Ok(subset)
    }

    /// One bit for each sample, in whole words of 64 bits.
    pub fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Adds a sample. Does nothing if it is a member.
    ///
    /// # Errors
    /// The data set has no such sample.
    pub fn insert(&mut self, ordinal: u64) -> Result<()> {
        if ordinal >= self.samples {
            return Err(Error::usage(format!(
                "ordinal {ordinal} can't be selected: the data set has {} samples, from 0; was the \
                 table made from another data set?",
                self.samples
            )));
        }
        let word = &mut self.words[(ordinal / 64) as usize];
        let bit = 1 << (ordinal % 64);
        self.kept += u64::from(*word & bit == 0);
        *word |= bit;
        Ok(())
    }

    /// Keeps the members that `other` has, too.
    #[doc(hidden)]
    pub fn retain(&mut self, other: &Subset) {
        for (number, word) in self.words.iter_mut().enumerate() {
            *word &= other.words.get(number).copied().unwrap_or(0);
        }
        self.kept = self.words.iter().map(|word| u64::from(word.count_ones())).sum();
    }

    /// True if the sample is a member.
    pub fn contains(&self, ordinal: u64) -> bool {
        let word = self.words.get((ordinal / 64) as usize);
        word.is_some_and(|word| word >> (ordinal % 64) & 1 == 1)
    }

    /// Number of members.
    pub fn len(&self) -> u64 {
        self.kept
    }

    /// True without members.
    pub fn is_empty(&self) -> bool {
        self.kept == 0
    }

    /// Number of samples of the whole data set.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The ordinals of the members, ascending.
    pub fn ordinals(&self) -> impl Iterator<Item = u64> + '_ {
        self.words.iter().enumerate().flat_map(|(number, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(number as u64 * 64 + u64::from(bit))
            })
        })
    }
}

impl Dataset {
    /// The samples with these ordinals, which may come in any order and more than once.
    ///
    /// # Errors
    /// The data set has no sample with one of them.
    pub fn subset(&self, ordinals: impl IntoIterator<Item = u64>) -> Result<Subset> {
        let mut subset = Subset::none(self.len())?;
        ordinals.into_iter().try_for_each(|ordinal| subset.insert(ordinal))?;
        Ok(subset)
    }

    /// The samples with these keys; see [`Dataset::subset_of`].
    ///
    /// # Errors
    /// As [`Dataset::subset_of`].
    pub fn subset_of_keys<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Subset> {
        let mut set = KeySet::default();
        keys.into_iter().try_for_each(|key| set.insert(key.as_ref()))?;
        self.subset_of(&set)
    }

    /// The samples whose key is in `keys`: all that have it, if several do. Reads sidecars only: a search for
    /// each of a few keys, otherwise every sidecar once.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`]: no sample has one of the keys; the text names the first. Returns an error if a
    /// sidecar cannot be opened or is damaged.
    pub fn subset_of(&self, keys: &KeySet) -> Result<Subset> {
        let searches = (keys.len() as u64).saturating_mul(self.shards().len() as u64);
        if searches.saturating_mul(40) <= self.len() {
            let list = Exclude::keys((0..keys.len()).map(|number| keys.key(number)));
            let found = self.exclude(&list)?;
            return match found.first_absent {
                Some(first) => Err(absent(found.absent, &first)),
                None => self.subset(found.ordinals),
            };
        }
        let mut subset = Subset::none(self.len())?;
        let mut found = vec![false; keys.len()];
        let mut finder = keys.finder();
        self.each(|facts| {
            if let Some(number) = finder.find(facts.key()) {
                found[number] = true;
                subset.insert(facts.ordinal())?;
            }
            Ok(())
        })?;
        let mut missing = (0..keys.len()).filter(|&number| !found[number]);
        match missing.next() {
            Some(first) => Err(absent(1 + missing.count() as u64, &name::shown(keys.key(first)))),
            None => Ok(subset),
        }
    }
}

fn absent(count: u64, first: &str) -> Error {
    Error::usage(format!(
        "{count} of the selected keys are not in the data set, the first is '{first}': the table belongs to \
         another one"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_the_ordinals_that_went_in_and_come_back_from_bytes() {
        let mut subset = Subset::none(130).unwrap();
        for ordinal in [129, 0, 64, 63, 64] {
            subset.insert(ordinal).unwrap();
        }
        assert_eq!(subset.ordinals().collect::<Vec<_>>(), [0, 63, 64, 129]);
        assert_eq!((subset.len(), subset.contains(1), subset.contains(64)), (4, false, true));
        assert!(!subset.contains(1 << 40));
        assert!(subset.insert(130).unwrap_err().to_string().contains("130 samples"));
        let bytes = subset.bytes();
        assert_eq!(Subset::of_bytes(130, &bytes).unwrap(), subset);
        for (samples, bytes) in [(129, &bytes[..]), (130, &bytes[..16]), (300, &bytes[..])] {
            assert_eq!(
                Subset::of_bytes(samples, bytes).unwrap_err().kind(),
                ErrorKind::WrongFormat
            );
        }
    }
}
