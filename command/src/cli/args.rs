//! Arguments that several commands share, and the values of their choices.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tarflume_packer::verify::Level;
use tarflume_packer::workdir::Policy;
use tarflume_packer::{CheckLevel, Choice};

use super::out;

/// The form of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// `--jobs`, the same for every command that has it.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct Jobs {
    /// Use N threads [default: number of processors]
    #[arg(short, long, value_name = "N", value_parser = out::jobs)]
    jobs: Option<usize>,
}

impl Jobs {
    /// Returns the given number.
    pub(super) fn given(self) -> Option<usize> {
        self.jobs
    }

    /// Returns the given number, or the number of processors.
    pub(super) fn count(self) -> usize {
        self.jobs.unwrap_or_else(out::processors)
    }
}

/// Returns the value of a choice as text.
pub(super) fn word_of(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map(|v| v.get_name().to_string()).unwrap_or_default()
}

/// A choice of the library with a help text for each value.
pub(super) trait Described: Choice + Send + Sync {
    fn help(self) -> &'static str;
}

/// Parses the value of a choice.
pub(super) fn choice<T: Described>() -> impl TypedValueParser<Value = T> {
    let shown = |choice: &T| PossibleValue::new(choice.word()).help(choice.help());
    PossibleValuesParser::new(T::ALL.iter().map(shown))
        .try_map(|word| T::from_word(&word).ok_or("no such choice"))
}

impl Described for CheckLevel {
    fn help(self) -> &'static str {
        match self {
            CheckLevel::None => "Check names and sizes only",
            CheckLevel::Structure => {
                "Check JPEG markers, dimensions and end of image; headers of other images; JSON objects"
            }
            CheckLevel::Decode => {
                "As `structure`; also read every Huffman code of JPEGs and decode other images"
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
                "As `full`; also decode every image and JSON, and read every Huffman code of JPEGs"
            }
        }
    }
}
