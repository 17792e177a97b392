//! Opens every sidecar of a data set at once, to learn before training what is missing or stale.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::dataset::Dataset;
use crate::error::{Error, Result};

impl Dataset {
    /// Opens every sidecar, in several threads, and compares it with its tar's length and with the
    /// manifest. They stay open.
    ///
    /// # Errors
    /// The first that is wrong, in the order of shards.
    pub fn open_all(&self) -> Result<()> {
        let threads = thread::available_parallelism().map_or(2, |n| n.get().min(16));
        let threads = threads.min(self.shards().len().div_ceil(16));
        let next = AtomicUsize::new(0);
        let wrong: Mutex<Option<(usize, Error)>> = Mutex::new(None);
        let work = || {
            while let Some(number) = self.next_shard(&next) {
                if let Err(error) = self.shard(number).index() {
                    let mut first = wrong.lock().unwrap_or_else(PoisonError::into_inner);
                    if first.as_ref().is_none_or(|(before, _)| number < *before) {
                        *first = Some((number, error));
                    }
                    return;
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads {
                // A thread that can't be had is done without: this one does the work.
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        match wrong.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    fn next_shard(&self, next: &AtomicUsize) -> Option<usize> {
        let number = next.fetch_add(1, Ordering::Relaxed);
        (number < self.shards().len()).then_some(number)
    }

    /// [`Dataset::open_all`], and every sidecar read from end to end: all checksums, all rows.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<()> {
        self.open_all()?;
        for shard in self.shards() {
            shard.index()?.check()?;
            shard.forget();
        }
        Ok(())
    }
}
