//! `DeviceEpoch`: the iterator over the batches of one epoch, in device memory.

use std::fmt;
use std::sync::{Arc, Mutex, TryLockError, Weak};
use std::time::Duration;

use crate::batch::{Batch, Content};
use crate::device::driver::OnCopied;
use crate::device::upload::batch::DeviceBatch;
use crate::device::upload::queue::HostBatch;
use crate::device::upload::thread::{Feeder, Found, Source, UploadThread};
use crate::error::Result;
use crate::loader::gpu::hybrid_decode::HybridDecoder;
use crate::loader::gpu::resident_decode::ResidentDecoder;
use crate::loader::gpu::state::{DeviceDecode, DeviceShared};
use crate::loader::pipeline::queue::BatchQueue;
use crate::loader::pipeline::receiver::BatchReceiver;
use crate::loader::progress::EpochProgress;
use crate::pool::Process;
use tarflume_formats::poison::IgnorePoison;

/// How long a wait takes that is begun anew until there is something.
const LONG: Duration = Duration::from_secs(3600);

/// How long the end of a program waits for a step that is under way.
const PATIENCE: Duration = Duration::from_secs(10);

/// The batches of one epoch, in order, in device memory. Dropping it ends the work for it; batches that
/// were handed out stay.
pub struct DeviceEpoch {
    line: BatchReceiver,
    account: EpochProgress,
    feeding: Option<UploadThread>,
    /// What others end it by.
    _live: Option<Arc<Live>>,
    /// What was found by `ready`.
    found: Option<Found>,
    /// Whether the batch that is waited for was asked for.
    asked: bool,
    over: bool,
}

impl DeviceEpoch {
    pub(crate) fn begin(device: &Arc<DeviceShared>, epoch: u64) -> DeviceEpoch {
        let inner = device.host.clone();
        let here = inner.pool.process().expect();
        let begun = here.and_then(|()| device.preload(&mut |_| true));
        let begun = begun.and_then(|_| device.begin(epoch));
        let (flow, steps, all_bad) = match begun {
            Ok((flow, steps, whole)) => (Ok(flow), steps, whole),
            Err(error) => (Err(error), 0, false),
        };
        let mut line = BatchReceiver::begin(inner.pool.clone(), inner.meter.clone(), flow);
        let (feeding, live, found) = match feed(&mut line, device) {
            Ok(Some((feeding, flow))) => {
                let live = Live::begin(flow, feeding.feeder());
                (Some(feeding), Some(live), None)
            }
            Ok(None) => (None, None, None),
            Err(error) => (None, None, Some(Found::Failed(error))),
        };
        let account = EpochProgress::new(inner, epoch, steps, all_bad);
        DeviceEpoch { line, account, feeding, _live: live, found, asked: false, over: false }
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.account.epoch
    }

    /// Batches still to come.
    pub fn remaining(&self) -> u64 {
        self.account.remaining()
    }

    /// Slots in which a batch stands ready, of how many: empty ones are waited for, full ones wait.
    pub fn occupied(&self) -> (usize, usize) {
        self.feeding.as_ref().map_or((0, 0), UploadThread::occupied)
    }

    /// Whether the next batch, the end or an error is there, so that `next` would not wait; waits for
    /// that, but no longer than `most`.
    pub fn ready(&mut self, most: Duration) -> bool {
        if self.over || self.found.is_some() || self.line.is_elsewhere() {
            return true;
        }
        self.line.asks();
        self.ask();
        self.found = self.feeding.as_ref().map_or(Some(Found::End), |feeding| feeding.take(most));
        self.found.is_some()
    }

    /// Counts what the caller spent to make something else of the last batch.
    pub fn charge(&self, busy: Duration) {
        self.line.charge(busy);
    }

    /// Counts how full the slots are when a batch is asked for.
    fn ask(&mut self) {
        if let (false, Some(feeding)) = (self.asked, &self.feeding) {
            self.asked = true;
            let occupied = feeding.occupied();
            // The end is no batch.
            if self.account.remaining() > 0 {
                self.line.meter().asked(occupied);
            }
        }
    }

    /// What comes next, waited for.
    fn found(&mut self) -> Option<Result<(DeviceBatch, HostBatch)>> {
        let (found, feeding) = (&mut self.found, &self.feeding);
        self.line.timed(|_| {
            let found = loop {
                match found.take() {
                    Some(found) => break found,
                    None => *found = feeding.as_ref().map_or(Some(Found::End), |f| f.take(LONG)),
                }
            };
            Some(match found {
                Found::Batch(batch) => Some(Ok(*batch)),
                Found::Failed(error) => Some(Err(error)),
                Found::End => None,
            })
        })
    }

    fn end(&mut self) {
        self.over = true;
        self.found = None;
        let elsewhere = self.line.is_elsewhere();
        self.line.end();
        match self.feeding.take() {
            Some(feeding) if elsewhere => feeding.abandon(),
            Some(feeding) => feeding.end(),
            None => {}
        }
    }
}

