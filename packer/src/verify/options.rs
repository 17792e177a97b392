//! The options of a verification. No behavior.

use serde::Serialize;

use crate::choice::Choice;
use crate::stop::Stop;

/// The thoroughness of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Lengths, ends, sidecars; a few headers of each tar.
    Quick,
    /// Every header, every checksum, every digest; keys and parts of the whole set.
    Full,
    /// As full, and every image and JSON decoded; of JPEGs, every Huffman code read.
    Decode,
}

impl Choice for Level {
    const ALL: &'static [Level] = &[Level::Quick, Level::Full, Level::Decode];

    fn word(self) -> &'static str {
        match self {
            Level::Quick => "quick",
            Level::Full => "full",
            Level::Decode => "decode",
        }
    }
}

/// What is verified, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// The thoroughness.
    pub level: Level,
    /// Extensions that each sample must have (`image` stands for any image); `None` asks for those
    /// that nearly all samples have.
    pub require: Option<Vec<String>>,
    /// Shards worked on at the same time.
    pub jobs: usize,
    /// Ends the verification early.
    pub stop: Stop,
}
