//! `Shared`: the queue of batches between the upload thread and the consumer, and their slots.
//!
//! Holds no lock during a call of the device.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use crate::batch::{Batch, RowFacts};
use crate::device::driver::{DeviceStream, OnUploaded};
use crate::device::room::shortage::Shortage;
use crate::device::upload::ring;
use crate::device::upload::ring::{NextSlot, Ring};
use crate::device::upload::slot::{DeviceSlot, Slots};
use crate::range::{self, Range};
use tarflume_formats::IgnorePoison;
use tarflume_types::{Error, ErrorKind, Result};

/// Maximum number of pending copies before another one starts. Otherwise a consumer that submits work far ahead of the
/// device would keep pinned host memory for each batch.
const FLYING: usize = 2;

/// Interval at which a wait for the consumer checks for completed copies.
const LOOK: Duration = Duration::from_millis(2);

/// A batch in the queue, and what is counted when the consumer takes it.
pub struct HostBatch {
    /// The batch.
    pub batch: Arc<Batch>,
    /// The errors of bad rows, with their facts.
    pub bad: Vec<(RowFacts, Error)>,
    /// Samples of the epoch that the whole job has delivered after this batch.
    pub position: u64,
}

pub(crate) struct UploadQueue {
    pub(crate) ring: Ring,
    pub(crate) slots: Vec<Option<Arc<DeviceSlot>>>,
    /// The batches of the ring's queued slots, in order.
    pub(crate) fed: VecDeque<HostBatch>,
    pub(crate) failed: Option<Error>,
}

/// The state shared by the thread, the consumer and its batches.
pub(crate) struct UploadShared {
    pub(crate) slots: Arc<Slots>,
    line: Mutex<UploadQueue>,
    pub(crate) changed: Condvar,
}

impl UploadShared {
    /// A queue of empty slots.
    ///
    /// # Errors
    /// Returns an error if the device has too little memory.
    pub(crate) fn new(slots: Arc<Slots>) -> Result<UploadShared> {
        let taken = (0..slots.count).map(|_| slots.take()).collect::<Result<Vec<_>>>()?;
        let ring = Ring::new(taken.iter().map(|(_, marks)| *marks));
        let held = taken.into_iter().map(|(slot, _)| Some(Arc::new(slot))).collect();
        let line = UploadQueue { ring, slots: held, fed: VecDeque::new(), failed: None };
        Ok(UploadShared { slots, line: Mutex::new(line), changed: Condvar::new() })
    }

    pub(crate) fn line(&self) -> MutexGuard<'_, UploadQueue> {
        self.line.lock().ignore_poison()
    }

    pub(crate) fn slots(&self) -> &Slots {
        &self.slots
    }

    /// A slot for one batch, and the number of events to wait for; `None` if the consumer is gone.
    fn slot(&self) -> Result<Option<(usize, usize, Arc<DeviceSlot>)>> {
        let mut flying = self.slots.driver.reap()?;
        let mut line = self.line();
        loop {
            match line.ring.next() {
                NextSlot::Fill { slot, marks } => {
                    let found = line.slots[slot].clone();
                    return Ok(found.map(|found| (slot, marks, found)));
                }
                NextSlot::Stop => return Ok(None),
                NextSlot::Wait if flying == 0 => {
                    line = self.changed.wait(line).ignore_poison();
                }
                // Copies are pending: keep reaping, so that host memory returns while the consumer holds all slots.
                NextSlot::Wait => {
                    let waited = self.changed.wait_timeout(line, LOOK);
                    drop(waited.ignore_poison());
                    flying = self.slots.driver.reap()?;
                    line = self.line();
                }
                NextSlot::Grow => {
                    // Allocating calls the device, which can take long: the consumer may give a slot back meanwhile.
                    drop(line);
                    let (slot, marks) = self.slots.take().map_err(|e| self.all_held(e))?;
                    line = self.line();
                    line.slots.push(Some(Arc::new(slot)));
                    line.ring.grown(marks);
                }
            }
        }
    }

    /// Waits until at most `most` copies are pending, or the consumer is gone.
    ///
    /// # Errors
    /// Returns the device's error: these copies will never complete.
    pub(crate) fn land(&self, most: usize) -> Result<()> {
        while self.slots.driver.reap()? > most {
            if self.line().ring.is_closed() {
                break;
            }
            self.slots.driver.await_copy()?; // wakes when the copy completes; polling would be late
        }
        Ok(())
    }

    /// The error of a ring that cannot grow. Its source has the bytes and what else helps.
    fn all_held(&self, error: Error) -> Error {
        if !Shortage::caused(&error) {
            return error;
        }
        let text = format!(
            "the program holds {} batches, and the device has no memory for another one: drop some",
            self.line().ring.len()
        );
        Error::new(ErrorKind::Limit, text).with_source(error)
    }

    /// Copies one batch into a slot. False if the consumer is gone.
    pub(crate) fn upload(&self, fed: HostBatch, on_uploaded: &OnUploaded) -> Result<bool> {
        self.land(FLYING)?;
        let Some((number, marks, slot)) = self.slot()? else { return Ok(false) };
        let _range = Range::begin(range::UPLOAD);
        let calls = self.slots.calls(&slot, Some((&fed.batch, on_uploaded)));
        let uploaded = ring::upload(&calls, number, marks);
        let mut line = self.line();
        match uploaded {
            Ok(()) => {
                self.slots.count_upload();
                let queued = line.ring.filled(number);
                if queued {
                    line.fed.push_back(fed);
                }
                self.changed.notify_all();
                Ok(queued)
            }
            Err(error) => {
                // The copy may have been submitted: the device may still write to the slot.
                line.ring.lost(number);
                Err(error)
            }
        }
    }

    /// Returns a slot after the consumer recorded this many events. If the device failed, the slot is not used
    /// again and the epoch ends.
    fn release(&self, number: usize, slot: Arc<DeviceSlot>, marks: Result<usize>) {
        // Before `retire`, which keeps only slots that no one else holds.
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

    /// After the consumer is gone, moves the free slots to the next epoch.
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

/// Records events in the streams that used a batch, and returns its slot.
pub(crate) fn give_back(
    shared: &UploadShared,
    number: usize,
    slot: Arc<DeviceSlot>,
    streams: &[DeviceStream],
) -> Result<()> {
    let calls = shared.slots.calls(&slot, None);
    let marks = ring::give_back(&calls, number, streams);
    // The error is reported to the releasing caller and to the next `take`.
    shared.release(number, slot, marks.clone());
    marks.map(|_| ())
}
