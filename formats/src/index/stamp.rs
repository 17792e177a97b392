//! Whether the file of a mapped sidecar was written to since its blocks were checked.
//!
//! Asks the system for the file's length and times, every few milliseconds at most and only while
//! something is looked up. It compares, and reads no byte of the sidecar: what a change means is the
//! business of [`super::body`].

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::files::FileState;
use crate::recheck::RecheckTimer;

/// A file that was changed so shortly before it was asked about can change again without another time.
const YOUNG: Duration = Duration::from_millis(50);

/// What is known of the file, and when it is asked about again.
#[derive(Debug)]
pub(super) struct Stamp {
    /// Absolute: the process may move to another folder.
    path: PathBuf,
    timer: RecheckTimer,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    state: State,
    asked: SystemTime,
}

/// A state of the file, and seconds and nanoseconds of its last change of any kind.
#[derive(Debug, PartialEq, Eq)]
struct State {
    file: FileState,
    changed: (i64, i64),
}

impl State {
    fn of(found: &Metadata) -> State {
        State { file: FileState::of(found), changed: (found.ctime(), found.ctime_nsec()) }
    }

    /// The time of the last change; none before 1970.
    fn changed(&self) -> Option<SystemTime> {
        let seconds = Duration::from_secs(u64::try_from(self.changed.0).ok()?);
        UNIX_EPOCH.checked_add(seconds)?.checked_add(Duration::from_nanos(self.changed.1 as u64))
    }
}

impl Seen {
    /// True if the file may have been changed after it was asked about and bear the same times.
    fn is_young(&self) -> bool {
        let age = self.state.changed().map(|changed| self.asked.duration_since(changed));
        age.is_some_and(|age| match age {
            Ok(age) => age < YOUNG,
            Err(ahead) => ahead.duration() < YOUNG,
        })
    }
}

impl Stamp {
    /// Of the file at `path`, as it was opened just now.
    pub(super) fn of(path: &Path, found: &Metadata) -> Stamp {
        Stamp {
            path: std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()),
            timer: RecheckTimer::started(),
            seen: Mutex::new(Seen { state: State::of(found), asked: SystemTime::now() }),
        }
    }

    /// True if the last answer is too old to be believed.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.timer.is_due()
    }

    /// Asks about the file and, if it may have changed, has `again` check what was found right before.
    /// Only when that is done does another thread go on without asking.
    ///
    /// # Errors
    /// What `again` gives; the next call asks anew.
    pub(super) fn ask<E>(&self, again: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let mut seen = self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if !self.is_due() {
            return Ok(());
        }
        let asked = SystemTime::now();
        match fs::metadata(&self.path).map(|found| State::of(&found)) {
            // Replaced by rename or removed: what is mapped bears no name, so nobody writes to it.
            Ok(now) if now.file.file != seen.state.file.file => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(now) if now == seen.state && !seen.is_young() => {}
            Ok(now) => {
                again()?;
                *seen = Seen { state: now, asked };
            }
            Err(_) => again()?,
        }
        self.timer.restart();
        Ok(())
    }
}
