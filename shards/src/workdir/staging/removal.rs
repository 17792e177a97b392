//! Removes files of a working folder: those of an earlier attempt, and the whole folder once the
//! data set is published.

use std::fs;
use std::io;
use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::files::{self, patiently};
use tarflume_formats::manifest::hex_digest;
use tarflume_formats::publish::{remove_if_exists, sync_folder};
use tarflume_formats::{ErrorKind, Manifest, ShardRecord, has_bytes, index_path};

use super::lock::{Lock, LockAttempt};
use super::{LOCK, Staging, leftovers};

impl Staging {
    /// Removes the files of an earlier attempt, but not the plan that is being written, nor the
    /// lock.
    ///
    /// The attempt may have been interrupted while it published: a file in the output folder
    /// belongs to it if a record in the working folder has the same bytes and no manifest names the
    /// file.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn clear(&self) -> Result<(), Failure> {
        let shards = self.shards();
        for entry in leftovers::entries(&shards)? {
            let name = entry.file_name();
            let Some(tar) = name.to_str().and_then(|name| name.strip_suffix(".record")) else {
                continue;
            };
            if let Some(ShardRecord { entry, .. }) = self.record(tar)?
                && entry.name == tar
            {
                // The sidecar goes first: a tar without a sidecar is an unfinished shard, but a
                // sidecar without its tar would be an error for every reader.
                let moved = self.out.join(tar);
                // An invalid digest names no file.
                if let Ok(index) = hex_digest(&entry.index_blake3)
                    && has_bytes(index_path(&moved), entry.index_bytes, &index)?
                {
                    remove_if_exists(index_path(&moved))?;
                }
                if let Ok(Some(digest)) = entry.digest()
                    && has_bytes(&moved, entry.bytes, &digest)?
                {
                    remove_if_exists(&moved)?;
                }
            }
        }
        remove_all(&self.claims())?;
        remove_all(&shards)?;
        self.create()
    }

    /// Removes the plan, if there is one.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn forget_plan(&self) -> Result<(), Failure> {
        Ok(remove_if_exists(self.plan_path())?)
    }

    /// Removes the working folder and all in it, the lock last, so that no command takes it before.
    ///
    /// A file that another process holds open (network file systems keep it under another name), or
    /// created meanwhile, stays: a later command removes it.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn remove(&self) -> Result<(), Failure> {
        for entry in leftovers::entries(&self.root)? {
            if entry.file_name() == LOCK {
                continue;
            }
            let path = entry.path();
            let removed = patiently(|| {
                if entry.file_type()?.is_dir() {
                    fs::remove_dir_all(&path)
                } else {
                    fs::remove_file(&path)
                }
            });
            unless_in_use(removed, &path)?;
        }
        let lock = self.lock_path();
        unless_in_use(patiently(|| fs::remove_file(&lock)), &lock)?;
        unless_in_use(patiently(|| fs::remove_dir(&self.root)), &self.root)
    }

    /// Removes the working folder of a data set whose manifest another attempt published, possibly
    /// without syncing it.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn remove_synced(&self) -> Result<(), Failure> {
        sync_folder(self.out())?;
        self.remove()
    }

    /// Removes the working folder of an attempt that was interrupted after it had published
    /// `manifest`. One that holds the plan of another data set stays. The caller holds the lock.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn remove_published(&self, manifest: &Manifest) -> Result<(), Failure> {
        match self.existing_plan() {
            Ok(Some(plan)) if !manifest.has_plan(&plan.foot().content) => Ok(()),
            Err(error) if error.kind() == ErrorKind::Io => Err(error.into()),
            _ => self.remove_synced(),
        }
    }

    /// As [`Staging::remove_published`], if no other command is running here.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn sweep_published(&self, manifest: &Manifest) -> Result<(), Failure> {
        if !files::exists(&self.root)? {
            return Ok(());
        }
        match Lock::take(&self.lock_path())? {
            LockAttempt::Held(_lock) => self.remove_published(manifest),
            LockAttempt::Busy | LockAttempt::Gone => Ok(()), // another command removes it, or has done so
        }
    }
}

/// Returns the error of removing `path`, unless it is missing or in use.
fn unless_in_use(removed: io::Result<()>, path: &Path) -> Result<(), Failure> {
    use io::ErrorKind as K;
    match removed {
        Err(e) if matches!(e.kind(), K::NotFound | K::DirectoryNotEmpty | K::ResourceBusy) => {
            Ok(())
        }
        removed => removed.map_err(|e| Failure::io(e, "remove", path)),
    }
}

/// Removes a folder and all in it, if it exists.
fn remove_all(folder: &Path) -> Result<(), Failure> {
    match patiently(|| fs::remove_dir_all(folder)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(Failure::io(e, "remove the working folder", folder))
        }
        _ => Ok(()),
    }
}
