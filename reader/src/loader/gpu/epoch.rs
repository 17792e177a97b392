//! `DeviceEpoch`: the iterator over the batches of one epoch, in device memory.

use std::fmt;
use std::iter::FusedIterator;
use std::sync::{Arc, Mutex, TryLockError, Weak};
use std::time::Duration;

use crate::fork::ForkGuard;
use crate::loader::arrays::any_source::AnySource;
use crate::loader::gpu::hybrid_decode::HybridDecoder;
use crate::loader::gpu::resident_decode::ResidentDecoder;
use crate::loader::gpu::state::{DeviceDecode, DeviceShared};
use crate::loader::gpu::transform_balance::TransformBalance;
use crate::loader::pipeline::queue::BatchQueue;
use crate::loader::pipeline::receiver::BatchReceiver;
use crate::loader::progress::EpochProgress;
use tarflume_device::batch::{Batch, Content};
use tarflume_device::driver::OnUploaded;
use tarflume_device::upload::batch::DeviceBatch;
use tarflume_device::upload::queue::HostBatch;
use tarflume_device::upload::thread::{Feeder, HostBatches, NextUpload, UploadThread};
use tarflume_formats::IgnorePoison;
use tarflume_types::Result;

/// The timeout of a wait that is repeated until a batch is ready.
const LONG: Duration = Duration::from_secs(3600);

/// How long the end of a program waits for a step that is in progress.
const PATIENCE: Duration = Duration::from_secs(10);

/// The batches of one epoch, in order, in device memory. Dropping it cancels the epoch; delivered batches
/// stay valid.
///
/// ```no_run
/// use tarflume::{Device, Loader};
///
/// # fn main() -> tarflume::Result<()> {
/// let loader = Loader::builder("shards/").bytes("bin").device(Device::cuda(0)?).build()?;
/// let mut epoch = loader.epoch(0);
/// while let Some(batch) = epoch.next() {
///     let batch = batch?;
///     let (full, slots) = epoch.occupied();
///     println!("{batch:?}: {full} of {slots} slots are full, {} batches remain", epoch.remaining());
/// }
/// # Ok(())
/// # }
/// ```
pub struct DeviceEpoch {
    receiver: BatchReceiver<AnySource>,
    progress: EpochProgress,
    upload: Option<ForkGuard<UploadThread>>,
    /// Registered for [`end_device_epochs`].
    _running: Option<Arc<ForkGuard<RunningEpoch>>>,
    /// The result that `ready` received.
    found: Option<NextUpload>,
    /// True if the next batch was requested.
    requested: bool,
    over: bool,
}

impl DeviceEpoch {
    pub(crate) fn begin(device: &Arc<DeviceShared>, epoch: u64) -> DeviceEpoch {
        let host = device.host.clone();
        let begun = host.pool.check_not_forked();
        let begun = begun.and_then(|()| device.preload(&mut |_| true));
        let (queue, steps, from_start) = match begun.and_then(|_| device.begin(epoch)) {
            Ok((queue, steps, from_start)) => (Ok(queue), steps, from_start),
            Err(error) => (Err(error), 0, false),
        };
        let mut receiver = BatchReceiver::begin(host.pool.clone(), host.counters.clone(), queue);
        let (upload, running, found) = match start_upload(&mut receiver, device) {
            Ok(Some((upload, queue))) => {
                let running = RunningEpoch::register(queue, upload.feeder());
                (Some(ForkGuard::new(upload)), Some(running), None)
            }
            Ok(None) => (None, None, None),
            Err(error) => (None, None, Some(NextUpload::Failed(error))),
        };
        let progress = EpochProgress::new(host, epoch, steps, from_start);
        DeviceEpoch {
            receiver,
            progress,
            upload,
            _running: running,
            found,
            requested: false,
            over: false,
        }
    }

    /// The thread that uploads; `None` at the end and in a forked child.
    fn upload(&self) -> Option<&UploadThread> {
        self.upload.as_ref()?.get().ok()
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.progress.epoch
    }

    /// Number of remaining batches.
    pub fn remaining(&self) -> u64 {
        self.progress.remaining()
    }

    /// The number of slots with a ready batch, and the number of all slots.
    pub fn occupied(&self) -> (usize, usize) {
        self.upload().map_or((0, 0), UploadThread::occupied)
    }

    /// Waits at most `most` until `next` would not wait: a batch, the end or an error is ready. Returns whether it is.
    pub fn ready(&mut self, most: Duration) -> bool {
        if self.over || self.found.is_some() || self.receiver.is_forked_child() {
            return true;
        }
        self.receiver.request();
        self.count_request();
        self.found = self.upload().map_or(Some(NextUpload::End), |upload| upload.take(most));
        self.found.is_some()
    }

    /// Adds the time that the caller spent on transforming the last batch.
    pub fn charge(&self, busy: Duration) {
        self.receiver.charge(busy);
    }

    /// Counts how many slots hold a ready batch when a batch is requested; once for each batch.
    fn count_request(&mut self) {
        if self.requested {
            return;
        }
        let Some((ready, slots)) = self.upload().map(UploadThread::occupied) else { return };
        self.requested = true;
        // After the last batch the end is requested, which is no batch.
        if self.progress.remaining() > 0 {
            self.receiver.counters().count_request(ready, slots);
        }
    }

    /// Waits for the next batch.
    fn wait(&mut self) -> Option<Result<(DeviceBatch, HostBatch)>> {
        let upload = self.upload.as_ref().and_then(|guard| guard.get().ok());
        let found = &mut self.found;
        self.receiver.timed(|_| {
            let found = loop {
                match found.take() {
                    Some(found) => break found,
                    None => {
                        *found = upload.map_or(Some(NextUpload::End), |upload| upload.take(LONG))
                    }
                }
            };
            match found {
                NextUpload::Batch(batch) => Some(Ok(*batch)),
                NextUpload::Failed(error) => Some(Err(error)),
                NextUpload::End => None,
            }
        })
    }

