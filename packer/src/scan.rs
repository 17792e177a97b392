//! The scan: source folders -> samples in the order of their keys, and problems.
//!
//! Floors: `rules` and `exts` judge names, `exclude_list` holds keys to leave out, `list` stores
//! samples compactly, `texts` holds text that becomes parts, `listing` reads the names of a
//! folder, `group` groups them into samples, `builder` takes samples from rows instead, this file
//! walks the tree. Looks up each name once; opens no file except with `--ext-by-content`. The
//! result does not depend on the number of threads.

pub(crate) mod attach;
pub(crate) mod builder;
pub(crate) mod exclude;
pub(crate) mod exclude_list;
pub(crate) mod exts;
mod group;
pub(crate) mod list;
mod listing;
pub(crate) mod options;
pub(crate) mod pair;
pub(crate) mod rules;
mod tables;
pub(crate) mod texts;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use tarflume_formats::About;
use tarflume_formats::plan::{PlannedExt, PlannedSource};
use tarflume_formats::{Blame, files};

use self::exts::ExtTable;
use self::group::{FolderName, Grouped, Grouper};
use self::list::{Run, SampleList};
use self::listing::{Entry, Kind, Listing};
pub(crate) use self::tables::FoundTable;
use self::texts::Texts;

pub use self::rules::NameRules;

use self::options::{ScanOptions, ScanProblem};
use self::rules::Verdict;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::stop::Stop;

/// Number of names per task.
const TASK: usize = 4096;

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
    pub notes: Vec<String>,
    /// The problems found.
    pub problems: Vec<ScanProblem>,
    /// Tables of metadata found in folders; see [`ScanOptions::metadata`].
    pub(crate) tables: Vec<FoundTable>,
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
    pub(crate) fn has_located_parts(&self) -> bool {
        !self.sources.is_empty() || !self.texts.is_empty()
    }
}

/// The progress of a scan, read by the progress display while it runs.
#[derive(Debug, Default)]
pub struct ScanCounter(AtomicU64);

