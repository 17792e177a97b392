//! `Notes`: a folder of answers of the Hub that the processes of a node share.
//!
//! An answer that cannot be kept or read is asked for again: nothing here is an error.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A process waits so long for another one that asks for the same.
const PATIENCE: Duration = Duration::from_secs(20);
/// The pause between two looks at a lock.
const LOOK: Duration = Duration::from_millis(20);

/// The number of the next temporary file.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A folder of answers.
#[derive(Debug)]
pub(crate) struct Notes {
    folder: PathBuf,
}

/// The content of a file.
#[derive(Serialize, Deserialize)]
struct Record<V> {
    /// What the answer is of. Two of them may have the same file name.
    key: String,
    /// Seconds since 1970 at which it was asked for.
    at: u64,
    value: V,
}

impl Notes {
    /// Uses a folder, which need not exist.
    pub(crate) fn new(folder: PathBuf) -> Notes {
        Notes { folder }
    }

    /// The answer of `key` that is at most `life` old.
    pub(crate) fn read<V: DeserializeOwned>(&self, key: &str, life: Duration) -> Option<V> {
        let text = fs::read(self.path(key, "json")).ok()?;
        let record: Record<V> = serde_json::from_slice(&text).ok()?;
        // An answer of the future was made by a wrong clock.
        let age = seconds().checked_sub(record.at)?;
        (record.key == key && age <= life.as_secs()).then_some(record.value)
    }

    /// Keeps an answer, in place of an older one.
    pub(crate) fn write<V: Serialize>(&self, key: &str, value: V) {
        let record = Record { key: key.into(), at: seconds(), value };
        let text = serde_json::to_vec(&record).expect("texts and numbers serialize");
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let beside = self.path(key, &format!("{}-{number}", process::id()));
        let written = fs::create_dir_all(&self.folder)
            .and_then(|()| private(&beside))
            .and_then(|mut file| file.write_all(&text))
            .and_then(|()| fs::rename(&beside, self.path(key, "json")));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
    }

    /// Waits until no other process asks for the same. The lock ends with the returned file.
    pub(crate) async fn lock(&self, key: &str) -> Option<File> {
        fs::create_dir_all(&self.folder).ok()?;
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).mode(0o600);
        let file = file.open(self.path(key, "lock")).ok()?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Some(file),
                Err(fs::TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                    tokio::time::sleep(LOOK).await;
                }
                Err(_) => return None, // some file systems have no locks
            }
        }
    }

    /// The path of the file of `key`. The name has a hash (FNV-1a): keys have slashes.
    fn path(&self, key: &str, end: &str) -> PathBuf {
        let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        self.folder.join(format!("{hash:016x}.{end}"))
    }
}

/// Makes a file that only its owner can read.
fn private(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const LIFE: Duration = Duration::from_secs(600);

    #[test]
    fn answers_are_kept_for_a_time_and_for_their_owner() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Notes::new(folder.path().join("a/hub"));
        assert_eq!(kept.read::<String>("key", LIFE), None);
        kept.write("key", "value");
        assert_eq!(kept.read::<String>("key", LIFE).as_deref(), Some("value"));
        assert_eq!(kept.read::<String>("other", LIFE), None);
        let path = kept.path("key", "json");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(&kept.folder).unwrap().count(), 1, "no temporary file is left");
        let aged = |at: u64| {
            let record = Record { key: "key".into(), at, value: "old" };
            fs::write(&path, serde_json::to_vec(&record).unwrap()).unwrap();
            kept.read::<String>("key", LIFE)
        };
        assert_eq!(aged(seconds() - 590).as_deref(), Some("old"));
        assert_eq!(aged(seconds() - 700), None);
        assert_eq!(aged(seconds() + 700), None, "of the future");
        fs::write(&path, "{\"key\":").unwrap();
        assert_eq!(kept.read::<String>("key", LIFE), None, "torn");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let kept = Notes::new(file);
        kept.write("key", 1);
        assert_eq!(kept.read::<u32>("key", LIFE), None);
    }
}
