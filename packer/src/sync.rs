//! `sync`: copies a data set from one place to another: folders and stores. Shards that are there are not copied again,
//! and the manifest comes last.

mod folder;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tarflume_base::{Failure, Stop};
use tarflume_formats::manifest::{FILE_NAME, SIGNATURE_NAME, ShardEntry};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Name, Task};
use tarflume_formats::url::url_of;
use tarflume_formats::{Digest, Manifest, files, index_path};
use tarflume_shards::index::in_parallel;
use tarflume_shards::remote_folder::{Copied, RemoteFolder};

use crate::bucket::{Bucket, Leftovers, Objects, Put, UploadHooks};
use folder::FolderObjects;

/// Bytes that are hashed at a time.
const PIECE: usize = 1 << 20;

/// How a data set is copied.
#[derive(Debug)]
pub struct Options {
    /// Shards that are copied at the same time.
    pub jobs: usize,
    /// Replaces another data set.
    pub force: bool,
    /// Ends the work between two ranges.
    pub stop: Stop,
    /// Options of the stores, as names and values.
    pub storage: Vec<(String, String)>,
}

/// What [`sync`] did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Synced {
    /// Shards of the data set.
    pub shards: u64,
    /// Those that were copied.
    pub copied: u64,
    /// Bytes of their tars.
    pub bytes: u64,
    /// Uploads that killed commands had left in the target.
    pub leftovers: Leftovers,
}

/// Copies the data set in `from` to `target`, each a folder or a URL. A shard is in its place if its tar has the length
/// and its sidecar the digest of the manifest. Every tar that is copied is compared with its digest. `on_bytes` is
/// called with the bytes of each copied tar.
///
/// # Errors
/// Returns an error if there is no data set in `from`, if another one is in `target` (one whose shards are all in
/// `from` is extended), if `target` has a file with the name of a shard that no data set lists, if a shard does not
/// have its digest, the errors of stores and disks, and after an interruption.
pub fn sync(
    from: &Path,
    target: &Path,
    options: &Options,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<Synced, Failure> {
    let from = From::open(from, &options.storage)?;
    let bytes = from.small(FILE_NAME)?.ok_or_else(|| {
        let place = from.place(FILE_NAME);
        Failure::usage("there is no data set to copy").in_file(place)
    })?;
    let parsed = Manifest::from_json(&bytes);
    let manifest = parsed.map_err(|e| e.with_path(from.place(FILE_NAME)))?;
    let bucket = url_of(target).map(|url| Bucket::open(url, &options.storage)).transpose()?;
    let to: Arc<dyn Objects> = match &bucket {
        Some(bucket) => bucket.objects(),
        None => Arc::new(FolderObjects::open(target)?),
    };
    let old = to.get(FILE_NAME)?.map(|old| old.bytes);
    if let Some(old) = &old {
        expect_extension(&*to, old, &bytes, &manifest, options.force)?;
    }
    let leftovers = bucket.as_ref().map_or(Ok(Leftovers::default()), Bucket::abort_uploads)?;
    let copied = AtomicU64::new(0);
    let total = AtomicU64::new(0);
    let listed = old.as_deref().and_then(|old| Manifest::from_json(old).ok());
    let listed = listed.map_or_else(Vec::new, |old| old.shards);
    let folder = bucket.is_none().then_some(target);
    let work = Work { from: &from, to: &*to, bucket: bucket.as_ref(), folder, listed, options };
    let entries: Vec<&ShardEntry> = manifest.shards.iter().collect();
    entries.iter().try_for_each(|entry| work.expect_own(entry))?;
    let done = in_parallel(options.jobs, entries, |entry| -> Result<(), Failure> {
        if work.copy(entry)? {
            copied.fetch_add(1, Ordering::Relaxed);
            total.fetch_add(entry.bytes, Ordering::Relaxed);
            on_bytes(entry.bytes);
        }
        Ok(())
    })?;
    done.into_iter().collect::<Result<(), Failure>>()?;
    publish(&*to, old.as_deref(), &bytes)?;
    if let Some(signature) = from.small(SIGNATURE_NAME)? {
        to.replace(SIGNATURE_NAME, &signature)?;
    }
    let shards = manifest.shards.len() as u64;
    Ok(Synced { shards, copied: copied.into_inner(), bytes: total.into_inner(), leftovers })
}

/// Checks that the data set in the target is an earlier state of the one that is copied.
fn expect_extension(
    to: &dyn Objects,
    old: &[u8],
    new: &[u8],
    manifest: &Manifest,
    force: bool,
) -> Result<(), Failure> {
    if force || old == new {
        return Ok(());
    }
    let is_part = Manifest::from_json(old).is_ok_and(|old| {
        old.shards.iter().all(|entry| manifest.shards.iter().any(|other| same(entry, other)))
    });
    if is_part {
        Ok(())
    } else {
        Err(Failure::usage(
            message!("this is another data set; copy to another place, or replace it with {force}"; force = Name::Force.on()),
        )
        .in_file(place(to, FILE_NAME)))
    }
}

fn same(one: &ShardEntry, other: &ShardEntry) -> bool {
    one.name == other.name && one.index_blake3 == other.index_blake3 && one.bytes == other.bytes
}

/// Writes the manifest. Readers see the old data set or the new one.
fn publish(to: &dyn Objects, old: Option<&[u8]>, new: &[u8]) -> Result<(), Failure> {
    match old {
        Some(old) if old == new => Ok(()),
        Some(_) => to.replace(FILE_NAME, new).map(drop),
        None => match to.create(FILE_NAME, new)? {
            Put::Written => Ok(()),
            Put::Exists if to.get(FILE_NAME)?.is_some_and(|found| found.bytes == new) => Ok(()),
            Put::Exists => {
                Err(Failure::try_again("another command has published a data set here meanwhile")
                    .in_file(place(to, FILE_NAME)))
            }
        },
    }
}

struct Work<'a> {
    from: &'a From,
    to: &'a dyn Objects,
    /// The target, if it is a store.
    bucket: Option<&'a Bucket>,
    /// The target, if it is a folder.
    folder: Option<&'a Path>,
    /// The shards of the data set that is in the target.
    listed: Vec<ShardEntry>,
    options: &'a Options,
}

