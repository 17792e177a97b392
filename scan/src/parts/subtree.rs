//! A part of a scan: one of `count` machines scans its share of a tree, and the parts together are the
//! scan of one machine.
//!
//! All machines read the upper folders, until there are many folders below them; these are dealt to
//! the machines whole. The names in the upper folders are dealt in groups. So each file is examined
//! once, and each machine reads only a few folders that another reads, too.

use std::path::PathBuf;
use std::sync::Arc;

use rayon::prelude::*;
use tarflume_base::{Failure, FailureKind};
use tarflume_formats::About;
use tarflume_formats::plan::PlannedExt;

use crate::folders::group::{FolderName, Grouper};
use crate::folders::listing::Listing;
use crate::folders::tables::FoundTable;
use crate::folders::walk::{FolderId, FoundFiles, Task, Unread, Walk, Watch, tasks};
use crate::names::exts::ExtTable;
use crate::options::{ScanOptions, ScanProblem};
use crate::samples::layout::{EmptyFolder, Layout};
use crate::samples::list::{Run, SampleList};
use crate::samples::texts::Texts;
use crate::scan::Scan;

/// Folders for each machine, at least, before they are dealt whole.
const FOLDERS: usize = 32;

/// Which part of a tree a machine scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subtree {
    /// Its number, from 0.
    pub part: u64,
    /// The number of parts.
    pub count: u64,
}

/// The samples of a part, in their order.
pub struct PartScan {
    pub(crate) runs: Vec<Run>,
    pub(crate) exts: Vec<PlannedExt>,
    pub(crate) problems: Vec<ScanProblem>,
    pub(crate) tables: Vec<FoundTable>,
    pub(crate) empty: Vec<EmptyFolder>,
    pub(crate) skipped: u64,
    pub(crate) renamed: u64,
    pub(crate) newest: i64,
    /// A digest of the upper folders: the same for all parts, unless the tree has changed.
    pub(crate) tree: String,
}

impl PartScan {
    /// The number of samples.
    pub fn samples(&self) -> u64 {
        self.runs.iter().map(|run| run.samples).sum()
    }

    /// Converts it to the scan of a build.
    pub fn into_scan(self) -> Scan {
        let mut samples = SampleList::default();
        self.runs.into_iter().for_each(|run| samples.push(run));
        Scan {
            samples,
            exts: self.exts,
            sources: Vec::new(),
            texts: Texts::default(),
            about: About::default(),
            notes: Vec::new(),
            problems: self.problems,
            tables: self.tables,
            layout: Layout { empty: self.empty, ..Layout::default() },
            skipped: self.skipped,
            renamed: self.renamed,
            newest: self.newest,
        }
    }

    /// The number of problems.
    pub fn problems(&self) -> usize {
        self.problems.len()
    }
}

/// What is dealt to a machine.
enum Unit {
    /// Names of an upper folder.
    Names { listing: Arc<Listing>, folder: FolderName, from: usize, to: usize },
    /// A folder and everything below it.
    Folder(Below),
    /// What became of a folder that is not scanned.
    Settled(FoundFiles),
}

/// A folder.
struct Below {
    path: PathBuf,
    name: FolderName,
    /// The folder that holds it, and its name there; `None` for a root.
    parent: Option<(FolderName, Vec<u8>)>,
    above: Vec<FolderId>,
}

/// Scans a part of `roots` in the current rayon pool.
///
/// # Errors
/// Returns the errors of [`scan`](crate::scan::scan).
pub fn scan_part(
    roots: &[PathBuf],
    options: &ScanOptions,
    subtree: Subtree,
    watch: Watch<'_>,
) -> Result<PartScan, Failure> {
    let exts = ExtTable::default();
    let walk = Walk { grouper: Grouper { options, roots, exts: &exts }, watch };
    let units = walk.units(roots, subtree.count)?;
    let tree = digest(&units);
    let mine = units.into_par_iter().enumerate().filter_map(|(number, unit)| {
        (number as u64 % subtree.count == subtree.part).then(|| walk.unit(unit))
    });
    let mut all = FoundFiles::default();
    for found in mine.collect::<Result<Vec<FoundFiles>, Failure>>()? {
        all.append(found);
    }
    if watch.stop.requested() {
        return Err(Failure::interrupted());
    }
    let FoundFiles { runs, problems, tables, empty, skipped, renamed, newest } = all;
    let runs = runs.into_iter().filter(|run| run.samples > 0).collect();
    let exts = exts.into_list();
    Ok(PartScan { runs, exts, problems, tables, empty, skipped, renamed, newest, tree })
}

