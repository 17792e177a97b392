//! `Cuda`: a driver for NVIDIA's GPUs, by the CUDA driver that is found when it is asked for.
//!
//! A room with unsafe code: calls of the driver's C functions. What they rely on, and why it holds:
//! - contexts, streams and events that are handed to the driver are alive: two streams and all events are
//!   this value's own, found by number in tables that are emptied when it is dropped; the consumer's
//!   streams are alive by the promise of `Stream::raw`;
//! - a copy reads its batch until it is done: the batch is kept in `flights` until the event behind the
//!   copy is reached, and for ever if the device says neither yes nor no;
//! - device memory is only ever a number here.
//!
//! The context is the device's primary one, which other libraries of the process use too; the calling
//! thread has its own context again when a call returns, and its own mode towards captures (see `visit`).
#![allow(unsafe_code)]

mod cache;
mod context;
mod flights;
mod jpegs;
mod kernels;
#[cfg(feature = "cuda")]
pub(crate) mod numa;
mod nvrtc;
mod pinned;
mod streams;

use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use cudarc::driver::{DriverError, result, sys};
use tarflume_jpeg::Header;

use self::context::{Primary, Words, why_refused};
use self::flights::{Flight, Flights};
use self::jpegs::Jpegs;
use self::kernels::Kernels;
use self::pinned::{Pinned, not_pinned};
use self::streams::{Streams, is_captured};
use super::driver::{Driver, Mark, Memory, On, Told};
use crate::batch::Batch;
use crate::decode::hybrid::verdict::{Abilities, Compressed, Stored, Verdict, Wanted};
use crate::device::kernels::args;
use crate::device::kernels::launch::Launch;
use crate::device::presence::is_driver_there;
use crate::error::{Error, ErrorKind, Result};
use crate::libraries::Libraries;
use crate::slab::{Foreign, HostMemory};

/// DLPack's number for CUDA.
const DLPACK_CUDA: i32 = 2;

/// A GPU.
pub(super) struct Cuda {
    ordinal: usize,
    context: Arc<Primary>,
    streams: Streams,
    /// The handles of all events that are ours.
    marks: Mutex<HashSet<u64>>,
    flights: Flights,
    near: Vec<usize>,
    libraries: Libraries,
    kernels: OnceLock<Kernels>,
    jpegs: Jpegs,
    warning: Mutex<Option<String>>,
    process: u32,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn event(mark: u64) -> sys::CUevent {
    mark as usize as sys::CUevent
}

impl Cuda {
    /// # Errors
    /// [`ErrorKind::Device`]: no driver, no such device.
    pub(super) fn open(ordinal: usize, libraries: Libraries) -> Result<Cuda> {
        let refused = |what: &str| Error::new(ErrorKind::Device, format!("cuda:{ordinal}: {what}"));
        if !is_driver_there() {
            return Err(refused(
                "there is no NVIDIA driver on this machine (libcuda.so was not found); leave the device \
                 out to have batches in host memory",
            ));
        }
        let context = Primary::retain(ordinal)
            .map_err(|error| refused(&why_refused(error)).with_source(Words(error)))?;
        let entered = context.enter().map_err(|e| refused("no context").with_source(Words(e)))?;
        let streams = Streams::new().map_err(|e| refused("no stream").with_source(Words(e)))?;
        drop(entered);
        let near = numa::near(Path::new("/sys"), &context.bus().unwrap_or_default());
        Ok(Cuda {
            ordinal,
            context: Arc::new(context),
            streams,
            marks: Mutex::default(),
            flights: Flights::default(),
            near,
            libraries,
            kernels: OnceLock::new(),
            jpegs: Jpegs::default(),
            warning: Mutex::default(),
            process: std::process::id(),
        })
    }

