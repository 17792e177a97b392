//! Finds files in folders and everything below them, and what the files of one sample have in common: their key. Uses the
//! threads of the current rayon pool.
//!
//! Memory: 40 bytes and the path for each file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use tarflume_base::{Failure, FailureKind, ProblemKind};
use tarflume_formats::name;

use super::strays::Strays;
use crate::folders::group::{Candidate, FolderName, Unfit};
use crate::folders::listing::{Entry, EntryKind, Known, Listing};
use crate::folders::refusal::Refusal;
use crate::folders::walk::{FolderId, Task, Unread, Walk, tasks};
use crate::names::rules::{Action, Rule, is_of_file_manager};
use crate::options::ScanProblem;

/// Decides to which samples files belong.
pub(super) trait Belonging: Sync {
    /// Puts the key of the sample of a file into `key`, and returns the number of the file's side; `None` if it belongs to
    /// no sample.
    ///
    /// # Errors
    /// Returns an error for a file that belongs to two sides.
    fn side_of(&self, path: &[u8], key: &mut Vec<u8>) -> Result<Option<u16>, Failure>;

    /// Returns the extension of a file in shards, as far as it decides whether the file may be empty.
    fn ext(&self, side: u16, path: &[u8]) -> Vec<u8>;

    /// Returns where the key is in the path of a file; `None` if it is no piece of it.
    fn key_at(&self, side: u16) -> Option<usize>;
}

/// A file that belongs to a sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matched {
    /// The number of its side.
    pub(super) side: u16,
    /// Whether it is a problem, so that its sample is left out.
    pub(super) is_refused: bool,
    path: Piece,
    key: Piece,
    pub(super) size: u64,
    /// A digest of its modification time.
    pub(super) stamp: u32,
}

/// A piece of [`MatchedFiles::names`].
#[derive(Debug, Clone, Copy)]
struct Piece {
    at: u64,
    length: u32,
}

impl Piece {
    fn new(at: usize, length: usize) -> Piece {
        Piece { at: at as u64, length: length as u32 } // paths are shorter than 4 GiB
    }

    /// Returns the piece behind `base` other bytes.
    fn behind(self, base: u64) -> Piece {
        Piece { at: self.at + base, ..self }
    }

    fn of(self, names: &[u8]) -> &[u8] {
        let start = self.at as usize; // of memory
        &names[start..start + self.length as usize]
    }
}

/// A file and the side that it belongs to.
struct Belongs<'a> {
    side: u16,
    path: &'a [u8],
    key: &'a [u8],
}

/// What was found in folders.
#[derive(Default)]
pub(super) struct MatchedFiles {
    pub(super) files: Vec<Matched>,
    /// Paths under the root, and keys that are no pieces of them.
    names: Vec<u8>,
    pub(super) problems: Vec<ScanProblem>,
    pub(super) strays: Strays,
    pub(super) skipped: u64,
    pub(super) newest: i64,
}

impl MatchedFiles {
    /// Nothing.
    pub(super) fn new() -> MatchedFiles {
        MatchedFiles { newest: i64::MIN, ..MatchedFiles::default() }
    }

    /// Returns the path of a file under the root.
    pub(super) fn path(&self, file: &Matched) -> &[u8] {
        file.path.of(&self.names)
    }

    /// Returns what the files of its sample have in common.
    pub(super) fn key(&self, file: &Matched) -> &[u8] {
        file.key.of(&self.names)
    }

    pub(super) fn append(&mut self, mut other: MatchedFiles) {
        let base = self.names.len() as u64;
        self.names.append(&mut other.names);
        self.files.extend(other.files.into_iter().map(|file| Matched {
            path: file.path.behind(base),
            key: file.key.behind(base),
            ..file
        }));
        self.problems.append(&mut other.problems);
        self.strays.append(other.strays);
        self.skipped += other.skipped;
        self.newest = self.newest.max(other.newest);
    }

    /// Sorts the files by keys, those of one key by sides.
    pub(super) fn sort(&mut self) {
        let MatchedFiles { files, names, .. } = self;
        files.par_sort_unstable_by(|a, b| {
            let by_key = a.key.of(names).cmp(b.key.of(names));
            by_key.then(a.side.cmp(&b.side)).then(a.path.at.cmp(&b.path.at))
        });
    }
}

/// Looks for the files of samples.
pub(super) struct Matching<'a, R> {
    pub(super) walk: Walk<'a>,
    pub(super) rule: &'a R,
}

