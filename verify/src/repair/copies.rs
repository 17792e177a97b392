//! `Copies`: the places with whole bytes, and the search for a part or a whole tar in them.

use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::manifest::{FILE_NAME, ShardEntry};
use tarflume_formats::url::url_of;
use tarflume_formats::{Digest, Index, crc32c, files, name, read_manifest_text};
use tarflume_formats::{Manifest, open_index};
use tarflume_shards::kinds;
use tarflume_shards::listing::{self, Access, Shard};
use tarflume_shards::remote_folder::RemoteFolder;

/// Bytes that are copied at a time.
const PIECE: usize = 4 << 20;

/// All places, in the order in which they were given.
#[derive(Debug)]
pub(super) struct Copies(Vec<Copied>);

#[derive(Debug)]
enum Copied {
    Set(Box<DataSet>),
    /// A folder of the files that were packed.
    Files(PathBuf),
}

/// A copy of a data set.
#[derive(Debug)]
struct DataSet {
    manifest: Manifest,
    /// The text of the manifest, if it was read.
    text: Option<Vec<u8>>,
    /// The shards whose sidecars are whole.
    shards: Vec<Shard>,
    /// The folder or URL.
    place: PathBuf,
}

impl DataSet {
    /// Returns the shard that an entry lists, if its sidecar is whole.
    fn shard(&self, entry: &ShardEntry) -> Option<&Shard> {
        let tar = self.place.join(&entry.name);
        self.shards.iter().find(|shard| shard.tar == tar)
    }
}

/// A part of a sample, and what its bytes must be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) key: &'a [u8],
    pub(super) ext: &'a [u8],
    pub(super) length: u64,
    pub(super) checksum: u32,
}

/// Bytes, and where they are from.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) bytes: Vec<u8>,
    pub(super) from: PathBuf,
}

impl Copies {
    /// Opens all places.
    ///
    /// # Errors
    /// Returns an error if a place does not exist, or the machine or the store fails.
    pub(super) fn open(
        places: &[PathBuf],
        storage: &[(String, String)],
    ) -> Result<Copies, Failure> {
        places.iter().map(|place| open(place, storage)).collect::<Result<_, _>>().map(Copies)
    }

    /// Returns the text of the manifest with this root digest, and its place; `None` if no copy has it.
    pub(super) fn manifest(&self, root: &Digest) -> Option<Found> {
        self.sets().find_map(|set| {
            let text = set.text.as_ref().filter(|text| Manifest::root_of(text) == *root)?;
            Some(Found { bytes: text.clone(), from: set.place.join(FILE_NAME) })
        })
    }

    fn sets(&self) -> impl Iterator<Item = &DataSet> {
        self.0.iter().filter_map(|copied| match copied {
            Copied::Set(set) => Some(&**set),
            Copied::Files(_) => None,
        })
    }

