//! Opens the input of `info`, `ls`, `cat` and `unpack`: the shards of a data set, or one tar.
//!
//! A data set is opened by its manifest, a tar by its sidecar; a tar without one is walked by its
//! headers, so that foreign tars work, too. Writes and prints nothing.

mod similar;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tarflume_base::{Failure, json_rules, packed_shard};
use tarflume_dataset::Source;
use tarflume_formats::index::{Part, Sample};
use tarflume_formats::json::JsonRules;
use tarflume_formats::manifest::{FILE_NAME, Manifest, ShardEntry};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Name, Task};
use tarflume_formats::url::url_of;
use tarflume_formats::{
    Crc, Digest, Error, ErrorKind, Index, files, index_path, name, open_index, probe,
    read_manifest_text,
};

use self::similar::Similar;
use crate::braces;
use crate::index::{Options, in_parallel, is_folder, proof, sidecar};
use crate::shard_bytes::ShardBytes;

/// Bytes of a part read at a time.
const PIECE: u64 = 256 * 1024;
/// Bytes of a shard in a store that are copied at a time.
const COPIED: u64 = 8 << 20;
/// Bytes that are asked for before they are copied.
const AHEAD: u64 = 64 << 20;
/// Shards that are opened at the same time.
const OPENED: usize = 32;
/// An opened shard.
#[derive(Debug)]
pub struct Shard {
    /// The tar: a path, or a URL.
    pub tar: PathBuf,
    /// Its bytes, if it is in a store.
    pub source: Option<Arc<dyn Source>>,
    /// Its rows.
    pub index: Index,
    /// True if the rows come from a sidecar, false if from the tar's own headers.
    pub has_sidecar: bool,
    /// True if the tar is read on behind end markers.
    pub ignore_zeros: bool,
}

/// How tars are opened.
#[derive(Debug, Clone, Copy, Default)]
pub struct Access<'a> {
    /// Names and values for stores; the environment has the others.
    pub storage: &'a [(String, String)],
    /// Reads tars without a sidecar on behind their end markers, for tars that were joined.
    pub ignore_zeros: bool,
}

impl Shard {
    /// Opens the bytes of the tar: its file, or a copy in an unnamed temporary file if it is in a store or
    /// compressed.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses or a frame is damaged, and the errors of the store.
    pub fn data(&self) -> Result<File, Failure> {
        let file = self.file()?;
        let found = file.metadata().map_err(|e| Failure::io(e, "look at", &self.tar))?;
        self.index.check_tar(&self.tar, found.len()).map_err(|e| e.with_path(&self.tar))?;
        if !self.index.is_compressed() {
            return Ok(file);
        }
        Ok(packed_shard::whole(&self.tar, &file, &self.index)?)
    }

    /// Opens the bytes of the tar where they are.
    pub fn bytes(&self) -> Result<ShardBytes<'_>, Failure> {
        ShardBytes::open(&self.tar, self.source.as_deref(), &self.index)
    }

    /// Opens the file of the tar, or a copy of the object.
    fn file(&self) -> Result<File, Failure> {
        let Some(source) = &self.source else { return Ok(files::open(&self.tar)?.0) };
        let mut file = tempfile::tempfile()
            .map_err(|e| Failure::io(e, "keep a copy of the shard in", std::env::temp_dir()))?;
        let mut buffer = vec![0; source.len().min(COPIED) as usize];
        let mut at = 0;
        source.advise(0, AHEAD.min(source.len()));
        while at < source.len() {
            source.advise((at + AHEAD).min(source.len()), COPIED);
            let piece = &mut buffer[..COPIED.min(source.len() - at) as usize];
            source.read_at(at, piece)?;
            file.write_all(piece)
                .map_err(|e| Failure::io(e, "keep a copy of the shard in", std::env::temp_dir()))?;
            at += piece.len() as u64;
        }
        Ok(file)
    }
}

/// An opened data set or tar.
#[derive(Debug)]
pub struct Listing {
    /// The manifest, if it is a data set.
    pub manifest: Option<Manifest>,
    /// The root digest of a data set whose tars all have a digest.
    pub root: Option<Digest>,
    /// The shards, in the order of the manifest.
    pub shards: Vec<Shard>,
    /// Which texts are JSON by the rules with which the data set was packed, of single tars by the manifests beside them.
    pub json_rules: JsonRules,
}

