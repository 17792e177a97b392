//! Index files of other readers, beside the tars of a folder: the work of `pack index --export`. Prints nothing.
//!
//! | format | files | reader |
//! |---|---|---|
//! | `dali` | `SHARD.idx` | DALI's webdataset reader, v1.2 |
//! | `energon` | `SHARD.tar.idx`, `.nv-meta/` | Megatron Energon |
//! | `wids` | `shardindex.json` | wids |
//! | `hfutils` | `SHARD.json` | hfutils, cheesechaser, webshart |
//! | `hf` | `README.md` | Hugging Face datasets |
//!
//! `shard` reads a tar once for all formats: its headers, or every byte if a format has digests. The other files make the
//! bytes of one format each; they read and write nothing. `check` compares existing files, for `pack verify`. A member belongs to a sample by WebDataset's rule, which
//! [`name::split`](tarflume_formats::name::split) implements. An existing file with other contents stays unless
//! [`ForeignIndexOptions::force`] is set.

pub mod check;
mod dali;
mod digests;
mod energon;
#[cfg(feature = "sqlite")]
mod energon_sqlite;
mod hf_card;
mod hfutils;
mod python_json;
mod shard;
mod wids;

use std::path::{Path, PathBuf};

use tarflume_base::{Failure, Stop};
use tarflume_formats::manifest::{FILE_NAME, Manifest, ShardEntry};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::publish::{create_folders, sweep, write_whole};
use tarflume_formats::shown::ShowPath;
use tarflume_formats::{files, read_manifest};
use tarflume_shards::index::{in_parallel, is_folder};

use digests::Contents;
use shard::ReadShard;

/// An index format of another reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum IndexFormat {
    /// DALI's `SHARD.idx`.
    Dali,
    /// Energon's `SHARD.tar.idx` and `.nv-meta`.
    Energon,
    /// wids' `shardindex.json`.
    Wids,
    /// The `SHARD.json` of hfutils.
    Hfutils,
    /// The dataset card of the Hugging Face Hub.
    Hf,
}

impl IndexFormat {
    /// Returns what its files need of a tar.
    fn contents(self) -> Contents {
        match self {
            IndexFormat::Wids => Contents { md5: true, ..Contents::default() },
            IndexFormat::Hfutils => Contents { sha: true, ..Contents::default() },
            _ => Contents::default(),
        }
    }
}

/// How index files of other readers are written.
#[derive(Debug, Clone)]
pub struct ForeignIndexOptions {
    /// The formats to write.
    pub formats: Vec<IndexFormat>,
    /// Reads every byte for the digests that wids and hfutils know. Their indexes are valid without.
    pub digests: bool,
    /// Replaces files that exist with other contents.
    pub force: bool,
    /// Number of shards processed at the same time.
    pub jobs: usize,
    /// Ends the work early.
    pub stop: Stop,
}

/// A file that was written, or that had these contents already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignFile {
    /// Its path.
    pub path: PathBuf,
    /// It had these contents already.
    pub kept: bool,
}

/// What was written.
#[derive(Debug, Default)]
pub struct ForeignFiles {
    /// The files.
    pub files: Vec<ForeignFile>,
    /// What some reader misreads in spite of a correct index; one line each.
    pub notes: Vec<Message>,
}

/// Returns the MD5 of a file of `length` bytes, in hex.
///
/// # Errors
/// Returns an error if the file has become shorter, if the operating system refuses, and after an interruption.
pub fn md5_of(path: &Path, length: u64, stop: &Stop) -> Result<String, Failure> {
    let contents = Contents { md5: true, ..Contents::default() };
    Ok(digests::read(path, length, &[], contents, stop, &|_| {})?.md5)
}

/// Writes index files of other readers for the data set in `folder`, which has a manifest. `on_bytes` gets the number of
/// bytes of tars that were processed since its last call.
///
/// # Errors
/// Returns an error if there is no data set, if a tar is damaged, if a format cannot contain a name (with the sample and
/// the remedy), if a file exists with other contents, and if the operating system refuses. Files written before an error
/// stay; each is complete.
pub fn write(
    folder: &Path,
    options: &ForeignIndexOptions,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<ForeignFiles, Failure> {
    if !is_folder(folder)? {
        return Err(Failure::usage(message!(
            "{export} needs a folder of shards; give the folder of this tar";
            export = Name::Export
        ))
        .in_file(folder));
    }
    let manifest = read_manifest(folder.join(FILE_NAME))?;
    let job = Job { folder, manifest: &manifest, options, on_bytes };
    job.must_not_collide()?;
    let mut made = ForeignFiles::default();
    let mut shards = Vec::with_capacity(manifest.shards.len());
    let entries: Vec<&ShardEntry> = manifest.shards.iter().collect();
    for result in in_parallel(options.jobs, entries, |entry| job.shard(entry))? {
        let (shard, files, notes) = result?;
        shards.push(shard);
        made.files.extend(files);
        made.notes.extend(notes);
    }
    for &format in &options.formats {
        match format {
            IndexFormat::Wids => {
                made.files.push(job.put("shardindex.json", &wids::index(folder, &shards))?);
            }
            IndexFormat::Energon => made.files.extend(job.energon(&shards)?),
            IndexFormat::Hf => {
                made.files.push(job.put("README.md", &hf_card::card(folder, &manifest)?)?)
            }
            IndexFormat::Dali | IndexFormat::Hfutils => {}
        }
    }
    Ok(made)
}

/// One call of [`write`].
struct Job<'a> {
    folder: &'a Path,
    manifest: &'a Manifest,
    options: &'a ForeignIndexOptions,
    on_bytes: &'a (dyn Fn(u64) + Sync),
}