impl<R: Belonging> Matching<'_, R> {
    /// Finds the files in a folder under the root and in everything below it.
    ///
    /// # Errors
    /// Returns an error for a folder that cannot be read, and the errors of the rule.
    pub(super) fn under(&self, root: &Path, folder: &str) -> Result<MatchedFiles, Failure> {
        let path = if folder.is_empty() { root.to_path_buf() } else { root.join(folder) };
        let slash = if folder.is_empty() { "" } else { "/" };
        let source: Arc<[u8]> = [folder, slash].concat().into_bytes().into();
        let name = FolderName { root: 0, source, key: [].into() };
        self.folder(path.clone(), &name, &[]).map_err(|unread| match unread {
            Unread::Machine(failure) => failure,
            Unread::Data(error) => {
                Failure::io(error, "read the folder", &path).with_kind(FailureKind::Usage)
            }
        })
    }

    fn folder(
        &self,
        path: PathBuf,
        name: &FolderName,
        above: &[FolderId],
    ) -> Result<MatchedFiles, Unread> {
        if self.walk.watch.stop.requested() {
            return Ok(MatchedFiles::new());
        }
        let (listing, above) = self.walk.listed(&path, above)?;
        let tasks = tasks(&listing);
        let found = tasks.par_iter().map(|task| match task {
            Task::Files(files) => self.files(name, &listing, files),
            Task::Folder(entry) => self.below(&path, name, listing.name(entry), &above),
        });
        let found = found.collect::<Result<Vec<_>, Failure>>().map_err(Unread::Machine)?;
        let mut all = MatchedFiles::new();
        found.into_iter().for_each(|found| all.append(found));
        Ok(all)
    }

    fn below(
        &self,
        path: &Path,
        parent: &FolderName,
        base: &[u8],
        above: &[FolderId],
    ) -> Result<MatchedFiles, Failure> {
        let found = match self.walk.entered(path, parent, base) {
            Ok((path, name)) => self.folder(path, &name, above),
            Err(left_out) => {
                return Ok(MatchedFiles {
                    problems: left_out.problems,
                    skipped: left_out.skipped,
                    ..MatchedFiles::new()
                });
            }
        };
        match found {
            Ok(found) => Ok(found),
            Err(Unread::Machine(failure)) => Err(failure),
            Err(Unread::Data(error)) => {
                let refusal = Refusal::unreadable(base, &error);
                let problem = self.walk.grouper.problem(parent, None, &[], refusal);
                Ok(MatchedFiles { problems: vec![problem], ..MatchedFiles::new() })
            }
        }
    }

    /// Finds the samples of the files of a folder.
    fn files(
        &self,
        folder: &FolderName,
        listing: &Listing,
        entries: &[Entry],
    ) -> Result<MatchedFiles, Failure> {
        let options = self.walk.grouper.options;
        let skips_hidden = options.names.action(Rule::Hidden) == Action::Skip;
        let mut out = MatchedFiles::new();
        let mut key = Vec::new();
        for entry in entries {
            let name = listing.name(entry);
            let is_hidden = skips_hidden && name.starts_with(b".");
            if is_hidden || is_of_file_manager(name) || options.excludes(&folder.source, name) {
                out.skipped += 1;
                continue;
            }
            let path = [&folder.source, name].concat();
            if options.joined.contains(&path) {
                continue;
            }
            key.clear();
            match self.rule.side_of(&path, &mut key)? {
                Some(side) => {
                    let belongs = Belongs { side, path: &path, key: &key };
                    let known = self.known(folder, listing, entry, &belongs, &mut out)?;
                    self.add(&belongs, known, &mut out);
                }
                None => out.strays.add(&path),
            }
        }
        Ok(out)
    }

    /// Returns size and time of a file that belongs to a sample; `None` if it is a problem.
    fn known(
        &self,
        folder: &FolderName,
        listing: &Listing,
        entry: &Entry,
        belongs: &Belongs<'_>,
        out: &mut MatchedFiles,
    ) -> Result<Option<Known>, Failure> {
        let grouper = &self.walk.grouper;
        let name = listing.name(entry);
        let known = match entry.kind {
            EntryKind::Link => Err(Refusal::link(name).into()),
            EntryKind::File => {
                let shard_ext = self.rule.ext(belongs.side, belongs.path);
                let part = Candidate { name, source_ext: &[], shard_ext, known: None };
                grouper.known(folder, listing, &part)
            }
            _ => {
                let reason = "a device, pipe or socket, not a file";
                Err(Refusal::new(ProblemKind::NotRegular, name, reason).into())
            }
        };
        match known {
            Ok(known) => Ok(Some(known)),
            Err(Unfit::Failed(failure)) => Err(failure),
            Err(Unfit::Refused(refusal)) => {
                let mut found = grouper.problem(folder, None, &[name], refusal);
                found.problem.key = Some(name::shown(belongs.key));
                out.problems.push(found);
                Ok(None)
            }
        }
    }

    /// Adds a file that belongs to a sample.
    fn add(&self, belongs: &Belongs<'_>, known: Option<Known>, out: &mut MatchedFiles) {
        let Belongs { side, path, key } = *belongs;
        let start = out.names.len();
        out.names.extend_from_slice(path);
        let key_at = match self.rule.key_at(side) {
            Some(at) => start + at,
            None => {
                out.names.extend_from_slice(key);
                start + path.len()
            }
        };
        if let Some(known) = known {
            out.newest = out.newest.max(known.changed);
        }
        out.files.push(Matched {
            side,
            is_refused: known.is_none(),
            path: Piece::new(start, path.len()),
            key: Piece::new(key_at, key.len()),
            // A refused file is no part.
            size: known.map_or(0, |known| known.size),
            stamp: known.map_or(0, |known| known.stamp),
        });
    }
}
