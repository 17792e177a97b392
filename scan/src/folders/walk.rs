//! Scans folders and everything below them, with the threads of the current rayon pool.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use tarflume_base::{Failure, Stop};
use tarflume_formats::{Blame, files};

use crate::folders::group::{FolderName, Grouped, Grouper};
use crate::folders::listing::{Entry, EntryKind, Listing};
use crate::folders::refusal::Refusal;
use crate::folders::tables::FoundTable;
use crate::names::rules::{Action, Rule, is_of_file_manager};
use crate::options::ScanProblem;
use crate::samples::layout::EmptyFolder;
use crate::samples::list::Run;

/// Number of names per task.
const TASK: usize = 4096;

/// The progress of a scan, read by the progress display while it runs.
#[derive(Debug, Default)]
pub struct ScanCounter(AtomicU64);

impl ScanCounter {
    /// Returns the number of names read so far.
    pub fn names(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts names or rows.
    #[inline]
    pub fn add(&self, names: u64) {
        self.0.fetch_add(names, Ordering::Relaxed);
    }
}

/// Counts the progress of a scan, and says whether to end it early.
#[derive(Debug, Clone, Copy)]
pub struct Watch<'a> {
    /// Counts names and rows for the progress display.
    pub counter: &'a ScanCounter,
    /// The request to end the scan early.
    pub stop: &'a Stop,
}

/// The findings of a subtree, in order.
#[derive(Default)]
pub(crate) struct FoundFiles {
    pub(crate) runs: Vec<Run>,
    pub(crate) problems: Vec<ScanProblem>,
    pub(crate) tables: Vec<FoundTable>,
    pub(crate) empty: Vec<EmptyFolder>,
    pub(crate) skipped: u64,
    pub(crate) renamed: u64,
    pub(crate) newest: i64,
}

impl FoundFiles {
    pub(crate) fn append(&mut self, mut other: FoundFiles) {
        self.runs.append(&mut other.runs);
        self.problems.append(&mut other.problems);
        self.tables.append(&mut other.tables);
        self.empty.append(&mut other.empty);
        self.skipped += other.skipped;
        self.renamed += other.renamed;
        self.newest = self.newest.max(other.newest);
    }
}

/// Why a folder was not read.
pub(crate) enum Unread {
    /// It cannot be read on any machine.
    Data(io::Error),
    /// The machine failed.
    Machine(Failure),
}

impl Unread {
    fn of(error: io::Error, path: &Path) -> Unread {
        match Blame::of(&error) {
            Blame::Data => Unread::Data(error),
            _ => Unread::Machine(Failure::io(error, "read the folder", path)),
        }
    }
}

impl From<Grouped> for FoundFiles {
    fn from(grouped: Grouped) -> FoundFiles {
        let Grouped { runs, problems, tables, skipped, renamed, newest } = grouped;
        FoundFiles { runs, problems, tables, empty: Vec::new(), skipped, renamed, newest }
    }
}

/// Walks folders.
pub(crate) struct Walk<'a> {
    pub(crate) grouper: Grouper<'a>,
    pub(crate) watch: Watch<'a>,
}

/// Device and inode of a folder; detects loops of links.
pub(crate) type FolderId = (u64, u64);

