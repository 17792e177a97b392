//! `Unfinished`: the working folder of an unpack, in the folder that it fills. While it exists, the same command goes
//! on with what a killed one left; a file outside of it is whole.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, flock, openat, unlinkat};
use rustix::io::{Errno, retry_on_intr};
use tarflume_base::Failure;
use tarflume_base::collide::fold;
use tarflume_formats::files::{self, patiently};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Task};
use tarflume_formats::output::must_be_outside;
use tarflume_formats::publish::{create_folders, sync_folder, write_whole};
use tarflume_formats::{Digest, IgnorePoison};

use super::tree::{FOLDER, NEW_FILE};

/// Its name.
const NAME: &str = ".pack-unpack";
/// The file in it that names the shards.
const STATE: &str = "of";

/// The working folder. Only one command at a time has it.
#[derive(Debug)]
pub(super) struct Unfinished {
    out: PathBuf,
    path: PathBuf,
    /// Open, and locked where the file system has locks.
    folder: OwnedFd,
    /// The names that this command has given, if a killed one has given some before: the first 16 bytes of their digests.
    given: Option<Mutex<HashSet<[u8; 16]>>>,
    next: AtomicU64,
}

/// A file that gets its name later.
#[derive(Debug)]
pub(super) struct Unnamed {
    pub(super) file: File,
    /// Its name in the working folder.
    pub(super) name: String,
}

impl Unfinished {
    /// Begins to fill the folder `out` with the files of the shards `content`, or goes on.
    ///
    /// # Errors
    /// Returns an error if `out` is neither new nor empty nor what an unfinished command of the same shards left, if
    /// another one is running there, or if the operating system refuses.
    pub(super) fn begin(out: &Path, content: &Digest) -> Result<Unfinished, Failure> {
        must_be_outside(out)?;
        create_folders(out)?;
        let path = out.join(NAME);
        let is_begun = files::is_folder(&path)?;
        if !is_begun && others_in(out)? {
            return Err(not_empty(out));
        }
        match patiently(|| fs::create_dir(&path)) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                return Err(Failure::io(e, "create the folder", &path));
            }
            _ => {}
        }
        let folder = locked(&path, out)?;
        let state = path.join(STATE);
        let found = match files::read_whole(&state, "read") {
            Ok(found) => Some(found),
            Err(error) if error.is_missing() => None,
            Err(error) => return Err(error.into()),
        };
        let content = content.to_hex();
        match &found {
            Some(found) if found == content.as_bytes() => {}
            // It names nothing, so nothing was unpacked.
            None if !others_in(out)? => write_whole(&state, content.as_bytes())?,
            None => return Err(not_empty(out)),
            Some(_) => return Err(other(out)),
        }
        let given = found.is_some().then(Mutex::default);
        let next = AtomicU64::new(0);
        let work = Unfinished { out: out.into(), path, folder, given, next };
        work.clear()?;
        Ok(work)
    }

    /// Returns true if an earlier command was killed here.
    pub(super) fn goes_on(&self) -> bool {
        self.given.is_some()
    }

    /// Notes that this command gives a file the name `path`; returns false if it did before. Always true if no earlier
    /// command was killed here: the file system knows then.
    pub(super) fn take_name(&self, path: &[u8]) -> bool {
        let Some(given) = &self.given else { return true };
        given.lock().ignore_poison().insert(short(path))
    }

    /// Forgets a name that no file got.
    pub(super) fn free_name(&self, path: &[u8]) {
        if let Some(given) = &self.given {
            given.lock().ignore_poison().remove(&short(path));
        }
    }

    /// Creates a file.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(super) fn unnamed(&self) -> Result<Unnamed, Failure> {
        let name = self.next.fetch_add(1, Ordering::Relaxed).to_string();
        let made =
            retry_on_intr(|| openat(&self.folder, &name, NEW_FILE, Mode::from_raw_mode(0o644)));
        let file = made.map_err(|e| Failure::io(e.into(), "create", self.path.join(&name)))?;
        Ok(Unnamed { file: file.into(), name })
    }

    /// Removes a file that did not get a name.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(super) fn remove(&self, name: &str) -> Result<(), Failure> {
        match retry_on_intr(|| unlinkat(&self.folder, name, AtFlags::empty())) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(Failure::io(e.into(), "remove", self.path.join(name))),
        }
    }

    /// The open folder.
    pub(super) fn folder(&self) -> &OwnedFd {
        &self.folder
    }

    /// Removes what a killed command has not named.
    fn clear(&self) -> Result<(), Failure> {
        for entry in patiently(|| fs::read_dir(&self.path))
            .map_err(|e| Failure::io(e, "read the folder", &self.path))?
        {
            let name =
                entry.map_err(|e| Failure::io(e, "read the folder", &self.path))?.file_name();
            if name != STATE {
                self.remove(&name.to_string_lossy())?;
            }
        }
        Ok(())
    }

    /// Removes the working folder: everything is unpacked, or cannot be gone on with.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(super) fn end(self) -> Result<(), Failure> {
        self.clear()?;
        self.remove(STATE)?;
        patiently(|| fs::remove_dir(&self.path))
            .map_err(|e| Failure::io(e, "remove the folder", &self.path))?;
        Ok(sync_folder(&self.out)?)
    }
}

