//! One tar and its sidecar: what is wrong with them, and what makes them right again.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tarflume_base::{Failure, Problem, ProblemKind, packed_shard};
use tarflume_formats::manifest::ShardEntry;
use tarflume_formats::publish::{TempFile, create_folders, folder_of, sync_folder, write_whole};
use tarflume_formats::{Digest, Error, Index, files, index_path};

use super::copies::{Copies, Receiver};
use super::mend::{Mend, Mended};
use super::{Options, RepairedFile, Replaced};

/// Bytes that are read at a time.
const PIECE: usize = 4 << 20;

/// What all shards of a repair share.
pub(super) struct Work<'a> {
    pub(super) folder: &'a Path,
    pub(super) copies: &'a Copies,
    pub(super) options: &'a Options,
    pub(super) on_bytes: &'a (dyn Fn(u64) + Sync),
}

/// What was done with a shard.
#[derive(Debug, Default)]
pub(super) struct Shard {
    pub(super) files: Vec<RepairedFile>,
    pub(super) problems: Vec<Problem>,
}

impl Work<'_> {
    /// Repairs one shard. After an interruption, does nothing.
    ///
    /// # Errors
    /// Returns an error if the machine or a store fails.
    pub(super) fn repair(&self, entry: &ShardEntry) -> Result<Shard, Failure> {
        let mut shard = Shard::default();
        if self.options.stop.requested() {
            return Ok(shard);
        }
        let tar = self.folder.join(&entry.name);
        let index = self.sidecar(entry, &tar, &mut shard)?;
        let Some(digest) = entry.digest()? else {
            if !files::exists(&tar)?
                || files::metadata(&tar, "find the shard")?.len() != entry.bytes
            {
                let text =
                    "the manifest has no digest of this shard, so no copy can be proved to be it";
                shard.problems.push(problem(ProblemKind::NoChecksum, &tar, text));
            }
            return Ok(shard);
        };
        if self.is_sound(&tar, entry, &digest)? {
            return Ok(shard);
        }
        match self.mended(entry, &tar, index.as_ref(), &digest)? {
            Some(file) => shard.files.push(file),
            None => shard.problems.push(self.unrepaired(&tar)?),
        }
        if !self.options.dry_run && !shard.files.is_empty() {
            renew(&index_path(&tar))?;
        }
        Ok(shard)
    }

    /// Returns the sidecar, restored from a copy if it is not that of the manifest; `None` if no copy has it.
    fn sidecar(
        &self,
        entry: &ShardEntry,
        tar: &Path,
        shard: &mut Shard,
    ) -> Result<Option<Index>, Failure> {
        let path = index_path(tar);
        let own = if files::exists(&path)? {
            files::read_whole(&path, "read the sidecar")?
        } else {
            Vec::new()
        };
        if blake3::hash(&own).to_hex().as_str() == entry.index_blake3 {
            return Ok(Index::from_bytes(own).ok());
        }
        let Some(found) = self.copies.sidecar(entry)? else {
            let text =
                "this sidecar is not the one that the manifest lists, and no copy has that one";
            shard.problems.push(problem(ProblemKind::DamagedIndex, &path, text));
            return Ok(None);
        };
        if !self.options.dry_run {
            create_folders(folder_of(&path))?;
            write_whole(&path, &found.bytes)?;
        }
        let bytes = found.bytes.len() as u64;
        shard.files.push(RepairedFile {
            path,
            what: Replaced::Whole,
            bytes,
            from: vec![found.from],
        });
        Ok(Index::from_bytes(found.bytes).ok())
    }

    fn is_sound(&self, tar: &Path, entry: &ShardEntry, digest: &Digest) -> Result<bool, Failure> {
        if !files::exists(tar)? {
            return Ok(false);
        }
        let (file, metadata) = files::open(tar)?;
        if metadata.len() != entry.bytes {
            return Ok(false);
        }
        Ok(self.digest_of(tar, &file, entry.bytes)? == *digest)
    }

    /// Returns the digest of the first `length` bytes of a file.
    fn digest_of(&self, path: &Path, file: &File, length: u64) -> Result<Digest, Failure> {
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; PIECE];
        let mut at = 0;
        while at < length {
            if self.options.stop.requested() {
                return Err(Failure::interrupted());
            }
            let piece = &mut buffer[..(length - at).min(PIECE as u64) as usize];
            files::read_exact_at(file, piece, at)
                .map_err(|e| Error::io(e, "read", path).with_byte(at))?;
            hasher.update(piece);
            at += piece.len() as u64;
            (self.on_bytes)(piece.len() as u64);
        }
        Ok(hasher.finalize())
    }

    /// Makes the tar again: from its own bytes and the parts of copies, else as a copy.
    fn mended(
        &self,
        entry: &ShardEntry,
        tar: &Path,
        index: Option<&Index>,
        digest: &Digest,
    ) -> Result<Option<RepairedFile>, Failure> {
        let target = file_of(tar)?;
        let mut temp = self.temporary(&target)?;
        if let Some(index) = index.filter(|index| index.has_checksums())
            && !packed_shard::is_compressed(tar)
        {
            let mend = Mend { tar, index, copies: self.copies, stop: &self.options.stop };
            if let Some(Mended { what, bytes, from }) = mend
                .write_to(&temp, &|file| Ok(self.digest_of(tar, file, entry.bytes)? == *digest))?
            {
                self.publish(temp, &target)?;
                return Ok(Some(RepairedFile { path: tar.into(), what, bytes, from }));
            }
        }
        let mut into = IntoTemp { temp: &mut temp, on_bytes: self.on_bytes };
        let Some(from) = self.copies.tar(entry, &mut into)? else { return Ok(None) };
        self.publish(temp, &target)?;
        Ok(Some(RepairedFile {
            path: tar.into(),
            what: Replaced::Whole,
            bytes: entry.bytes,
            from: vec![from],
        }))
    }

    /// A file beside the tar, or, if nothing is to be written there, in the system's folder of temporary files.
    fn temporary(&self, tar: &Path) -> Result<TempFile, Failure> {
        let name = tar.file_name().expect("the name of a shard was checked").to_string_lossy();
        if self.options.dry_run {
            return Ok(TempFile::create(std::env::temp_dir(), &name)?);
        }
        create_folders(folder_of(tar))?;
        Ok(TempFile::create(folder_of(tar), &name)?)
    }

    fn publish(&self, temp: TempFile, tar: &Path) -> Result<(), Failure> {
        if self.options.dry_run {
            return Ok(());
        }
        temp.sync()?;
        temp.publish_over(tar)?;
        Ok(sync_folder(folder_of(tar))?)
    }

    fn unrepaired(&self, tar: &Path) -> Result<Problem, Failure> {
        let is_there = files::exists(tar)?;
        let kind = if is_there { ProblemKind::Digest } else { ProblemKind::MissingShard };
        let text = "no copy has the bytes that are wrong or missing in this shard; it is as it was";
        Ok(problem(kind, tar, text))
    }
}