/// A piece of a folder's listing for one thread.
pub(crate) enum Task<'a> {
    Files(&'a [Entry]),
    Folder(&'a Entry),
}

impl Walk<'_> {
    /// Scans a folder and everything below it.
    pub(crate) fn folder(
        &self,
        path: PathBuf,
        name: &FolderName,
        above: &[FolderId],
    ) -> Result<FoundFiles, Unread> {
        if self.watch.stop.requested() {
            return Ok(FoundFiles::default());
        }
        let (listing, above) = self.listed(&path, above)?;
        let tasks = tasks(&listing);
        let found = tasks.par_iter().map(|task| match task {
            Task::Files(files) => self.grouper.group(name, &listing, files).map(FoundFiles::from),
            Task::Folder(entry) => self.below(&path, name, listing.name(entry), &above),
        });
        let found = found.collect::<Result<Vec<FoundFiles>, Failure>>().map_err(Unread::Machine)?;
        let mut all = FoundFiles { empty: self.emptiness(name, &listing), ..FoundFiles::default() };
        found.into_iter().for_each(|f| all.append(f));
        Ok(all)
    }

    /// Returns the folder, if nothing is in it but hidden files and those of file managers; a root is none.
    pub(crate) fn emptiness(&self, folder: &FolderName, listing: &Listing) -> Vec<EmptyFolder> {
        let skips_hidden = self.grouper.options.names.action(Rule::Hidden) == Action::Skip;
        let is_empty = listing.entries.iter().all(|entry| {
            let name = listing.name(entry);
            (skips_hidden && name.starts_with(b".")) || is_of_file_manager(name)
        });
        if folder.source.is_empty() || !is_empty {
            return Vec::new();
        }
        vec![EmptyFolder { root: folder.root, path: folder.source.to_vec() }]
    }

    /// Reads the names of a folder; returns them with the folders that lead to them.
    pub(crate) fn listed(
        &self,
        path: &Path,
        above: &[FolderId],
    ) -> Result<(Listing, Vec<FolderId>), Unread> {
        let follow = self.grouper.options.follow_links;
        let listing = files::patiently(|| {
            Listing::read(path, follow, |file| self.grouper.options.stem_of(file))
        })
        .map_err(|e| Unread::of(e, path))?;
        self.watch.counter.add(listing.entries.len() as u64);
        let here = self.id(&listing).map_err(|e| Unread::of(e, path))?;
        if above.contains(&here) {
            let text = "a link leads back to a folder above it";
            return Err(Unread::Data(io::Error::new(io::ErrorKind::InvalidInput, text)));
        }
        Ok((listing, [above, &[here]].concat()))
    }

    /// Folders are identified only if links are followed, because only these can form loops.
    fn id(&self, listing: &Listing) -> io::Result<FolderId> {
        if !self.grouper.options.follow_links {
            static NEXT: AtomicU64 = AtomicU64::new(0);
            return Ok((u64::MAX, NEXT.fetch_add(1, Ordering::Relaxed)));
        }
        listing.id()
    }

    fn below(
        &self,
        path: &Path,
        parent: &FolderName,
        base: &[u8],
        above: &[FolderId],
    ) -> Result<FoundFiles, Failure> {
        match self.entered(path, parent, base) {
            Ok((path, name)) => self.settled(parent, base, self.folder(path, &name, above)),
            Err(left_out) => Ok(left_out),
        }
    }

    /// Returns path and name of a folder that is scanned, or what is reported of one that is not.
    pub(crate) fn entered(
        &self,
        path: &Path,
        parent: &FolderName,
        base: &[u8],
    ) -> Result<(PathBuf, FolderName), FoundFiles> {
        use std::os::unix::ffi::OsStrExt;
        let mut found = FoundFiles::default();
        let name = self.grouper.folder_name(parent, base);
        match name {
            Ok(Some(name)) => Ok((path.join(std::ffi::OsStr::from_bytes(base)), name)),
            Ok(None) => {
                found.skipped += 1;
                Err(found)
            }
            Err(problem) => {
                found.problems.push(*problem);
                Err(found)
            }
        }
    }

    /// Makes a problem of a folder that no machine can read.
    pub(crate) fn settled(
        &self,
        parent: &FolderName,
        base: &[u8],
        found: Result<FoundFiles, Unread>,
    ) -> Result<FoundFiles, Failure> {
        match found {
            Ok(found) => Ok(found),
            Err(Unread::Machine(failure)) => Err(failure),
            Err(Unread::Data(error)) => {
                let refusal = Refusal::unreadable(base, &error);
                let problem = self.grouper.problem(parent, None, &[], refusal);
                Ok(FoundFiles { problems: vec![problem], ..FoundFiles::default() })
            }
        }
    }
}

/// Splits a listing into tasks; no sample is split.
pub(crate) fn tasks(listing: &Listing) -> Vec<Task<'_>> {
    let mut tasks = Vec::new();
    for block in
        listing.entries.chunk_by(|a, b| a.kind != EntryKind::Folder && b.kind != EntryKind::Folder)
    {
        if block[0].kind == EntryKind::Folder {
            tasks.extend(block.iter().map(Task::Folder));
            continue;
        }
        let mut rest = block;
        while rest.len() > TASK {
            let stem = listing.stem(&rest[TASK - 1]);
            let same = rest[TASK..].iter().take_while(|e| listing.stem(e) == stem).count();
            let (task, more) = rest.split_at(TASK + same);
            tasks.push(Task::Files(task));
            rest = more;
        }
        if !rest.is_empty() {
            tasks.push(Task::Files(rest));
        }
    }
    tasks
}
