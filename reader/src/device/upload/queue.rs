//! `Shared`: the line of batches between the thread that copies them and the consumer, and their slots.
//!
//! Holds no lock while it calls the device.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use crate::batch::{Batch, RowFacts};
use crate::device::driver::{DeviceStream, OnCopied};
use crate::device::upload::ring;
use crate::device::upload::ring::{Next, Ring};
use crate::device::upload::slot::{DeviceSlot, Slots};
use crate::error::{Error, ErrorKind, Result};
use crate::range::{self, Range};
use tarflume_formats::poison::IgnorePoison;

/// Copies that may be under way when another one is begun: a consumer who runs ahead of the device by many batches must
/// not have host memory pinned for each.
const FLYING: usize = 2;

/// How often a wait for the consumer looks for copies that are done.
const LOOK: Duration = Duration::from_millis(2);

/// A batch on its way, and what is counted when the consumer takes it.
pub(crate) struct HostBatch {
    pub(crate) batch: Arc<Batch>,
    /// Why rows were bad: of each its facts.
    pub(crate) bad: Vec<(RowFacts, Error)>,
    pub(crate) position: u64,
}

pub(crate) struct UploadQueue {
    pub(crate) ring: Ring,
    pub(crate) slots: Vec<Option<Arc<DeviceSlot>>>,
    /// What stands in the slots of the ring's line.
    pub(crate) fed: VecDeque<HostBatch>,
    pub(crate) failed: Option<Error>,
}

/// What the thread, the consumer and its batches share.
pub(crate) struct Shared {
    pub(crate) slots: Arc<Slots>,
    line: Mutex<UploadQueue>,
    pub(crate) changed: Condvar,
}

impl Shared {
    /// A line of empty slots.
    ///
    /// # Errors
    /// The device has no memory for them.
    pub(crate) fn new(slots: Arc<Slots>) -> Result<Shared> {
        let taken = (0..slots.count).map(|_| slots.take()).collect::<Result<Vec<_>>>()?;
        let ring = Ring::new(taken.iter().map(|(_, marks)| *marks));
        let held = taken.into_iter().map(|(slot, _)| Some(Arc::new(slot))).collect();
        let line = UploadQueue { ring, slots: held, fed: VecDeque::new(), failed: None };
        Ok(Shared { slots, line: Mutex::new(line), changed: Condvar::new() })
    }

    pub(crate) fn line(&self) -> MutexGuard<'_, UploadQueue> {
        self.line.lock().ignore_poison()
    }

    pub(crate) fn slots(&self) -> &Slots {
        &self.slots
    }

    /// A slot for one batch, and the marks before it; none if nobody wants batches any more.
    fn slot(&self) -> Result<Option<(usize, usize, Arc<DeviceSlot>)>> {
        let mut flying = self.slots.driver.reap()?;
        let mut line = self.line();
        loop {
            match line.ring.next() {
                Next::Fill { slot, marks } => {
                    let found = line.slots[slot].clone();
                    return Ok(found.map(|found| (slot, marks, found)));
                }
                Next::Stop => return Ok(None),
                Next::Wait if flying == 0 => {
                    line = self.changed.wait(line).ignore_poison();
                }
                // Host memory comes back while the consumer keeps all slots.
                Next::Wait => {
                    let waited = self.changed.wait_timeout(line, LOOK);
                    drop(waited.ignore_poison());
                    flying = self.slots.driver.reap()?;
                    line = self.line();
                }
                Next::Grow => {
                    drop(line);
                    let (slot, marks) = self.slots.take().map_err(|e| self.all_held(e))?;
                    line = self.line();
                    line.slots.push(Some(Arc::new(slot)));
                    line.ring.grown(marks);
                }
            }
        }
    }

    /// Waits until no more than so many copies are under way, or nobody wants batches any more.
    ///
    /// # Errors
    /// The device's: they will be for ever.
    pub(crate) fn land(&self, most: usize) -> Result<()> {
        while self.slots.driver.reap()? > most {
            if self.line().ring.is_closed() {
                break;
            }
            self.slots.driver.await_copy()?; // the device wakes this thread: a look now and then is late
        }
        Ok(())
    }

    fn all_held(&self, error: Error) -> Error {
        let text = format!(
            "{} batches are held by the program, and there is no room for another one: drop some, or \
             take smaller batches",
            self.line().ring.len()
        );
        Error::new(ErrorKind::Limit, text).with_source(error)
    }

    /// Copies one batch into a slot; false if nobody wants it.
    pub(crate) fn upload(&self, fed: HostBatch, told: &OnCopied) -> Result<bool> {
        self.land(FLYING)?;
        let Some((number, marks, slot)) = self.slot()? else { return Ok(false) };
        let _range = Range::begin(range::UPLOAD);
        let calls = self.slots.calls(&slot, Some((&fed.batch, told)));
        let uploaded = ring::upload(&calls, number, marks);
        let mut line = self.line();
        match uploaded {
            Ok(()) => {
                let queued = line.ring.filled(number);
                if queued {
                    line.fed.push_back(fed);
                }
                self.changed.notify_all();
                Ok(queued)
            }
            Err(error) => {
                line.ring.lost(number);
                Err(error)
            }
        }
    }

    /// The consumer is done with a slot, having left so many marks; or the device refused them, and then
    /// it is not used again and the epoch ends.
    fn release(&self, number: usize, slot: Arc<DeviceSlot>, marks: Result<usize>) {
        drop(slot);
        let mut line = self.line();
        match marks {
            Ok(marks) => line.ring.released(number, marks),
            Err(error) => {
                line.ring.lost(number);
                line.failed.get_or_insert(error);
            }
        }
        self.changed.notify_all();
        self.retire(line);
    }

    /// After the end of the consumer, what nobody has goes to the next epoch.
    pub(crate) fn retire(&self, mut line: MutexGuard<'_, UploadQueue>) {
        if !line.ring.is_closed() {
            return;
        }
        let free: Vec<_> = line.ring.free().collect();
        let mut kept = Vec::new();
        for (number, marks) in free {
            kept.extend(line.slots[number].take().map(|slot| (slot, marks)));
        }
        drop(line);
        for (slot, marks) in kept {
            if let Some(slot) = Arc::into_inner(slot) {
                self.slots.put(slot, marks);
            }
        }
    }
}

/// Marks where streams are done with a batch, and gives its slot back.
pub(crate) fn give_back(
    shared: &Shared,
    (number, slot): (usize, Arc<DeviceSlot>),
    streams: &[DeviceStream],
) -> Result<()> {
    let calls = shared.slots.calls(&slot, None);
    let marks = ring::give_back(&calls, number, streams);
    // Who gives it back is told, and whoever takes the next batch.
    let again = |error: &Error| Error::new(error.kind(), error.text());
    shared.release(number, slot, marks.as_ref().copied().map_err(again));
    marks.map(|_| ())
}
