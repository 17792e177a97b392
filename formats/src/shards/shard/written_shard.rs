//! Publishes a written shard: the tar first, its index last.
//!
//! Does not know how the bytes were made.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::bytes::checksum::Digest;
use crate::disk::files::{self, patiently};
use crate::disk::publish::{
    Durability, Published, TempFile, folder_of, remove_if_exists, sync_file, sync_folder,
};
use crate::errors::error::{Error, Result};
use crate::index::TarFacts;
use crate::records::manifest::ShardEntry;

/// Extension of a sidecar's file name.
const INDEX_EXTENSION: &str = "index";

/// Returns the path of the sidecar of the tar at `tar`: `a.index` for `a.tar`, `a.tar.zst` and `a`.
///
/// The name does not contain `.tar`: readers that take every file with `.tar` in its name as a
/// shard (Hugging Face `datasets` is one) would read the sidecar as a tar.
pub fn index_path(tar: impl AsRef<Path>) -> PathBuf {
    let tar = tar.as_ref();
    match tar.extension() {
        Some(extension) if extension == "tar" => tar.with_extension(INDEX_EXTENSION),
        Some(extension)
            if extension == "zst" && tar.with_extension("").extension() == Some("tar".as_ref()) =>
        {
            tar.with_extension("").with_extension(INDEX_EXTENSION)
        }
        _ => {
            let mut path = tar.as_os_str().to_owned();
            path.push(".");
            path.push(INDEX_EXTENSION);
            path.into()
        }
    }
}

/// A completely written shard under a temporary name.
#[derive(Debug)]
pub struct WrittenShard {
    pub(super) temp: TempFile,
    pub(super) facts: TarFacts,
    pub(super) samples: u64,
    pub(super) index: Vec<u8>,
    /// Parts by extension.
    pub extensions: BTreeMap<String, u64>,
}

impl WrittenShard {
    /// Gives tar and index their final names in `folder`: the tar first, the index last.
    ///
    /// An existing tar with the same bytes is left unchanged; one with other bytes is the rest of
    /// an interrupted attempt (it has no record) and is replaced.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses, for example because the disk is full.
    pub fn publish(
        self,
        folder: impl AsRef<Path>,
        name: &str,
        durability: Durability,
    ) -> Result<ShardEntry> {
        let folder = folder.as_ref();
        let target = folder.join(name);
        if durability == Durability::Synced {
            self.temp.sync()?;
        }
        let index_target = index_path(&target);
        if self.same_bytes(&target)? {
            drop(self.temp);
            if durability == Durability::Synced {
                sync_file(&target)?; // an attempt that did not sync may have written it
            }
        } else {
            // An existing index implies a complete shard, so it must never belong to another tar.
            remove_if_exists(&index_target)?;
            if self.temp.rename_new(&target)? == Published::AlreadyExists {
                self.temp.publish_over(&target)?;
            }
        }
        let index_name = index_target.file_name().unwrap_or_default().to_string_lossy();
        let mut temp = TempFile::create(folder_of(&index_target), &index_name)?;
        temp.file.write_all(&self.index).map_err(|e| Error::io(e, "write", temp.path()))?;
        if durability == Durability::Synced {
            temp.sync()?;
        }
        temp.publish_over(&index_target)?;
        if durability == Durability::Synced {
            sync_folder(folder)?;
        }
        Ok(ShardEntry {
            name: name.into(),
            split: None,
            samples: self.samples,
            bytes: self.facts.length,
            blake3: self.facts.digest.map(|d| d.to_hex().to_string()),
            index_bytes: self.index.len() as u64,
            index_blake3: blake3::hash(&self.index).to_hex().to_string(),
        })
    }

    fn same_bytes(&self, target: &Path) -> Result<bool> {
        let digest = self.facts.digest.as_ref();
        digest.map_or(Ok(false), |digest| has_bytes(target, self.facts.length, digest))
    }
}

/// Returns true if `path` is a regular file of this length and digest; a link to one does not
/// count.
///
/// # Errors
/// Returns an error if the operating system does not answer.
pub fn has_bytes(path: impl AsRef<Path>, length: u64, digest: &Digest) -> Result<bool> {
    let path = path.as_ref();
    match patiently(|| fs::symlink_metadata(path)) {
        Ok(found) if found.is_file() && found.len() == length => Ok(digest_of(path)? == *digest),
        Ok(_) => Ok(false),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(Error::io(e, "examine", path)),
    }
}

/// Returns the blake3 of the file at `path`.
///
/// # Errors
/// Returns an error if the operating system refuses to read it.
pub fn digest_of(path: impl AsRef<Path>) -> Result<Digest> {
    let path = path.as_ref();
    let mut hasher = blake3::Hasher::new();
    let (file, _) = files::open(path)?;
    hasher.update_reader(files::Patient(&file)).map_err(|e| Error::io(e, "read", path))?;
    Ok(hasher.finalize())
}
