//! The working folder `.pack` in the output folder: holds everything until it is published.
//!
//! ```text
//! OUT/.pack/plan                     the plan
//! OUT/.pack/policy             handling of problems: fail, skip or quarantine
//! OUT/.pack/lock                     held by `build`, `plan` and `finalize`
//! OUT/.pack/shards/NAME.tar          finished shards,
//! OUT/.pack/shards/NAME.index    their sidecars,
//! OUT/.pack/shards/NAME.tar.record   and their records, written last
//! OUT/.pack/claims/NAME.tar-1        notes of shards that a machine is packing
//! ```
//!
//! Readers of OUT see no shard before the data set is complete. Only `finalize` and a fresh start
//! remove anything here.

mod leftovers;
mod lock;
mod removal;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tarflume_base::Failure;
use tarflume_formats::manifest::{self, hex_digest};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Task};
use tarflume_formats::plan::PlanFoot;
use tarflume_formats::publish::{
    create_folders, folder_of, sync_file, sync_folder, sync_name, write_whole,
};
use tarflume_formats::{
    Error, ErrorKind, Index, Plan, Result, ShardRecord, files, has_bytes, index_path,
};

pub use lock::Lock;
use lock::LockAttempt;

/// The lock's name in the working folder.
const LOCK: &str = "lock";

/// The working folder of one output folder.
#[derive(Debug, Clone)]
pub struct Staging {
    out: PathBuf,
    root: PathBuf,
}

impl Staging {
    /// Returns the working folder of `out`; creates nothing.
    pub fn of(out: &Path) -> Staging {
        Staging { out: out.to_path_buf(), root: out.join(".pack") }
    }

    /// Returns the output folder.
    pub fn out(&self) -> &Path {
        &self.out
    }

    /// Returns the path of the plan.
    pub fn plan_path(&self) -> PathBuf {
        self.root.join("plan")
    }

    /// Returns the folder for shards.
    pub fn shards(&self) -> PathBuf {
        self.root.join("shards")
    }

    /// Returns the folder for claims of shards.
    pub(crate) fn claims(&self) -> PathBuf {
        self.root.join("claims")
    }

    /// Returns the names of the files in a folder; none if there is no such folder.
    pub(crate) fn names_in(&self, folder: &Path) -> Result<Vec<String>, Failure> {
        let entries = leftovers::entries(folder)?;
        Ok(entries.into_iter().filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }

    /// Returns the path of the later manifest.
    pub fn manifest_path(&self) -> PathBuf {
        self.out.join(manifest::FILE_NAME)
    }

    /// Returns the path of the list of problems.
    pub fn problems_path(&self) -> PathBuf {
        self.out.join("problems.jsonl")
    }

    /// Returns the folder for copies of files that have problems.
    pub fn quarantine(&self) -> PathBuf {
        self.out.join("quarantine")
    }

    /// Creates the folders.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn create(&self) -> Result<(), Failure> {
        Ok(create_folders(self.shards())?)
    }

    /// Locks the folder, so that no other command plans or publishes here.
    ///
    /// # Errors
    /// Returns an error if another command holds the lock.
    pub fn lock(&self) -> Result<Lock, Failure> {
        // A command that has published removes the working folder, possibly between any two of
        // these steps.
        for _ in 0..3 {
            if !self.created()? {
                continue;
            }
            match Lock::take(&self.lock_path())? {
                LockAttempt::Held(lock) => {
                    // Another command may have removed the folders before the lock was taken.
                    self.create()?;
                    self.secure_names()?;
                    return Ok(lock);
                }
                LockAttempt::Gone => {}
                LockAttempt::Busy => break,
            }
        }
        Err(Failure::try_again(message!(
            "another pack is running in {out}; wait for it, or choose another folder";
            out = &self.out
        ))
        .with_file(&self.out))
    }

    /// Creates the folders; returns false if one was removed meanwhile.
    fn created(&self) -> Result<bool, Failure> {
        match create_folders(self.shards()) {
            Err(error) if error.is_missing() => Ok(false),
            created => Ok(created.map(|()| true)?),
        }
    }

    /// Syncs the names of the working folder and of all folders above it to disk: an attempt that
    /// was killed may have created them without a sync.
    fn secure_names(&self) -> Result<(), Failure> {
        for folder in [&self.shards(), &self.root, &self.out] {
            sync_name(folder)?;
        }
        leftovers::sync_above(&self.out)
    }

    fn lock_path(&self) -> PathBuf {
        self.root.join(LOCK)
    }

    /// Returns true if there is a plan.
    ///
    /// # Errors
    /// Returns an error if the operating system does not answer.
    pub fn has_plan(&self) -> Result<bool, Failure> {
        Ok(files::exists(&self.plan_path())?)
    }

    /// Opens the plan; `None` if there is none.
    ///
    /// # Errors
    /// Returns an error if it cannot be read or is damaged.
    pub fn existing_plan(&self) -> Result<Option<Plan>> {
        match Plan::open(self.plan_path()) {
            Err(error) if is_nowhere(&error) => Ok(None),
            plan => plan.map(Some),
        }
    }

    /// Opens the plan.
    ///
    /// # Errors
    /// Returns an error if there is none, or if it is damaged.
    pub fn plan(&self) -> Result<Plan, Failure> {
        self.existing_plan()?.ok_or_else(|| {
            Failure::usage(message!("there is no plan in {out}; make one with `{plan}`"; out = &self.out, plan = Call::of(Task::Plan).on_stand("SRC").out_path(&self.out)))
                .with_file(&self.out)
        })
    }