    /// Devices that this process sees; none if there is no driver.
    pub(super) fn visible() -> usize {
        let count = || result::init().and_then(|()| result::device::get_count());
        let there = is_driver_there().then(count);
        there
            .and_then(std::result::Result::ok)
            .map_or(0, |count| usize::try_from(count).unwrap_or(0))
    }

    /// Calls the driver in the device's context.
    fn call<T>(
        &self,
        what: &str,
        call: impl FnOnce() -> std::result::Result<T, DriverError>,
    ) -> Result<T> {
        if self.is_elsewhere() {
            let text = format!(
                "cuda:{} was opened before this process was forked, and CUDA does not work across a fork: \
                 open it here, or start processes with spawn",
                self.ordinal
            );
            return Err(Error::new(ErrorKind::Device, text));
        }
        let entered = self.context.enter();
        let done = entered.and_then(|_entered| call());
        done.map_err(|error| {
            let text = format!("cuda:{}: {what} failed", self.ordinal);
            Error::new(ErrorKind::Device, text).with_source(Words(error))
        })
    }

    fn stream(&self, on: On) -> sys::CUstream {
        self.streams.of(on)
    }

    /// Refuses what would draw us into a capture of the consumer's stream, and spoil it.
    fn expect_no_capture(&self, on: On) -> Result<()> {
        let On::Of(_) = on else { return Ok(()) };
        if !self.call("asking a stream", || is_captured(self.stream(on)))? {
            return Ok(());
        }
        let text = format!(
            "cuda:{}: the stream is being captured into a CUDA graph, where a batch can neither come nor go: take \
             batches before the capture and let go of them behind it, and copy them into the graph's own tensors",
            self.ordinal
        );
        Err(Error::new(ErrorKind::Device, text))
    }

    /// The event of a mark of ours.
    fn known(&self, mark: u64) -> Result<sys::CUevent> {
        let known = held(&self.marks).contains(&mark);
        let text = "a mark of another device";
        known.then(|| event(mark)).ok_or_else(|| Error::new(ErrorKind::Device, text))
    }

    fn make(&self, flags: sys::CUevent_flags) -> Result<u64> {
        // A thread that waits for one sleeps.
        let flags = flags as u32 | sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC as u32;
        let mut made = std::ptr::null_mut();
        self.call("making an event", || {
            // SAFETY: the pointer is to a variable here.
            unsafe { sys::cuEventCreate(&mut made, flags) }.result()
        })?;
        held(&self.marks).insert(made as u64);
        Ok(made as u64)
    }

    fn times(&self) -> Result<[u64; 2]> {
        if let Some(times) = self.flights.spare() {
            return Ok(times);
        }
        let timed = sys::CUevent_flags::CU_EVENT_DEFAULT;
        Ok([self.make(timed)?, self.make(timed)?])
    }

    fn record(&self, mark: u64, on: On) -> Result<()> {
        self.expect_no_capture(on)?;
        let (event, stream) = (self.known(mark)?, self.stream(on));
        self.call("marking a stream", || {
            // SAFETY: an event of ours that is alive; a stream of ours, or the consumer's, by his promise.
            unsafe { result::event::record(event, stream) }
        })
    }

    /// How long a copy took, if it is done.
    fn time(&self, flight: &Flight) -> Result<Option<Duration>> {
        let [from, to] = [self.known(flight.times[0])?, self.known(flight.times[1])?];
        let milliseconds = self.call("copying a batch", || {
            // SAFETY: an event of ours that is alive.
            match unsafe { result::event::query(to) } {
                Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_READY)) => return Ok(None),
                asked => asked?,
            }
            // SAFETY: both are timed events of ours, recorded, and the later one is reached.
            unsafe { result::event::elapsed(from, to) }.map(Some)
        })?;
        Ok(milliseconds.map(|some| Duration::from_secs_f64(f64::from(some.max(0.0)) / 1e3)))
    }
}

impl Driver for Cuda {
    fn name(&self) -> String {
        format!("cuda:{}", self.ordinal)
    }

