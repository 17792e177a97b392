//! `DecodeBuffers`: the output memory of a device's JPEG decoder, in two halves that batches use alternately, and the
//! events that must be reached before a half is written again.
//!
//! A hardware decoder writes when it is called, regardless of the work in the stream. Therefore the *host* waits for an
//! event after the last kernel that read the half.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::batch::Batch;
use crate::device::driver::{Driver, Event, WorkStream};
use tarflume_formats::IgnorePoison;
use tarflume_types::Result;

/// Number of batches that use the memory at the same time.
pub const HALVES: u64 = 2;

/// One half and its events in our streams.
struct Half {
    number: u64,
    /// Recorded before its decoding, after it, after copies into it, and after those and the kernels that read its pixels.
    before: Event,
    decoded: Event,
    copied: Event,
    read: Event,
    /// The batch that was decoded there, whose JPEGs the device reads.
    batch: Option<Arc<Batch>>,
}

/// The halves that no batch uses.
pub struct DecodeBuffers {
    driver: Arc<dyn Driver>,
    free: Mutex<VecDeque<Half>>,
}

/// A half, leased to one batch. Drop it after the launch that reads it.
pub struct Lease {
    region: Arc<DecodeBuffers>,
    half: Option<Half>,
    /// Time spent waiting for the previous decoding of this half.
    pub waited: Duration,
}

impl DecodeBuffers {
    /// Creates the halves.
    ///
    /// # Errors
    /// Returns an error if the device cannot create an event.
    pub fn new(driver: Arc<dyn Driver>) -> Result<DecodeBuffers> {
        let region = DecodeBuffers { driver, free: Mutex::default() };
        for number in 0..HALVES {
            let [before, decoded, copied, read] = [
                region.driver.create_event()?,
                region.driver.create_event()?,
                region.driver.create_event()?,
                region.driver.create_event()?,
            ];
            region.free().push_back(Half { number, before, decoded, copied, read, batch: None });
        }
        Ok(region)
    }

    fn free(&self) -> MutexGuard<'_, VecDeque<Half>> {
        self.free.lock().ignore_poison()
    }

    /// A half that no work on the device reads; waits for that. `None` if other batches have both.
    ///
    /// # Errors
    /// Returns the device's error.
    pub fn take(self: &Arc<DecodeBuffers>) -> Result<Option<Lease>> {
        let Some(half) = self.free().pop_front() else { return Ok(None) };
        let mut lease = Lease { region: self.clone(), half: Some(half), waited: Duration::ZERO };
        lease.wait()?;
        Ok(Some(lease))
    }

    /// Leaks a half's batch, which the device may still read.
    fn lose(&self, half: Half) {
        mem::forget(half.batch);
    }
}

impl Lease {
    /// Waits for all work that concerns the half.
    fn wait(&mut self) -> Result<()> {
        let Some(half) = &mut self.half else { return Ok(()) };
        let driver = &self.region.driver;
        // Earlier work in the stream does not count as the decoder's time.
        driver.synchronize(half.before)?;
        let watch = Instant::now();
        driver.synchronize(half.decoded)?;
        self.waited += watch.elapsed();
        driver.synchronize(half.read)?;
        half.batch = None;
        Ok(())
    }

    /// The number of the half.
    pub fn number(&self) -> u64 {
        self.half.as_ref().map_or(0, |half| half.number)
    }

    /// Records the beginning of the decoding.
    ///
    /// # Errors
    /// Returns the device's error.
    pub fn begins(&self) -> Result<()> {
        self.half
            .as_ref()
            .map_or(Ok(()), |h| self.region.driver.record(h.before, WorkStream::Decode))
    }

    /// Records the end of the decoding, which later kernels wait for. Copies into the half do not wait: they write
    /// other rows than the decoder.
    ///
    /// # Errors
    /// Returns the device's error.
    pub fn is_put(&self) -> Result<()> {
        let Some(half) = &self.half else { return Ok(()) };
        self.region.driver.record(half.decoded, WorkStream::Decode)?;
        self.region.driver.wait_event(half.decoded, WorkStream::Kernel)
    }

    /// Waits until the decoder has finished reading the batch's JPEGs.
    ///
    /// # Errors
    /// Returns the device's error. It is then unknown whether the decoder still reads them.
    pub fn settle(&self) -> Result<()> {
        self.half.as_ref().map_or(Ok(()), |half| self.region.driver.synchronize(half.decoded))
    }

    /// Records the end of all work with the half.
    fn ends(&self, half: &Half) -> Result<()> {
        let driver = &self.region.driver;
        // The kernels of a batch that is not uploaded never waited for the copies into the half.
        driver.record(half.copied, WorkStream::Copy)?;
        driver.wait_event(half.copied, WorkStream::Kernel)?;
        driver.record(half.read, WorkStream::Kernel)
    }

    /// Keeps the batch until its JPEGs have been read.
    pub fn keep(&mut self, batch: &Arc<Batch>) {
        if let Some(half) = &mut self.half {
            half.batch = Some(batch.clone());
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(half) = self.half.take() else { return };
        let driver = &self.region.driver;
        if !driver.is_forked_child() && self.ends(&half).is_ok() {
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
            let marks = [half.before, half.decoded, half.copied, half.read];
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
