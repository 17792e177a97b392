//! Opens the file of a cache, and makes it if there is none.
//!
//! The file is made whole under another name and renamed, so a file with the final name is complete. Processes
//! that make it at the same time take turns by a lock on the folder, which the kernel releases with its
//! process.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use rustix::io::Errno;
use tarflume_formats::SharedWords;

use crate::error::{Error, Result};
use crate::layout::{Layout, MAGIC, header};
use crate::place::Settings;

/// The longest wait for another process that makes the file.
const LONGEST: Duration = Duration::from_secs(20);

/// An opened file of a cache.
pub(crate) struct Opened {
    pub(crate) file: File,
    pub(crate) words: SharedWords,
    pub(crate) layout: Layout,
}

/// The refusal of a file that is no cache.
const DAMAGED: &str = "this is not a cache, or it is damaged; `pack cache drop` removes it";

/// Opens the file; `None` if there is none.
pub(crate) fn existing(path: &Path) -> Result<Option<Opened>> {
    let file = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::machine(path, "cannot open the cache", e)),
    };
    let length = file.metadata().map_err(|e| unread(e, path))?.len();
    if length < 4096 {
        return Err(Error::refused(path, DAMAGED));
    }
    let head = SharedWords::map(&file, 4096).map_err(|e| unread(e, path))?;
    let layout = Layout { slots: head.at(header::SLOTS).load(Ordering::Acquire) };
    let magic = head.at(header::MAGIC).load(Ordering::Acquire);
    // The number of slots is compared first: of a damaged one, the bytes could overflow.
    if magic != MAGIC || layout.slots > length || layout.bytes() != length {
        return Err(Error::refused(path, DAMAGED));
    }
    let words = SharedWords::map(&file, layout.mapped()).map_err(|e| unread(e, path))?;
    Ok(Some(Opened { file, words, layout }))
}

fn unread(e: std::io::Error, path: &Path) -> Error {
    Error::machine(path, "cannot read the cache", e)
}

/// Opens the file, or makes it with the size of the settings.
pub(crate) fn open_or_create(settings: &Settings) -> Result<Opened> {
    let folder = settings.prepare()?;
    let path = settings.path();
    if let Some(found) = existing(&path)? {
        return Ok(found);
    }
    let Some(layout) = Layout::within(settings.bytes) else {
        return Err(Error::refused(&path, "a cache has at least 17 MiB; ask for more"));
    };
    let _turn = turn(&folder)?;
    if let Some(found) = existing(&path)? {
        return Ok(found);
    }
    create(&path, layout)?;
    existing(&path)?
        .ok_or_else(|| Error::refused(&path, "the cache was removed at once; try again"))
}

/// Waits until no other process makes the file.
fn turn(folder: &Path) -> Result<File> {
    let file = File::open(folder)
        .map_err(|e| Error::machine(folder, "cannot lock the folder of the cache", e))?;
    let start = Instant::now();
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) if start.elapsed() < LONGEST => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(Errno::WOULDBLOCK) => {
                let text = "another process has been making the cache for 20 s; try again";
                return Err(Error::refused(folder, text));
            }
            Err(e) => {
                return Err(Error::machine(folder, "cannot lock the folder of the cache", e));
            }
        }
    }
}

/// Makes the file under the final name.
fn create(path: &Path, layout: Layout) -> Result<()> {
    let new = path.with_extension("new");
    // What a killed process has left: nobody else makes the file now.
    match std::fs::remove_file(&new) {
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => return Err(Error::machine(&new, "cannot remove an unfinished cache", e)),
    }
    let made = reserve(&new, layout).and_then(|()| {
        std::fs::rename(&new, path)
            .map_err(|e| Error::machine(path, "cannot give the cache its name", e))
    });
    if made.is_err() {
        let _ = std::fs::remove_file(&new); // the first error counts
    }
    made
}

/// Reserves the space, and writes the header.
fn reserve(path: &Path, layout: Layout) -> Result<()> {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.open(path).map_err(|e| unmade(e, path))?;
    loop {
        // Not a file with holes: on a full disk, a store to a hole of the map fails with SIGBUS.
        match fallocate(&file, FallocateFlags::empty(), 0, layout.bytes()) {
            Ok(()) => break,
            Err(Errno::INTR) => {}
            Err(e) => {
                let text = format!(
                    "cannot reserve {} MiB for the cache; ask for less, or set TARFLUME_CACHE to a folder on \
                     another disk",
                    layout.bytes() >> 20
                );
                return Err(Error::machine(path, text, e));
            }
        }
    }
    let words = SharedWords::map(&file, 4096).map_err(|e| unmade(e, path))?;
    words.at(header::SLOTS).store(layout.slots, Ordering::Release);
    words.at(header::MAGIC).store(MAGIC, Ordering::Release);
    // After a power cut, a file with the final name must have a header.
    file.sync_all().map_err(|e| unmade(e, path))
}

fn unmade(e: std::io::Error, path: &Path) -> Error {
    Error::machine(path, "cannot make the cache", e)
}
