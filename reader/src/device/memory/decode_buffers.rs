//! `DecodeBuffers`: memory that a device's decoder writes to, in two halves that batches use by turns, and what must
//! be waited for before one of them is written again.
//!
//! JPEG engines write when they are called, whatever stands in the stream: the *host* waits, for a mark behind
//! the last kernel that read the half.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::batch::Batch;
use crate::device::driver::{Driver, Event, WorkStream};
use crate::error::Result;
use tarflume_formats::poison::IgnorePoison;

/// Batches that use it at once.
pub(crate) const HALVES: u64 = 2;

/// One half, and the marks about it in our own streams.
struct Half {
    number: u64,
    /// Before its decoding, behind it, and behind what read its pixels, which is put into the stream that copies.
    before: Event,
    decoded: Event,
    read: Event,
    /// What was decoded there: the device reads the JPEGs out of its memory.
    batch: Option<Arc<Batch>>,
}

/// The halves that no batch has.
pub(crate) struct DecodeBuffers {
    driver: Arc<dyn Driver>,
    free: Mutex<VecDeque<Half>>,
}

/// A half, for one batch. Dropped behind the launch that reads it.
pub(crate) struct Lease {
    region: Arc<DecodeBuffers>,
    half: Option<Half>,
    /// How long the decoder was waited for that wrote there before.
    pub(crate) waited: Duration,
}

impl DecodeBuffers {
    /// # Errors
    /// The device refuses a mark.
    pub(crate) fn new(driver: Arc<dyn Driver>) -> Result<DecodeBuffers> {
        let region = DecodeBuffers { driver, free: Mutex::default() };
        for number in 0..HALVES {
            let [before, decoded, read] = [
                region.driver.create_event()?,
                region.driver.create_event()?,
                region.driver.create_event()?,
            ];
            region.free().push_back(Half { number, before, decoded, read, batch: None });
        }
        Ok(region)
    }

    fn free(&self) -> MutexGuard<'_, VecDeque<Half>> {
        self.free.lock().ignore_poison()
    }

    /// A half that nothing on the device reads any more: waits for that. None if other batches have both.
    ///
    /// # Errors
    /// The device's.
    pub(crate) fn take(self: &Arc<DecodeBuffers>) -> Result<Option<Lease>> {
        let Some(half) = self.free().pop_front() else { return Ok(None) };
        let mut lease = Lease { region: self.clone(), half: Some(half), waited: Duration::ZERO };
        lease.wait()?;
        Ok(Some(lease))
    }

    /// What the device may still be at, nobody may have.
    fn lose(&self, half: Half) {
        mem::forget(half.batch);
    }
}

impl Lease {
    /// Waits until all is done that was put into our streams about the half.
    fn wait(&mut self) -> Result<()> {
        let Some(half) = &mut self.half else { return Ok(()) };
        let driver = &self.region.driver;
        // What stood before it in the stream is not the decoder's time.
        driver.synchronize(half.before)?;
        let watch = Instant::now();
        driver.synchronize(half.decoded)?;
        self.waited += watch.elapsed();
        driver.synchronize(half.read)?;
        half.batch = None;
        Ok(())
    }

    /// Its number.
    pub(crate) fn number(&self) -> u64 {
        self.half.as_ref().map_or(0, |half| half.number)
    }

    /// Decoding begins, or has been put into the stream.
    ///
    /// # Errors
    /// The device's.
    pub(crate) fn begins(&self) -> Result<()> {
        self.half
            .as_ref()
            .map_or(Ok(()), |h| self.region.driver.record(h.before, WorkStream::Decode))
    }

    /// See [`Lease::begins`]. What is copied and drawn from now on comes behind it.
    ///
    /// # Errors
    /// The device's.
    pub(crate) fn is_put(&self) -> Result<()> {
        let Some(half) = &self.half else { return Ok(()) };
        self.region.driver.record(half.decoded, WorkStream::Decode)?;
        self.region.driver.wait_event(half.decoded, WorkStream::Copy)
    }

    /// Waits until the decoder reads no JPEG of the batch any more.
    ///
    /// # Errors
    /// The device's: it may read them for ever.
    pub(crate) fn settle(&self) -> Result<()> {
        self.half.as_ref().map_or(Ok(()), |half| self.region.driver.synchronize(half.decoded))
    }

    /// Keeps the batch whose JPEGs are read until they no longer are.
    pub(crate) fn keep(&mut self, batch: &Arc<Batch>) {
        if let Some(half) = &mut self.half {
            half.batch = Some(batch.clone());
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(half) = self.half.take() else { return };
        let driver = &self.region.driver;
        if !driver.is_forked_child() && driver.record(half.read, WorkStream::Copy).is_ok() {
            self.region.free().push_back(half);
        } else {
            self.region.lose(half);
        }
    }
}

impl Drop for DecodeBuffers {
    fn drop(&mut self) {
        let free = self.free.get_mut().ignore_poison();
        let halves = mem::take(free);
        for half in halves {
            let marks = [half.before, half.decoded, half.read];
            if self.driver.is_forked_child()
                || marks.iter().any(|&m| self.driver.synchronize(m).is_err())
            {
                self.lose(half);
                continue;
            }
            marks.into_iter().for_each(|mark| self.driver.destroy_event(mark));
        }
    }
}