    fn place(&self) -> (i32, i32) {
        (DLPACK_CUDA, self.ordinal as i32)
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        let what = format!("asking for {bytes} bytes of device memory");
        let made = self.call(&what, || {
            // SAFETY: gives a number.
            unsafe { result::malloc_sync(bytes) }
        });
        made.map(Memory)
    }

    fn free(&self, memory: Memory) {
        let _ = self.call("freeing device memory", || {
            // SAFETY: allocated by `allocate`, freed by its one owner; the driver checks the number.
            unsafe { result::free_sync(memory.0) }
        });
    }

    fn mark(&self) -> Result<Mark> {
        self.make(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).map(Mark)
    }

    fn forget(&self, mark: Mark) {
        if held(&self.marks).remove(&mark.0) {
            let _ = self.call("freeing an event", || {
                // SAFETY: an event of ours, taken out of the table just now: nobody finds it again.
                unsafe { result::event::destroy(event(mark.0)) }
            });
        }
    }

    fn handle(&self, mark: Mark) -> u64 {
        mark.0
    }

    fn set(&self, mark: Mark, on: On) -> Result<()> {
        self.record(mark.0, on)
    }

    fn wait(&self, mark: Mark, on: On) -> Result<()> {
        self.expect_no_capture(on)?;
        let (event, stream) = (self.known(mark.0)?, self.stream(on));
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        self.call("having a stream wait", || {
            // SAFETY: as in `record`.
            unsafe { result::stream::wait_event(stream, event, flags) }
        })
    }

    fn finish(&self, mark: Mark) -> Result<()> {
        let event = self.known(mark.0)?;
        self.call("waiting for the device", || {
            // SAFETY: an event of ours that is alive.
            unsafe { result::event::synchronize(event) }
        })
    }

    fn prepare(&self) -> Result<()> {
        if self.kernels.get().is_some() {
            return Ok(());
        }
        let make = || Ok(Kernels::new(&self.context, &self.libraries));
        let (made, warning) = self.call("entering the device", make)??;
        if let Some(warning) = warning {
            held(&self.warning).get_or_insert(warning);
        }
        // Code is brought to the device by the first launch, which may wait for all that runs there.
        self.call("trying kernels", || {
            args::nothing()
                .iter()
                .try_for_each(|launch| made.launch(launch, self.stream(On::Copying)))
        })?;
        if let Err(second) = self.kernels.set(made) {
            // Somebody else was as fast.
            self.call("unloading kernels", || {
                drop(second);
                Ok(())
            })?;
        }
        Ok(())
    }

    fn launch(&self, launch: &Launch) -> Result<()> {
        let Some(kernels) = self.kernels.get() else {
            return Err(Error::new(ErrorKind::Device, "kernels were not prepared"));
        };
        self.call(launch.entry, || kernels.launch(launch, self.stream(On::Copying)))
    }

    fn prepare_decoder(&self, stored: bool) -> Result<Abilities> {
        self.call("entering the device", || {
            // SAFETY: our own stream, which is alive.
            Ok(unsafe {
                self.jpegs.prepare(&self.libraries, stored, self.stream(On::Decoding) as u64)
            })
        })?
    }

