//! Pairs parallel folders: `images/a.jpg` and `masks/a.png` become the sample `a`.
//!
//! Each folder is scanned alone. The samples of the first one keep their order; those of the others
//! are found by their keys, which takes 16 bytes for each.

use std::path::{Path, PathBuf};

use rayon::slice::ParallelSliceMut;
use tarflume_base::{Failure, Problem, ProblemKind, collide};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::name;

use super::side::Side;
use crate::folders::walk::Watch;
use crate::names::exts::{ExtTable, Require};
use crate::options::{ScanOptions, ScanProblem};
use crate::samples::list::{FoundAt, FoundPart, FoundSample, Run, SampleList, Spot};
use crate::scan::{Scan, scan};
use crate::source::{part_path, shown_path};

/// Returns the reason of the problem of a key that has no file in a side's folder.
fn missing(side: &Side, key: &[u8]) -> String {
    format!("'{}' has no .{} file in {}", name::shown(key), side.last(), side.folder())
}

/// Returns the number of the sample's part that has a side's extension.
fn part_of(side: &Side, scan: &Scan, sample: &FoundSample) -> Option<usize> {
    sample.parts.iter().position(|part| scan.exts[part.ext as usize].shard == side.last())
}

/// A scanned folder whose samples are found by key.
struct Other<'a> {
    side: &'a Side,
    scan: Scan,
    /// Hash of the key and spot, sorted.
    index: Vec<(u64, Spot)>,
    paired: Vec<bool>,
    ext: u16,
}

/// Scans the folders `sides` of the root and pairs their files.
///
/// # Errors
/// Returns the errors of [`scan`].
pub(super) fn scan_folders(
    root: &Path,
    sides: &[Side],
    options: &ScanOptions,
    watch: Watch<'_>,
) -> Result<Scan, Failure> {
    // A table of metadata names files of its folder, which are parts of pairs here.
    let single = ScanOptions { require: Require::parse(""), metadata: false, ..options.clone() };
    let one = |side: &Side| scan(&[root.join(side.folder())], &single, watch);
    let exts = ExtTable::default();
    let first = one(&sides[0])?;
    let mut others = Vec::new();
    for side in &sides[1..] {
        let Some(ext) = exts.number_of_paths(side.ext.as_bytes()) else { continue };
        others.push(Other::new(side, one(side)?, ext));
    }
    if watch.stop.requested() {
        return Err(Failure::interrupted());
    }
    let pairing = Pairing { root, side: &sides[0], exts: &exts };
    let mut paired = pairing.pair(first, &mut others)?;
    paired.layout.side = sides[0].folder().len() + 1;
    for empty in &mut paired.layout.empty {
        empty.path = [sides[0].folder().as_bytes(), b"/", &empty.path].concat();
    }
    paired.exts = exts.into_list();
    Ok(paired)
}

impl<'a> Other<'a> {
    fn new(side: &'a Side, scan: Scan, ext: u16) -> Other<'a> {
        let mut index = Vec::with_capacity(scan.samples.len() as usize);
        scan.samples.visit(|spot, sample| {
            if part_of(side, &scan, sample).is_some() {
                index.push((collide::exact_hash(&sample.key), spot));
            }
            true
        });
        index.par_sort_unstable();
        let paired = vec![false; index.len()];
        Other { side, scan, index, paired, ext }
    }

    /// Returns the sample with this key and its part.
    fn find(&mut self, key: &[u8]) -> Option<(FoundSample, FoundPart)> {
        let hash = collide::exact_hash(key);
        let start = self.index.partition_point(|entry| entry.0 < hash);
        let mut sample = FoundSample::default();
        for (at, &(_, spot)) in
            self.index.iter().enumerate().skip(start).take_while(|(_, entry)| entry.0 == hash)
        {
            self.scan.samples.read(spot, &mut sample);
            if sample.key == key {
                self.paired[at] = true;
                let part = sample.parts[part_of(self.side, &self.scan, &sample)?];
                return Some((sample, part));
            }
        }
        None
    }

    /// Returns the path of a part's file under the root.
    fn path(&self, sample: &FoundSample, part: &FoundPart) -> Vec<u8> {
        let ext = self.scan.exts[part.ext as usize].source.as_bytes();
        [self.side.folder().as_bytes(), b"/", &sample.source, b".", ext].concat()
    }
}

/// Pairs the samples of the first folder with those of the others.
struct Pairing<'a> {
    root: &'a Path,
    side: &'a Side,
    exts: &'a ExtTable,
}

