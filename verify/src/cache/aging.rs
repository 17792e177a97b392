//! Removes records that nothing will ask for: of shards that are gone, damaged or of another version, old, or too many.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tarflume_base::Failure;
use tarflume_formats::Durability;
use tarflume_formats::files;
use tarflume_formats::publish::{folder_of, remove_if_exists, write_as};

use super::record::{ENDING, Record};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// The file whose time is that of the last look.
const LAST_LOOK: &str = "last-look";

/// What a cache keeps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Records that were not written for this long are removed.
    pub(super) age: Duration,
    /// Bytes of all records. The oldest ones beyond are removed.
    pub(super) bytes: u64,
}

impl Limits {
    /// Half a year, and a gibibyte: a record has 1 to 2 kB, and at most 8 MiB.
    pub(super) const USUAL: Limits = Limits { age: DAY.saturating_mul(180), bytes: 1 << 30 };
}

/// Looks through the records of a folder, unless that was done within a day.
///
/// # Errors
/// Returns an error if the operating system refuses.
pub(super) fn daily(folder: &Path, limits: Limits) -> Result<(), Failure> {
    let last = folder.join(LAST_LOOK);
    let age = fs::metadata(&last).ok().and_then(|found| age_of(&found));
    if age.is_some_and(|age| age < DAY) {
        return Ok(());
    }
    remove(folder, limits)?;
    Ok(write_as(last, b"", Durability::Cached)?)
}

/// A record that is kept so far.
struct Kept {
    path: PathBuf,
    bytes: u64,
    age: Duration,
}

fn remove(folder: &Path, limits: Limits) -> Result<(), Failure> {
    let mut kept = Vec::new();
    for found in fs::read_dir(folder).map_err(|e| unreadable(folder, e))? {
        let path = found.map_err(|e| unreadable(folder, e))?.path();
        if path.extension().is_none_or(|extension| extension != ENDING) {
            continue;
        }
        // Another verification may have removed it.
        let Ok(found) = fs::metadata(&path) else { continue };
        let age = age_of(&found).unwrap_or(Duration::ZERO);
        if age > limits.age || !is_wanted(&path) {
            remove_if_exists(&path)?;
        } else {
            kept.push(Kept { path, bytes: found.len(), age });
        }
    }
    kept.sort_unstable_by_key(|record| record.age);
    let mut total = 0u64;
    for record in kept {
        total = total.saturating_add(record.bytes);
        if total > limits.bytes {
            remove_if_exists(&record.path)?;
        }
    }
    Ok(())
}

/// Returns the time since a file was written; `None` if that is in the future.
fn age_of(found: &Metadata) -> Option<Duration> {
    SystemTime::now().duration_since(found.modified().ok()?).ok()
}

/// Returns true unless a record is none, or its tar is gone from a folder that is here: a disk may not be mounted.
fn is_wanted(path: &Path) -> bool {
    let Some(tar) = Record::tar(path) else { return false };
    let is_gone =
        files::exists(folder_of(&tar)).unwrap_or(false) && !files::exists(&tar).unwrap_or(true);
    !is_gone
}

fn unreadable(folder: &Path, error: io::Error) -> Failure {
    Failure::io(error, "read the folder", folder)
}

#[cfg(test)]
mod tests {
    use std::fs::FileTimes;

    use super::*;
    use crate::cache::Cache;
    use crate::cache::record::ShardKey;
    use crate::cache::state::State;

    fn written_before(path: &Path, age: Duration) {
        let times = FileTimes::new().set_modified(SystemTime::now() - age);
        fs::File::options().write(true).open(path).unwrap().set_times(times).unwrap();
    }

    /// Data sets `a` and `b` of two shards each, with a record of each shard.
    struct Records {
        root: tempfile::TempDir,
        folder: PathBuf,
        keys: Vec<ShardKey>,
    }

    impl Records {
        fn new() -> Records {
            let root = tempfile::tempdir().unwrap();
            let folder = root.path().join("cache");
            let cache = Cache::open(&folder).unwrap();
            let mut keys = Vec::new();
            for name in ["a/0.tar", "a/1.tar", "b/0.tar", "b/1.tar"] {
                let tar = root.path().join(name);
                fs::create_dir_all(tar.parent().unwrap()).unwrap();
                fs::write(&tar, b"tar").unwrap();
                keys.push(ShardKey {
                    path: tar.display().to_string(),
                    checks: "full".into(),
                    tar: State::of(&fs::metadata(&tar).unwrap()),
                    sidecar: "5".into(),
                });
                cache.keep(&keys[keys.len() - 1], &serde_json::json!({"bytes": 3}));
            }
            Records { root, folder, keys }
        }

        fn path(&self, number: usize) -> PathBuf {
            self.folder.join(format!("{}.{ENDING}", self.keys[number].name()))
        }

        /// The numbers of the records that are there.
        fn left(&self) -> Vec<usize> {
            (0..self.keys.len())
                .filter(|&number| files::exists(&self.path(number)).unwrap())
                .collect()
        }

        /// Looks through the records as on the next day.
        fn tomorrow(&self, limits: Limits) -> Vec<usize> {
            written_before(&self.folder.join(LAST_LOOK), DAY);
            daily(&self.folder, limits).unwrap();
            self.left()
        }
    }

    #[test]
    fn records_of_shards_that_are_gone_are_removed_once_a_day() {
        let records = Records::new();
        fs::remove_file(records.root.path().join("a/1.tar")).unwrap();
        daily(&records.folder, Limits::USUAL).unwrap();
        assert_eq!(records.left(), [0, 1, 2, 3], "within a day");
        assert_eq!(records.tomorrow(Limits::USUAL), [0, 2, 3]);
        fs::rename(records.root.path().join("b"), records.root.path().join("c")).unwrap();
        assert_eq!(records.tomorrow(Limits::USUAL), [0, 2, 3], "a folder may come back");
    }

    #[test]
    fn old_and_damaged_records_are_removed_and_other_files_are_not() {
        let records = Records::new();
        written_before(&records.path(0), Limits::USUAL.age + DAY);
        written_before(&records.path(1), Limits::USUAL.age - DAY);
        fs::write(records.path(2), b"damaged").unwrap();
        let other = records.folder.join("notes.txt");
        fs::write(&other, b"").unwrap();
        written_before(&other, Limits::USUAL.age + DAY);
        assert_eq!(records.tomorrow(Limits::USUAL), [1, 3]);
        assert!(files::exists(&other).unwrap());
    }

    #[test]
    fn the_bytes_of_all_records_are_bounded_and_the_newest_stay() {
        let records = Records::new();
        let bytes = fs::metadata(records.path(0)).unwrap().len();
        for number in 0..4 {
            written_before(&records.path(number), Duration::from_secs(600 * (number as u64 + 1)));
        }
        let room = Limits { bytes: 2 * bytes + bytes / 2, ..Limits::USUAL };
        assert_eq!(records.tomorrow(room), [0, 1]);
        assert_eq!(records.tomorrow(Limits { bytes: 0, ..Limits::USUAL }), [] as [usize; 0]);
    }
}
