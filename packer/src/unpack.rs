//! Restores the files of shards under a folder, and nothing outside it.
//!
//! Walks the tars themselves, so that names come back as they were stored, including upper-case
//! extensions and files without key; sidecars only provide checksums. A member that is not a
//! regular file or whose name leaves the folder is refused and reported, and the others continue.
//! `tree` creates the files, `settle` checks that they reached the disk.

pub(crate) mod settle;
pub(crate) mod tree;

use std::fs::{self, File};
use std::path::Path;

use tarflume_formats::shown::ShowPath;
use tarflume_formats::tar::{Member, MemberKind};
use tarflume_formats::{Error, ErrorKind, Reading, TarReader, name};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::index::in_parallel;
use crate::index::rows::part_of;
use crate::listing::{Listing, Shard, copy_bytes};
use crate::problem::{Problem, ProblemKind};
use crate::verify::cursor::Cursor;
use crate::verify::kinds;
use settle::WriteCheck;
use tree::{Created, Tree};

/// The result of unpacking.
#[derive(Debug, Default)]
pub struct Unpacked {
    /// Files.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Shards whose files were not compared with checksums because they have none.
    pub unproved: u64,
    /// The members that were not unpacked, with reasons, in the order of shards.
    pub problems: Vec<Problem>,
}