    /// Stores the handling of problems.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn set_policy(&self, word: &str) -> Result<()> {
        write_whole(self.root.join("policy"), word.as_bytes())
    }

    /// Returns the stored handling of problems, if any.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to read it.
    pub fn policy(&self) -> Result<Option<String>> {
        let path = self.root.join("policy");
        match files::read_whole(&path, "read") {
            Ok(word) => Ok(Some(String::from_utf8_lossy(&word).into_owned())),
            Err(error) if is_nowhere(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the path of the record of the shard `name`.
    pub fn record_path(&self, name: &str) -> PathBuf {
        self.shards().join(format!("{name}.record"))
    }

    /// Returns the record of the shard `name`; `None` if there is none, or if it is damaged.
    fn record(&self, name: &str) -> Result<Option<ShardRecord>> {
        let path = self.record_path(name);
        let bytes = unless_refused(files::read_whole(&path, "read"))?;
        Ok(bytes.and_then(|bytes| ShardRecord::from_json(&bytes).ok()))
    }

    /// Returns the record of a shard of the plan that is finished and complete; `None` if it must
    /// be packed (again).
    ///
    /// Compares plan, entry points, name and lengths, and that the sidecar belongs to a tar of that
    /// length.
    ///
    /// # Errors
    /// Returns an error if the operating system does not answer.
    pub fn finished(&self, plan: &PlanFoot, number: usize) -> Result<Option<ShardRecord>> {
        let Some(shard) = plan.shards.get(number) else { return Ok(None) };
        let Some(record) = self.record(&shard.name)? else { return Ok(None) };
        let entry = &record.entry;
        let same_plan = record.plan == plan.content && record.entry_points == plan.entry_points;
        if !same_plan || record.shard != number as u64 || entry.name != shard.name {
            return Ok(None);
        }
        let tar = self.place(&entry.name, |tar| {
            Ok(unless_refused(files::metadata(tar, "examine"))?
                .is_some_and(|found| found.len() == entry.bytes))
        })?;
        let index = self.place(&entry.name, |tar| {
            let index = unless_refused(Index::open(index_path(tar)))?;
            Ok(index.is_some_and(|index| {
                index.tar().length == entry.bytes
                    && index.samples() == entry.samples
                    && index.length() == entry.index_bytes
                    && index.tar().digest.map(|d| d.to_hex().to_string()) == entry.blake3
            }))
        })?;
        Ok((tar.is_some() && index.is_some()).then_some(record))
    }

    /// Returns the place where the shard `name` satisfies `fits`: the working folder or, because
    /// `finalize` may have been interrupted while it moved shards out, the output folder.
    fn place(
        &self,
        name: &str,
        mut fits: impl FnMut(&Path) -> Result<bool>,
    ) -> Result<Option<PathBuf>> {
        for folder in [self.shards(), self.out.clone()] {
            let path = folder.join(name);
            if fits(&path)? {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// Syncs a finished shard to disk. A shard that was not synced when it was packed is read
    /// whole, because a power failure may have damaged it; returns `None` if one did.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn secured(&self, mut record: ShardRecord) -> Result<Option<ShardRecord>> {
        if !record.unsynced {
            return Ok(Some(record));
        }
        let entry = &record.entry;
        let Some(digest) = entry.digest()? else { return Ok(None) };
        let index_digest = hex_digest(&entry.index_blake3)?;
        let tar = self.place(&entry.name, |tar| has_bytes(tar, entry.bytes, &digest))?;
        let index = self.place(&entry.name, |tar| {
            has_bytes(index_path(tar), entry.index_bytes, &index_digest)
        })?;
        let Some(tar) = tar else { return Ok(None) };
        let Some(beside) = index else { return Ok(None) };
        for path in [tar, index_path(&beside)] {
            sync_file(&path)?;
            sync_folder(folder_of(&path))?;
        }
        record.unsynced = false;
        write_whole(self.record_path(&record.entry.name), &record.to_json())?;
        Ok(Some(record))
    }

    /// Returns temporary files in the working folder, with their age.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn temporaries(&self) -> Result<Vec<(PathBuf, Duration)>, Failure> {
        let mut found = leftovers::temporaries(&self.root)?;
        found.extend(leftovers::temporaries(&self.shards())?);
        Ok(found)
    }

    /// Removes temporary files of killed attempts outside the working folder: of the manifest, of
    /// the list of problems, of quarantined files and their reasons. Syncs all names in the
    /// quarantine to disk.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn sweep(&self) -> Result<(), Failure> {
        let lists = [manifest::FILE_NAME, "problems.jsonl"].map(|name| format!(".{name}."));
        leftovers::sweep(&self.out, &|name| lists.iter().any(|list| name.starts_with(list)))?;
        leftovers::settle(&self.quarantine())
    }

    /// Returns true if an unpublished plan or shard exists here.
    ///
    /// # Errors
    /// Returns an error if the operating system does not answer.
    pub fn is_begun(&self) -> Result<bool, Failure> {
        Ok(self.has_plan()? || !leftovers::entries(&self.shards())?.is_empty())
    }
}

/// Returns true if the error means that the path does not exist, or that a file is in the place of
/// one of its folders.
fn is_nowhere(error: &Error) -> bool {
    let kind = error.io_error().map(io::Error::kind);
    error.is_missing() || kind == Some(io::ErrorKind::NotADirectory)
}

/// Returns `None` for what is missing or damaged; failures of the operating system stay errors.
fn unless_refused<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::Io && !is_nowhere(&error) => Err(error),
        Err(_) => Ok(None),
    }
}
