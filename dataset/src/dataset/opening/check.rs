//! Operations on many shards in parallel: open them, or check that they are unchanged. Reads no tar.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::dataset::Dataset;
use tarflume_formats::IgnorePoison;
use tarflume_types::{Error, Result};

impl Dataset {
    /// Opens every sidecar, in several threads, and compares it with the length of its tar and with
    /// the manifest. The sidecars stay open.
    ///
    /// # Errors
    /// Returns the first error, in the order of the shards.
    pub fn open_all(&self) -> Result<()> {
        let all: Vec<usize> = (0..self.shards().len()).collect();
        in_threads(&all, self.openers(), |number| self.shard(number).index().map(drop))
    }

    /// Opens these shards and their sidecars in several threads, because on a network file system each
    /// takes a millisecond. Errors are ignored here: the same error occurs, and is reported, when the
    /// shard is used.
    #[doc(hidden)]
    pub fn open_ahead(&self, shards: &[usize]) {
        if shards.len() > self.0.access.cap {
            return; // the first would be closed before use
        }
        _ = in_threads(shards, self.openers(), |number| {
            let shard = self.shard(number);
            _ = shard.index().and_then(|_| shard.source());
            Ok(())
        });
    }

    /// Called at each shard of a pass through sidecars: opens the sidecars of the next `REQUESTS.most` shards in stores,
    /// and asks when their tars were changed, at the same time, because each is a request. Errors are ignored here, as
    /// by [`Dataset::open_ahead`].
    pub(crate) fn learn_ahead(&self, shard: usize) {
        let together = REQUESTS.most;
        if !shard.is_multiple_of(together) {
            return;
        }
        let end = self.shards().len().min(shard + together);
        let next: Vec<usize> = (shard..end).filter(|&at| self.shard(at).is_remote()).collect();
        _ = in_threads(&next, REQUESTS, |number| {
            _ = self.shard(number).learn_time();
            Ok(())
        });
    }

    /// Returns the limits on the threads that open shards.
    fn openers(&self) -> ThreadLimits {
        if self.readahead().is_some() { REQUESTS } else { LOCAL }
    }

    /// Checks in several threads that these shards are the files that were opened.
    ///
    /// # Errors
    /// Returns the error of the first shard, in the order of `shards`, that changed or cannot be checked.
    #[doc(hidden)]
    pub fn expect_unchanged(&self, shards: &[usize]) -> Result<()> {
        in_threads(shards, LOCAL, |number| self.shard(number).source()?.check())
    }

    /// [`Dataset::open_all`], then reads every sidecar in full: all checksums, all rows.
    ///
    /// # Errors
    /// Returns the first error found.
    pub fn check(&self) -> Result<()> {
        self.open_all()?;
        for shard in self.shards() {
            shard.index()?.check()?;
            shard.forget();
        }
        Ok(())
    }
}

/// Limits on the threads that work on a list of shards.
#[derive(Debug, Clone, Copy)]
struct ThreadLimits {
    /// The most threads at the same time.
    most: usize,
    /// The least shards for each thread.
    shards_each: usize,
}

/// The limits for files on a local disk. Starting a thread costs as much as opening some files.
const LOCAL: ThreadLimits = ThreadLimits { most: 16, shards_each: 8 };
/// The limits if each file is a request to a store or to a server.
const REQUESTS: ThreadLimits = ThreadLimits { most: 64, shards_each: 1 };

/// Calls `job` for each of `shards`, in at most `limits.most` threads with at least `limits.shards_each` shards each.
///
/// # Errors
/// Returns the error of the first shard in the order of `shards`, whichever thread encountered it.
fn in_threads(
    shards: &[usize],
    limits: ThreadLimits,
    job: impl Fn(usize) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let first_error: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let work = || {
        while let Some((at, &number)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            shards.get(at).map(|number| (at, number))
        } {
            if let Err(error) = job(number) {
                let mut first = first_error.lock().ignore_poison();
                if first.as_ref().is_none_or(|(before, _)| at < *before) {
                    *first = Some((at, error));
                }
                return;
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..limits.most.min(shards.len().div_ceil(limits.shards_each)) {
            // If no thread can be started, this one does all the work.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    match first_error.into_inner().ignore_poison() {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use tarflume_fixtures::ConcurrentCalls;
    use tarflume_formats::{Durability, ShardWriter};

    use super::*;
    use crate::source::Source;
    use crate::source::identity::Identity;
    use crate::source::open::{Open, SourceKind};

    /// Opens files; each opening waits for another one.
    #[derive(Debug, Default)]
    struct ConcurrentOpen(ConcurrentCalls);

    impl Open for ConcurrentOpen {
        fn open(&self, path: &Path) -> Result<(Arc<dyn Source>, Identity)> {
            self.0.run(|| SourceKind::File.open(path))
        }
    }

    fn shards(count: usize) -> (tempfile::TempDir, Dataset) {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..count {
            let name = format!("{number:03}.tar");
            let mut shard = ShardWriter::create(folder.path(), &name).unwrap();
            shard.begin(name.as_bytes());
            shard.part(b"txt", 1).unwrap();
            shard.commit(None).unwrap();
            shard.finish().unwrap().publish(folder.path(), &name, Durability::Cached).unwrap();
        }
        let dataset = Dataset::open(folder.path()).unwrap();
        (folder, dataset)
    }

    #[test]
    fn many_shards_are_opened_at_the_same_time() {
        let (_folder, dataset) = shards(32);
        let opener = Arc::new(ConcurrentOpen::default());
        let dataset = dataset.with_opener(opener.clone());
        let all: Vec<usize> = (0..32).collect();
        dataset.open_ahead(&all);
        assert!(opener.0.most() >= 2, "one shard was opened after the other");
        dataset.expect_unchanged(&all).unwrap();
    }

    #[test]
    fn the_first_that_changed_is_named() {
        let (folder, dataset) = shards(40);
        let all: Vec<usize> = (0..40).rev().collect();
        dataset.open_ahead(&all);
        for number in [7, 30, 31] {
            let tar = folder.path().join(format!("{number:03}.tar"));
            std::fs::OpenOptions::new().write(true).open(tar).unwrap().set_len(512).unwrap();
        }
        for _ in 0..20 {
            let error = dataset.expect_unchanged(&all).unwrap_err();
            assert!(error.place().path.as_ref().unwrap().ends_with("031.tar"), "{error}");
        }
    }
}
