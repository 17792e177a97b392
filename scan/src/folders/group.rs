//! Groups a folder's files into samples and reports the files that are none.

use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::Stat;
use tarflume_base::check::{Content, sniff};
use tarflume_base::{Failure, Problem, ProblemKind};
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::{Blame, name};

use crate::folders::listing::{Entry, EntryKind, Known, Listing};
use crate::folders::recent_exts::RecentExts;
use crate::folders::refusal::{Refusal, misread, too_long};
use crate::folders::tables::{FoundTable, is_table};
use crate::links::Links;
use crate::names::exts::ExtTable;
use crate::names::fitted::{Fit, fit};
use crate::names::rules::{Action, Rule, Verdict, is_of_file_manager};
use crate::options::{Cause, ScanOptions, ScanProblem};
use crate::samples::list::{FoundAt, FoundPart, Run};
use crate::source::{part_path, shown_path, stamp};

/// A folder under a root, as a path of its files and as a prefix of its samples' keys.
#[derive(Debug, Clone)]
pub(crate) struct FolderName {
    pub(crate) root: u32,
    /// Path under the root with a trailing slash; empty for the root.
    pub(crate) source: Arc<[u8]>,
    pub(crate) key: Arc<[u8]>,
}

impl FolderName {
    /// Returns a run without samples.
    fn run(&self) -> Run {
        Run::new(self.root, self.source.clone(), self.key.clone())
    }
}

/// The result for some names of a folder.
#[derive(Debug)]
pub(crate) struct Grouped {
    pub(crate) runs: Vec<Run>,
    pub(crate) problems: Vec<ScanProblem>,
    pub(crate) tables: Vec<FoundTable>,
    pub(crate) skipped: u64,
    pub(crate) renamed: u64,
    /// The latest change, see [`Scan::newest`](crate::scan::Scan::newest).
    pub(crate) newest: i64,
}

/// Groups adjacent names; shared by the threads of a scan.
pub(crate) struct Grouper<'a> {
    pub(crate) options: &'a ScanOptions,
    pub(crate) roots: &'a [PathBuf],
    pub(crate) exts: &'a ExtTable,
}

/// A folder whose names were read.
#[derive(Clone, Copy)]
struct ListedFolder<'a> {
    name: &'a FolderName,
    listing: &'a Listing,
}

/// A file that may become a part of a sample.
pub(crate) struct Candidate<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) source_ext: &'a [u8],
    pub(crate) shard_ext: Vec<u8>,
    /// What a list states about it.
    pub(crate) known: Option<Known>,
}

/// The sample's stem for its key, if it differs from its files' own; and its parts.
type Grouping = (Option<Vec<u8>>, Vec<FoundPart>);

/// The results of the system calls for the files of one task.
struct Examined {
    /// The latest change, in nanoseconds since 1970.
    newest: i64,
    exts: RecentExts,
}

/// Why files are not a sample.
pub(crate) enum Unfit {
    /// They are at fault.
    Refused(Refusal),
    /// The machine failed while they were examined.
    Failed(Failure),
}

impl From<Refusal> for Unfit {
    fn from(refusal: Refusal) -> Unfit {
        Unfit::Refused(refusal)
    }
}