impl Listing {
    fn of_set(manifest: Manifest, root: Digest, shards: Vec<Shard>) -> Listing {
        let json_rules = json_rules::of_manifest(Some(&manifest));
        let root = manifest.has_all_digests().then_some(root);
        Listing { manifest: Some(manifest), root, shards, json_rules }
    }

    fn of_tars(tars: &[PathBuf], access: Access<'_>) -> Result<Listing, Failure> {
        let shards =
            tars.iter().map(|tar| open_tar(tar, access)).collect::<Result<_, Failure>>()?;
        let json_rules = json_rules::beside(tars.iter().map(PathBuf::as_path))?;
        Ok(Listing { manifest: None, root: None, shards, json_rules })
    }
}

/// Opens the data set in a folder, one tar, or the tars that a path with braces names.
///
/// # Errors
/// Returns an error if `path` does not exist, is stale, truncated or damaged, if a tar cannot be
/// walked, if a tar without a sidecar has no end marker, or if more than zeros follows the end marker.
pub fn open(path: &Path) -> Result<Listing, Failure> {
    open_local(path, Access::default())
}

fn open_local(path: &Path, access: Access<'_>) -> Result<Listing, Failure> {
    if url_of(path).is_some() {
        return Err(Failure::usage(message!(
            "{path} is a URL, and this command reads local files; `pack help` lists those that \
             read stores";
            path = path
        ))
        .with_file(path));
    }
    let paths = braces::expand(path)?;
    if paths != [path] {
        return Listing::of_tars(&paths, access);
    }
    let is_folder = is_folder(path)?;
    if !is_folder && path.file_name().is_none_or(|name| name != FILE_NAME) {
        return Listing::of_tars(&paths, access);
    }
    let folder = if is_folder { path } else { tarflume_formats::publish::folder_of(path) };
    let text = read_manifest_text(folder.join(FILE_NAME))?;
    let manifest = Manifest::from_json(&text).map_err(|e| e.with_path(folder.join(FILE_NAME)))?;
    let opened = in_parallel(OPENED, manifest.shards.iter().collect(), |entry: &ShardEntry| {
        with_sidecar(folder.join(&entry.name), open_index(folder, entry)?, access)
    })?;
    let shards = opened.into_iter().collect::<Result<_, Failure>>()?;
    Ok(Listing::of_set(manifest, Manifest::root_of(&text), shards))
}

/// As [`open`], for a URL such as `s3://bucket/set`, too.
///
/// # Errors
/// As [`open`], and the errors of the store.
#[cfg(feature = "remote")]
pub fn open_at(path: &Path, access: Access<'_>) -> Result<Listing, Failure> {
    let Some(url) = url_of(path) else { return open_local(path, access) };
    let mut storage = tarflume_dataset::Storage::new();
    for (name, value) in access.storage {
        storage = storage.option(name, value)?;
    }
    let found = tarflume_dataset::remote_shards(url, &storage)?;
    let opened = in_parallel(OPENED, found.shards, |shard| {
        let index = Index::open(&shard.sidecar()?)?;
        let index = tarflume_formats::check_index(index, &shard.entry);
        let index = index.map_err(|e| e.with_path(&shard.url))?;
        shard.check_end(&index)?;
        Ok(Shard {
            tar: shard.url,
            source: Some(shard.source),
            index,
            has_sidecar: true,
            ignore_zeros: access.ignore_zeros,
        })
    })?;
    let shards = opened.into_iter().collect::<Result<_, Failure>>()?;
    Ok(Listing::of_set(found.manifest, found.root, shards))
}

/// As [`open`]: without the feature `remote`, a URL is an error.
///
/// # Errors
/// As [`open`].
#[cfg(not(feature = "remote"))]
pub fn open_at(path: &Path, access: Access<'_>) -> Result<Listing, Failure> {
    open_local(path, access)
}

/// Returns a shard with its sidecar, which is compared with the end of the tar, and with a tar that may be newer.
fn with_sidecar(tar: PathBuf, index: Index, access: Access<'_>) -> Result<Shard, Failure> {
    proof::probe_suspect(&tar, &index)?;
    if !index.is_compressed() {
        probe::check_end(&index, &tar)?;
    }
    Ok(Shard { tar, source: None, index, has_sidecar: true, ignore_zeros: access.ignore_zeros })
}

