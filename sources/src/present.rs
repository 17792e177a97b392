//! `Present`: the keys of a data set that gets more shards, and which samples of a scan it has.
//!
//! Memory: 16 bytes for each sample of the data set, and its mapped sidecars. Reads no tar.

use std::path::PathBuf;

use rayon::slice::ParallelSliceMut;
use tarflume_base::collide::{fold, hash};
use tarflume_base::{Failure, Problem, ProblemKind, units};
use tarflume_formats::crc32c;
use tarflume_formats::index::Sample;
use tarflume_formats::{Dataset, name};
use tarflume_scan::Scan;
use tarflume_scan::attach::Attached;
use tarflume_scan::names::rules::{Action, NameRules, Rule, distinguished};
use tarflume_scan::options::ScanProblem;
use tarflume_scan::samples::list::{FoundAt, FoundSample};
use tarflume_scan::source::shown_path;

/// Number of samples that differ that are listed one by one.
const LISTED: u64 = 10_000;

/// The keys of a data set.
#[derive(Debug)]
pub struct Present {
    dataset: Dataset,
    /// The hash of each folded key with the sample's ordinal, ascending.
    hashes: Vec<(u64, u64)>,
}

/// What a data set has of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Met {
    /// Nothing.
    New,
    /// The sample, with this ordinal.
    Same(u64),
    /// A sample whose key differs only in case, with this ordinal.
    CaseOnly(u64),
}

/// What was found out about the scan.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// Samples left out because the data set has them.
    pub present: u64,
    /// Samples renamed because a key of the data set differs from theirs only in case.
    pub renamed: u64,
    /// Samples left out that differ from those of the data set.
    differ: u64,
}

impl Left {
    /// Adds what a later join left out.
    pub fn add(&mut self, other: Left) {
        self.present += other.present;
        self.renamed += other.renamed;
        self.differ += other.differ;
    }

    /// Counts a sample that the data set has. Returns how it differs if that is to be listed.
    pub(crate) fn count(&mut self, difference: Option<ScanProblem>) -> Option<ScanProblem> {
        self.present += 1;
        self.differ += u64::from(difference.is_some());
        difference.filter(|_| self.differ <= LISTED)
    }
}

impl Present {
    /// Reads the keys of a data set.
    ///
    /// # Errors
    /// Returns an error if a sidecar is missing or damaged.
    pub fn of(dataset: Dataset) -> Result<Present, Failure> {
        let samples = usize::try_from(dataset.samples()).unwrap_or(usize::MAX);
        let mut hashes: Vec<(u64, u64)> = Vec::new();
        hashes.try_reserve_exact(samples).map_err(|_| {
            Failure::try_again(format!(
                "no memory for the keys of the data set's {samples} samples"
            ))
        })?;
        each_key(&dataset, |key| hashes.push((hash(key), hashes.len() as u64)))?;
        hashes.par_sort_unstable();
        Ok(Present { dataset, hashes })
    }

    /// Returns the number of samples.
    pub(crate) fn samples(&self) -> u64 {
        self.hashes.len() as u64
    }

    /// Calls `each` with the key of every sample, in the order of ordinals.
    ///
    /// # Errors
    /// Returns an error if a sidecar is damaged.
    pub(crate) fn each_key(&self, each: impl FnMut(&[u8])) -> Result<(), Failure> {
        each_key(&self.dataset, each)
    }

    /// Returns the extensions of its parts.
    pub(crate) fn exts(&self) -> impl Iterator<Item = &String> {
        self.dataset.manifest().extensions.keys()
    }

    /// Leaves out the samples that the data set has, and adds their number to that of `left`. Those
    /// whose files differ from it are notices.
    ///
    /// # Errors
    /// Returns an error if a sidecar is damaged or the machine fails.
    pub fn leave_out(
        &self,
        scan: &mut Scan,
        roots: &[PathBuf],
        rules: &NameRules,
        mut left: Left,
    ) -> Result<Left, Failure> {
        let mut differ = Vec::new();
        let case = rules.action(Rule::Case);
        scan.revise(
            "",
            roots,
            |scan, sample| {
                let met = self.met(&sample.key, rules)?;
                let what = self.difference(scan, sample, met, "")?;
                let kind = ProblemKind::Differs;
                Ok((met, what.map(|what| scan.problem(kind, sample, roots, what.into()))))
            },
            |sample, (met, problem), _| {
                Ok(match (met, case) {
                    (Met::New, _) | (Met::CaseOnly(_), Action::Allow | Action::Skip) => {
                        Attached::Nothing
                    }
                    (Met::Same(_), _) => {
                        differ.extend(left.count(problem));
                        Attached::LeftOut
                    }
                    (Met::CaseOnly(_), Action::Replace) => {
                        left.renamed += 1;
                        sample.key = distinguished(&sample.key);
                        Attached::Nothing
                    }
                    (Met::CaseOnly(ordinal), Action::Refuse) => {
                        let other = self.sample(ordinal)?.expect("its key was found").shown_key();
                        let reason = format!(
                            "its key differs from '{other}' of the data set only in case; rename it"
                        );
                        Attached::Refused(ProblemKind::CaseCollision, reason.into())
                    }
                })
            },
        )?;
        scan.problems.extend(differ);
        if let Some(more @ 1..) = left.differ.checked_sub(LISTED) {
            let reason = format!("{} more samples differ from the data set", units::count(more));
            let problem = Problem::new(ProblemKind::Differs, shown_path(&roots[0]), reason);
            scan.problems.push(ScanProblem::new(problem, 0, Vec::new()));
        }
        Ok(left)
    }

