//! The lock of a working folder: only one command at a time replaces the plan or publishes.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, openat};
use rustix::io::{Errno, retry_on_intr};
use tarflume_base::Failure;
use tarflume_formats::files::patiently;
use tarflume_formats::message;

/// Held while a command may replace the plan or publish.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the lock is the open file")] Option<File>);

/// The result of taking a lock.
#[derive(Debug)]
pub(super) enum LockAttempt {
    /// It is held by this process.
    Held(Lock),
    /// Another process holds it.
    Busy,
    /// The working folder, or the lock in it, was removed meanwhile: the lock protects nothing.
    Gone,
}

impl Lock {
    /// Takes the lock whose file is `path`, which is created if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses or `path` is a link.
    pub(super) fn take(path: &Path) -> Result<LockAttempt, Failure> {
        // The lock's file is never written to, so an existing file keeps its content.
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match retry_on_intr(|| openat(CWD, path, flags, Mode::from_raw_mode(0o644))) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(LockAttempt::Gone),
            Err(Errno::LOOP) => {
                let text = message!("{path} is a link, which pack does not create; remove it"; path = path);
                return Err(Failure::usage(text).with_file(path));
            }
            Err(e) => return Err(Failure::io(e.into(), "open the lock", path)),
        };
        match retry_on_intr(|| flock(&file, FlockOperation::NonBlockingLockExclusive)) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(LockAttempt::Busy),
            // Some network file systems have no locks; names and renames keep attempts apart.
            Err(Errno::NOSYS | Errno::NOTSUP | Errno::NOLCK | Errno::INVAL) => {
                return Ok(LockAttempt::Held(Lock(None)));
            }
            Err(e) => return Err(Failure::io(e.into(), "lock", path)),
        }
        Ok(if stands_at(&file, path)? {
            LockAttempt::Held(Lock(Some(file)))
        } else {
            LockAttempt::Gone
        })
    }
}

/// Returns true if the open file still has the name `path`.
fn stands_at(file: &File, path: &Path) -> Result<bool, Failure> {
    let ours =
        patiently(|| file.metadata()).map_err(|e| Failure::io(e, "examine the lock", path))?;
    match patiently(|| fs::symlink_metadata(path)) {
        Ok(there) => Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(Failure::io(e, "examine the lock", path)),
    }
}
