//! Samples that exclude each other in a data set: repeated keys, keys that differ only in case,
//! and, with `--dedupe`, identical images.
//!
//! The first one in the order of names stays.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::PathBuf;

use rayon::prelude::*;
use tarflume_formats::plan::PlannedExt;
use tarflume_formats::{Result, files, name};

use crate::check::Content;
use crate::collide::{self, Clash, Keys};
use crate::problem::{Problem, ProblemKind};
use crate::scan::Scan;
use crate::scan::exclude_list::Listed;
use crate::scan::list::{FoundSample, SampleList, Spot};
use crate::scan::options::ScanProblem;
use crate::scan::rules::{Action, MAX_NAME, NameRules, Rule, distinguished};
use crate::source::{part_path, shown_path};

/// The decisions about duplicates.
#[derive(Debug, Default)]
pub(crate) struct Decided {
    /// Samples that are left out.
    pub dropped: HashSet<Spot>,
    /// Samples that get another key.
    pub renamed: HashMap<Spot, Vec<u8>>,
    /// Number of files left out because the exclude list has the key that their sample was renamed
    /// to.
    pub skipped: u64,
    /// The problems found.
    pub problems: Vec<ScanProblem>,
}

impl Keys for SampleList {
    fn count(&self) -> u64 {
        self.len()
    }

    fn for_each(&self, visit: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>) -> Result<()> {
        self.visit(|spot, sample| visit(spot.id(), &sample.key).is_continue());
        Ok(())
    }

    fn key(&self, id: u64) -> Result<Vec<u8>> {
        let mut sample = FoundSample::default();
        self.read(Spot::from_id(id), &mut sample);
        Ok(sample.key)
    }
}

/// Decides about repeated keys and keys that differ only in case.
///
/// # Errors
/// Returns an error if a key cannot be read; the keys of a scan are in memory.
pub(crate) fn keys(
    scan: &Scan,
    roots: &[PathBuf],
    rules: &NameRules,
    listed: &Listed,
) -> Result<Decided> {
    let mut decided = Decided::default();
    let (mut first, mut later) = (FoundSample::default(), FoundSample::default());
    for pair in collide::find(&scan.samples)?.pairs {
        let spot = Spot::from_id(pair.later);
        scan.samples.read(Spot::from_id(pair.first), &mut first);
        scan.samples.read(spot, &mut later);
        let other = shown_path(&files(&first, &scan.exts, roots)[0]);
        let (kind, reason) = match (pair.clash, rules.action(Rule::Case)) {
            (Clash::Same, _) => {
                let reason = format!("{other} has the same key in the shard; rename one of them");
                (ProblemKind::RepeatedKey, reason)
            }
            (Clash::CaseOnly, Action::Replace) => {
                let key = distinguished(&later.key);
                if listed.has(&key) {
                    decided.dropped.insert(spot);
                    decided.skipped += later.parts.len() as u64;
                    continue;
                }
                if key.len() + 6 <= MAX_NAME || rules.action(Rule::Long) == Action::Allow {
                    decided.renamed.insert(spot, key);
                    continue;
                }
                let reason = format!(
                    "its key differs from that of {other} only in case, and is too long to be changed"
                );
                (ProblemKind::CaseCollision, reason)
            }
            (Clash::CaseOnly, Action::Allow | Action::Skip) => continue,
            (Clash::CaseOnly, Action::Refuse) => {
                let reason = format!(
                    "its key differs from that of {other} only in case; rename it, or give \
                     --names case=replace or case=allow"
                );
                (ProblemKind::CaseCollision, reason)
            }
        };
        decided.dropped.insert(spot);
        decided.problems.push(problem(kind, &later, &scan.exts, roots, reason));
    }
    Ok(decided)
}

/// An image with its size: only images of equal size are compared.
struct Sized {
    size: u64,
    spot: Spot,
}

