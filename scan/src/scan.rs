//! The scan: source folders -> samples in the order of their keys, and problems.
//!
//! Looks up each name once; opens no file except with `--ext-by-content`. The result does not depend
//! on the number of threads.

use std::path::PathBuf;

use tarflume_base::{Failure, FailureKind};
use tarflume_formats::About;
use tarflume_formats::message::Message;
use tarflume_formats::plan::{PlannedExt, PlannedSource};

use crate::folders::group::{FolderName, Grouper};
use crate::folders::tables::FoundTable;
use crate::folders::walk::{FoundFiles, Unread, Walk, Watch};
use crate::names::exts::ExtTable;
use crate::options::{ScanOptions, ScanProblem};
use crate::samples::layout::Layout;
use crate::samples::list::SampleList;
use crate::samples::texts::Texts;

/// The result of a scan.
#[derive(Debug)]
pub struct Scan {
    /// The samples in the order of their names.
    pub samples: SampleList,
    /// The extensions by number.
    pub exts: Vec<PlannedExt>,
    /// Source files that hold parts of many samples.
    pub sources: Vec<PlannedSource>,
    /// The texts of parts.
    pub texts: Texts,
    /// The description of the samples for the manifest.
    pub about: About,
    /// Lines for the summary.
    pub notes: Vec<Message>,
    /// The problems found.
    pub problems: Vec<ScanProblem>,
    /// Tables of metadata found in folders; see [`ScanOptions::metadata`].
    pub tables: Vec<FoundTable>,
    /// The folders and files that hold the samples.
    pub layout: Layout,
    /// Number of files left out because they are hidden or excluded.
    pub skipped: u64,
    /// Number of samples whose key differs from their files' name.
    pub renamed: u64,
    /// The time of the last change of any file, in nanoseconds since 1970. A modification time set
    /// to the future counts as the time at which it was set.
    pub newest: i64,
}

impl Scan {
    /// Returns true if parts are in the plan or in sources, not files of their own.
    pub fn has_located_parts(&self) -> bool {
        !self.sources.is_empty() || !self.texts.is_empty()
    }

    /// Returns the part of a path under the root whose folders can name classes and splits.
    pub fn folders<'s>(&self, source: &'s [u8]) -> &'s [u8] {
        source.get(self.layout.side..).unwrap_or_default()
    }
}

/// Scans `roots` in the current rayon pool.
///
/// # Errors
/// Returns an error for a root that cannot be read (wrong usage), and for any failure of the
/// machine: files that were not seen would be missing from the result. Faults of the files
/// themselves are problems.
pub fn scan(roots: &[PathBuf], options: &ScanOptions, watch: Watch<'_>) -> Result<Scan, Failure> {
    let exts = ExtTable::default();
    let walk = Walk { grouper: Grouper { options, roots, exts: &exts }, watch };
    let mut all = FoundFiles::default();
    for (number, root) in roots.iter().enumerate() {
        let nothing: std::sync::Arc<[u8]> = [].into();
        let folder = FolderName { root: number as u32, source: nothing.clone(), key: nothing };
        match walk.folder(root.clone(), &folder, &[]) {
            Ok(found) => all.append(found),
            Err(Unread::Machine(failure)) => return Err(failure),
            Err(Unread::Data(error)) => {
                let failure = Failure::io(error, "read the source folder", root);
                return Err(failure.with_kind(FailureKind::Usage));
            }
        }
    }
    let mut samples = SampleList::default();
    all.runs.into_iter().for_each(|run| samples.push(run));
    Ok(Scan {
        samples,
        exts: exts.into_list(),
        sources: Vec::new(),
        texts: Texts::default(),
        about: About::default(),
        notes: Vec::new(),
        problems: all.problems,
        tables: all.tables,
        layout: Layout { empty: all.empty, ..Layout::default() },
        skipped: all.skipped,
        renamed: all.renamed,
        newest: all.newest,
    })
}
