//! The lock of a working folder: one command at a time replaces the plan or publishes.

use std::fs::File;
use std::path::Path;

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, openat};
use rustix::io::{Errno, retry_on_intr};

use crate::failure::Failure;
use tarflume_formats::shown::ShowPath;

/// Held while a command may replace the plan or publish.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the lock is the open file")] Option<File>);

impl Lock {
    /// Takes the lock whose file is `path`, which is created if it is not there; `None` if another
    /// process holds it.
    ///
    /// # Errors
    /// The operating system's refusal; a link stands at `path`.
    pub(super) fn take(path: &Path) -> Result<Option<Lock>, Failure> {
        // Nothing is ever written to it, so nothing that stands there is cut.
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = retry_on_intr(|| openat(CWD, path, flags, Mode::from_raw_mode(0o644)));
        let file = opened.map(File::from).map_err(|e| match e {
            Errno::LOOP => Failure::usage(format!(
                "{} is a link, which no pack has made; remove it",
                path.shown()
            )),
            e => Failure::io(e.into(), "open the lock", path),
        })?;
        match retry_on_intr(|| flock(&file, FlockOperation::NonBlockingLockExclusive)) {
            Ok(()) => Ok(Some(Lock(Some(file)))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            // Some network file systems know no locks; names and renames keep attempts apart.
            Err(Errno::NOSYS | Errno::NOTSUP | Errno::NOLCK | Errno::INVAL) => Ok(Some(Lock(None))),
            Err(e) => Err(Failure::io(e.into(), "lock", path)),
        }
    }
}