impl Job<'_> {
    fn has(&self, format: IndexFormat) -> bool {
        self.options.formats.contains(&format)
    }

    /// DALI and hfutils derive the name of the index from that of the tar; two tars may get the same.
    fn must_not_collide(&self) -> Result<(), Failure> {
        let mut names: Vec<(String, &str)> = Vec::new();
        for entry in &self.manifest.shards {
            let tar = entry.name.as_str();
            if self.has(IndexFormat::Dali) {
                names.push((dali::file_name(tar), tar));
            }
            if self.has(IndexFormat::Hfutils) {
                names.push((hfutils::file_name(tar), tar));
            }
        }
        names.sort_unstable();
        match names.windows(2).find(|two| two[0].0 == two[1].0) {
            None => Ok(()),
            Some(two) => Err(Failure::usage(format!(
                "{} and {} would have the same index, {}; rename one of them",
                two[0].1, two[1].1, two[0].0
            ))),
        }
    }

    /// Reads a tar, and writes the files that belong to it.
    fn shard(
        &self,
        entry: &ShardEntry,
    ) -> Result<(ReadShard, Vec<ForeignFile>, Vec<Message>), Failure> {
        if self.options.stop.requested() {
            return Err(Failure::interrupted());
        }
        let with_digests = self.options.formats.iter().filter(|_| self.options.digests);
        let contents = with_digests.map(|format| format.contents()).collect();
        let tar = self.folder.join(&entry.name);
        let mut shard =
            shard::read(&tar, &entry.name, contents, &self.options.stop, self.on_bytes)?;
        let mut files = Vec::new();
        let mut notes = Vec::new();
        if self.has(IndexFormat::Dali) {
            let name = dali::file_name(&entry.name);
            match dali::index(&shard).map_err(|why| at(&tar, &why))? {
                None => notes.push(message!(
                    "{}: it has no samples, and DALI refuses an index without samples: {name} was not written; leave \
                     the tar out of `paths`",
                    tar.shown()
                )),
                Some(index) => {
                    files.push(self.put(&name, &index.bytes)?);
                    notes.extend(index.is_without_names.then(|| {
                        message!(
                            "{}: a name contains a blank, which ends a name in DALI's index; version 1.1, without \
                             names, was written",
                            tar.shown()
                        )
                    }));
                }
            }
        }
        if self.has(IndexFormat::Energon) {
            let offsets = energon::offsets(&shard);
            shard.offsets_digest = Some(blake3::hash(&offsets));
            files.push(self.put(&energon::file_name(&entry.name), &offsets)?);
        }
        if self.has(IndexFormat::Hfutils) {
            files.push(self.put(&hfutils::file_name(&entry.name), &hfutils::index(&shard))?);
        }
        if self.has(IndexFormat::Wids) {
            notes.extend(wids::misread(&shard).map(|what| message!("{}: {what}", tar.shown())));
        }
        // A data set has too many members to hold all of them.
        shard.members = Vec::new();
        Ok((shard, files, notes))
    }

    /// Writes `.nv-meta`.
    fn energon(&self, shards: &[ReadShard]) -> Result<Vec<ForeignFile>, Failure> {
        let meta = self.folder.join(energon::FOLDER);
        create_folders(&meta)?;
        sweep(&meta)?;
        let mut files = Vec::new();
        for (name, bytes) in energon::files(self.manifest, shards) {
            files.push(self.put(&format!("{}/{name}", energon::FOLDER), &bytes)?);
        }
        files.push(self.sqlite()?);
        Ok(files)
    }

    #[cfg(feature = "sqlite")]
    fn sqlite(&self) -> Result<ForeignFile, Failure> {
        let path = self.folder.join(energon::FOLDER).join(energon_sqlite::FILE_NAME);
        let again = self.manifest.shards.iter().map(|entry| {
            let tar = self.folder.join(&entry.name);
            shard::read(&tar, &entry.name, Contents::default(), &self.options.stop, &|_| {})
        });
        let kept = energon_sqlite::write(&path, again, self.options.force)?;
        Ok(ForeignFile { path, kept })
    }

    #[cfg(not(feature = "sqlite"))]
    fn sqlite(&self) -> Result<ForeignFile, Failure> {
        Err(Failure::not_built("Energon's index", "sqlite"))
    }

    /// Writes a file in the folder, if it does not have these contents.
    fn put(&self, name: &str, bytes: &[u8]) -> Result<ForeignFile, Failure> {
        let path = self.folder.join(name);
        if files::exists(&path)? {
            if files::read_whole(&path, "compare with the new index")? == bytes {
                return Ok(ForeignFile { path, kept: true });
            }
            if !self.options.force {
                return Err(exists(&path));
            }
        }
        write_whole(&path, bytes)?;
        Ok(ForeignFile { path, kept: false })
    }
}

fn exists(path: &Path) -> Failure {
    Failure::usage(message!(
        "this file exists with other contents; give {force} to replace it, or move it away";
        force = Name::Force.on()
    ))
    .in_file(path)
}

fn at(tar: &Path, why: &str) -> Failure {
    Failure::bad_data(why).in_file(tar)
}
