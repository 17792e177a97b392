//! `Refused`: the samples that belong to no split, as problems: one each, or one for all samples of a file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tarflume_base::{Problem, ProblemKind, units};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_scan::options::ScanProblem;
use tarflume_scan::samples::list::{FoundSample, Spot};
use tarflume_scan::source::shown_path;

use super::rule::SplitRule;
use super::stated::Stated;
use crate::plan::duplicates::Decided;

/// The samples of a file.
struct OfFile {
    samples: u64,
    path: PathBuf,
    reason: Message,
    /// The files of the samples, if a table names files.
    files: Vec<PathBuf>,
}

/// Samples that belong to no split.
pub(super) struct Refused<'a> {
    stated: Stated<'a>,
    spots: Vec<Spot>,
    problems: Vec<ScanProblem>,
    /// The samples of each root, where the file decides.
    of_files: BTreeMap<u32, OfFile>,
}

impl<'a> Refused<'a> {
    /// None yet.
    pub(super) fn new(stated: Stated<'a>) -> Refused<'a> {
        Refused { stated, spots: Vec::new(), problems: Vec::new(), of_files: BTreeMap::new() }
    }

    /// Adds a sample.
    pub(super) fn push(&mut self, spot: Spot, sample: &FoundSample, reason: Message) {
        let Stated { scan, roots, rule, .. } = self.stated;
        self.spots.push(spot);
        if !matches!(rule, SplitRule::Source | SplitRule::Files(_)) {
            self.problems.push(scan.problem(ProblemKind::NoSplit, sample, roots, reason));
            return;
        }
        let file = self.of_files.entry(sample.root).or_insert_with(|| OfFile {
            samples: 0,
            path: self.stated.path(sample),
            reason,
            files: Vec::new(),
        });
        file.samples += 1;
        file.files.extend(scan.files(sample, roots));
    }

    /// Leaves the samples out, as problems.
    pub(super) fn decide(self, decided: &mut Decided) {
        decided.dropped.extend(self.spots);
        decided.problems.extend(self.problems);
        for (root, OfFile { samples, path, reason, files }) in self.of_files {
            let samples =
                units::counted(samples, "sample belongs to no split", "samples belong to no split");
            let reason = message!("{samples}: {reason}"; reason = reason);
            let problem = Problem::new(ProblemKind::NoSplit, shown_path(&path), reason);
            decided.problems.push(ScanProblem::new(problem, root, files));
        }
    }
}