    /// Returns what the data set has of the sample with this key, which an earlier build may have
    /// renamed.
    ///
    /// # Errors
    /// Returns an error if a sidecar is damaged.
    pub(crate) fn met(&self, key: &[u8], rules: &NameRules) -> Result<Met, Failure> {
        Ok(match self.find(key)? {
            Met::Same(ordinal) => Met::Same(ordinal),
            met if rules.action(Rule::Case) == Action::Replace => {
                match self.find(&distinguished(key))? {
                    Met::Same(ordinal) => Met::Same(ordinal),
                    _ => met,
                }
            }
            met => met,
        })
    }

    /// Returns the sample with this ordinal.
    ///
    /// # Errors
    /// Returns an error if a sidecar is damaged.
    pub(crate) fn sample(&self, ordinal: u64) -> Result<Option<Sample<'_>>, Failure> {
        let Some((shard, row)) = self.dataset.place(ordinal) else { return Ok(None) };
        let Some(index) = self.dataset.index(shard) else { return Ok(None) };
        Ok(index.sample(row)?)
    }

    fn find(&self, key: &[u8]) -> Result<Met, Failure> {
        let hash = hash(key);
        let from = self.hashes.partition_point(|(other, _)| *other < hash);
        let mut met = Met::New;
        for &(_, ordinal) in self.hashes[from..].iter().take_while(|(other, _)| *other == hash) {
            let Some(sample) = self.sample(ordinal)? else { continue };
            if sample.key == key {
                return Ok(Met::Same(ordinal));
            }
            if fold(sample.key) == fold(key) {
                met = Met::CaseOnly(ordinal);
            }
        }
        Ok(met)
    }

    /// Returns how a sample differs from the one `met` in the data set, as far as sizes and generated
    /// texts show it. Without a part `spared`, it does not differ.
    ///
    /// # Errors
    /// Returns an error if a sidecar is damaged or the machine fails.
    pub(crate) fn difference(
        &self,
        scan: &Scan,
        sample: &FoundSample,
        met: Met,
        spared: &str,
    ) -> Result<Option<String>, Failure> {
        let Met::Same(ordinal) = met else { return Ok(None) };
        let Some(old) = self.sample(ordinal)? else { return Ok(None) };
        let mut parts = 0;
        for part in &sample.parts {
            let ext = &scan.exts[part.ext as usize].shard;
            let how = match old.part(ext.as_bytes())? {
                None => Some("is new".to_string()),
                Some(old) if old.length != part.size => {
                    Some(format!("has {} bytes, not {}", part.size, old.length))
                }
                Some(old) => match (part.at, old.checksum) {
                    (FoundAt::Text(at), Some(sum)) if self.text(scan, at, part.size)? != sum => {
                        Some("has other values".into())
                    }
                    _ => None,
                },
            };
            if let Some(how) = how {
                let ext = name::shown(ext.as_bytes());
                return Ok(Some(format!(
                    "its '{ext}' {how}: the data set keeps the sample as it was packed"
                )));
            }
            parts += 1;
        }
        let is_spared =
            scan.part(sample, spared).is_none() && old.part(spared.as_bytes())?.is_some();
        let gone = old.parts().count() > parts + usize::from(is_spared);
        Ok(gone
            .then(|| "it has lost a part: the data set keeps the sample as it was packed".into()))
    }

    /// Returns the checksum of a text.
    fn text(&self, scan: &Scan, at: u64, size: u64) -> Result<u32, Failure> {
        let mut bytes = Vec::new();
        scan.texts.reader().read(at, size, &mut bytes)?;
        Ok(crc32c(&bytes))
    }
}

/// Calls `each` with the key of every sample of a data set, in the order of ordinals.
fn each_key(dataset: &Dataset, mut each: impl FnMut(&[u8])) -> Result<(), Failure> {
    for shard in 0..dataset.manifest().shards.len() {
        let Some(index) = dataset.index(shard) else { continue };
        for sample in index.iter() {
            each(sample?.key);
        }
        index.intact()?;
        index.forget();
    }
    Ok(())
}
