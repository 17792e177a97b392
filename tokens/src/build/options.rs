//! `Request`: what a build needs to know.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tarflume_base::compress::Compress;
use tarflume_base::{Failure, Stop};
use tarflume_formats::Durability;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_packer::build::SHARD_SIZE;

use super::lengths::Lengths;
use crate::condition::Condition;
use crate::encoding::encoder::Encode;
use crate::packing::{Packer, Packing};
use crate::sample::Width;
use crate::source::Sources;

/// Bytes of text in a unit. A thread holds one unit, and 4 bytes for each of its ids.
pub const UNIT: u64 = 2 << 20;
/// Limit on the length of a sample.
const LONGEST: usize = 1 << 24;
/// Limit on the bytes of a unit.
const LARGEST_UNIT: u64 = 1 << 30;

/// Where ids come from.
#[derive(Clone)]
pub enum Input {
    /// Text, and what tokenizes it.
    Text(Sources, Arc<dyn Encode>),
    /// Data sets of Megatron-LM, by their prefixes.
    Megatron(Vec<PathBuf>),
}

impl Input {
    /// Returns the prefixes of Megatron files if one of the sources has the form `megatron:PREFIX`;
    /// other sources are then taken as prefixes, too.
    pub fn megatron(sources: &[PathBuf]) -> Option<Vec<PathBuf>> {
        let any = sources.iter().any(|path| megatron_prefix(path).is_some());
        any.then(|| {
            sources
                .iter()
                .map(|path| megatron_prefix(path).unwrap_or_else(|| path.clone()))
                .collect()
        })
    }
}

fn megatron_prefix(path: &Path) -> Option<PathBuf> {
    Some(PathBuf::from(path.to_str()?.strip_prefix("megatron:")?))
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Input::Text(sources, _) => write!(f, "Text({:?})", sources.all()),
            Input::Megatron(prefixes) => write!(f, "Megatron({prefixes:?})"),
        }
    }
}

/// A special token, such as the end of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Special {
    /// By its id.
    Id(u32),
    /// By its text.
    Text(String),
}

impl Special {
    /// Reads a whole number as an id and all else as a token's text.
    pub fn parse(text: &str) -> Special {
        text.parse().map_or_else(|_| Special::Text(text.into()), Special::Id)
    }
}

/// What is built.
#[derive(Debug, Clone)]
pub struct Request {
    /// The folder of the data set.
    pub out: PathBuf,
    /// Where ids come from.
    pub input: Input,
    /// Ids of a sample; no setting of [`Packing::Rows`], where it is 0.
    pub length: usize,
    /// How documents fill samples.
    pub packing: Packing,
    /// The most and the fewest ids of a document.
    pub lengths: Lengths,
    /// Documents of the window of best fit.
    pub window: usize,
    /// The token behind each document; none by default. A document that ends with it gets no second one.
    pub eos: Option<Special>,
    /// The token that fills up samples; by default that behind documents, or 0.
    pub pad: Option<Special>,
    /// The number of ids of the model; by default that of the tokenizer.
    pub vocabulary: Option<u64>,
    /// The type of ids; by default the narrowest for the vocabulary.
    pub width: Option<Width>,
    /// Which documents are packed.
    pub condition: Option<Condition>,
    /// The folder of cached ids; by default `OUT/.tokens/cache`.
    pub cache: Option<PathBuf>,
    /// How many documents that cannot be read are left out, before one ends the build.
    pub bad_budget: u64,
    /// Bytes of text in a unit.
    pub unit: u64,
    /// Limit on a shard's bytes.
    pub shard_size: u64,
    /// Limit on a shard's samples.
    pub shard_samples: Option<u64>,
    /// Shards are named PREFIX-000000.tar.
    pub prefix: String,
    /// How shards are compressed, if they are.
    pub compress: Option<Compress>,
    /// Whether shards survive a power failure.
    pub durability: Durability,
    /// Discards an unfinished data set of another command in the output folder.
    pub fresh: bool,
    /// Threads that tokenize.
    pub jobs: usize,
    /// Ends the build early.
    pub stop: Stop,
}

impl Request {
    /// Creates a request with the usual settings.
    pub fn new(input: Input, out: PathBuf, length: usize) -> Request {
        Request {
            out,
            input,
            length,
            packing: if length == 0 { Packing::Rows } else { Packing::BestFit },
            lengths: Lengths::default(),
            window: Packer::WINDOW,
            eos: None,
            pad: None,
            vocabulary: None,
            width: None,
            condition: None,
            cache: None,
            bad_budget: 0,
            unit: UNIT,
            shard_size: SHARD_SIZE,
            shard_samples: None,
            prefix: "shard".into(),
            compress: None,
            durability: Durability::Synced,
            fresh: false,
            jobs: 1,
            stop: Stop::new(),
        }
    }

    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.packing == Packing::Rows && self.length > 0 {
            return Err(Failure::usage(message!(
                "{pack} makes a sample of each document, with its length; give {max_length} in place of {length}";
                pack = Name::Pack.is("rows"),
                max_length = Name::MaxLength.is(self.length as u64),
                length = Name::Length
            )));
        }
        self.lengths.check(LONGEST as u64)?;
        let length = if self.packing == Packing::Rows { LONGEST } else { self.length };
        for (what, value, most) in [
            (Name::Length, length as u64, LONGEST as u64),
            (Name::Window, self.window as u64, 1 << 24),
            (Name::Unit, self.unit, LARGEST_UNIT),
        ] {
            if !(1..=most).contains(&value) {
                return Err(Failure::usage(message!(
                    "{setting}: expected a number from 1 to {most}";
                    setting = what.is(value)
                )));
            }
        }
        Ok(())
    }

    /// Returns whether ids have marks of those without loss.
    pub(super) fn has_marks(&self) -> bool {
        matches!(&self.input, Input::Text(_, encoder) if encoder.marks_prompts())
    }

    /// Returns the folder beside the shards that belongs to this command.
    pub(super) fn folder(&self) -> PathBuf {
        self.out.join(".tokens")
    }

    /// Returns the folder of cached ids.
    pub(super) fn cache(&self) -> PathBuf {
        self.cache.clone().unwrap_or_else(|| self.folder().join("cache"))
    }
}