/// Unpacks all shards of `listing` under the folder `out` with `jobs` threads.
///
/// The files are on the disk or server when this returns.
///
/// # Errors
/// Returns an error if `out` is neither new nor empty, or if the operating system refuses to write.
pub fn unpack(
    listing: &Listing,
    out: &Path,
    jobs: usize,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<Unpacked, Failure> {
    new_or_empty(out)?;
    // The folder is not empty at this point, so the same command would be refused.
    all(listing, out, jobs, on_bytes).map_err(|failure| match failure.exit {
        Exit::TryAgain | Exit::Barred => {
            failure.with_remedy(&format!("remove {} and unpack again", out.shown()))
        }
        _ => failure,
    })
}

fn all(
    listing: &Listing,
    out: &Path,
    jobs: usize,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<Unpacked, Failure> {
    let settled = WriteCheck::of(out)?;
    let shards: Vec<&Shard> = listing.shards.iter().collect();
    let done = in_parallel(jobs, shards, |shard| one(shard, out, &settled, on_bytes))?;
    let mut all = Unpacked::default();
    for one in done {
        let one = one?;
        all.files += one.files;
        all.bytes += one.bytes;
        all.unproved += one.unproved;
        all.problems.extend(one.problems);
    }
    settled.all(out)?;
    Ok(all)
}

fn new_or_empty(out: &Path) -> Result<(), Failure> {
    fs::create_dir_all(out).map_err(|e| Failure::io(e, "create the folder", out))?;
    let mut there = fs::read_dir(out).map_err(|e| Failure::io(e, "read the folder", out))?;
    if there.next().is_some() {
        let text = format!(
            "{}: this folder is not empty; name a new one, so that nothing in it is mixed up",
            out.shown()
        );
        return Err(Failure::usage(text));
    }
    Ok(())
}

struct Unpacking<'a> {
    shard: &'a Shard,
    data: File,
    out: &'a Path,
    tree: Tree,
    settled: &'a WriteCheck,
    /// Provides checksums while the sidecar matches the tar.
    cursor: Option<Cursor<'a>>,
    done: Unpacked,
}

fn one(
    shard: &Shard,
    out: &Path,
    settled: &WriteCheck,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<Unpacked, Failure> {
    let data = shard.data()?;
    let again = data.try_clone().map_err(|e| Failure::io(e, "open", &shard.tar))?;
    let reader = TarReader::of_file(again, &shard.tar, Reading::Headers)?;
    let mut reader = reader.ignore_zeros(shard.ignore_zeros);
    reader = reader.read_on_until(shard.index.samples_end()?);
    let mut unpacking = Unpacking {
        shard,
        data,
        out,
        tree: Tree::open(out)?,
        settled,
        cursor: match shard.index.has_checksums() {
            true => Some(Cursor::new(&shard.tar, &shard.index)?),
            false => None,
        },
        done: Unpacked { unproved: u64::from(!shard.index.has_checksums()), ..Unpacked::default() },
    };
    loop {
        match reader.next_member() {
            Ok(Some(member)) => {
                unpacking.member(&member)?;
                on_bytes(member.size);
            }
            Ok(None) => break,
            Err(error) => {
                unpacking.done.problems.push(kinds::in_tar(&kinds::of_data(error)?));
                break;
            }
        }
    }
    if let Some(error) = unpacking.cursor.as_mut().and_then(Cursor::difference) {
        unpacking.done.problems.push(kinds::in_tar(&kinds::of_data(error)?.with_path(&shard.tar)));
    }
    Ok(unpacking.done)
}

impl Unpacking<'_> {
    fn member(&mut self, member: &Member) -> Result<(), Failure> {
        let checksum = match (&mut self.cursor, part_of(member)) {
            (Some(cursor), Some((key, ext))) => {
                cursor.meet(member, key, &ext)?.and_then(|listed| listed.part.checksum)
            }
            _ => None,
        };
        let path = plain(&member.name);
        match member.kind {
            MemberKind::File | MemberKind::Directory => {}
            MemberKind::Volume => return Ok(()),
            kind => {
                let text = format!("not unpacked: this member is {kind}, not a regular file");
                self.problem(ProblemKind::NotRegular, member, text);
                return Ok(());
            }
        }
        if path.is_empty() && member.kind == MemberKind::Directory {
            return Ok(()); // the folder itself: `./`
        }
        if let Some(why) = name::unsafe_as_path(&path) {
            self.problem(ProblemKind::BadName, member, format!("not unpacked: {why}"));
            return Ok(());
        }
        let created = match member.kind {
            MemberKind::Directory => self.tree.folder(&path)?,
            _ => self.tree.file(&path)?,
        };
        match created {
            Created::File(file) => self.fill(file, member, &path, checksum),
            Created::Folder => Ok(()),
            Created::Taken(by) => {
                self.taken(member, &path, &by);
                Ok(())
            }
            Created::Refused(why) => {
                self.problem(ProblemKind::BadName, member, format!("not unpacked: {why}"));
                Ok(())
            }
        }
    }

    /// Fills a new file, which is removed again if it does not get all bytes of the member.
    fn fill(
        &mut self,
        file: File,
        member: &Member,
        path: &[u8],
        checksum: Option<u32>,
    ) -> Result<(), Failure> {
        let crc = match self.copy(file, member, path) {
            Ok(crc) => crc,
            Err(failure) => {
                // Report the failure; if the removal fails, too, name the file to remove.
                let _ = self.tree.remove(path);
                return Err(failure);
            }
        };
        if let Some(expected) = checksum.filter(|&expected| expected != crc) {
            self.tree.remove(path)?;
            let text = format!(
                "not unpacked: its data has checksum {crc:08x}, the sidecar states {expected:08x}"
            );
            self.problem(ProblemKind::Checksum, member, text);
            return Ok(());
        }
        self.done.files += 1;
        self.done.bytes += member.size;
        Ok(())
    }

    /// Copies a member's bytes and returns their crc32c.
    fn copy(&self, mut file: File, member: &Member, path: &[u8]) -> Result<u32, Failure> {
        use std::io::Write;
        let range = (member.data, member.size);
        let refused = |e| Failure::io(e, "write", self.out.join(name::shown(path)));
        let crc = copy_bytes(&self.shard.tar, &self.data, range, |piece| {
            file.write_all(piece).map_err(refused)
        })?;
        self.settled.one(&file).map_err(refused)?;
        Ok(crc)
    }

    fn taken(&mut self, member: &Member, path: &[u8], by: &[u8]) {
        let (shown, by_shown) = (name::shown(path), name::shown(by));
        let (kind, text) = if path == by {
            let text = format!("not unpacked: a file '{shown}' was unpacked before");
            (ProblemKind::RepeatedPart, text)
        } else {
            let text = format!(
                "not unpacked: '{by_shown}' was unpacked before, and this file system takes both \
                 names for one"
            );
            (ProblemKind::CaseCollision, text)
        };
        self.problem(kind, member, text);
    }

    fn problem(&mut self, kind: ProblemKind, member: &Member, text: String) {
        let error = Error::new(ErrorKind::BadName, text)
            .with_path(&self.shard.tar)
            .with_byte(member.first)
            .with_key(name::shown(&member.name));
        self.done.problems.push(Problem::from_error(kind, &error));
    }
}

/// Returns a name without GNU tar's additions: a leading `./`, and a directory's trailing slash.
fn plain(name: &[u8]) -> Vec<u8> {
    let name = name::without_dot(name);
    name.strip_suffix(b"/").unwrap_or(name).to_vec()
}

#[cfg(test)]
mod tests;