/// Drops samples whose first image has the same bytes as an earlier one's.
///
/// # Errors
/// Returns an error if the machine failed while images were read. An unreadable image is reported
/// when it is packed.
pub(crate) fn images(scan: &Scan, roots: &[PathBuf], decided: &mut Decided) -> Result<()> {
    let mut images = Vec::new();
    scan.samples.visit(|spot, sample| {
        if let Some((part, _)) = first_image(sample, &scan.exts)
            && !decided.dropped.contains(&spot)
        {
            images.push(Sized { size: sample.parts[part].size, spot });
        }
        true
    });
    images.par_sort_unstable_by_key(|i| (i.size, i.spot));
    let groups: Vec<&[Sized]> =
        images.chunk_by(|a, b| a.size == b.size).filter(|group| group.len() > 1).collect();
    let found = groups.par_iter().map(|group| same_images(scan, roots, group));
    let found = found.collect::<Result<Vec<Vec<(Spot, Spot)>>>>()?;
    let mut found: Vec<(Spot, Spot)> = found.into_iter().flatten().collect();
    found.sort_unstable();
    let (mut first, mut later) = (FoundSample::default(), FoundSample::default());
    for (later_spot, first_spot) in found {
        scan.samples.read(first_spot, &mut first);
        scan.samples.read(later_spot, &mut later);
        let reason =
            format!("its image has the same bytes as that of '{}'", name::shown(&first.key));
        decided.dropped.insert(later_spot);
        decided.problems.push(problem(ProblemKind::Duplicate, &later, &scan.exts, roots, reason));
    }
    Ok(())
}

/// Returns, for images of one size, which one repeats which earlier one.
fn same_images(scan: &Scan, roots: &[PathBuf], group: &[Sized]) -> Result<Vec<(Spot, Spot)>> {
    let hashed = group.par_iter().map(|image| {
        let mut sample = FoundSample::default();
        scan.samples.read(image.spot, &mut sample);
        let Some((_, ext)) = first_image(&sample, &scan.exts) else {
            return Ok((image.spot, None));
        };
        let path = part_path(&roots[sample.root as usize], &sample.source, ext.as_bytes());
        match files::read_whole(&path, "read") {
            Ok(bytes) => Ok((image.spot, Some(blake3::hash(&bytes)))),
            Err(error) if error.blame().is_machine() => Err(error),
            Err(_) => Ok((image.spot, None)),
        }
    });
    let hashed = hashed.collect::<Result<Vec<(Spot, Option<blake3::Hash>)>>>()?;
    let mut seen: HashMap<blake3::Hash, Spot> = HashMap::new();
    let mut repeats = Vec::new();
    for (spot, hash) in hashed {
        let Some(hash) = hash else { continue };
        match seen.get(&hash) {
            Some(&first) => repeats.push((spot, first)),
            None => {
                seen.insert(hash, spot);
            }
        }
    }
    Ok(repeats)
}

/// Returns the number of the sample's first image part, and its extension in the source.
fn first_image<'e>(sample: &FoundSample, exts: &'e [PlannedExt]) -> Option<(usize, &'e str)> {
    let is_image = |ext: &PlannedExt| Content::of(ext.shard.as_bytes()).is_image();
    let part = sample.parts.iter().position(|p| is_image(&exts[p.ext as usize]))?;
    Some((part, &exts[sample.parts[part].ext as usize].source))
}

fn files(sample: &FoundSample, exts: &[PlannedExt], roots: &[PathBuf]) -> Vec<PathBuf> {
    let root = &roots[sample.root as usize];
    let ext = |part: u16| exts[part as usize].source.as_bytes();
    sample.parts.iter().map(|p| part_path(root, &sample.source, ext(p.ext))).collect()
}

fn problem(
    kind: ProblemKind,
    sample: &FoundSample,
    exts: &[PlannedExt],
    roots: &[PathBuf],
    reason: String,
) -> ScanProblem {
    let files = files(sample, exts, roots);
    let problem = Problem::new(kind, shown_path(&files[0]), reason).of(name::shown(&sample.key));
    ScanProblem { problem, root: sample.root, files }
}