impl Walk<'_> {
    /// Returns all units of the tree in the order of their samples.
    fn units(&self, roots: &[PathBuf], count: u64) -> Result<Vec<Unit>, Failure> {
        let nothing: Arc<[u8]> = [].into();
        let mut units: Vec<Unit> = roots
            .iter()
            .enumerate()
            .map(|(number, root)| {
                let name = FolderName {
                    root: number as u32,
                    source: nothing.clone(),
                    key: nothing.clone(),
                };
                Unit::Folder(Below { path: root.clone(), name, parent: None, above: Vec::new() })
            })
            .collect();
        let enough = FOLDERS.saturating_mul(usize::try_from(count).unwrap_or(usize::MAX));
        loop {
            let folders = units.iter().filter(|unit| matches!(unit, Unit::Folder(_))).count();
            if folders == 0 || folders >= enough || self.watch.stop.requested() {
                return Ok(units);
            }
            let opened = units.into_par_iter().map(|unit| match unit {
                Unit::Folder(below) => self.opened(below),
                unit => Ok(vec![unit]),
            });
            units = opened.collect::<Result<Vec<_>, Failure>>()?.into_iter().flatten().collect();
        }
    }

    /// Returns the units of a folder's names.
    fn opened(&self, below: Below) -> Result<Vec<Unit>, Failure> {
        let Below { path, name, above, .. } = &below;
        let (listing, above) = match self.listed(path, above) {
            Ok(listed) => listed,
            Err(unread) => return Ok(vec![Unit::Settled(self.reported(&below, Err(unread))?)]),
        };
        let listing = Arc::new(listing);
        let mut units = Vec::new();
        let mut from = 0;
        let empty = self.emptiness(name, &listing);
        if !empty.is_empty() {
            units.push(Unit::Settled(FoundFiles {
                empty,
                newest: i64::MIN,
                ..FoundFiles::default()
            }));
        }
        for task in tasks(&listing) {
            match task {
                Task::Files(files) => {
                    let to = from + files.len();
                    units.push(Unit::Names {
                        listing: listing.clone(),
                        folder: name.clone(),
                        from,
                        to,
                    });
                    from = to;
                }
                Task::Folder(entry) => {
                    from += 1;
                    let base = listing.name(entry);
                    units.push(match self.entered(path, name, base) {
                        Err(left_out) => Unit::Settled(left_out),
                        Ok((path, inner)) => Unit::Folder(Below {
                            path,
                            name: inner,
                            parent: Some((name.clone(), base.to_vec())),
                            above: above.clone(),
                        }),
                    });
                }
            }
        }
        Ok(units)
    }

    fn unit(&self, unit: Unit) -> Result<FoundFiles, Failure> {
        match unit {
            Unit::Settled(found) => Ok(found),
            Unit::Names { listing, folder, from, to } => self
                .grouper
                .group(&folder, &listing, &listing.entries[from..to])
                .map(FoundFiles::from),
            Unit::Folder(below) => {
                let found = self.folder(below.path.clone(), &below.name, &below.above);
                self.reported(&below, found)
            }
        }
    }

    /// Makes a problem of a folder that no machine can read, and an error of such a root.
    fn reported(
        &self,
        below: &Below,
        found: Result<FoundFiles, Unread>,
    ) -> Result<FoundFiles, Failure> {
        match (&below.parent, found) {
            (Some((parent, base)), found) => self.settled(parent, base, found),
            (None, Err(Unread::Data(error))) => {
                let failure = Failure::io(error, "read the source folder", &below.path);
                Err(failure.with_kind(FailureKind::Usage))
            }
            (None, Err(Unread::Machine(failure))) => Err(failure),
            (None, Ok(found)) => Ok(found),
        }
    }
}

fn digest(units: &[Unit]) -> String {
    let mut hasher = blake3::Hasher::new();
    for unit in units {
        let (word, folder, name, count) = match unit {
            Unit::Settled(_) => continue,
            Unit::Folder(below) => (1, &below.name, &[][..], 0),
            Unit::Names { listing, folder, from, to } => {
                (2, folder, listing.name(&listing.entries[*from]), to - from)
            }
        };
        hasher.update(&[word]).update(&folder.root.to_le_bytes());
        for length in [folder.source.len(), name.len(), count] {
            hasher.update(&(length as u64).to_le_bytes());
        }
        hasher.update(&folder.source).update(name);
    }
    hasher.finalize().to_hex().to_string()
}
