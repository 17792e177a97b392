//! `Proved`: what is known of one shard, and its comparison with the manifest.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tarflume_base::{Problem, ProblemKind, Problems};
use tarflume_formats::manifest::ShardEntry;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Name, Task};
use tarflume_formats::publish::folder_of;
use tarflume_formats::{Index, IrregularJpegs, Result, index_path};
use tarflume_shards::kinds;

use super::contents::parts::ShardParts;
use super::options::Options;
use super::pass::{LongParts, Passed};
use super::policed::Measured;
use crate::class_field::ClassCounts;
use crate::pointers::StatedTar;
use crate::scope::coverage::Covered;

/// The result for a shard.
#[derive(Debug)]
pub(crate) struct Proved {
    /// The tar.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: u64,
    /// True if its sidecar exists but has no checksums.
    pub without_checksums: bool,
    /// Its rows, from the sidecar or, if that is not usable, from the tar.
    pub index: Option<Index>,
    /// Samples by class, if they are counted.
    pub classes: ClassCounts,
    /// JPEGs that break rules of their format without losing a pixel, if their codes were read.
    pub irregular: IrregularJpegs,
    /// The problems found.
    pub problems: Problems,
    /// What is unusual and no problem.
    pub warning: Option<Problem>,
    /// Parts that were not looked into.
    pub long: LongParts,
    /// Objects of samples, if they are checked.
    pub objects: u64,
    /// True if the tar is not here, and need not be.
    pub is_absent: bool,
    /// What is stated about the tar, if it was not pulled.
    pub not_pulled: Option<StatedTar>,
    /// What was read of it.
    pub covered: Covered,
    /// What its parts show.
    pub parts: ShardParts,
    /// How long it took.
    pub time: Duration,
    /// What the parts have that the policy has bounds for.
    pub measured: Measured,
}

impl Proved {
    /// Begins the verification of a shard.
    pub(super) fn of(path: PathBuf, options: &Options) -> Proved {
        Proved {
            path,
            bytes: 0,
            without_checksums: false,
            index: None,
            classes: ClassCounts::default(),
            irregular: IrregularJpegs::default(),
            problems: options.problems(),
            warning: None,
            long: LongParts::default(),
            objects: 0,
            is_absent: false,
            not_pulled: None,
            covered: Covered::default(),
            parts: ShardParts::default(),
            time: Duration::ZERO,
            measured: Measured::default(),
        }
    }

    /// Adds what a pass over runs of samples has found, but for what is known already.
    pub(super) fn add_runs(&mut self, passed: Passed, covered: Covered) {
        let known = self.problems.listed.len();
        for problem in passed.problems.listed {
            let listed = &self.problems.listed[..known];
            if !listed.iter().any(|known| is_same(known, &problem)) {
                self.problems.push(problem);
            }
        }
        self.problems.unlisted += passed.problems.unlisted;
        self.classes = passed.classes;
        self.irregular = passed.irregular;
        self.warning = passed.warning;
        self.long = passed.long;
        self.objects = passed.objects;
        self.parts = passed.parts;
        self.measured = passed.measured;
        self.covered = covered;
    }
}

/// Returns true if two problems are of one kind and one place.
fn is_same(a: &Problem, b: &Problem) -> bool {
    a.kind == b.kind && a.byte == b.byte && a.key == b.key
}

/// Returns the sidecar if it is intact.
pub(super) fn open_sidecar(tar: &Path, problems: &mut Problems) -> Result<Option<Index>> {
    let path = index_path(tar);
    match Index::open(&path).and_then(|index| index.check().map(|()| index)) {
        Ok(index) => Ok(Some(index)),
        Err(error) => {
            problems.push(kinds::in_index(&kinds::of_data(error)?.with_path(path)));
            Ok(None)
        }
    }
}

/// Compares an intact sidecar of a tar of `bytes` bytes with the manifest's entry.
pub(super) fn listed(
    tar: &Path,
    entry: Option<&ShardEntry>,
    index: &Index,
    bytes: u64,
    problems: &mut Problems,
) {
    let Some(entry) = entry else { return };
    let found = tarflume_shards::index::shard::entry(tar, index);
    let differences = [
        ("bytes", entry.bytes.to_string(), bytes.to_string()),
        ("samples", entry.samples.to_string(), found.samples.to_string()),
        ("digest", shown(&entry.blake3), shown(&found.blake3)),
        ("sidecar bytes", entry.index_bytes.to_string(), found.index_bytes.to_string()),
        ("sidecar digest", entry.index_blake3.clone(), found.index_blake3),
    ];
    // A truncated tar was reported already.
    let known = index.tar().length != bytes && index.tar().length == entry.bytes;
    let differences: Vec<String> = differences
        .iter()
        .filter(|(what, listed, found)| listed != found && !(known && *what == "bytes"))
        .map(|(what, listed, found)| format!("{what} {listed}, but {found} is found"))
        .collect();
    if !differences.is_empty() {
        let renewal = index.renewal(tar);
        problems.push(stale_manifest(tar, &differences.join("; "), &renewal));
    }
}

fn shown(digest: &Option<String>) -> String {
    digest.clone().unwrap_or_else(|| "none".into())
}

pub(super) fn listed_length(
    tar: &Path,
    entry: Option<&ShardEntry>,
    bytes: u64,
    renewal: &Call,
    problems: &mut Problems,
) {
    if let Some(entry) = entry.filter(|entry| entry.bytes != bytes) {
        let text = format!("bytes {}, but {bytes} is found", entry.bytes);
        problems.push(stale_manifest(tar, &text, renewal));
    }
}

/// Returns the command that makes sidecars and manifest again, with what the sidecar has.
pub(super) fn renewal(tar: &Path, sidecar: Option<&Index>) -> Call {
    match sidecar {
        Some(index) => index.renewal(tar),
        None => Call::of(Task::Index).with(Name::Force.on()).on_path(folder_of(tar)),
    }
}

fn stale_manifest(tar: &Path, what: &str, renewal: &Call) -> Problem {
    let text = message!(
        "for this shard the manifest lists {what}; if the shard is right, recreate the manifest \
         with `{renewal}`";
        renewal = renewal.clone()
    );
    Problem::new(ProblemKind::StaleManifest, tar.display().to_string(), text)
}
