//! `State`: the state of a file, by which it is recognized as unchanged.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A file that changed this shortly before it was examined can change again and keep its times: a tick of the clock of
/// the kernel is 10 ms at most.
const TICK: Duration = Duration::from_millis(50);
/// As [`TICK`], on file systems whose times have no fractions of seconds.
const COARSE: Duration = Duration::from_secs(3);

/// Device, inode, bytes and times of a file. The kernel sets the time of change, and programs cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl State {
    pub(crate) fn of(found: &Metadata) -> State {
        State {
            device: found.dev(),
            inode: found.ino(),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    /// Returns true if each change after `now` gives the file other times than these.
    pub(crate) fn is_settled(&self, now: SystemTime) -> bool {
        let margin = if self.changed.1 == 0 { COARSE } else { TICK };
        let changed = u64::try_from(self.changed.0).ok().and_then(|seconds| {
            let fraction = u64::try_from(self.changed.1).ok()?;
            UNIX_EPOCH
                .checked_add(Duration::from_secs(seconds))?
                .checked_add(Duration::from_nanos(fraction))
        });
        // A time in the future is that of a wrong clock: nothing follows from it.
        changed
            .and_then(|changed| now.duration_since(changed).ok())
            .is_some_and(|age| age >= margin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn changed(seconds: i64, nanoseconds: i64) -> State {
        State { device: 1, inode: 2, bytes: 3, modified: (1, 1), changed: (seconds, nanoseconds) }
    }

    #[test]
    fn a_file_that_has_just_changed_is_not_settled() {
        fn at(milliseconds: u64) -> SystemTime {
            UNIX_EPOCH + Duration::from_millis(milliseconds)
        }
        assert!(!changed(100, 1).is_settled(at(100_010)), "within a tick");
        assert!(changed(100, 1).is_settled(at(100_051)));
        assert!(!changed(100, 0).is_settled(at(102_500)), "times may have whole seconds");
        assert!(changed(100, 0).is_settled(at(103_000)));
        assert!(!changed(100, 1).is_settled(at(90_000)), "a clock that is wrong");
        assert!(!changed(-1, 1).is_settled(at(90_000)));
    }
}
