//! Checks the keys of all shards of a set: those that are repeated, or differ only in case.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::PathBuf;

use tarflume_base::collide::{self, Clash, Keys, Pair};
use tarflume_base::{Problem, ProblemKind, Problems};
use tarflume_formats::index::Sample;
use tarflume_formats::{Index, Result};

/// The shards of a set with their rows. A sample's id is its ordinal in the set.
#[derive(Debug)]
pub struct Shards {
    shards: Vec<(PathBuf, Index)>,
    /// The first id of each shard, and the number of samples.
    starts: Vec<u64>,
}

impl Shards {
    /// Creates a set of these shards.
    pub fn new(shards: Vec<(PathBuf, Index)>) -> Shards {
        let mut starts = vec![0];
        let mut start = 0;
        for (_, index) in &shards {
            start += index.samples();
            starts.push(start);
        }
        Shards { shards, starts }
    }

    /// Returns the sidecars, in the order of the shards.
    pub fn indexes(&self) -> impl Iterator<Item = &Index> {
        self.shards.iter().map(|(_, index)| index)
    }

    /// Counts the parts of all samples by extension.
    ///
    /// # Errors
    /// Returns an error if a sidecar could not be read.
    pub fn extensions(&self) -> Result<BTreeMap<String, u64>> {
        let mut all = BTreeMap::new();
        for (_, index) in &self.shards {
            for (ext, count) in crate::index::shard::ext_counts(index)? {
                *all.entry(ext).or_default() += count;
            }
        }
        Ok(all)
    }

    /// Returns shard and row of an id.
    fn place(&self, id: u64) -> (usize, u64) {
        let shard = self.starts.partition_point(|&start| start <= id).saturating_sub(1);
        (shard, id - self.starts[shard])
    }

    /// Returns the path of a shard, as text.
    pub fn path(&self, shard: usize) -> String {
        self.shards[shard].0.display().to_string()
    }

    fn sample(&self, id: u64) -> Result<Option<Sample<'_>>> {
        let (shard, row) = self.place(id);
        self.shards[shard].1.sample(row)
    }
}

impl Keys for Shards {
    fn count(&self) -> u64 {
        self.starts.last().copied().unwrap_or_default()
    }

    fn for_each(&self, visit: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>) -> Result<()> {
        for ((_, index), start) in self.shards.iter().zip(&self.starts) {
            for row in 0..index.samples() {
                if visit(start + row, index.key(row)?).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn key(&self, id: u64) -> Result<Vec<u8>> {
        let (shard, row) = self.place(id);
        self.shards[shard].1.key(row).map(<[u8]>::to_vec)
    }
}

/// Adds the keys that clash.
///
/// # Errors
/// Returns an error if a sidecar could not be read.
pub fn clashes(shards: &Shards, problems: &mut Problems) -> Result<()> {
    let found = collide::find(shards)?;
    let mut firsts = Firsts::default();
    for pair in &found.pairs {
        if let Some(problem) = clash(shards, *pair, &mut firsts)? {
            problems.push(problem);
        }
    }
    problems.unlisted += u64::from(!found.complete);
    Ok(())
}

/// The extensions of samples whose keys clash with later ones, by id: collected once for each.
type Firsts<'a> = HashMap<u64, HashSet<&'a [u8]>>;

fn clash<'a>(shards: &'a Shards, pair: Pair, firsts: &mut Firsts<'a>) -> Result<Option<Problem>> {
    let Some(first) = shards.sample(pair.first)? else { return Ok(None) };
    let Some(later) = shards.sample(pair.later)? else { return Ok(None) };
    let (first_shard, _) = shards.place(pair.first);
    let (shard, _) = shards.place(pair.later);
    let place = if first_shard == shard {
        format!("at byte {}", first.first)
    } else {
        format!("in {} at byte {}", shards.path(first_shard), first.first)
    };
    let split = first_shard == shard && is_split(pair.first, &first, &later, firsts)?;
    let (kind, text) = match pair.clash {
        Clash::Same if split => (
            ProblemKind::SplitSample,
            format!(
                "other parts of this sample are {place}; readers take them as two samples; pack the samples again, \
                 which puts their parts together"
            ),
        ),
        Clash::Same => (ProblemKind::RepeatedKey, format!("a sample with the same key is {place}")),
        Clash::CaseOnly => (
            ProblemKind::CaseCollision,
            format!(
                "the key differs only in case from key {}, which is {place}",
                first.shown_key()
            ),
        ),
    };
    let problem = Problem::new(kind, shards.path(shard), text);
    Ok(Some(problem.at(later.first).of(later.shown_key())))
}

/// Returns true if two samples of one key have no part in common; `id` is that of the first.
fn is_split<'a>(
    id: u64,
    first: &Sample<'a>,
    later: &Sample<'a>,
    firsts: &mut Firsts<'a>,
) -> Result<bool> {
    let have = match firsts.entry(id) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => new.insert(exts_of(first)?),
    };
    for part in later.parts() {
        if have.contains(part?.ext) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn exts_of<'a>(sample: &Sample<'a>) -> Result<HashSet<&'a [u8]>> {
    sample.parts().map(|part| part.map(|part| part.ext)).collect()
}