    fn decode(&self, jpegs: &[Compressed<'_>]) -> Result<Vec<Verdict>> {
        let nvjpeg = self.jpegs.decoder(false)?;
        self.call("entering the device", || {
            // SAFETY: our own stream, which is alive; all else is what callers of this trait promise.
            Ok(unsafe { nvjpeg.decode(self.stream(On::Decoding) as u64, jpegs) })
        })?
    }

    fn admit(
        &self,
        jpeg: (&[u8], &Header),
        wanted: Wanted,
    ) -> Result<std::result::Result<(), String>> {
        let nvjpeg = self.jpegs.decoder(wanted.stored)?;
        let admit = || Ok(nvjpeg.admit(jpeg, wanted.channels, wanted.scale));
        self.call("entering the device", admit)?
    }

    fn decode_stored(&self, jpegs: &[Stored]) -> Result<Vec<Verdict>> {
        let nvjpeg = self.jpegs.decoder(true)?;
        self.call("entering the device", || {
            // SAFETY: as above.
            Ok(unsafe { nvjpeg.decode_stored(self.stream(On::Decoding) as u64, jpegs) })
        })?
    }

    fn copy(&self, batch: &Arc<Batch>, to: Memory, told: &Told) -> Result<()> {
        let bytes = batch.fixed();
        if bytes.is_empty() {
            return Ok(());
        }
        let times = self.times()?;
        let put = || {
            self.record(times[0], On::Copying)?;
            self.call("copying a batch", || {
                // SAFETY: the bytes stay and nobody writes them (the batch is sealed and kept in
                // `flights`); the driver checks the address on the device.
                unsafe { result::memcpy_htod_async(to.0, bytes, self.stream(On::Copying)) }
            })?;
            self.record(times[1], On::Copying)
        };
        let done = put();
        if done.is_ok() {
            let (batch, told) = (batch.clone(), told.clone());
            self.flights.begun(Flight { batch, times, told });
        } else {
            // Whether the device still reads it nobody can say.
            std::mem::forget(batch.clone());
        }
        done
    }

    fn copy_within(&self, from: Memory, to: Memory, bytes: usize) -> Result<()> {
        self.call("copying on the device", || {
            // SAFETY: numbers, which the driver checks; what is there is ours.
            unsafe { result::memcpy_dtod_async(to.0, from.0, bytes, self.stream(On::Copying)) }
        })
    }

    fn free_bytes(&self) -> Result<u64> {
        self.call("asking for free memory", || Ok(result::mem_get_info()?.0 as u64))
    }

    fn reap(&self) -> Result<usize> {
        self.flights.land(|flight| self.time(flight))
    }

    fn await_copy(&self) -> Result<()> {
        // Whoever reaps it meanwhile may record its events again: then this waits for a later copy.
        self.flights.first().map_or(Ok(()), |[_, done]| self.finish(Mark(done)))
    }

    fn is_elsewhere(&self) -> bool {
        self.process != std::process::id()
    }

    fn warning(&self) -> Option<String> {
        held(&self.warning).clone()
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        if self.is_elsewhere() {
            // Locks may be held for ever, and what they guard is the other process's.
            self.flights.forget();
            std::mem::forget((self.kernels.take(), std::mem::take(&mut self.jpegs)));
            return;
        }
        let done = self.call("waiting for copies", || self.streams.wait());
        if done.is_err() {
            self.flights.forget();
            std::mem::forget((self.kernels.take(), std::mem::take(&mut self.jpegs)));
            return;
        }
        let made = (self.kernels.take(), std::mem::take(&mut self.jpegs));
        let _ = self.call("unloading kernels and decoder", || {
            drop(made);
            Ok(())
        });
        let marks: Vec<u64> = held(&self.marks).iter().copied().collect();
        marks.into_iter().for_each(|mark| self.forget(Mark(mark)));
        let _ = self.call("freeing streams", || {
            // SAFETY: this value is going.
            unsafe { self.streams.destroy() }
        });
    }
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cuda:{}", self.ordinal)
    }
}

impl HostMemory for Cuda {
    fn block(&self, bytes: usize) -> Option<Box<dyn Foreign>> {
        // First touched there, it stays there.
        let pinned = numa::on(&self.near, || {
            self.call("pinning memory", || Pinned::new(bytes, self.context.clone()))
        });
        match pinned {
            Ok(pinned) => Some(Box::new(pinned)),
            Err(error) => {
                held(&self.warning).get_or_insert_with(|| not_pinned(bytes, &error, self.ordinal));
                None
            }
        }
    }
}
