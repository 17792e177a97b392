//! `UploadThread`: the thread that copies batches, and what the consumer finds.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::device::driver::OnCopied;
use crate::device::upload::batch::DeviceBatch;
use crate::device::upload::queue::{HostBatch, Shared};
use crate::device::upload::ring::Take;
use crate::device::upload::slot::Slots;
use crate::error::{Error, ErrorKind, Result};
use tarflume_formats::poison::IgnorePoison;

/// What the thread is fed with: the next batch, waited for; `None` after the last.
pub(crate) type Source = Box<dyn FnMut() -> Option<Result<HostBatch>> + Send>;

/// Copies until there is nothing more, or nobody who wants it.
fn run(shared: &Shared, mut source: Source, told: &OnCopied) {
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| -> Result<()> {
        while let Some(fed) = source() {
            if !shared.upload(fed?, told)? {
                break;
            }
        }
        Ok(())
    }));
    let panicked = || Err(Error::new(ErrorKind::Panicked, "the thread that copies panicked"));
    let mut line = shared.line();
    if let Err(error) = ended.unwrap_or_else(|_| panicked()) {
        line.failed.get_or_insert(error);
    }
    line.ring.end();
    drop(line);
    shared.changed.notify_all();
    let _ = shared.land(0); // what is wrong with it, a later call meets
}

/// The thread, to be ended by whoever has it.
pub(crate) struct Feeder {
    shared: Arc<Shared>,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

impl Feeder {
    /// Nothing more is copied; waits for the thread. Its source must have been told to end.
    pub(crate) fn end(&self) {
        let mut line = self.shared.line();
        line.ring.close();
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
pub(crate) struct UploadThread {
    shared: Arc<Shared>,
    feeder: Arc<Feeder>,
}

/// What the consumer finds.
pub(crate) enum Found {
    Batch(Box<(DeviceBatch, HostBatch)>),
    Failed(Error),
    End,
}

impl UploadThread {
    /// Begins to copy what `source` gives.
    ///
    /// # Errors
    /// The device has no memory for a ring; the system gives no thread.
    pub(crate) fn begin(slots: Arc<Slots>, source: Source, told: OnCopied) -> Result<UploadThread> {
        let shared = Arc::new(Shared::new(slots)?);
        let of_thread = shared.clone();
        let thread = thread::Builder::new()
            .name("tarflume-feed".into())
            .spawn(move || run(&of_thread, source, &told))
            .map_err(|e| Error::new(ErrorKind::Io, "no thread to copy batches").with_source(e))?;
        let thread = Mutex::new(Some(thread));
        let feeder = Arc::new(Feeder { shared: shared.clone(), thread });
        Ok(UploadThread { shared, feeder })
    }

    /// The thread, for whoever ends it before the consumer does.
    pub(crate) fn feeder(&self) -> Arc<Feeder> {
        self.feeder.clone()
    }

    /// Slots that a batch stands ready in, of how many.
    pub(crate) fn occupied(&self) -> (usize, usize) {
        let line = self.shared.line();
        (line.ring.queued(), line.ring.len())
    }

    /// What comes next, waited for no longer than `most`; `None`: nothing yet.
    pub(crate) fn take(&self, most: Duration) -> Option<Found> {
        let mut line = self.shared.line();
        let mut waited = false;
        loop {
            match line.ring.take() {
                Take::Slot(number) => {
                    let (fed, slot) = (line.fed.pop_front()?, line.slots[number].clone()?);
                    let batch =
                        DeviceBatch::new(fed.batch.clone(), (number, slot), self.shared.clone());
                    return Some(Found::Batch(Box::new((batch, fed))));
                }
                Take::End => {
                    return Some(line.failed.take().map_or(Found::End, Found::Failed));
                }
                Take::Wait if waited => return None,
                Take::Wait => {
                    self.shared.changed.notify_all(); // that all are held, perhaps
                    let wait = self.shared.changed.wait_timeout(line, most);
                    let (again, time) = wait.ignore_poison();
                    (line, waited) = (again, time.timed_out());
                }
            }
        }
    }

    /// Nothing more is taken. The source must have been told to end.
    pub(crate) fn end(&self) {
        self.feeder.end();
        self.shared.retire(self.shared.line());
    }
}
