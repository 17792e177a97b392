//! The ways to shuffle, as a user names them.
//!
//! Words and their limits only; `pass` gives them meaning.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Advice, Error, Result};

/// Samples of a buffer whose text names no number, as the Python package has it.
const BUFFER: u64 = 10_000;
/// Samples of a block and blocks of a window whose text names no number.
const BLOCK: u64 = 256;
const WINDOW: u64 = 64;

/// How the samples of a data set are mixed in each pass. docs/MIXING.md measures how well each mixes
/// and what it costs.
///
/// The text of a shuffle is that of states and logs: `none`, `shards, seed 7`, `buffer of 1000, seed 7`,
/// `blocks of 256, window of 64, seed 7`, `full, seed 7`. What a text leaves out has the default of the Python
/// package: seed 0, a buffer of 10,000 samples, blocks of 256 samples in windows of 64. Serde has the fields.
///
/// ```
/// use tarflume_order::Shuffle;
///
/// Shuffle::Blocks { block: 64, window: 256, seed: 42 }.check()?;
/// assert_eq!("full, seed 42".parse::<Shuffle>()?, Shuffle::Full { seed: 42 });
/// assert!(Shuffle::Buffer { size: 0, seed: 42 }.check().is_err());
/// # Ok::<(), tarflume_order::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Shuffle {
    /// The order of the shards, the same in each pass.
    #[default]
    None,
    /// Shards in random order, each read from its first sample to its last.
    Shards {
        /// Another seed, another order.
        seed: u64,
    },
    /// Shards in random order, and a reservoir of `size` samples between reading and delivery, as
    /// WebDataset has it: each step delivers a random one and puts the next sample in its place.
    Buffer {
        /// Samples in the reservoir, up to [`Shuffle::MAX_BUFFER`].
        size: u64,
        /// Another seed, another order.
        seed: u64,
    },
    /// Runs of `block` neighbors in random order; the samples of each `window` successive runs are
    /// then shuffled exactly among themselves.
    Blocks {
        /// Samples in a run, which are read at once.
        block: u64,
        /// Runs that are shuffled together.
        window: u64,
        /// Another seed, another order.
        seed: u64,
    },
    /// All samples, shuffled exactly.
    Full {
        /// Another seed, another order.
        seed: u64,
    },
}

impl Shuffle {
    /// The largest reservoir: a start in the middle of an epoch must replay its filling.
    pub const MAX_BUFFER: u64 = 2 << 20;

    /// The seed; 0 for [`Shuffle::None`].
    pub fn seed(&self) -> u64 {
        match *self {
            Shuffle::None => 0,
            Shuffle::Shards { seed }
            | Shuffle::Buffer { seed, .. }
            | Shuffle::Blocks { seed, .. }
            | Shuffle::Full { seed } => seed,
        }
    }