impl Work<'_> {
    /// Copies a shard, the sidecar last. Returns false if it was there.
    fn copy(&self, entry: &ShardEntry) -> Result<bool, Failure> {
        if self.options.stop.requested() {
            return Err(Failure::interrupted());
        }
        let sidecar = index_path(Path::new(&entry.name)).to_string_lossy().into_owned();
        if self.is_there(entry, &sidecar)? {
            return Ok(false);
        }
        let index = self.from.small(&sidecar)?;
        let index = index.ok_or_else(|| missing(&self.from.place(&sidecar)))?;
        if blake3::hash(&index).to_hex().as_str() != entry.index_blake3 {
            return Err(self.other(&sidecar));
        }
        let (tar, _copy) = self.from.tar(&entry.name, &self.options.stop)?;
        self.expect_digest(&tar, entry)?;
        match self.bucket {
            Some(bucket) => bucket.upload(&entry.name, &tar, &self.options.stop)?,
            None => {
                let hooks = UploadHooks {
                    began: &mut |_| Ok(()),
                    stopped: &|| self.options.stop.requested(),
                };
                self.to.upload(&entry.name, &tar, hooks)?
            }
        };
        self.to.replace(&sidecar, &index)?;
        Ok(true)
    }

    /// Refuses to replace a file that an earlier copy has not made: one with the name of a shard or of its sidecar that no
    /// data set lists, and whose content is another one.
    fn expect_own(&self, entry: &ShardEntry) -> Result<(), Failure> {
        let is_listed = self.listed.iter().any(|old| old.name == entry.name);
        if self.options.force || is_listed {
            return Ok(());
        }
        if let Some(found) = self.to.facts(&entry.name)? {
            return if self.is_copy(entry, found.length)? {
                Ok(())
            } else {
                Err(self.foreign(&entry.name))
            };
        }
        let sidecar = index_path(Path::new(&entry.name)).to_string_lossy().into_owned();
        match self.to.get(&sidecar)? {
            Some(found) if blake3::hash(&found.bytes).to_hex().as_str() != entry.index_blake3 => {
                Err(self.foreign(&sidecar))
            }
            _ => Ok(()),
        }
    }

    /// True if the tar in the target, of `length` bytes, is a copy of the shard. In a store the length decides.
    fn is_copy(&self, entry: &ShardEntry, length: u64) -> Result<bool, Failure> {
        if length != entry.bytes {
            return Ok(false);
        }
        let Some(folder) = self.folder else { return Ok(true) };
        let Some(digest) = entry.digest()? else { return Ok(true) };
        let path = folder.join(&entry.name);
        let (file, found) = files::open(&path)?;
        Ok(hash(&file, found.len(), &path, &self.options.stop)? == digest)
    }

    fn foreign(&self, name: &str) -> Failure {
        Failure::usage(
            message!("this file is there, no dataset.json lists it, and it is no copy of the shard; copy to \
                 another place, or replace it with {force}"; force = Name::Force.on()),
        )
        .in_file(place(self.to, name))
    }

    /// True if the tar has the length and the sidecar the digest of the manifest. The sidecar is written after the
    /// tar, and names its parts with their checksums.
    fn is_there(&self, entry: &ShardEntry, sidecar: &str) -> Result<bool, Failure> {
        let length = self.to.facts(&entry.name)?.map(|facts| facts.length);
        if length != Some(entry.bytes) {
            return Ok(false);
        }
        let found = self.to.get(sidecar)?;
        Ok(found.is_some_and(|f| blake3::hash(&f.bytes).to_hex().as_str() == entry.index_blake3))
    }

    fn expect_digest(&self, tar: &Path, entry: &ShardEntry) -> Result<(), Failure> {
        let (file, found) = files::open(tar)?;
        if found.len() != entry.bytes {
            return Err(self.other(&entry.name));
        }
        let Some(digest) = entry.digest()? else { return Ok(()) };
        if hash(&file, found.len(), tar, &self.options.stop)? == digest {
            Ok(())
        } else {
            Err(self.other(&entry.name))
        }
    }

    fn other(&self, name: &str) -> Failure {
        let place = self.from.place(name);
        Failure::bad_data(message!(
            "this file is not the one that dataset.json lists; `{verify}` tells what is wrong \
             with it";
            verify = Call::of(Task::Verify)
        ))
        .in_file(place)
    }
}