    fn end(&mut self) {
        self.over = true;
        self.found = None;
        // The queue ends first: the thread that uploads waits for its batches.
        self.receiver.end();
        if let Some(upload) = self.upload.take().and_then(ForkGuard::into_inner) {
            upload.end();
        }
    }
}

/// What ends an epoch from another thread.
struct RunningEpoch {
    queue: Arc<BatchQueue<AnySource>>,
    feeder: Arc<Feeder>,
}

/// The running epochs of this process; in a forked child, those of its parent, too.
static RUNNING: Mutex<Vec<Weak<ForkGuard<RunningEpoch>>>> = Mutex::new(Vec::new());

impl RunningEpoch {
    fn register(
        queue: Arc<BatchQueue<AnySource>>,
        feeder: Arc<Feeder>,
    ) -> Arc<ForkGuard<RunningEpoch>> {
        let running = Arc::new(ForkGuard::new(RunningEpoch { queue, feeder }));
        let mut all = RUNNING.lock().ignore_poison();
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&running));
        running
    }
}

/// Ends the work of all epochs whose batches go to a device, and waits for the threads that call its driver: for the end of
/// a program, where the driver takes itself down and threads that still call it may crash. Loaders and batches stay;
/// epochs are over.
pub fn end_device_epochs() {
    // In a forked child, the thread that held the lock may not exist: this wait needs a limit.
    let all = (0..1000).find_map(|_| match RUNNING.try_lock() {
        Ok(mut all) => Some(std::mem::take(&mut *all)),
        Err(TryLockError::Poisoned(all)) => Some(std::mem::take(&mut *all.into_inner())),
        Err(TryLockError::WouldBlock) => {
            std::thread::sleep(Duration::from_millis(1));
            None
        }
    });
    let all: Vec<_> = all.into_iter().flatten().filter_map(|running| running.upgrade()).collect();
    let own: Vec<_> = all.iter().filter_map(|running| running.get().ok()).collect();
    // All queues end before the first wait, so that the threads end at the same time.
    own.iter().for_each(|running| running.queue.cancel());
    for running in own {
        running.feeder.end();
        running.queue.is_still(PATIENCE);
    }
}

/// The stage of an epoch in which the device decodes.
enum DeviceDecoder {
    Hybrid(Box<HybridDecoder>),
    Resident(ResidentDecoder),
    Nothing,
}

impl DeviceDecoder {
    fn begin(device: &Arc<DeviceShared>) -> DeviceDecoder {
        match &device.decode {
            DeviceDecode::Hybrid(columns) if columns.columns.is_empty() => DeviceDecoder::Nothing,
            DeviceDecode::Hybrid(columns) => {
                DeviceDecoder::Hybrid(Box::new(HybridDecoder::begin(device, columns.clone())))
            }
            DeviceDecode::Resident(jpegs) => {
                DeviceDecoder::Resident(ResidentDecoder::begin(device, jpegs.clone()))
            }
        }
    }

    /// The next batch, with the device's work on it begun.
    fn next(&mut self, queue: &BatchQueue<AnySource>) -> Option<Result<Box<Content>>> {
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

/// The thread that uploads an epoch's batches, and the queue that it takes them from.
type Upload = (UploadThread, Arc<BatchQueue<AnySource>>);

/// Starts the upload of an epoch's batches. Returns `None` if the epoch has no queue.
fn start_upload(
    receiver: &mut BatchReceiver<AnySource>,
    device: &Arc<DeviceShared>,
) -> Result<Option<Upload>> {
    let Some(queue) = receiver.queue()? else { return Ok(None) };
    let host = &device.host;
    let names = host.names();
    let batch_pool = host.batch_pool.clone();
    let counters = host.counters.clone();
    let from = queue.clone();
    let mut decoder = DeviceDecoder::begin(device);
    let mut balance = TransformBalance::begin(device.transforms.clone());
    let source: HostBatches = Box::new(move || {
        let next = balance.next(|| decoder.next(&from));
        Some(next?.map(|mut content| {
            let bad = content.drain_bad();
            let position = content.position;
            let batch = Arc::new(Batch::new(content, names.clone(), batch_pool.clone()));
            decoder.keep(&batch);
            HostBatch { batch, bad, position }
        }))
    });
    let on_copied: OnUploaded =
        Arc::new(move |copied| counters.upload.add(copied.time, 1, copied.bytes));
    let upload = UploadThread::begin(device.slots.clone(), source, on_copied)?;
    Ok(Some((upload, queue)))
}

impl Iterator for DeviceEpoch {
    type Item = Result<DeviceBatch>;

    /// Waits until the copy of the next batch to the device was submitted. Before using the batch, order a stream behind
    /// the copy with [`DeviceBatch::ready_on`]. After an error the epoch is over.
    fn next(&mut self) -> Option<Result<DeviceBatch>> {
        if self.over {
            return None;
        }
        self.count_request();
        self.requested = false;
        let next = self.wait().map(|found| {
            let (batch, of_host) = found?;
            self.progress.took(batch.host(), of_host.bad, of_host.position).map(|()| batch)
        });
        if !matches!(next, Some(Ok(_))) {
            self.end();
        }
        next
    }
}

impl FusedIterator for DeviceEpoch {}

impl Drop for DeviceEpoch {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for DeviceEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceEpoch({}, {})", self.progress.epoch, self.progress)
    }
}

#[cfg(test)]
mod tests;
