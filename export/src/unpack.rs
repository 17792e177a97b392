//! Restores the files of shards under a folder, and nothing outside it.
//!
//! Walks the tars themselves, so that names come back as they were stored, including upper-case
//! extensions and files without key; sidecars only provide checksums. A member that is not a
//! regular file or whose name leaves the folder is refused and reported, and the others continue.
//! `tree` creates the files, `settle` checks that they reached the disk, `unfinished` goes on after a kill.

pub(crate) mod settle;
pub(crate) mod tree;
mod unfinished;

use std::fs::File;
use std::path::Path;

use tarflume_base::{Failure, Problem, ProblemKind};
use tarflume_formats::message;
use tarflume_formats::shown::ShowPath;
use tarflume_formats::tar::{Member, MemberKind};
use tarflume_formats::{Digest, Error, ErrorKind, Reading, TarReader, name};
use tarflume_shards::cursor::Cursor;
use tarflume_shards::index::in_parallel;
use tarflume_shards::index::rows::part_of;
use tarflume_shards::kinds;
use tarflume_shards::listing::{Listing, Shard, copy_bytes};

use settle::WriteCheck;
use tree::{Created, Occupant, Tree};
use unfinished::{Unfinished, Unnamed};

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

/// Unpacks all shards of `listing` under the folder `out` with `jobs` threads. Goes on with what a killed call for the
/// same shards left there.
///
/// The files are on the disk or server when this returns.
///
/// # Errors
/// Returns an error if `out` is neither new nor empty nor left by a killed call for the same shards, if another call fills
/// it, if it is in a data set, or if the operating system refuses to write.
pub fn unpack(
    listing: &Listing,
    out: &Path,
    jobs: usize,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<Unpacked, Failure> {
    let work = Unfinished::begin(out, &content(listing))?;
    let settled = WriteCheck::of(out)?;
    let target = Target { out, work: &work, settled: &settled, on_bytes };
    let all = all(listing, jobs, target)?;
    if let Err(failure) = settled.all(out) {
        // Files that the disk may not have read well from the cache of the system, so nothing can be gone on with.
        work.end()?;
        return Err(failure.with_remedy(message!("remove {} and unpack again", out.shown())));
    }
    work.end()?;
    Ok(all)
}

/// Returns a digest of what the shards contain.
fn content(listing: &Listing) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for shard in &listing.shards {
        let name = shard.tar.file_name().unwrap_or_default().as_encoded_bytes();
        hasher.update(&(name.len() as u64).to_le_bytes()).update(name);
        hasher.update(&shard.index.tar().length.to_le_bytes());
        hasher.update(shard.index.digest().as_bytes());
        hasher.update(&[u8::from(shard.has_sidecar), u8::from(shard.ignore_zeros)]);
    }
    hasher.finalize()
}

/// Where the files go.
#[derive(Clone, Copy)]
struct Target<'a> {
    out: &'a Path,
    work: &'a Unfinished,
    settled: &'a WriteCheck,
    on_bytes: &'a (dyn Fn(u64) + Sync),
}

fn all(listing: &Listing, jobs: usize, target: Target<'_>) -> Result<Unpacked, Failure> {
    let shards: Vec<&Shard> = listing.shards.iter().collect();
    let done = in_parallel(jobs, shards, |shard| one(shard, target))?;
    let mut all = Unpacked::default();
    for one in done {
        let one = one?;
        all.files += one.files;
        all.bytes += one.bytes;
        all.unproved += one.unproved;
        all.problems.extend(one.problems);
    }
    Ok(all)
}

struct Unpacking<'a> {
    shard: &'a Shard,
    data: File,
    target: Target<'a>,
    tree: Tree,
    /// Provides checksums while the sidecar matches the tar.
    cursor: Option<Cursor<'a>>,
    done: Unpacked,
}

