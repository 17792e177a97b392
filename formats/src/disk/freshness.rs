//! Whether a tar may have been changed after its sidecar was published, by the times of both files.
//!
//! Reads no byte of either. A tar that may be newer is not a wrong one: copies of a data set have any times. What its
//! sidecar states is compared with the tar before it is used.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

/// The times of one file, in seconds and nanoseconds.
#[derive(Debug, Clone, Copy)]
struct FileTimes {
    /// The last change of any kind. The kernel sets it, and programs cannot.
    changed: (i64, i64),
    /// The last change of the content, which `cp -p` and `rsync -a` keep.
    modified: (i64, i64),
}

impl FileTimes {
    fn of(found: &Metadata) -> FileTimes {
        FileTimes {
            changed: (found.ctime(), found.ctime_nsec()),
            modified: (found.mtime(), found.mtime_nsec()),
        }
    }
}

/// Returns true if the tar may have been changed after its sidecar was published, which writers publish after the tar.
///
/// A write to the tar, and a file that is renamed to its name, set the time of change, whatever the time of
/// modification is. So a tar whose time of change is before that of its sidecar was not changed later. Both times are
/// equal if both files were published within a tick of the clock: a few milliseconds, in which nothing else happens, or,
/// where the file system has whole seconds, a second, in which much may happen. In a copy of both files the times of
/// change are those of copying; the times of modification may be those of the original.
pub fn may_be_newer(tar: &Metadata, sidecar: &Metadata) -> bool {
    is_newer(FileTimes::of(tar), FileTimes::of(sidecar))
}

fn is_newer(tar: FileTimes, sidecar: FileTimes) -> bool {
    let in_one_second = tar.changed == sidecar.changed && tar.changed.1 == 0;
    tar.changed > sidecar.changed || in_one_second || tar.modified > sidecar.modified
}

/// Makes the sidecar at `path`, whose metadata is `sidecar`, newer than its tar, which it was compared with. Leaves its
/// time of modification, by which running readers tell that a file is the same, if that is not before the tar's.
///
/// # Errors
/// Returns the error of the operating system, for example of a file of another user.
pub fn renew(path: &Path, sidecar: &Metadata, tar: &Metadata) -> io::Result<()> {
    let file = File::open(path)?;
    let times = FileTimes::of(tar);
    if times.modified > FileTimes::of(sidecar).modified {
        return file.set_modified(tar.modified()?.max(SystemTime::now()));
    }
    // Sets the time of change alone.
    file.set_permissions(sidecar.permissions())
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn times(changed: i64, modified: i64) -> FileTimes {
        FileTimes { changed: (changed, 5), modified: (modified, 5) }
    }

    #[test]
    fn a_tar_is_older_only_if_no_time_allows_a_later_change() {
        assert!(!is_newer(times(10, 10), times(11, 11)), "published after its tar");
        assert!(!is_newer(times(10, 10), times(11, 10)), "times of modification that were rounded");
        assert!(is_newer(times(12, 12), times(11, 11)), "written again");
        assert!(is_newer(times(12, 3), times(11, 11)), "replaced by a file that is older");
        assert!(is_newer(times(10, 12), times(11, 11)), "a copy that kept the times");
        assert!(!is_newer(times(11, 11), times(11, 11)), "published within a tick of the clock");
    }

    #[test]
    fn a_second_without_a_fraction_is_long_enough_for_a_change() {
        let times = FileTimes { changed: (7, 0), modified: (7, 0) };
        assert!(is_newer(times, times));
        let later = FileTimes { changed: (8, 0), ..times };
        assert!(!is_newer(times, later));
    }

    #[test]
    fn nanoseconds_count() {
        fn times(nanoseconds: i64) -> FileTimes {
            FileTimes { changed: (7, nanoseconds), modified: (7, 0) }
        }
        assert!(!is_newer(times(1), times(2)));
        assert!(is_newer(times(2), times(1)));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri lacks its system calls")]
    fn a_renewed_sidecar_is_not_older_than_a_tar_of_the_future() {
        let folder = tempfile::tempdir().unwrap();
        let tar = folder.path().join("a.tar");
        let sidecar = folder.path().join("a.index");
        std::fs::write(&tar, b"tar").unwrap();
        std::fs::write(&sidecar, b"sidecar").unwrap();
        let later = SystemTime::now() + std::time::Duration::from_secs(86_400);
        File::open(&tar).unwrap().set_modified(later).unwrap();
        fn found(path: &Path) -> Metadata {
            std::fs::metadata(path).unwrap()
        }
        renew(&sidecar, &found(&sidecar), &found(&tar)).unwrap();
        assert!(found(&sidecar).modified().unwrap() >= later);
        let before = found(&sidecar);
        renew(&sidecar, &before, &found(&tar)).unwrap();
        assert_eq!(before.modified().unwrap(), found(&sidecar).modified().unwrap());
    }
}
