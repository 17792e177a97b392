//! What several commands share in their arguments.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tarflume_packer::CheckLevel;
use tarflume_packer::Choice;
use tarflume_packer::verify::Level;
use tarflume_packer::workdir::Policy;

/// How results are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// The word by which a choice is said on the command line.
pub(super) fn word_of(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map(|v| v.get_name().to_string()).unwrap_or_default()
}

/// A choice of the library, with a line of help for each value.
pub(super) trait Described: Choice + Send + Sync {
    fn help(self) -> &'static str;
}

/// Reads the word of a choice.
pub(super) fn choice<T: Described>() -> impl TypedValueParser<Value = T> {
    let shown = |choice: &T| PossibleValue::new(choice.word()).help(choice.help());
    PossibleValuesParser::new(T::ALL.iter().map(shown))
        .try_map(|word| T::from_word(&word).ok_or("no such choice"))
}

impl Described for CheckLevel {
    fn help(self) -> &'static str {
        match self {
            CheckLevel::None => "Names and sizes only",
            CheckLevel::Structure => {
                "JPEG markers, dimensions and end of image; headers of other images; JSON objects"
            }
            CheckLevel::Decode => {
                "As `structure`, and every Huffman code of sequential JPEGs read, every other image decoded"
            }
        }
    }
}

impl Described for Policy {
    fn help(self) -> &'static str {
        match self {
            Policy::Fail => "Nothing is published",
            Policy::Skip => "The sample is left out",
            Policy::Quarantine => {
                "The sample is left out, and its files are copied aside with the reason"
            }
        }
    }
}

impl Described for Level {
    fn help(self) -> &'static str {
        match self {
            Level::Quick => "Lengths, ends, sidecars; a few headers of each tar",
            Level::Full => {
                "Every header, every checksum, every digest; keys and parts of the whole set"
            }
            Level::Decode => {
                "As full, and every image and JSON decoded; of sequential JPEGs, every Huffman code read"
            }
        }
    }
}