/// What an epoch is ended by from elsewhere.
struct Live {
    process: Process,
    flow: Arc<BatchQueue>,
    feeder: Arc<Feeder>,
}

/// Those of this process, and of its parent where it was forked.
static LIVE: Mutex<Vec<Weak<Live>>> = Mutex::new(Vec::new());

impl Live {
    fn begin(flow: Arc<BatchQueue>, feeder: Arc<Feeder>) -> Arc<Live> {
        let live = Arc::new(Live { process: Process::this(), flow, feeder });
        let mut all = LIVE.lock().ignore_poison();
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&live));
        live
    }
}

/// Ends the work of all epochs whose batches go to a device, and waits for the threads that call its driver: for the end of
/// a program, where the driver takes itself down and threads that still call it may crash. Loaders and batches stay;
/// epochs are over.
pub fn end_device_epochs() {
    // Where a process was forked, whoever held the lock may be gone for ever.
    let all = (0..1000).find_map(|_| match LIVE.try_lock() {
        Ok(mut all) => Some(std::mem::take(&mut *all)),
        Err(TryLockError::Poisoned(all)) => Some(std::mem::take(&mut *all.into_inner())),
        Err(TryLockError::WouldBlock) => {
            std::thread::sleep(Duration::from_millis(1));
            None
        }
    });
    let all = all.into_iter().flatten().filter_map(|live| live.upgrade());
    let here: Vec<_> = all.filter(|live| live.process.expect().is_ok()).collect();
    here.iter().for_each(|live| live.flow.cancel());
    for live in here {
        live.feeder.end();
        live.flow.is_still(PATIENCE);
    }
}

/// The stage of an epoch in which the device decodes.
enum DeviceDecoder {
    Hybrid(HybridDecoder),
    Resident(ResidentDecoder),
    Nothing,
}

impl DeviceDecoder {
    fn begin(device: &Arc<DeviceShared>) -> DeviceDecoder {
        match &device.decode {
            DeviceDecode::Hybrid(columns) if columns.columns.is_empty() => DeviceDecoder::Nothing,
            DeviceDecode::Hybrid(columns) => {
                DeviceDecoder::Hybrid(HybridDecoder::begin(device, columns.clone()))
            }
            DeviceDecode::Resident(jpegs) => {
                DeviceDecoder::Resident(ResidentDecoder::begin(device, jpegs.clone()))
            }
        }
    }

    /// The next batch, with the device's work on it begun.
    fn next(&mut self, queue: &BatchQueue) -> Option<Result<Box<Content>>> {
        match self {
            DeviceDecoder::Hybrid(decoder) => decoder.next(queue),
            DeviceDecoder::Resident(decoder) => decoder.next(queue),
            DeviceDecoder::Nothing => queue.next(),
        }
    }

    /// Keeps a batch until the device has read its JPEGs.
    fn keep(&mut self, batch: &Arc<Batch>) {
        if let DeviceDecoder::Hybrid(decoder) = self {
            decoder.keep(batch);
        }
    }
}

/// Starts the upload of an epoch's batches.
fn feed(
    line: &mut BatchReceiver,
    device: &Arc<DeviceShared>,
) -> Result<Option<(UploadThread, Arc<BatchQueue>)>> {
    let Some(flow) = line.flow()? else { return Ok(None) };
    let host = &device.host;
    let (names, shelf, meter) = (host.names(), host.shelf.clone(), host.meter.clone());
    let of_line = flow.clone();
    let mut decoder = DeviceDecoder::begin(device);
    let source: Source = Box::new(move || {
        Some(decoder.next(&flow)?.map(|mut content| {
            let (bad, position) = (content.drain_bad(), content.position);
            let batch = Arc::new(Batch::new(content, names.clone(), shelf.clone()));
            decoder.keep(&batch);
            HostBatch { batch, bad, position }
        }))
    });
    let told: OnCopied = Arc::new(move |copied| meter.upload.add(copied.time, 1, copied.bytes));
    UploadThread::begin(device.slots.clone(), source, told).map(|feeding| Some((feeding, of_line)))
}

impl Iterator for DeviceEpoch {
    type Item = Result<DeviceBatch>;

    /// Waits for the next batch to be on its way to the device; whoever uses it waits for the copy, see
    /// [`DeviceBatch::ready_on`]. After an error the epoch is over.
    fn next(&mut self) -> Option<Result<DeviceBatch>> {
        if self.over {
            return None;
        }
        self.ask();
        self.asked = false;
        let next = self.found().map(|found| {
            let (batch, fed) = found?;
            self.account.took(batch.host(), fed.bad, fed.position).map(|()| batch)
        });
        if !matches!(next, Some(Ok(_))) {
            self.end();
        }
        next
    }
}

impl Drop for DeviceEpoch {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for DeviceEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceEpoch({}, {})", self.account.epoch, self.account)
    }
}

#[cfg(test)]
mod tests;
