//! `Flights`: copies that may not be done, with the batches that they read. A batch is kept until its copy is
//! seen to be done, and for ever if the device says neither yes nor no.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::batch::Batch;
use crate::device::driver::{Copied, OnCopied};
use crate::error::Result;
use tarflume_formats::poison::IgnorePoison;

/// A copy that may not be done.
pub(super) struct Flight {
    pub(super) batch: Arc<Batch>,
    /// Timed events before and behind it.
    pub(super) times: [u64; 2],
    pub(super) told: OnCopied,
}

/// Those of a device, in the order of its stream.
#[derive(Default)]
pub(super) struct Flights {
    flying: Mutex<VecDeque<Flight>>,
    /// Pairs of timed events that no copy uses.
    spare: Mutex<Vec<[u64; 2]>>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().ignore_poison()
}

impl Flights {
    /// Events that an earlier copy is done with.
    pub(super) fn spare(&self) -> Option<[u64; 2]> {
        held(&self.spare).pop()
    }

    /// The timed events of the copy that is done first, of those that were not seen to be done.
    pub(super) fn first(&self) -> Option<[u64; 2]> {
        held(&self.flying).front().map(|flight| flight.times)
    }

    /// A copy is on its way.
    pub(super) fn begun(&self, flight: Flight) {
        held(&self.flying).push_back(flight);
    }

    /// Lets go of the batches whose copies are done, as `time` says of each, and tells of them; how many are left.
    ///
    /// # Errors
    /// What `time` said of one: it is kept.
    pub(super) fn land(&self, time: impl Fn(&Flight) -> Result<Option<Duration>>) -> Result<usize> {
        let mut landed = Vec::new();
        let mut flying = held(&self.flying);
        let mut look = || -> Result<()> {
            while let Some(flight) = flying.front()
                && let Some(time) = time(flight)?
            {
                landed.extend(flying.pop_front().map(|flight| (flight, time)));
            }
            Ok(())
        };
        let looked = look();
        let left = flying.len();
        drop(flying);
        for (Flight { batch, times, told }, time) in landed {
            held(&self.spare).push(times);
            told(Copied { time, bytes: batch.fixed().len() as u64 });
        }
        looked.map(|()| left)
    }

    /// Keeps all batches for ever. Takes no lock: in a process that was forked nobody may give it back.
    pub(super) fn forget(&mut self) {
        let flying = self.flying.get_mut().ignore_poison();
        mem::take(flying).into_iter().for_each(mem::forget);
    }
}
