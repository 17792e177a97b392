//! Arguments that several commands share, and the values of their choices.

#[cfg(test)]
mod tests;

use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tarflume::Shuffle;
use tarflume_base::Choice;
use tarflume_base::check::CheckLevel;
use tarflume_formats::json::JsonRules;
use tarflume_packer::build::KeyBy;
use tarflume_shards::workdir::Policy;
use tarflume_verify::{Level, Profile};

use crate::cli::features::HelpPart::{Always, With, Without};
use crate::cli::features::{Feature, HelpPart};
use crate::cli::output::out;

/// The help of a data set that is read.
pub(in crate::cli) const DATA_SET: &[HelpPart] = &[
    Always("Folder of shards"),
    With(Feature::Remote, ", one tar, or the URL of a data set in a store"),
    Without(Feature::Remote, " or one tar"),
];

/// The help of `-o` of a data set that is written.
pub(in crate::cli) const OUT: &[HelpPart] = &[
    Always("Write the data set to this folder, created if missing"),
    With(Feature::Remote, ", or to a URL: s3://BUCKET/PREFIX, gs://, az://"),
];

/// The help of the place of a plan.
pub(in crate::cli) const PLAN: &[HelpPart] = &[
    Always("Folder"),
    With(Feature::Remote, " or URL"),
    Always(" of the plan (-o of `pack plan`)"),
];

/// The form of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// The values of `--shuffle`.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(in crate::cli) enum ShuffleChoice {
    None,
    Shards,
    Buffer,
    Blocks,
    Full,
}

/// The parameters of `--shuffle blocks`.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct BlockSizes {
    /// Samples of a block.
    pub(in crate::cli) block_size: u64,
    /// Blocks of a window.
    pub(in crate::cli) window: u64,
}

/// Samples of the buffer of `--shuffle buffer`, unless it is given.
pub(in crate::cli) const BUFFER: u64 = 1000;
/// The blocks of `--shuffle blocks`, unless they are given.
pub(in crate::cli) const BLOCKS: BlockSizes = BlockSizes { block_size: 64, window: 16 };

impl ShuffleChoice {
    /// Returns the shuffle with its parameters.
    pub(in crate::cli) fn with(self, seed: u64, size: u64, blocks: BlockSizes) -> Shuffle {
        let BlockSizes { block_size: block, window } = blocks;
        match self {
            ShuffleChoice::None => Shuffle::None,
            ShuffleChoice::Shards => Shuffle::Shards { seed },
            ShuffleChoice::Buffer => Shuffle::Buffer { size, seed },
            ShuffleChoice::Blocks => Shuffle::Blocks { block, window, seed },
            ShuffleChoice::Full => Shuffle::Full { seed },
        }
    }
}

/// Parses the milliseconds of a step.
pub(in crate::cli) fn milliseconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(ms) if (0.01..=60_000.0).contains(&ms) => Ok(Duration::from_secs_f64(ms / 1e3)),
        _ => Err("expected milliseconds from 0.01 to 60000, such as 30".into()),
    }
}

/// `--jobs`, the same for every command that has it.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(in crate::cli) struct Jobs {
    /// Use N threads [default: number of processors]
    #[arg(short, long, value_name = "N", value_parser = out::jobs)]
    jobs: Option<usize>,
}

impl Jobs {
    /// Returns the given number.
    pub(in crate::cli) fn given(self) -> Option<usize> {
        self.jobs
    }

    /// Returns the given number, or the number of processors.
    pub(in crate::cli) fn count(self) -> usize {
        self.jobs.unwrap_or_else(out::processors)
    }
}

/// Returns the value of a choice as text.
pub(in crate::cli) fn word_of(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map(|v| v.get_name().to_string()).unwrap_or_default()
}

/// A choice of the library with a help text for each value.
pub(in crate::cli) trait Described: Choice + Send + Sync {
    fn help(self) -> &'static str;

    /// Returns false if this program was built without what the choice needs: the help does not name it.
    fn is_built(self) -> bool {
        true
    }
}

/// Parses the value of a choice.
pub(in crate::cli) fn choice<T: Described>() -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(T::ALL.iter().map(possible))
        .try_map(|word| T::from_word(&word).ok_or("no such choice"))
}

fn possible<T: Described>(choice: &T) -> PossibleValue {
    PossibleValue::new(choice.word()).help(choice.help()).hide(!choice.is_built())
}

impl Described for JsonRules {
    fn help(self) -> &'static str {
        match self {
            JsonRules::Strict => "RFC 8259, without halves of surrogate pairs and repeated names",
            JsonRules::Python => {
                "Also NaN, Infinity, -Infinity, halves of surrogate pairs, as U+FFFD, and repeated names"
            }
        }
    }
}

impl Described for KeyBy {
    fn help(self) -> &'static str {
        match self {
            KeyBy::FirstDot => "The first dot after the last slash, as readers of shards do",
            KeyBy::LastDot => "The last dot: 22.05.jpg and 22.06.jpg are two samples",
        }
    }
}

impl Described for CheckLevel {
    fn help(self) -> &'static str {
        match self {
            CheckLevel::None => "Check names and sizes only",
            CheckLevel::Structure => {
                "Check JPEG markers, dimensions and end of image; decode other images; check JSON objects"
            }
            CheckLevel::Decode => {
                "As `structure`; also read every Huffman code of JPEGs and check parts of other kinds; refuse what cannot be decoded"
            }
        }
    }
}

impl Described for Policy {
    fn help(self) -> &'static str {
        match self {
            Policy::Fail => "Publish nothing",
            Policy::Skip => "Leave the sample out",
            Policy::Quarantine => {
                "Leave the sample out, and copy its files to OUT/quarantine with the reason"
            }
        }
    }
}

impl Described for Level {
    fn help(self) -> &'static str {
        match self {
            Level::Quick => "Check lengths, ends, sidecars and a few headers of each tar",
            Level::Full => {
                "Check every header, checksum and digest; keys and parts of the whole set"
            }
            Level::Decode => {
                "As `full`; also decode every image and JSON, read every Huffman code of JPEGs, and check parts of other kinds"
            }
        }
    }
}

impl Described for Profile {
    fn help(self) -> &'static str {
        match self {
            Profile::Webdataset => "webdataset 1.0",
            Profile::Dali => "DALI's webdataset reader",
            Profile::Energon => "Megatron Energon 7",
            Profile::Hf => "Hugging Face datasets 5",
            Profile::Ray => "Ray Data 2.60",
            Profile::Wids => "wids 0.1",
            Profile::Datago => "datago",
            Profile::Spdl => "the iter_tarfile of SPDL 0.8",
        }
    }
}