    /// Returns the bytes of a part; `None` if no place has them.
    ///
    /// # Errors
    /// Returns an error if the machine or a store fails.
    pub(super) fn part(&self, wanted: Wanted<'_>) -> Result<Option<Found>, Failure> {
        for copied in &self.0 {
            let found = match copied {
                Copied::Set(set) => of_shards(&set.shards, wanted)?,
                Copied::Files(folder) => of_file(folder, wanted)?,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Passes the bytes of the tar of `entry` to `take`, in pieces, from the first copy whose bytes have its digest, and
    /// returns its place. `begin` is called before the first piece of each copy that is tried.
    ///
    /// # Errors
    /// Returns the errors of `begin` and `take`, and an error if the machine or a store fails.
    pub(super) fn tar(
        &self,
        entry: &ShardEntry,
        into: &mut dyn Receiver,
    ) -> Result<Option<PathBuf>, Failure> {
        let Some(digest) = entry.digest()? else { return Ok(None) };
        for set in self.sets() {
            let same = set.manifest.shards.iter().filter(|other| other.blake3 == entry.blake3);
            for shard in same.filter_map(|other| set.shard(other)) {
                if copy(shard, entry.bytes, &digest, into)? {
                    return Ok(Some(shard.tar.clone()));
                }
            }
        }
        Ok(None)
    }

    /// Returns the bytes of the sidecar of `entry`; `None` if no copy has them.
    ///
    /// # Errors
    /// Returns an error if the machine fails.
    pub(super) fn sidecar(&self, entry: &ShardEntry) -> Result<Option<Found>, Failure> {
        for set in self.sets() {
            let mut listed = set.manifest.shards.iter();
            let same = listed.find(|other| other.index_blake3 == entry.index_blake3);
            let Some(shard) = same.and_then(|other| set.shard(other)) else { continue };
            let bytes = shard.index.stored().to_vec();
            if let Err(error) = shard.index.intact() {
                drop(kinds::of_data(error)?);
                continue;
            }
            if blake3::hash(&bytes).to_hex().as_str() == entry.index_blake3 {
                let from = tarflume_formats::index_path(&shard.tar);
                return Ok(Some(Found { bytes, from }));
            }
        }
        Ok(None)
    }
}

/// Takes the bytes of a file.
pub(super) trait Receiver {
    /// Begins anew: what was taken before is not wanted.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    fn begin(&mut self) -> Result<(), Failure>;

    /// Takes the next bytes.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    fn take(&mut self, bytes: &[u8]) -> Result<(), Failure>;
}

fn open(place: &Path, storage: &[(String, String)]) -> Result<Copied, Failure> {
    if url_of(place).is_some() {
        let access = Access { storage, ..Access::default() };
        let listing = listing::open_at(place, access)?;
        let Some(manifest) = listing.manifest else {
            return Err(Failure::usage("name the folder of the copy, not a tar").in_file(place));
        };
        let place = url_folder(place);
        let remote = RemoteFolder::open(&place.to_string_lossy(), storage)?;
        let is_here = remote.copy_small(FILE_NAME)?;
        let text = is_here
            .then(|| files::read_whole(&remote.copy_of(FILE_NAME), "read the copy"))
            .transpose()?;
        let shards = listing.shards;
        return Ok(Copied::Set(Box::new(DataSet { manifest, text, shards, place })));
    }
    let folder = match place.file_name() {
        Some(name) if name == FILE_NAME => tarflume_formats::publish::folder_of(place),
        _ => place,
    };
    if !files::is_folder(folder)? {
        let text =
            "there is no such folder: name a copy of the data set, or the folder that was packed";
        return Err(Failure::usage(text).in_file(place));
    }
    if !files::exists(&folder.join(FILE_NAME))? {
        return Ok(Copied::Files(folder.into()));
    }
    let text = read_manifest_text(folder.join(FILE_NAME))?;
    let manifest = Manifest::from_json(&text).map_err(|e| e.with_path(folder.join(FILE_NAME)))?;
    let mut shards = Vec::with_capacity(manifest.shards.len());
    for entry in &manifest.shards {
        // A copy may be damaged, too: what is whole in it serves.
        match open_index(folder, entry) {
            Ok(index) => shards.push(opened(folder.join(&entry.name), index)),
            Err(error) => drop(kinds::of_data(error)?),
        }
    }
    let place = folder.into();
    Ok(Copied::Set(Box::new(DataSet { manifest, text: Some(text), shards, place })))
}

fn opened(tar: PathBuf, index: Index) -> Shard {
    Shard { tar, source: None, index, has_sidecar: true, ignore_zeros: false }
}

/// The folder of a URL, without `dataset.json` and a slash at its end, as the URLs of its shards begin.
fn url_folder(place: &Path) -> PathBuf {
    let text = place.to_string_lossy();
    text.strip_suffix(FILE_NAME).unwrap_or(&text).trim_end_matches('/').into()
}

/// Looks for a part in each shard of a copy. A shard whose sidecar or bytes are damaged does not serve.
fn of_shards(shards: &[Shard], wanted: Wanted<'_>) -> Result<Option<Found>, Failure> {
    for shard in shards {
        match of_shard(shard, wanted) {
            Ok(None) => {}
            Ok(found) => return Ok(found),
            Err(failure) => unless_of_data(failure)?,
        }
    }
    Ok(None)
}

fn of_shard(shard: &Shard, wanted: Wanted<'_>) -> Result<Option<Found>, Failure> {
    let Some(row) = shard.index.find(wanted.key)? else { return Ok(None) };
    let Some(sample) = shard.index.sample(row)? else { return Ok(None) };
    let Some(part) = sample.part(wanted.ext)? else { return Ok(None) };
    let differs = part.checksum.is_some_and(|checksum| checksum != wanted.checksum);
    if part.length != wanted.length || differs {
        return Ok(None);
    }
    let mut bytes = vec![0; wanted.length as usize];
    shard.bytes()?.read(part.offset, &mut bytes)?;
    let is_it = crc32c(&bytes) == wanted.checksum;
    Ok(is_it.then(|| Found { bytes, from: shard.tar.clone() }))
}

/// Reads the file that was packed as a part. A key is its path below the folder, and its extension may be upper-case.
fn of_file(folder: &Path, wanted: Wanted<'_>) -> Result<Option<Found>, Failure> {
    let Some(key) = plain_text(wanted.key) else { return Ok(None) };
    let Some(ext) = plain_text(wanted.ext) else { return Ok(None) };
    for ext in [ext.to_string(), ext.to_ascii_uppercase()] {
        let path = folder.join(format!("{key}.{ext}"));
        let is_it = matches!(files::kind(&path)?, Some(files::FileKind::File));
        if !is_it || files::metadata(&path, "read")?.len() != wanted.length {
            continue;
        }
        let bytes = files::read_whole(&path, "read")?;
        if crc32c(&bytes) == wanted.checksum {
            return Ok(Some(Found { bytes, from: path }));
        }
    }
    Ok(None)
}

/// Returns a key or an extension as text, if it stays below a folder.
fn plain_text(bytes: &[u8]) -> Option<&str> {
    if name::unsafe_as_path(bytes).is_some() {
        return None;
    }
    std::str::from_utf8(bytes).ok()
}

/// Copies the file of a tar; returns false if its bytes are others.
fn copy(
    shard: &Shard,
    length: u64,
    digest: &Digest,
    into: &mut dyn Receiver,
) -> Result<bool, Failure> {
    let bytes = match shard.bytes() {
        Ok(bytes) => bytes,
        Err(failure) => return unless_of_data(failure).map(|()| false),
    };
    into.begin()?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; PIECE.min(length as usize)];
    let mut at = 0;
    while at < length {
        let piece = &mut buffer[..(length - at).min(PIECE as u64) as usize];
        if let Err(failure) = bytes.read_stored(at, piece) {
            return unless_of_data(failure).map(|()| false);
        }
        hasher.update(piece);
        into.take(piece)?;
        at += piece.len() as u64;
    }
    Ok(hasher.finalize() == *digest)
}

/// Returns a failure of the machine. One about data only says that this copy does not serve.
fn unless_of_data(failure: Failure) -> Result<(), Failure> {
    match failure.exit() {
        tarflume_base::Exit::BadData | tarflume_base::Exit::Usage => Ok(()),
        _ => Err(failure),
    }
}
