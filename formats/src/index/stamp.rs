//! Detects whether the file of a mapped sidecar was written to since its blocks were checked.
//!
//! Queries the file's length and times, every few milliseconds at most and only during lookups.
//! Reads no byte of the sidecar: [`super::body`] decides what a change means.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::disk::files::FileState;
use crate::disk::recheck::RecheckTimer;

/// A file changed this shortly before the query can change again and keep the same times.
const YOUNG: Duration = Duration::from_millis(50);

/// The last known state of the file, and the time of the next query.
#[derive(Debug)]
pub(super) struct Stamp {
    /// Absolute, because the process may change its working directory.
    path: PathBuf,
    timer: RecheckTimer,
    seen: Mutex<LastCheck>,
}

#[derive(Debug)]
struct LastCheck {
    state: State,
    queried: SystemTime,
}

/// A state of the file, with seconds and nanoseconds of its last change of any kind.
#[derive(Debug, PartialEq, Eq)]
struct State {
    file: FileState,
    changed: (i64, i64),
}

impl State {
    fn of(found: &Metadata) -> State {
        State { file: FileState::of(found), changed: (found.ctime(), found.ctime_nsec()) }
    }

    /// Returns the time of the last change; `None` before 1970.
    fn changed(&self) -> Option<SystemTime> {
        let seconds = Duration::from_secs(u64::try_from(self.changed.0).ok()?);
        UNIX_EPOCH.checked_add(seconds)?.checked_add(Duration::from_nanos(self.changed.1 as u64))
    }
}

impl LastCheck {
    /// Returns true if the file may have changed after the query and kept the same times.
    fn is_young(&self) -> bool {
        let age = self.state.changed().map(|changed| self.queried.duration_since(changed));
        age.is_some_and(|age| match age {
            Ok(age) => age < YOUNG,
            Err(ahead) => ahead.duration() < YOUNG,
        })
    }
}

impl Stamp {
    /// Creates the stamp of the file at `path`, which was opened just before.
    pub(super) fn of(path: &Path, found: &Metadata) -> Stamp {
        Stamp {
            path: std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()),
            timer: RecheckTimer::started(),
            seen: Mutex::new(LastCheck { state: State::of(found), queried: SystemTime::now() }),
        }
    }

    /// Returns true if the last query is too old.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.timer.is_due()
    }

    /// Queries the file and, if it may have changed, calls `again` to check the blocks again. Other
    /// threads keep querying until `again` is done.
    ///
    /// # Errors
    /// Returns the errors of `again`; the next call then queries again.
    pub(super) fn check<E>(&self, again: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let mut seen = self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // Another thread may have queried the file while this one waited for the lock.
        if !self.is_due() {
            return Ok(());
        }
        // Taken before the query: a change during the query then counts as young.
        let queried = SystemTime::now();
        match fs::metadata(&self.path).map(|found| State::of(&found)) {
            // Replaced by rename or removed: the mapped inode has no name, so nothing writes to it.
            Ok(now) if now.file.file != seen.state.file.file => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(now) if now == seen.state && !seen.is_young() => {}
            Ok(now) => {
                again()?;
                *seen = LastCheck { state: now, queried };
            }
            // The state is unknown: check the blocks, but record no state.
            Err(_) => again()?,
        }
        self.timer.restart();
        Ok(())
    }
}
