//! `Present`: the keys of a data set that gets more shards, and which samples of a scan it has.
//!
//! Memory: 16 bytes for each sample of the data set, and its mapped sidecars. Reads no tar.

use std::path::PathBuf;

use rayon::slice::ParallelSliceMut;
use tarflume_formats::crc32c;
use tarflume_formats::index::Sample;
use tarflume_formats::{Dataset, name};

use crate::collide::{fold, hash};
use crate::failure::Failure;
use crate::problem::ProblemKind;
use crate::scan::Scan;
use crate::scan::attach::Attached;
use crate::scan::list::{FoundAt, FoundSample};
use crate::scan::rules::{Action, NameRules, Rule, distinguished};

/// The keys of a data set.
#[derive(Debug)]
pub(crate) struct Present {
    dataset: Dataset,
    /// The hash of each folded key with the sample's ordinal, ascending.
    hashes: Vec<(u64, u64)>,
}

/// What a data set has of a sample.
enum Met {
    /// Nothing.
    New,
    /// The sample, with this ordinal.
    Same(u64),
    /// A sample whose key differs only in case, with this ordinal.
    CaseOnly(u64),
}

/// What was found out about the scan.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Left {
    /// Samples left out because the data set has them.
    pub(crate) present: u64,
    /// Samples renamed because a key of the data set differs from theirs only in case.
    pub(crate) renamed: u64,
}

impl Present {
    /// Reads the keys of a data set.
    ///
    /// # Errors
    /// Returns an error if a sidecar is missing or damaged.
    pub(crate) fn of(dataset: Dataset) -> Result<Present, Failure> {
        let samples = usize::try_from(dataset.samples()).unwrap_or(usize::MAX);
        let mut hashes: Vec<(u64, u64)> = Vec::new();
        hashes.try_reserve_exact(samples).map_err(|_| {
            Failure::try_again(format!(
                "no memory for the keys of the data set's {samples} samples"
            ))
        })?;
        for shard in 0..dataset.manifest().shards.len() {
            let Some(index) = dataset.index(shard) else { continue };
            for sample in index.iter() {
                hashes.push((hash(sample?.key), hashes.len() as u64));
            }
            index.intact()?;
            index.forget();
        }
        hashes.par_sort_unstable();
        Ok(Present { dataset, hashes })
    }

    /// Leaves out the samples that the data set has. Those whose files differ from it are notices.
    ///
    /// # Errors
    /// Returns an error if a sidecar is damaged or the machine fails.
    pub(crate) fn leave_out(
        &self,
        scan: &mut Scan,
        roots: &[PathBuf],
        rules: &NameRules,
    ) -> Result<Left, Failure> {
        let (mut left, mut differ) = (Left::default(), Vec::new());
        let case = rules.action(Rule::Case);
        scan.revise(
            "",
            roots,
            |scan, sample| {
                let met = match self.find(&sample.key)? {
                    Met::Same(ordinal) => Met::Same(ordinal),
                    // An earlier build may have renamed it.
                    met if case == Action::Replace => {
                        match self.find(&distinguished(&sample.key))? {
                            Met::Same(ordinal) => Met::Same(ordinal),
                            _ => met,
                        }
                    }
                    met => met,
                };
                let difference = match met {
                    Met::Same(ordinal) => self.difference(scan, sample, ordinal)?,
                    _ => None,
                };
                let problem =
                    difference.map(|what| scan.problem(ProblemKind::Differs, sample, roots, what));
                Ok((met, problem))
            },
            |sample, (met, problem), _| {
                differ.extend(problem);
                Ok(match (met, case) {
                    (Met::New, _) | (Met::CaseOnly(_), Action::Allow | Action::Skip) => {
                        Attached::Nothing
                    }
                    (Met::Same(_), _) => {
                        left.present += 1;
                        Attached::LeftOut
                    }
                    (Met::CaseOnly(_), Action::Replace) => {
                        left.renamed += 1;
                        sample.key = distinguished(&sample.key);
                        Attached::Nothing
                    }
                    (Met::CaseOnly(ordinal), Action::Refuse) => {
                        let other =
                            self.sample(ordinal)?.map(|s| s.shown_key()).unwrap_or_default();
                        let reason = format!(
                            "its key differs from '{other}' of the data set only in case; rename it"
                        );
                        Attached::Refused(ProblemKind::CaseCollision, reason)
                    }
                })
            },
        )?;
        scan.problems.extend(differ);
        Ok(left)
    }

    fn sample(&self, ordinal: u64) -> Result<Option<Sample<'_>>, Failure> {
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

    /// Returns how a sample differs from that of the data set, as far as sizes and generated texts
    /// show it.
    fn difference(
        &self,
        scan: &Scan,
        sample: &FoundSample,
        ordinal: u64,
    ) -> Result<Option<String>, Failure> {
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
        let gone = old.parts().count() > parts;
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
