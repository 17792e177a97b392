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
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long an answer is believed. The system's clock for files moves every 1 to 10 ms.
const BELIEVED: Duration = Duration::from_millis(5);
/// A file that was changed so shortly before it was asked about can change again without another time.
const YOUNG: Duration = Duration::from_millis(50);

/// What is known of the file, and when it is asked about again.
#[derive(Debug)]
pub(super) struct Stamp {
    /// Absolute: the process may move to another folder.
    path: PathBuf,
    opened: Instant,
    /// Microseconds since `opened`.
    next: AtomicU64,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    state: State,
    asked: SystemTime,
}

/// What tells one state of one file from another.
#[derive(Debug, PartialEq, Eq)]
struct State {
    file: (u64, u64),
    length: u64,
    /// Seconds and nanoseconds of the last write, and of the last change of any kind.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl State {
    fn of(found: &Metadata) -> State {
        State {
            file: (found.dev(), found.ino()),
            length: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
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
            opened: Instant::now(),
            next: AtomicU64::new(BELIEVED.as_micros() as u64),
            seen: Mutex::new(Seen { state: State::of(found), asked: SystemTime::now() }),
        }
    }

    /// True if the last answer is too old to be believed: some 25 ns.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.opened.elapsed().as_micros() as u64 >= self.next.load(Ordering::Relaxed)
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
            Ok(now) if now.file != seen.state.file => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(now) if now == seen.state && !seen.is_young() => {}
            Ok(now) => {
                again()?;
                *seen = Seen { state: now, asked };
            }
            Err(_) => again()?,
        }
        let now = self.opened.elapsed() + BELIEVED;
        self.next.store(now.as_micros() as u64, Ordering::Relaxed);
        Ok(())
    }
}