/// Returns the file that a tar is. If it is a link to a file, this is the file, so that the link stays.
fn file_of(tar: &Path) -> Result<PathBuf, Failure> {
    if !files::exists(tar)? {
        return Ok(tar.into());
    }
    Ok(std::fs::canonicalize(tar).map_err(|e| Error::io(e, "find the file of", tar))?)
}

fn problem(kind: ProblemKind, path: &Path, text: &str) -> Problem {
    Problem::new(kind, path.display().to_string(), text)
}

/// Makes a sidecar newer than its tar again, by whose times readers know that it was made after it.
fn renew(sidecar: &Path) -> Result<(), Failure> {
    if !files::exists(sidecar)? {
        return Ok(());
    }
    let dated = File::options().append(true).open(sidecar);
    let dated = dated.and_then(|file| file.set_modified(SystemTime::now()));
    Ok(dated.map_err(|e| Error::io(e, "set the time of", sidecar))?)
}

/// A temporary file that takes the bytes of a copy.
struct IntoTemp<'a> {
    temp: &'a mut TempFile,
    on_bytes: &'a (dyn Fn(u64) + Sync),
}

impl IntoTemp<'_> {
    fn failed(&self, error: io::Error) -> Failure {
        Error::io(error, "write", self.temp.path()).into()
    }
}

impl Receiver for IntoTemp<'_> {
    fn begin(&mut self) -> Result<(), Failure> {
        let begun =
            self.temp.file.set_len(0).and_then(|()| self.temp.file.seek(SeekFrom::Start(0)));
        begun.map(drop).map_err(|e| self.failed(e))
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        (self.on_bytes)(bytes.len() as u64);
        self.temp.file.write_all(bytes).map_err(|e| self.failed(e))
    }
}