impl Pairing<'_> {
    fn pair(&self, mut first: Scan, others: &mut [Other<'_>]) -> Result<Scan, Failure> {
        let mut samples = SampleList::default();
        let mut sample = FoundSample::default();
        let mut problems = std::mem::take(&mut first.problems);
        for run in std::mem::take(&mut first.samples).into_runs() {
            let folder = [self.side.folder().as_bytes(), b"/", &*run.source_folder].concat();
            let keys = run.key_folder.clone();
            let mut out = Run::new(0, folder.into(), keys.clone());
            let mut at = 0;
            for _ in 0..run.samples {
                at = run.read(at, &mut sample);
                let parts = match self.parts(&mut first, others, &sample)? {
                    Ok(parts) => parts,
                    Err(reason) => {
                        problems.push(self.problem(&first, &sample, reason));
                        continue;
                    }
                };
                let stem = &sample.source[run.source_folder.len()..];
                let key = &sample.key[keys.len()..];
                out.push(stem, (stem != key).then_some(key), &parts);
            }
            out.shrink();
            samples.push(out);
        }
        first.samples = samples;
        first.problems = problems;
        for other in others {
            other.report(self, &mut first);
        }
        Ok(first)
    }

    /// Returns the parts of a sample of the first folder, or why it is none.
    fn parts(
        &self,
        first: &mut Scan,
        others: &mut [Other<'_>],
        sample: &FoundSample,
    ) -> Result<Result<Vec<FoundPart>, Message>, Failure> {
        let Some(own) = part_of(self.side, first, sample) else {
            return Ok(Err(missing(self.side, &sample.key).into()));
        };
        let mut parts = Vec::with_capacity(1 + others.len());
        for (at, part) in sample.parts.iter().enumerate() {
            let ext = &first.exts[part.ext as usize];
            let shard = if at == own { &self.side.ext } else { &ext.shard };
            let number = self.exts.number(ext.source.as_bytes(), shard.as_bytes());
            let number =
                number.ok_or_else(|| Failure::usage("more than 65,536 different extensions"))?;
            parts.push((shard.clone(), FoundPart { ext: number, ..*part }));
        }
        for other in others {
            let Some((found, part)) = other.find(&sample.key) else {
                if other.side.is_optional {
                    continue;
                }
                return Ok(Err(missing(other.side, &sample.key).into()));
            };
            let FoundAt::File(stamp) = part.at else { continue };
            let path = other.path(&found, &part);
            let at = FoundAt::Path(first.texts.push(&path)?, path.len() as u32, stamp);
            parts.push((other.side.ext.clone(), FoundPart { ext: other.ext, at, ..part }));
        }
        parts.sort_by(|a, b| a.0.cmp(&b.0));
        if let Some(twice) = parts.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Ok(Err(message!("two files give the part '{}'", twice[0].0)));
        }
        Ok(Ok(parts.into_iter().map(|(_, part)| part).collect()))
    }

    /// Returns the problem of a sample of the first folder.
    fn problem(&self, first: &Scan, sample: &FoundSample, reason: Message) -> ScanProblem {
        let source = [self.side.folder().as_bytes(), b"/", &sample.source].concat();
        let files: Vec<PathBuf> = sample
            .parts
            .iter()
            .map(|part| {
                let ext = first.exts[part.ext as usize].source.as_bytes();
                part_path(self.root, &source, ext)
            })
            .collect();
        let shown = files.first().map_or(String::new(), |file| shown_path(file));
        let problem = Problem::new(ProblemKind::MissingPart, shown, reason);
        ScanProblem::new(problem.of(name::shown(&sample.key)), 0, files)
    }
}

impl Other<'_> {
    /// Adds the problems and numbers of this folder to the scan.
    fn report(&mut self, pairing: &Pairing<'_>, into: &mut Scan) {
        into.problems.append(&mut self.scan.problems);
        into.skipped += self.scan.skipped;
        into.newest = into.newest.max(self.scan.newest);
        let mut sample = FoundSample::default();
        let mut single: Vec<Spot> = self
            .index
            .iter()
            .zip(&self.paired)
            .filter(|(_, paired)| !**paired)
            .map(|((_, spot), _)| *spot)
            .collect();
        single.sort_unstable();
        for spot in single {
            self.scan.samples.read(spot, &mut sample);
            let Some(part) = part_of(self.side, &self.scan, &sample) else { continue };
            let path = self.path(&sample, &sample.parts[part]);
            let path = part_path(pairing.root, &path, b"");
            let reason = format!("it has no counterpart in {}", pairing.side.folder());
            let problem = Problem::new(ProblemKind::MissingPart, shown_path(&path), reason);
            let problem = problem.of(name::shown(&sample.key));
            into.problems.push(ScanProblem::new(problem, 0, vec![path]));
        }
    }
}