fn one(shard: &Shard, target: Target<'_>) -> Result<Unpacked, Failure> {
    let data = shard.data()?;
    let again = data.try_clone().map_err(|e| Failure::io(e, "open", &shard.tar))?;
    let reader = TarReader::of_file(again, &shard.tar, Reading::Headers)?;
    let mut reader = reader.ignore_zeros(shard.ignore_zeros);
    reader = reader.read_on_until(shard.index.samples_end()?);
    let mut unpacking = Unpacking {
        shard,
        data,
        target,
        tree: Tree::open(target.out)?,
        cursor: if shard.index.has_checksums() {
            Some(Cursor::new(&shard.tar, &shard.index)?)
        } else {
            None
        },
        done: Unpacked { unproved: u64::from(!shard.index.has_checksums()), ..Unpacked::default() },
    };
    loop {
        match reader.next_member() {
            Ok(Some(member)) => {
                unpacking.member(&member)?;
                (target.on_bytes)(member.size);
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
            self.refused(member, &why.to_string());
            return Ok(());
        }
        if unfinished::is_inside(&path) {
            let text = "not unpacked: the working folder of this command has its name";
            self.problem(ProblemKind::BadName, member, text.into());
            return Ok(());
        }
        match member.kind {
            MemberKind::Directory => {
                if let Created::Refused(why) = self.tree.folder(&path)? {
                    self.refused(member, &why);
                }
            }
            _ => self.file(member, &path, checksum)?,
        }
        Ok(())
    }

    /// Unpacks one file, unless it has the name of another one.
    fn file(&mut self, member: &Member, path: &[u8], checksum: Option<u32>) -> Result<(), Failure> {
        if !self.target.work.take_name(path) {
            self.taken(member, path, path);
            return Ok(());
        }
        let is_given = match self.tree.occupant(path)? {
            Occupant::Nothing => self.fill(member, path, checksum)?,
            Occupant::Path(by) if by == path && self.target.work.goes_on() => {
                self.compare(member, path, checksum)?
            }
            Occupant::Path(by) => {
                self.taken(member, path, &by);
                false
            }
            Occupant::Refused(why) => {
                self.refused(member, &why);
                false
            }
        };
        if is_given {
            self.done.files += 1;
            self.done.bytes += member.size;
        } else {
            self.target.work.free_name(path);
        }
        Ok(())
    }

    /// Keeps the file of a killed call if it has the bytes of the member, and replaces it otherwise. Returns true if the
    /// file is there.
    fn compare(
        &mut self,
        member: &Member,
        path: &[u8],
        checksum: Option<u32>,
    ) -> Result<bool, Failure> {
        let Some(file) = self.tree.open_file(path)? else {
            self.taken(member, path, path);
            return Ok(false);
        };
        if file.metadata().map_err(|e| self.unread(e, path))?.len() == member.size {
            let tar = &self.shard.tar;
            let crc = copy_bytes(tar, &self.data, member.data, member.size, |_| Ok(()))?;
            let place = self.target.out.join(name::shown(path));
            let found = copy_bytes(&place, &file, 0, member.size, |_| Ok(()))?;
            if found == crc && checksum.is_none_or(|expected| expected == crc) {
                self.target.settled.one(&file).map_err(|e| self.unread(e, path))?;
                return Ok(true);
            }
        }
        drop(file);
        self.tree.remove(path)?;
        self.fill(member, path, checksum)
    }

    fn unread(&self, e: std::io::Error, path: &[u8]) -> Failure {
        Failure::io(e, "read", self.target.out.join(name::shown(path)))
    }

    /// Writes a file whole and gives it its name. Returns true if it has it.
    fn fill(
        &mut self,
        member: &Member,
        path: &[u8],
        checksum: Option<u32>,
    ) -> Result<bool, Failure> {
        let work = self.target.work;
        let Unnamed { file, name } = work.unnamed()?;
        let crc = match self.copy(file, member, path) {
            Ok(crc) => crc,
            Err(failure) => {
                // Report the failure; the next call removes the file, too.
                let _ = work.remove(&name);
                return Err(failure);
            }
        };
        if let Some(expected) = checksum.filter(|&expected| expected != crc) {
            work.remove(&name)?;
            let text = format!(
                "not unpacked: its data has checksum {crc:08x}, the sidecar states {expected:08x}"
            );
            self.problem(ProblemKind::Checksum, member, text);
            return Ok(false);
        }
        match self.tree.name(work.folder(), &name, path)? {
            Occupant::Nothing => return Ok(true),
            Occupant::Path(by) => self.taken(member, path, &by),
            Occupant::Refused(why) => self.refused(member, &why),
        }
        work.remove(&name)?;
        Ok(false)
    }

    /// Copies a member's bytes and returns their crc32c.
    fn copy(&self, mut file: File, member: &Member, path: &[u8]) -> Result<u32, Failure> {
        use std::io::Write;
        let tar = &self.shard.tar;
        let crc = copy_bytes(tar, &self.data, member.data, member.size, |piece| {
            file.write_all(piece).map_err(|e| self.unwritten(e, path))
        })?;
        self.target.settled.one(&file).map_err(|e| self.unwritten(e, path))?;
        Ok(crc)
    }

    fn unwritten(&self, e: std::io::Error, path: &[u8]) -> Failure {
        Failure::io(e, "write", self.target.out.join(name::shown(path)))
    }

    fn refused(&mut self, member: &Member, why: &str) {
        self.problem(ProblemKind::BadName, member, format!("not unpacked: {why}"));
    }

    fn taken(&mut self, member: &Member, path: &[u8], by: &[u8]) {
        let shown = name::shown(path);
        let by_shown = name::shown(by);
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
