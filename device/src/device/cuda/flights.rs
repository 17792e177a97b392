//! `Flights`: pending copies and the batches that they read. A batch is kept until its copy is known to be complete,
//! and forever if the device cannot tell.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::batch::Batch;
use crate::device::driver::{OnUploaded, UploadReport};
use crate::slab::HostBytes;
use tarflume_formats::IgnorePoison;
use tarflume_types::Result;

/// A pending copy.
pub(super) struct Flight {
    pub(super) batch: Arc<Batch>,
    /// What is copied beside it.
    pub(super) staged: Option<Arc<HostBytes>>,
    /// Bytes that are copied.
    pub(super) bytes: u64,
    /// Timed events before and after it.
    pub(super) times: [u64; 2],
    pub(super) on_uploaded: OnUploaded,
}

/// The pending copies of a device, in the order of its stream.
#[derive(Default)]
pub(super) struct Flights {
    flying: Mutex<VecDeque<Flight>>,
    /// Pairs of timed events for reuse.
    spare: Mutex<Vec<[u64; 2]>>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().ignore_poison()
}

impl Flights {
    /// A pair of events of a completed copy.
    pub(super) fn spare(&self) -> Option<[u64; 2]> {
        held(&self.spare).pop()
    }

    /// The timed events of the oldest pending copy.
    pub(super) fn first(&self) -> Option<[u64; 2]> {
        held(&self.flying).front().map(|flight| flight.times)
    }

    /// Adds a copy.
    pub(super) fn begun(&self, flight: Flight) {
        held(&self.flying).push_back(flight);
    }

    /// Removes the completed copies, for which `time` returns a duration, drops their batches and calls their
    /// callbacks. Returns the number of pending copies.
    ///
    /// # Errors
    /// Returns the first error of `time`; that copy stays pending.
    pub(super) fn land(&self, time: impl Fn(&Flight) -> Result<Option<Duration>>) -> Result<usize> {
        let mut landed = Vec::new();
        let mut flying = held(&self.flying);
        let mut query = || -> Result<()> {
            while let Some(flight) = flying.front()
                && let Some(time) = time(flight)?
            {
                landed.extend(flying.pop_front().map(|flight| (flight, time)));
            }
            Ok(())
        };
        let queried = query();
        let left = flying.len();
        drop(flying);
        for (Flight { batch, staged, bytes, times, on_uploaded }, time) in landed {
            drop((batch, staged));
            held(&self.spare).push(times);
            on_uploaded(UploadReport { time, bytes });
        }
        queried.map(|()| left)
    }

    /// Leaks all batches. Takes no lock, because in a forked child its holder may not exist.
    pub(super) fn forget(&mut self) {
        let flying = self.flying.get_mut().ignore_poison();
        mem::take(flying).into_iter().for_each(mem::forget);
    }
}