/// The place of an object, for messages.
fn place(to: &dyn Objects, name: &str) -> String {
    format!("{}/{name}", to.url())
}

/// The failure for a file that the manifest lists.
fn missing(place: &Path) -> Failure {
    Failure::bad_data("dataset.json lists this file, and it is missing").in_file(place)
}

/// The digest of a file.
fn hash(file: &std::fs::File, length: u64, path: &Path, stop: &Stop) -> Result<Digest, Failure> {
    let mut hasher = blake3::Hasher::new();
    let mut bytes = vec![0; PIECE];
    let mut at = 0;
    while at < length {
        if stop.requested() {
            return Err(Failure::interrupted());
        }
        let piece = &mut bytes[..PIECE.min((length - at) as usize)];
        files::read_exact_at(file, piece, at).map_err(|e| Failure::io(e, "read", path))?;
        hasher.update(piece);
        at += piece.len() as u64;
    }
    Ok(hasher.finalize())
}

/// Where a data set is copied from.
enum From {
    Folder(PathBuf),
    Store(RemoteFolder),
}

impl From {
    fn open(path: &Path, storage: &[(String, String)]) -> Result<From, Failure> {
        Ok(match url_of(path) {
            Some(url) => From::Store(RemoteFolder::open(url.trim_end_matches('/'), storage)?),
            None => From::Folder(path.into()),
        })
    }

    fn place(&self, name: &str) -> PathBuf {
        match self {
            From::Folder(folder) => folder.join(name),
            From::Store(store) => store.place(name),
        }
    }

    /// Reads a manifest or a sidecar; `None` if it does not exist.
    fn small(&self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        let path = match self {
            From::Folder(folder) => folder.join(name),
            From::Store(store) => {
                if store.copy_small(name)? {
                    store.copy_of(name)
                } else {
                    return Ok(None);
                }
            }
        };
        match files::read_whole(&path, "read") {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The local path of a tar, and its copy if it is one.
    fn tar(&self, name: &str, stop: &Stop) -> Result<(PathBuf, Option<Copied>), Failure> {
        let found = match self {
            From::Folder(folder) => {
                let path = folder.join(name);
                files::exists(&path)?.then_some((path, None))
            }
            From::Store(store) => {
                store.copy_tar(name, stop)?.map(|copy| (store.copy_of(name), Some(copy)))
            }
        };
        found.ok_or_else(|| missing(&self.place(name)))
    }
}
