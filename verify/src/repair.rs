//! Replaces what is damaged in a data set by the bytes of copies and of the packed files, until each digest is that of
//! the manifest again.
//!
//! A file that is changed is written beside the old one, and takes its name when its digest is right. So a repair that
//! is killed leaves what was there, and one that finds too little changes nothing. `manifest` restores `dataset.json`,
//! `shard` decides about one tar and its sidecar, `mend` makes a tar from its own bytes and replaced parts, `copies` finds
//! parts and whole files.

mod copies;
mod manifest;
mod mend;
mod report;
mod shard;

use std::path::{Path, PathBuf};

use tarflume_base::{Failure, Problem, Stop};
use tarflume_formats::manifest::ShardEntry;
use tarflume_shards::index::in_parallel;

use self::copies::Copies;

/// The options of a repair.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where whole bytes are: copies of the data set, folders or URLs, also in other shards; and the folders that were
    /// packed.
    pub from: Vec<PathBuf>,
    /// The root digest of the data set, for a `dataset.json` that is damaged or missing.
    pub root: Option<String>,
    /// Finds out what can be repaired, and writes nothing.
    pub dry_run: bool,
    /// Number of shards repaired at the same time.
    pub jobs: usize,
    /// Ends the repair early.
    pub stop: Stop,
    /// How stores of URLs are reached: names and values of options. The environment has the others.
    pub storage: Vec<(String, String)>,
}

/// What a repair did.
#[derive(Debug, Default)]
pub struct Repaired {
    /// Shards of the data set.
    pub shards: u64,
    /// Shards in which nothing was wrong.
    pub sound: u64,
    /// The files that were replaced, in the order of the manifest.
    pub files: Vec<RepairedFile>,
    /// What was damaged and is not repaired.
    pub problems: Vec<Problem>,
}

/// A file that was replaced. Its bytes are those of the manifest again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairedFile {
    /// The file.
    pub path: PathBuf,
    /// What was replaced in it.
    pub what: Replaced,
    /// Bytes that were taken from elsewhere.
    pub bytes: u64,
    /// Where they are from.
    pub from: Vec<PathBuf>,
}

/// What was replaced in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// The whole file.
    Whole,
    /// Some parts of a tar; its headers, if there are none.
    Parts {
        /// Samples with a replaced part.
        samples: u64,
        /// Replaced parts.
        parts: u64,
        /// True if headers, or bytes between members, were written again.
        headers: bool,
    },
}

/// Repairs the data set in `folder`. `on_bytes` gets the number of bytes that were read since its last call.
///
/// # Errors
/// Returns an error if there is no data set, if its manifest is damaged and no root digest is given or no copy has it, if
/// a copy cannot be opened, if the machine failed, and after an interruption. What cannot be repaired is no error: the
/// result lists it.
pub fn repair(
    folder: &Path,
    options: &Options,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<Repaired, Failure> {
    let mut repaired = Repaired::default();
    let copies = Copies::open(&options.from, &options.storage)?;
    let restored = manifest::restored(folder, &copies, options)?;
    repaired.files.extend(restored.file);
    repaired.shards = restored.manifest.shards.len() as u64;
    let work = shard::Work { folder, copies: &copies, options, on_bytes };
    let entries: Vec<&ShardEntry> = restored.manifest.shards.iter().collect();
    let found = in_parallel(options.jobs, entries, |entry| work.repair(entry))?;
    for shard in found {
        let shard = shard?;
        let is_sound = shard.files.is_empty() && shard.problems.is_empty();
        repaired.sound += u64::from(is_sound);
        repaired.files.extend(shard.files);
        repaired.problems.extend(shard.problems);
    }
    if options.stop.requested() { Err(Failure::interrupted()) } else { Ok(repaired) }
}

#[cfg(test)]
mod tests;
