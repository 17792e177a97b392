//! `UploadThread`: the thread that copies batches, and the consumer's end of the queue. Calls the device through
//! `queue`.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::device::driver::OnUploaded;
use crate::device::upload::batch::DeviceBatch;
use crate::device::upload::queue::{HostBatch, UploadShared};
use crate::device::upload::ring::Take;
use crate::device::upload::slot::Slots;
use tarflume_formats::IgnorePoison;
use tarflume_types::{Error, ErrorKind, Result};

/// Returns the next batch, blocking; `None` after the last.
pub type HostBatches = Box<dyn FnMut() -> Option<Result<HostBatch>> + Send>;

/// Copies until the source ends or the consumer is gone.
fn run(shared: &UploadShared, mut source: HostBatches, on_uploaded: &OnUploaded) {
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| -> Result<()> {
        while let Some(fed) = source() {
            if !shared.upload(fed?, on_uploaded)? {
                break;
            }
        }
        Ok(())
    }));
    let mut line = shared.line();
    if let Err(error) = ended.unwrap_or_else(|_| panicked()) {
        line.failed.get_or_insert(error);
    }
    line.ring.end();
    drop(line);
    shared.changed.notify_all();
    // Until the copies are complete, the driver keeps the host memory of their batches.
    let _ = shared.land(0); // an error recurs in a later call
}

fn panicked<T>() -> Result<T> {
    Err(Error::new(ErrorKind::Panicked, "the thread that copies panicked"))
}

/// The thread, joined by `end`.
pub struct Feeder {
    shared: Arc<UploadShared>,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

impl Feeder {
    /// Stops copying and joins the thread. Its source must have been stopped before.
    pub fn end(&self) {
        let mut line = self.shared.line();
        line.ring.close();
        // Under the same lock: `fed` has one batch for each queued slot of the ring.
        line.fed.clear();
        drop(line);
        self.shared.changed.notify_all();
        let thread = self.thread.lock().ignore_poison().take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

/// The consumer's end.
pub struct UploadThread {
    shared: Arc<UploadShared>,
    feeder: Arc<Feeder>,
}

/// What the consumer receives.
pub enum NextUpload {
    /// A batch on the device, and what it was on the host.
    Batch(Box<(DeviceBatch, HostBatch)>),
    /// The error that ends the epoch.
    Failed(Error),
    /// The epoch has ended.
    End,
}

impl UploadThread {
    /// Starts copying the batches of `source`.
    ///
    /// # Errors
    /// Returns an error if the device has no memory for the slots or no thread can be started.
    pub fn begin(
        slots: Arc<Slots>,
        source: HostBatches,
        on_uploaded: OnUploaded,
    ) -> Result<UploadThread> {
        let shared = Arc::new(UploadShared::new(slots)?);
        let of_thread = shared.clone();
        let thread = thread::Builder::new()
            .name("tarflume-feed".into())
            .spawn(move || run(&of_thread, source, &on_uploaded))
            .map_err(|e| {
                Error::new(ErrorKind::Io, "cannot start the thread that copies batches")
                    .with_source(e)
            })?;
        let thread = Mutex::new(Some(thread));
        let feeder = Arc::new(Feeder { shared: shared.clone(), thread });
        Ok(UploadThread { shared, feeder })
    }

    /// The thread, for a caller that ends it before the consumer does.
    pub fn feeder(&self) -> Arc<Feeder> {
        self.feeder.clone()
    }

    /// Number of slots holding a ready batch, and number of slots.
    pub fn occupied(&self) -> (usize, usize) {
        let line = self.shared.line();
        (line.ring.queued(), line.ring.len())
    }

    /// The next batch or error, waiting at most `most`; `None` if nothing is ready.
    pub fn take(&self, most: Duration) -> Option<NextUpload> {
        let mut line = self.shared.line();
        let mut waited = false;
        loop {
            match line.ring.take() {
                Take::Slot(number) => {
                    let fed = line.fed.pop_front()?;
                    let slot = line.slots[number].clone()?;
                    let batch =
                        DeviceBatch::new(fed.batch.clone(), number, slot, self.shared.clone());
                    return Some(NextUpload::Batch(Box::new((batch, fed))));
                }
                Take::End => {
                    return Some(line.failed.take().map_or(NextUpload::End, NextUpload::Failed));
                }
                Take::Wait if waited => return None,
                Take::Wait => {
                    self.shared.changed.notify_all(); // the ring may have become hungry, which the thread must see
                    let wait = self.shared.changed.wait_timeout(line, most);
                    let (again, time) = wait.ignore_poison();
                    (line, waited) = (again, time.timed_out());
                }
            }
        }
    }

    /// Stops taking batches. The source must have been stopped before.
    pub fn end(&self) {
        self.feeder.end();
        self.shared.retire(self.shared.line());
    }
}