/// Returns true if the first folder of a path would be the working folder.
pub(super) fn is_inside(path: &[u8]) -> bool {
    let first = path.split(|&b| b == b'/').next().unwrap_or_default();
    fold(first) == fold(NAME.as_bytes())
}

fn short(path: &[u8]) -> [u8; 16] {
    let digest = blake3::hash(path);
    *digest.as_bytes().first_chunk().expect("a digest has 32 bytes")
}

/// Returns true if `out` has anything but the working folder.
fn others_in(out: &Path) -> Result<bool, Failure> {
    for entry in
        patiently(|| fs::read_dir(out)).map_err(|e| Failure::io(e, "read the folder", out))?
    {
        if entry.map_err(|e| Failure::io(e, "read the folder", out))?.file_name() != NAME {
            return Ok(true);
        }
    }
    Ok(false)
}

fn not_empty(out: &Path) -> Failure {
    Failure::usage("this folder is not empty; name a new one, so that nothing in it is mixed up")
        .in_file(out)
}

fn other(out: &Path) -> Failure {
    Failure::usage(
        "the files of other shards were not all unpacked here; give the same shards to go on, or \
         name a new folder",
    )
    .in_file(out)
}

fn busy(out: &Path) -> Failure {
    Failure::try_again(message!(
        "another `{unpack}` fills this folder; wait for its end, or name a new one";
        unpack = Call::of(Task::Unpack)
    ))
    .in_file(out)
}

/// Opens the working folder and locks it.
fn locked(path: &Path, out: &Path) -> Result<OwnedFd, Failure> {
    let folder = match retry_on_intr(|| openat(CWD, path, FOLDER, Mode::empty())) {
        Ok(folder) => folder,
        Err(Errno::NOENT) => return Err(busy(out)),
        Err(e) => return Err(Failure::io(e.into(), "open the folder", path)),
    };
    match retry_on_intr(|| flock(&folder, FlockOperation::NonBlockingLockExclusive)) {
        // Some network file systems have no locks, or none for folders.
        Ok(()) | Err(Errno::NOSYS | Errno::NOTSUP | Errno::NOLCK | Errno::INVAL | Errno::BADF) => {}
        Err(Errno::WOULDBLOCK) => return Err(busy(out)),
        Err(e) => return Err(Failure::io(e.into(), "lock", path)),
    }
    // The command that held the lock may have removed the folder.
    let ours = rustix::fs::fstat(&folder).map_err(|e| Failure::io(e.into(), "examine", path))?;
    match patiently(|| fs::symlink_metadata(path)) {
        Ok(found) if (found.dev(), found.ino()) == (ours.st_dev, ours.st_ino) => Ok(folder),
        Ok(_) => Err(busy(out)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Err(busy(out)),
        Err(e) => Err(Failure::io(e, "examine", path)),
    }
}