impl Grouper<'_> {
    /// Groups `entries`, which contain no folder and no incomplete sample.
    ///
    /// # Errors
    /// Returns an error if the machine failed.
    pub(crate) fn group(
        &self,
        folder: &FolderName,
        listing: &Listing,
        entries: &[Entry],
    ) -> Result<Grouped, Failure> {
        let mut out = Grouped {
            runs: Vec::new(),
            problems: Vec::new(),
            tables: Vec::new(),
            skipped: 0,
            renamed: 0,
            newest: i64::MIN,
        };
        let listed = ListedFolder { name: folder, listing };
        let mut current = folder.run();
        let mut examined = Examined { newest: i64::MIN, exts: RecentExts::default() };
        for files in entries.chunk_by(|a, b| listing.stem(a) == listing.stem(b)) {
            let files = self.set_aside(listed, files, &mut out)?;
            let Some(first) = files.first() else { continue };
            let stem = listing.stem(first);
            match self.sample(listed, stem, &files, &mut examined) {
                Ok(None) => out.skipped += files.len() as u64,
                Ok(Some((key_stem, parts))) => {
                    out.renamed += u64::from(key_stem.is_some());
                    current.push(stem, key_stem.as_deref(), &parts);
                    if current.is_full() {
                        current.shrink();
                        out.runs.push(std::mem::replace(&mut current, folder.run()));
                    }
                }
                Err(Unfit::Failed(failure)) => return Err(failure),
                Err(Unfit::Refused(refusal)) => {
                    let names: Vec<_> = files.iter().map(|f| listing.name(f)).collect();
                    out.problems.push(self.problem(folder, Some(stem), &names, refusal));
                }
            }
        }
        current.shrink();
        out.newest = examined.newest;
        out.runs.push(current);
        Ok(out)
    }

    /// Removes excluded names, tables and names that are not regular files from a sample's names.
    ///
    /// # Errors
    /// Returns the errors of [`is_table`].
    fn set_aside<'e>(
        &self,
        listed: ListedFolder<'_>,
        files: &'e [Entry],
        out: &mut Grouped,
    ) -> Result<Vec<&'e Entry>, Failure> {
        let ListedFolder { name: folder, listing } = listed;
        let mut keep = Vec::with_capacity(files.len());
        for file in files {
            let name = listing.name(file);
            let hidden = name.starts_with(b".");
            let skip_hidden = hidden && self.options.names.action(Rule::Hidden) == Action::Skip;
            if skip_hidden
                || is_of_file_manager(name)
                || self.options.excludes(&folder.source, name)
            {
                out.skipped += 1;
            } else if is_table(self.options, &folder.source, name, || self.path(folder, name))? {
                let root = folder.root;
                let folder = folder.source.to_vec();
                out.tables.push(FoundTable { root, folder, name: name.to_vec() });
            } else if file.kind == EntryKind::File {
                keep.push(file);
            } else {
                let refusal = match file.kind {
                    EntryKind::Link => Refusal::link(name),
                    _ => {
                        let reason = "a device, pipe or socket, not a file";
                        Refusal::new(ProblemKind::NotRegular, name, reason)
                    }
                };
                out.problems.push(self.problem(folder, None, &[], refusal));
            }
        }
        Ok(keep)
    }

    /// Returns the key's stem if it is not the files' own, and the parts; `None` if they are left
    /// out.
    fn sample(
        &self,
        listed: ListedFolder<'_>,
        stem: &[u8],
        files: &[&Entry],
        examined: &mut Examined,
    ) -> Result<Option<Grouping>, Unfit> {
        let ListedFolder { name: folder, listing } = listed;
        let first = listing.name(files[0]);
        let judged = self.options.names.judge(stem, true);
        if self.is_listed(folder, stem, &judged) {
            return Ok(None);
        }
        if files.iter().any(|f| listing.name(f).len() <= stem.len() + 1) {
            let reason = message!("it has no extension, so no reader can tell what it is; {exclude} it"; exclude = Name::Exclude);
            return Err(Refusal::new(ProblemKind::NoExtension, first, reason).into());
        }
        let mut key_stem = match judged {
            Verdict::Keep => None,
            Verdict::Becomes(new) => Some(new),
            Verdict::Skip => return Ok(None),
            Verdict::Refuse(rule) => return Err(self.misread(rule, first).into()),
        };
        let mut parts = files
            .iter()
            .map(|f| self.candidate(listed, f, stem))
            .collect::<Result<Vec<_>, Unfit>>()?;
        parts.sort_by(|a, b| a.shard_ext.cmp(&b.shard_ext));
        self.check_parts(stem, &parts)?;
        let longest = parts.iter().map(|p| p.shard_ext.len()).max().unwrap_or(0);
        let old = key_stem.as_deref().unwrap_or(stem);
        match fit(&self.options.names, &folder.key, old, longest) {
            Fit::Fits => {}
            Fit::Refused => return Err(self.misread(Rule::Long, first).into()),
            Fit::NoRoom => {
                let reason = too_long("its folder", folder.key.len());
                return Err(Refusal::new(ProblemKind::BadName, first, reason).into());
            }
            Fit::Short(short) => {
                if self.lists(&folder.key, &short) {
                    return Ok(None);
                }
                key_stem = Some(short);
            }
        }
        let found = parts.iter().map(|part| self.examine(listed, part, examined));
        let found = found.collect::<Result<_, Unfit>>()?;
        Ok(Some((key_stem, found)))
    }

    /// Returns true if the list of keys has this sample: by its key, or by the one under which
    /// `problems.jsonl` reports it, which no other sample can get.
    fn is_listed(&self, folder: &FolderName, stem: &[u8], judged: &Verdict) -> bool {
        let by_key = match judged {
            Verdict::Becomes(new) => self.lists(&folder.key, new),
            _ => self.lists(&folder.key, stem),
        };
        by_key || self.lists(&folder.source, stem)
    }

    fn lists(&self, folder: &[u8], stem: &[u8]) -> bool {
        self.options.listed.has(&[folder, stem].concat())
    }

    fn candidate<'n>(
        &self,
        folder: ListedFolder<'n>,
        file: &Entry,
        stem: &[u8],
    ) -> Result<Candidate<'n>, Unfit> {
        let name = folder.listing.name(file);
        let known = folder.listing.known(file);
        let source_ext = &name[stem.len() + 1..];
        let mut shard_ext = self.options.exts.apply(source_ext);
        if self.options.by_content
            && Content::of(&shard_ext).is_image()
            && let Some(ext) = self.image_ext(folder, name)?
        {
            let last = shard_ext.iter().rposition(|&b| b == b'.').map_or(0, |dot| dot + 1);
            if !sniff::same(&shard_ext[last..], ext) {
                shard_ext.truncate(last);
                shard_ext.extend(ext.bytes());
            }
        }
        if std::str::from_utf8(source_ext).is_err() {
            let reason = message!("its extension is not UTF-8; rename it or {exclude} it"; exclude = Name::Exclude);
            return Err(Refusal::new(ProblemKind::BadName, name, reason).into());
        }
        match self.options.names.judge_ext(&shard_ext) {
            Verdict::Refuse(rule) => return Err(self.misread(rule, name).into()),
            Verdict::Becomes(new) => shard_ext = new,
            Verdict::Keep | Verdict::Skip => {}
        }
        Ok(Candidate { name, source_ext, shard_ext, known })
    }

    /// Returns the extension for the image format of a file. An unreadable file has none: packing
    /// refuses it.
    fn image_ext(
        &self,
        folder: ListedFolder<'_>,
        name: &[u8],
    ) -> Result<Option<&'static str>, Unfit> {
        folder.listing.image_ext(name).or_else(|error| match Blame::of(&error) {
            Blame::Data => Ok(None),
            _ => Err(Unfit::Failed(Failure::io(error, "read", self.path(folder.name, name)))),
        })
    }

    fn check_parts(&self, stem: &[u8], parts: &[Candidate<'_>]) -> Result<(), Refusal> {
        if let Some(twins) = parts.windows(2).find(|p| p[0].shard_ext == p[1].shard_ext) {
            let reason = message!("it and '{}' both give the part '{}' of '{}'; remove one, or give {ext_map}", name::shown(twins[0].name), name::shown(&twins[0].shard_ext), name::shown(stem); ext_map = Name::ExtMap);
            return Err(Refusal::new(ProblemKind::RepeatedPart, twins[1].name, reason));
        }
        let exts: Vec<&[u8]> = parts.iter().map(|p| p.shard_ext.as_slice()).collect();
        if let Some(missing) = self.options.require.missing(&exts) {
            let have: Vec<_> = exts.iter().map(|e| name::shown(e)).collect();
            let reason = message!("the sample has {} but no '{missing}'; add it, {exclude} the file, or give {require}", have.join(", "); exclude = Name::Exclude, require = Name::Require);
            let refusal = Refusal::new(ProblemKind::MissingPart, parts[0].name, reason);
            return Err(refusal.because(Cause::Lacks(missing.into())));
        }
        Ok(())
    }

    /// Reads size and time of a file and numbers its extension.
    fn examine(
        &self,
        folder: ListedFolder<'_>,
        part: &Candidate<'_>,
        examined: &mut Examined,
    ) -> Result<FoundPart, Unfit> {
        let Known { size, stamp, changed } = self.known(folder.name, folder.listing, part)?;
        let ext =
            examined.exts.number(self.exts, part.source_ext, &part.shard_ext).ok_or_else(|| {
                let reason = "more than 65,536 different extensions";
                Refusal::new(ProblemKind::BadName, part.name, reason)
            })?;
        examined.newest = examined.newest.max(changed);
        Ok(FoundPart { ext, size, at: FoundAt::File(stamp) })
    }

    /// Returns size and time of a file, which may not be empty.
    pub(crate) fn known(
        &self,
        folder: &FolderName,
        listing: &Listing,
        part: &Candidate<'_>,
    ) -> Result<Known, Unfit> {
        let known = match part.known {
            Some(known) => known,
            None => self.looked_up(folder, listing, part.name)?,
        };
        if known.size == 0 && !self.options.empty.keeps(&part.shard_ext) {
            let shown = name::shown(&part.shard_ext);
            let reason = message!("the file is empty; if that has a meaning, give {keep_empty}"; keep_empty = Name::KeepEmpty.is(shown.to_string()));
            return Err(Refusal::new(ProblemKind::Empty, part.name, &reason).into());
        }
        Ok(known)
    }

    /// Asks the file system for size and time of a file.
    fn looked_up(
        &self,
        folder: &FolderName,
        listing: &Listing,
        file: &[u8],
    ) -> Result<Known, Unfit> {
        let links = Links::of(self.options.follow_links);
        let stat = listing.examined(|| self.path(folder, file), file, links.flags());
        let stat = stat.map_err(|error| match Blame::of(&error) {
            Blame::Data => Refusal::of_error(file, &error, links).into(),
            _ => Unfit::Failed(Failure::io(error, "examine", self.path(folder, file))),
        })?;
        Ok(Known {
            size: stat.st_size as u64, // as the standard library reads it
            stamp: stamp(stat.st_mtime, stat.st_mtime_nsec as i64),
            changed: last_change(&stat),
        })
    }

    fn path(&self, folder: &FolderName, file: &[u8]) -> PathBuf {
        part_path(&self.roots[folder.root as usize], &[&folder.source, file].concat(), b"")
    }

    fn misread(&self, rule: Rule, file: &[u8]) -> Refusal {
        Refusal::new(ProblemKind::BadName, file, misread(rule, file))
    }

    /// Returns the name of a folder below `parent`; `None` if it is left out.
    ///
    /// # Errors
    /// Returns the problem of a folder that is refused by its own name.
    pub(crate) fn folder_name(
        &self,
        parent: &FolderName,
        base: &[u8],
    ) -> Result<Option<FolderName>, Box<ScanProblem>> {
        let key_base = match self.options.names.judge(base, false) {
            _ if self.options.excludes_folder(&parent.source, base) => return Ok(None),
            Verdict::Keep => base.to_vec(),
            Verdict::Becomes(new) => new,
            Verdict::Skip => return Ok(None),
            Verdict::Refuse(rule) => return Err(self.refused_folder(parent, base, rule).into()),
        };
        Ok(Some(FolderName {
            root: parent.root,
            source: [&parent.source, base, b"/"].concat().into(),
            key: [&parent.key, key_base.as_slice(), b"/"].concat().into(),
        }))
    }

    /// Returns the refusal of a folder by its own name: one problem, and nothing in it is examined.
    fn refused_folder(&self, parent: &FolderName, folder: &[u8], rule: Rule) -> ScanProblem {
        let mut refusal = self.misread(rule, folder);
        refusal.reason = message!("the folder and all in it: {reason}"; reason = refusal.reason);
        self.problem(parent, None, &[], refusal)
    }

    /// Converts the refusal to a problem with the paths of all files that it leaves out.
    pub(crate) fn problem(
        &self,
        folder: &FolderName,
        stem: Option<&[u8]>,
        files: &[&[u8]],
        refusal: Refusal,
    ) -> ScanProblem {
        let key = stem.map(|stem| name::shown(&[&folder.source, stem].concat()));
        let mut problem = Problem::new(
            refusal.kind,
            shown_path(&self.path(folder, &refusal.file)),
            refusal.reason,
        );
        problem.key = key;
        let files = files.iter().map(|f| self.path(folder, f)).collect();
        ScanProblem::new(problem, folder.root, files).because(refusal.cause)
    }
}

/// Returns the latest time at which a file's content can have changed, in nanoseconds since 1970.
///
/// That is its modification time, unless it was set by a program to a later time: only the system
/// sets the time of the last change of the inode, and no content changes after it.
fn last_change(stat: &Stat) -> i64 {
    fn nanoseconds(seconds: i64, rest: i64) -> i64 {
        seconds.saturating_mul(1_000_000_000).saturating_add(rest)
    }
    let modified = nanoseconds(stat.st_mtime, stat.st_mtime_nsec as i64);
    modified.min(nanoseconds(stat.st_ctime, stat.st_ctime_nsec as i64))
}
