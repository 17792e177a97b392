//! `Packing`: how many samples of different lengths fill a pack.

use tarflume_dataset::Dataset;
use tarflume_formats::message;
use tarflume_formats::message::Phrase;
use tarflume_types::{Error, ErrorKind, Result};

use crate::loader::config::weights::Numbers;
use crate::order::{Lengths, Order, PackLimits};

/// Samples of different lengths, put into packs of at most so many tokens. A batch is a number of packs.
///
/// The samples of a window of the order are packed longest first, each into the pack with the least room that is enough. The
/// packs are a function of data set, seed, epoch and these limits: they are known before anything is read, and a state goes on
/// with any number of ranks. Columns of [`Tokens`](crate::Tokens) have the samples of a pack one after the other, as
/// `[packs, tokens]`; other columns have a row for each sample, whose pack is [`RowFacts::pack`](crate::RowFacts::pack).
///
/// ```
/// use tarflume::{Loader, Packing};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let lengths: Vec<i64> = (1..=16).collect(); // or "/tokens", a field of the JSON of each sample
/// let loader = Loader::builder(shards).text("txt").packs(Packing::new(lengths, 17)).batch(4).build()?;
/// assert_eq!(loader.steps()?, 2); // 136 tokens in 8 packs
/// let batch = loader.epoch(0).next().unwrap()?;
/// assert_eq!(batch.packs(), Some(4));
/// assert_eq!(batch.rows().map(|row| row.pack).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2, 3, 3]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Packing {
    lengths: Numbers,
    max_tokens: u64,
    max_samples: Option<u64>,
    window: u64,
    pub(crate) too_long: TooLong,
}

/// What becomes of a sample that is longer than a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TooLong {
    /// An error that names it.
    #[default]
    Error,
    /// It is left out of all epochs.
    Skip,
    /// It is cut to the length of a pack.
    Cut,
}

tarflume_order::words!(TooLong, "samples that are too long", { Error => "error", Skip => "skip", Cut => "cut" });

/// Samples of a window by default.
const WINDOW: u64 = 4096;
/// The most samples of a pack by default: so many times as many as there are on average, and at least this number.
const TIMES: u64 = 16;
const LEAST: u64 = 32;

/// The lengths of the samples of a data set, before its order is known.
#[derive(Debug)]
pub(crate) struct FoundLengths {
    lengths: Vec<u64>,
    /// Samples that are longer than a pack, in ascending order.
    pub(crate) long: Vec<u64>,
}

impl Packing {
    /// Packs of at most `max_tokens` tokens. `lengths` is the length of each sample, such as `"/tokens"`.
    pub fn new(lengths: impl Into<Numbers>, max_tokens: u64) -> Packing {
        let lengths = lengths.into();
        Packing { lengths, max_tokens, max_samples: None, window: WINDOW, too_long: TooLong::Error }
    }

    /// Sets how many samples of the order are packed among each other; 4,096 by default. A larger window fills packs better,
    /// and mixes samples that were further apart.
    #[must_use]
    pub fn window(mut self, samples: u64) -> Packing {
        self.window = samples;
        self
    }

    /// Sets the most samples of a pack. By default sixteen times as many as a pack has on average, and at least 32. Columns that
    /// have a row for each sample take memory for so many.
    #[must_use]
    pub fn max_samples(mut self, samples: u64) -> Packing {
        self.max_samples = Some(samples);
        self
    }

    /// Sets what becomes of a sample that is longer than a pack.
    #[must_use]
    pub fn too_long(mut self, too_long: TooLong) -> Packing {
        self.too_long = too_long;
        self
    }

    /// The tokens of a pack.
    pub(crate) fn width(&self) -> usize {
        usize::try_from(self.max_tokens).unwrap_or(usize::MAX)
    }

    /// Reads the lengths.
    ///
    /// # Errors
    /// Those of reading; a number for each sample is not there, or one is negative.
    pub(crate) fn find(&self, dataset: &Dataset) -> Result<FoundLengths> {
        let numbers = self.lengths.of(dataset)?;
        let samples = dataset.len();
        if numbers.len() as u64 != samples {
            let count = numbers.len();
            let text =
                format!("{count} lengths for a data set of {samples} samples: give one for each");
            return Err(Error::usage(text));
        }
        let mut found =
            FoundLengths { lengths: Vec::with_capacity(numbers.len()), long: Vec::new() };
        for (ordinal, &number) in numbers.iter().enumerate() {
            let Ok(length) = u64::try_from(number) else {
                let key = key_of(dataset, ordinal as u64)?;
                let text = format!("its length is {number}, and lengths are 0 or more");
                return Err(Error::new(ErrorKind::Decode, text).with_key(key));
            };
            if length > self.max_tokens {
                found.long.push(ordinal as u64);
            }
            found.lengths.push(length.min(self.max_tokens));
        }
        Ok(found)
    }

    /// The lengths with the limits of packs.
    ///
    /// # Errors
    /// A sample of the order is too long, and that is an error; limits that are impossible.
    pub(crate) fn resolve(
        &self,
        found: &FoundLengths,
        dataset: &Dataset,
        order: &Order,
    ) -> Result<Lengths> {
        let long = found.long.iter().filter(|&&ordinal| order.takes(ordinal));
        if self.too_long == TooLong::Error
            && let Some(&ordinal) = long.clone().next()
        {
            let count = long.count();
            let most = self.max_tokens;
            let key = key_of(dataset, ordinal)?;
            let text = message!(
                "it and {others} others are longer than the {most} tokens of a pack: give a larger pack, or {leave}";
                others = (count - 1).to_string(),
                most = most.to_string(),
                leave = Phrase::LeaveOrCutLong
            );
            return Err(Error::new(ErrorKind::Decode, text).with_key(key));
        }
        let limits = PackLimits {
            capacity: self.max_tokens,
            samples: self.max_samples.unwrap_or_else(|| self.usual(found, order)),
            window: self.window,
        };
        Ok(Lengths::new(limits, found.lengths.iter().copied())?)
    }

    /// The most samples of a pack, if none was given.
    fn usual(&self, found: &FoundLengths, order: &Order) -> u64 {
        let lengths = (0_u64..).zip(&found.lengths);
        let taken = lengths.filter(|(ordinal, _)| order.takes(*ordinal)).map(|(_, length)| *length);
        let count = taken.clone().count() as u64;
        let tokens = taken.sum::<u64>();
        let on_average = self.max_tokens.saturating_mul(count).div_ceil(tokens.max(1));
        on_average.saturating_mul(TIMES).clamp(LEAST, self.window.max(LEAST))
    }
}

fn key_of(dataset: &Dataset, ordinal: u64) -> Result<String> {
    Ok(tarflume_formats::name::shown(&dataset.key(ordinal)?).to_string())
}