impl ScanCounter {
    /// Returns the number of names read so far.
    pub fn names(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts names or rows.
    pub(crate) fn add(&self, names: u64) {
        self.0.fetch_add(names, Ordering::Relaxed);
    }
}

/// Scans `roots` in the current rayon pool.
///
/// # Errors
/// Returns an error for a root that cannot be read (wrong usage), and for any failure of the
/// machine: files that were not seen would be missing from the result. Faults of the files
/// themselves are problems.
pub fn scan(
    roots: &[PathBuf],
    options: &ScanOptions,
    counter: &ScanCounter,
    stop: &Stop,
) -> Result<Scan, Failure> {
    let exts = ExtTable::default();
    let walk = Walk { grouper: Grouper { options, roots, exts: &exts }, counter, stop };
    let mut all = Found::default();
    for (number, root) in roots.iter().enumerate() {
        let nothing: std::sync::Arc<[u8]> = [].into();
        let folder = FolderName { root: number as u32, source: nothing.clone(), key: nothing };
        match walk.folder(root.clone(), &folder, &[]) {
            Ok(found) => all.append(found),
            Err(Unread::Machine(failure)) => return Err(failure),
            Err(Unread::Data(error)) => {
                let failure = Failure::io(error, "read the source folder", root);
                return Err(failure.with_exit(Exit::Usage));
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
        skipped: all.skipped,
        renamed: all.renamed,
        newest: all.newest,
    })
}

/// The findings of a subtree, in order.
#[derive(Default)]
struct Found {
    runs: Vec<Run>,
    problems: Vec<ScanProblem>,
    tables: Vec<FoundTable>,
    skipped: u64,
    renamed: u64,
    newest: i64,
}

impl Found {
    fn append(&mut self, mut other: Found) {
        self.runs.append(&mut other.runs);
        self.problems.append(&mut other.problems);
        self.tables.append(&mut other.tables);
        self.skipped += other.skipped;
        self.renamed += other.renamed;
        self.newest = self.newest.max(other.newest);
    }
}

/// Why a folder was not read.
enum Unread {
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

impl From<Grouped> for Found {
    fn from(grouped: Grouped) -> Found {
        let Grouped { runs, problems, tables, skipped, renamed, newest } = grouped;
        Found { runs, problems, tables, skipped, renamed, newest }
    }
}

struct Walk<'a> {
    grouper: Grouper<'a>,
    counter: &'a ScanCounter,
    stop: &'a Stop,
}

/// Device and inode of a folder; detects loops of links.
type FolderId = (u64, u64);

/// A piece of a folder's listing for one thread.
enum Task<'a> {
    Files(&'a [Entry]),
    Folder(&'a Entry),
}

impl Walk<'_> {
    fn folder(
        &self,
        path: PathBuf,
        name: &FolderName,
        above: &[FolderId],
    ) -> Result<Found, Unread> {
        if self.stop.requested() {
            return Ok(Found::default());
        }
        let follow = self.grouper.options.follow_links;
        let read = || Listing::read(&path, follow, |file| self.grouper.options.stem_of(file));
        let listing = files::patiently(read).map_err(|e| Unread::of(e, &path))?;
        self.counter.0.fetch_add(listing.entries.len() as u64, Ordering::Relaxed);
        let here = self.id(&listing).map_err(|e| Unread::of(e, &path))?;
        if above.contains(&here) {
            let text = "a link leads back to a folder above it";
            return Err(Unread::Data(io::Error::new(io::ErrorKind::InvalidInput, text)));
        }
        let above = [above, &[here]].concat();
        let tasks = tasks(&listing);
        let found = tasks.par_iter().map(|task| match task {
            Task::Files(files) => self.grouper.group(name, &listing, files).map(Found::from),
            Task::Folder(entry) => self.below(&path, name, listing.name(entry), &above),
        });
        let found = found.collect::<Result<Vec<Found>, Failure>>().map_err(Unread::Machine)?;
        let mut all = Found::default();
        found.into_iter().for_each(|f| all.append(f));
        Ok(all)
    }

    /// Folders are identified only if links are followed, because only these can form loops.
    fn id(&self, listing: &Listing) -> io::Result<FolderId> {
        if !self.grouper.options.follow_links {
            static NEXT: AtomicU64 = AtomicU64::new(0);
            return Ok((u64::MAX, NEXT.fetch_add(1, Ordering::Relaxed)));
        }
        let stat = files::patiently(|| Ok(rustix::fs::fstat(&listing.folder)?))?;
        Ok((stat.st_dev, stat.st_ino))
    }

    fn below(
        &self,
        path: &Path,
        parent: &FolderName,
        base: &[u8],
        above: &[FolderId],
    ) -> Result<Found, Failure> {
        use std::os::unix::ffi::OsStrExt;
        let mut found = Found::default();
        let options = self.grouper.options;
        let key_base = match options.names.judge(base, false) {
            _ if options.excludes(&parent.source, base) => None,
            Verdict::Keep => Some(base.to_vec()),
            Verdict::Becomes(new) => Some(new),
            Verdict::Skip => None,
            Verdict::Refuse(rule) => {
                found.problems.push(self.grouper.refused_folder(parent, base, rule));
                return Ok(found);
            }
        };
        let Some(key_base) = key_base else {
            found.skipped += 1;
            return Ok(found);
        };
        let name = FolderName {
            root: parent.root,
            source: [&parent.source, base, b"/"].concat().into(),
            key: [&parent.key, key_base.as_slice(), b"/"].concat().into(),
        };
        let path = path.join(std::ffi::OsStr::from_bytes(base));
        match self.folder(path, &name, above) {
            Ok(found) => Ok(found),
            Err(Unread::Machine(failure)) => Err(failure),
            Err(Unread::Data(error)) => {
                let refusal = group::Refusal::unreadable(base, &error);
                found.problems.push(self.grouper.problem(parent, None, &[], refusal));
                Ok(found)
            }
        }
    }
}

/// Splits a listing into tasks; no sample is split.
fn tasks(listing: &Listing) -> Vec<Task<'_>> {
    let mut tasks = Vec::new();
    for block in listing.entries.chunk_by(|a, b| a.kind != Kind::Folder && b.kind != Kind::Folder) {
        if block[0].kind == Kind::Folder {
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