fn open_tar(path: &Path, access: Access<'_>) -> Result<Shard, Failure> {
    let tar = &packed_shard::tar_of_sidecar(path)?.unwrap_or_else(|| path.into());
    let sidecar = index_path(tar);
    if files::exists(&sidecar)? {
        let index = Index::open(&sidecar)?;
        index.check_tar(tar, files::metadata(tar, "open")?.len())?;
        return with_sidecar(tar.into(), index, access);
    }
    let ignore_zeros = access.ignore_zeros;
    let options = Options { ignore_zeros, ..Options::of_headers() };
    let read = sidecar::read_tar(tar, &options, 0, &|_| {}).map_err(|error| {
        let failure = Failure::from(&error);
        if error.kind() != ErrorKind::MissingEnd {
            return failure;
        }
        let accept = Call::of(Task::Index).with(Name::AllowMissingEnd.on()).on_path(tar);
        failure.with_remedy(
            message!("if no member is missing, `{accept}` accepts it"; accept = accept),
        )
    })?;
    let index = Index::from_bytes(read.bytes)?;
    Ok(Shard { tar: tar.into(), source: None, index, has_sidecar: false, ignore_zeros })
}

/// The result of a search for a part.
#[derive(Debug)]
pub struct FoundPart<'a> {
    /// The shard that holds it.
    pub shard: &'a Shard,
    /// Its sample's key.
    pub key: &'a [u8],
    /// The part.
    pub part: Part<'a>,
}

impl Listing {
    /// Returns the listing with the shards of one split alone.
    ///
    /// # Errors
    /// Returns an error if there is no such split, with the names of all splits.
    pub fn split(mut self, name: &str) -> Result<Listing, Failure> {
        let entries = self.manifest.as_ref().map_or(&[][..], |manifest| &manifest.shards);
        let keep: Vec<bool> =
            entries.iter().map(|entry| entry.split.as_deref() == Some(name)).collect();
        if !keep.contains(&true) {
            let mut names: Vec<&str> =
                entries.iter().filter_map(|entry| entry.split.as_deref()).collect();
            names.sort_unstable();
            names.dedup();
            let name = name::shown(name.as_bytes());
            return Err(Failure::usage(if names.is_empty() {
                format!("there is no split '{name}': the data set has no splits")
            } else {
                format!("there is no split '{name}'; the splits are: {}", names.join(", "))
            }));
        }
        let mut keep = keep.into_iter();
        self.shards.retain(|_| keep.next() == Some(true));
        Ok(self)
    }

    /// Returns the number of samples.
    pub fn samples(&self) -> u64 {
        self.shards.iter().map(|shard| shard.index.samples()).sum()
    }

    /// Returns the part `key.ext`.
    ///
    /// # Errors
    /// Returns an error if there is none, with the sample's other parts or similar keys as
    /// suggestions.
    pub fn find(&self, wanted: &[u8]) -> Result<FoundPart<'_>, Failure> {
        let (key, ext) = match name::split(wanted) {
            Some((key, ext)) => (key, name::lower(ext)),
            None => (wanted, b"".as_slice().into()),
        };
        for shard in &self.shards {
            let Some(row) = shard.index.find(key)? else { continue };
            let Some(sample) = shard.index.sample(row)? else { continue };
            return match sample.part(&ext)? {
                Some(part) => Ok(FoundPart { shard, key: sample.key, part }),
                None => Err(no_such_part(&sample, &ext)?),
            };
        }
        Err(self.no_such_key(key, &ext)?)
    }

    fn no_such_key(&self, key: &[u8], ext: &[u8]) -> Result<Failure, Failure> {
        let mut similar = Similar::new(key);
        for shard in &self.shards {
            for row in 0..shard.index.samples().min(similar.left()) {
                similar.compare(shard.index.key(row)?);
            }
        }
        let dot = if ext.is_empty() { "" } else { "." };
        let keys: Vec<String> = similar
            .keys()
            .into_iter()
            .map(|key| format!("{}{dot}{}", name::shown(&key), name::shown(ext)))
            .collect();
        let advice = match &keys[..] {
            [] => message!("`{ls}` lists all keys"; ls = Call::of(Task::Ls)),
            [key] => message!("did you mean {key}?"),
            keys => message!("did you mean one of: {}", keys.join(", ")),
        };
        let key = name::shown(key);
        Ok(Failure::usage(message!("there is no sample with key {key}; {advice}"; advice = advice)))
    }
}