    /// The same with the seed that `change` makes of its seed.
    pub(super) fn with_seed(self, change: impl Fn(u64) -> u64) -> Shuffle {
        match self {
            Shuffle::None => self,
            Shuffle::Shards { seed } => Shuffle::Shards { seed: change(seed) },
            Shuffle::Buffer { size, seed } => Shuffle::Buffer { size, seed: change(seed) },
            Shuffle::Blocks { block, window, seed } => {
                Shuffle::Blocks { block, window, seed: change(seed) }
            }
            Shuffle::Full { seed } => Shuffle::Full { seed: change(seed) },
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Usage`]: a number is zero or too large; the text names what is possible.
    pub fn check(&self) -> Result<()> {
        match *self {
            Shuffle::None | Shuffle::Shards { .. } | Shuffle::Full { .. } => Ok(()),
            Shuffle::Buffer { size, .. } => check_buffer(size),
            Shuffle::Blocks { block, window, .. } => check_blocks(block, window),
        }
    }
}

impl fmt::Display for Shuffle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shuffle::None => f.write_str("none"),
            Shuffle::Shards { seed } => write!(f, "shards, seed {seed}"),
            Shuffle::Buffer { size, seed } => write!(f, "buffer of {size}, seed {seed}"),
            Shuffle::Blocks { block, window, seed } => {
                write!(f, "blocks of {block}, window of {window}, seed {seed}")
            }
            Shuffle::Full { seed } => write!(f, "full, seed {seed}"),
        }
    }
}

impl FromStr for Shuffle {
    type Err = Error;

    /// # Errors
    /// The text has another form, or [`Shuffle::check`] refuses its numbers.
    fn from_str(text: &str) -> Result<Shuffle> {
        let shuffle = ShuffleText::of(text).and_then(ShuffleText::shuffle).ok_or_else(|| {
            Error::usage(format!(
                "'{text}' is no shuffle; write 'none', 'shards', 'buffer of 10000', 'blocks of 256, window of 64' or \
                 'full', each but 'none' with ', seed 42' for another seed than 0"
            ))
        })?;
        shuffle.check()?;
        Ok(shuffle)
    }
}

/// The parts of a shuffle's text.
#[derive(Default)]
struct ShuffleText<'a> {
    kind: &'a str,
    size: Option<u64>,
    window: Option<u64>,
    seed: Option<u64>,
}

impl ShuffleText<'_> {
    fn of(text: &str) -> Option<ShuffleText<'_>> {
        let mut parts = text.split(", ");
        let first = parts.next()?;
        let mut found = match first.split_once(" of ") {
            Some((kind, size)) => {
                ShuffleText { kind, size: Some(digits(size)?), ..ShuffleText::default() }
            }
            None => ShuffleText { kind: first, ..ShuffleText::default() },
        };
        for part in parts {
            let repeated = match part.strip_prefix("seed ") {
                Some(seed) => found.seed.replace(digits(seed)?),
                None => found.window.replace(digits(part.strip_prefix("window of ")?)?),
            };
            if repeated.is_some() {
                return None;
            }
        }
        Some(found)
    }

    /// The shuffle; `None` if it has no such numbers.
    fn shuffle(self) -> Option<Shuffle> {
        let seed = self.seed.unwrap_or(0);
        match (self.kind, self.size, self.window) {
            ("none", None, None) => self.seed.is_none().then_some(Shuffle::None),
            ("shards", None, None) => Some(Shuffle::Shards { seed }),
            ("buffer", size, None) => Some(Shuffle::Buffer { size: size.unwrap_or(BUFFER), seed }),
            ("blocks", block, window) => Some(Shuffle::Blocks {
                block: block.unwrap_or(BLOCK),
                window: window.unwrap_or(WINDOW),
                seed,
            }),
            ("full", None, None) => Some(Shuffle::Full { seed }),
            _ => None,
        }
    }
}

/// Parses a number of decimal digits alone.
pub(super) fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn check_buffer(size: u64) -> Result<()> {
    let max = Shuffle::MAX_BUFFER;
    match size {
        0 => Err(Error::usage("a shuffle buffer of 0 samples: ask for 1000 or more, or for ")
            .advise(Advice::ShardShuffle)),
        _ if size > max => {
            let text =
                format!("a shuffle buffer of {size} samples is above the limit of {max}: ask for ");
            let error = Error::usage(text).advise(Advice::FullShuffle).and(", or for ");
            let error = error.advise(Advice::BlockShuffle);
            Err(error.and(" where reads must stay near each other"))
        }
        _ => Ok(()),
    }
}

fn check_blocks(block: u64, window: u64) -> Result<()> {
    if block == 0 || window == 0 {
        let text = format!(
            "blocks of {block} samples, {window} in a window: both must be 1 or more, as in "
        );
        return Err(Error::usage(text).advise(Advice::UsualBlocks));
    }
    match block.checked_mul(window) {
        Some(samples) if samples <= 1 << 62 => Ok(()),
        _ => {
            let text = format!(
                "a window of {window} blocks of {block} samples holds more than 2^62: ask for "
            );
            Err(Error::usage(text).advise(Advice::FullShuffle))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn words_of_a_saved_shuffle() {
        let all = [
            (Shuffle::None, r#"{"kind":"none"}"#),
            (Shuffle::Shards { seed: 1 }, r#"{"kind":"shards","seed":1}"#),
            (Shuffle::Buffer { size: 9, seed: 1 }, r#"{"kind":"buffer","size":9,"seed":1}"#),
            (
                Shuffle::Blocks { block: 64, window: 16, seed: u64::MAX },
                r#"{"kind":"blocks","block":64,"window":16,"seed":18446744073709551615}"#,
            ),
            (Shuffle::Full { seed: 42 }, r#"{"kind":"full","seed":42}"#),
        ];
        for (shuffle, text) in all {
            assert_eq!(serde_json::to_string(&shuffle).unwrap(), text);
            assert_eq!(serde_json::from_str::<Shuffle>(text).unwrap(), shuffle);
            shuffle.check().unwrap();
        }
        assert!(serde_json::from_str::<Shuffle>(r#"{"kind":"full","seed":4,"size":1}"#).is_err());
        assert!(serde_json::from_str::<Shuffle>(r#"{"kind":"full"}"#).is_err());
    }

    #[test]
    fn impossible_shuffles_name_the_remedy() {
        let refused = [
            (Shuffle::Buffer { size: 0, seed: 1 }, "Shuffle::Shards"),
            (Shuffle::Buffer { size: Shuffle::MAX_BUFFER + 1, seed: 1 }, "Shuffle::Full"),
            (Shuffle::Blocks { block: 0, window: 4, seed: 1 }, "1 or more"),
            (Shuffle::Blocks { block: 4, window: 0, seed: 1 }, "1 or more"),
            (Shuffle::Blocks { block: 1 << 40, window: 1 << 40, seed: 1 }, "Shuffle::Full"),
        ];
        for (shuffle, remedy) in refused {
            let error = shuffle.check().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage);
            assert!(error.to_string().contains(remedy), "{error}");
        }
    }
}