fn no_such_part(sample: &Sample<'_>, ext: &[u8]) -> Result<Failure, Failure> {
    let mut names = Vec::new();
    for part in sample.parts() {
        names.push(format!("{}.{}", sample.shown_key(), name::shown(part?.ext)));
    }
    let what = match ext {
        b"" => "name one part of it".to_string(),
        ext => format!("it has no part '{}', but these", name::shown(ext)),
    };
    Ok(Failure::usage(format!("key {}: {what}: {}", sample.shown_key(), names.join(", "))))
}

/// Passes `length` bytes of a tar from `offset` on to `take`, in pieces, and returns their crc32c.
///
/// # Errors
/// Returns the errors of `take`, and an error if the operating system refuses to read.
pub fn copy_bytes(
    tar: &Path,
    file: &File,
    offset: u64,
    length: u64,
    take: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<u32, Failure> {
    in_pieces(offset, length, |at, piece| read_of_file(at, piece, tar, file), take)
}

fn read_of_file(at: u64, piece: &mut [u8], tar: &Path, file: &File) -> Result<(), Failure> {
    let read = files::read_exact_at(file, piece, at);
    read.map_err(|e| Error::io(e, "read", tar).with_byte(at).into())
}

/// Reads a range piece by piece, and returns the crc32c of its bytes.
fn in_pieces(
    offset: u64,
    length: u64,
    read: impl Fn(u64, &mut [u8]) -> Result<(), Failure>,
    mut take: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<u32, Failure> {
    let mut buffer = vec![0; length.min(PIECE) as usize];
    let mut crc = Crc::new();
    let mut done = 0;
    while done < length {
        let piece = &mut buffer[..(length - done).min(PIECE) as usize];
        read(offset + done, piece)?;
        crc.update(piece);
        take(piece)?;
        done += piece.len() as u64;
    }
    Ok(crc.value())
}

/// Passes the part's bytes to `take`, then compares their checksum. Holds few of them at a time.
///
/// # Errors
/// Returns the errors of [`copy_bytes`], and an error if the bytes differ from those that the
/// sidecar was made from.
pub fn read_part(
    found: &FoundPart<'_>,
    take: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let FoundPart { shard, key, part } = found;
    let bytes = shard.bytes()?;
    let Part { offset, length, .. } = *part;
    let crc =
        in_pieces(offset, length, |at, piece| bytes.read_of(offset, length, at, piece), take)?;
    match part.checksum {
        Some(expected) if expected != crc => {
            let text = format!(
                "part '{}' has checksum {crc:08x}, the sidecar states {expected:08x}: what was \
                 written is damaged",
                name::shown(part.ext)
            );
            let error = Error::new(ErrorKind::Damaged, text)
                .with_path(&shard.tar)
                .with_byte(part.offset)
                .with_key(name::shown(key));
            Err(error.into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarflume_fixtures::good_shard;

    #[test]
    fn parts_are_found_and_near_misses_are_suggested() {
        let dir = tempfile::tempdir().unwrap();
        let tar = dir.path().join("a.tar");
        std::fs::write(&tar, good_shard()).unwrap();
        let listing = open(&tar).unwrap();
        assert_eq!(listing.samples(), 3);
        let found = listing.find(b"s1.JPG").unwrap();
        assert_eq!((found.key, found.part.ext), (b"s1".as_slice(), b"jpg".as_slice()));
        let mut bytes = Vec::new();
        read_part(&found, |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
        assert_eq!(bytes.len() as u64, found.part.length);
        for (wanted, hint) in [
            ("s1", "s1.jpg, s1.json"),
            ("s1.png", "no part 'png', but these: s1.jpg, s1.json"),
            ("s11.jpg", "no sample with key s11; did you mean s1.jpg?"),
        ] {
            let failure = listing.find(wanted.as_bytes()).unwrap_err();
            assert!(failure.text().contains(hint), "{failure}");
        }
    }
}
