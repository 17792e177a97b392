//! `Cuda`: a driver for NVIDIA's GPUs, by the CUDA driver that is found when it is asked for.
//!
//! A room with unsafe code: calls of the driver's C functions. What they rely on, and why it holds:
//! - contexts, streams and events that are handed to the driver are alive: two streams and all events are
//!   this value's own, found by number in tables that are emptied when it is dropped; the consumer's
//!   streams are alive by the promise of `DeviceStream::raw`;
//! - a copy reads its batch until it is done: the batch is kept in `flights` until the event behind the
//!   copy is reached, and for ever if the device says neither yes nor no;
//! - device memory is only ever a number here.
//!
//! The context is the device's primary one, which other libraries of the process use too; the calling
//! thread has its own context again when a call returns, and its own mode towards captures (see `visit`).
#![allow(unsafe_code)]

mod cache;
mod context;
mod decode;
mod events;
mod flights;
mod jpegs;
mod kernels;
mod launch;
mod numa;
mod nvrtc;
mod pinned;
mod streams;

use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use cudarc::driver::{DriverError, result, sys};

use self::context::{Primary, Words, why_refused};
use self::flights::{Flight, Flights};
use self::jpegs::Jpegs;
use self::kernels::Kernels;
use self::pinned::{Pinned, not_pinned};
use self::streams::Streams;
use super::driver::{
    DeviceMemory, DevicePtr, Driver, Event, Events, OnCopied, Uploads, WorkStream,
};
use crate::batch::Batch;
use crate::device::presence::is_driver_there;
use crate::error::{Error, ErrorKind, Result};
use crate::libraries::Libraries;
use crate::slab::{Foreign, HostMemory};
use tarflume_formats::poison::IgnorePoison;

/// DLPack's number for CUDA.
const DLPACK_CUDA: i32 = 2;

/// A GPU.
pub(super) struct Cuda {
    ordinal: usize,
    context: Arc<Primary>,
    streams: Streams,
    /// The handles of all events that are ours.
    events: Mutex<HashSet<u64>>,
    flights: Flights,
    near: Vec<usize>,
    libraries: Libraries,
    kernels: OnceLock<Kernels>,
    jpegs: Jpegs,
    warning: Mutex<Option<String>>,
    process: u32,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().ignore_poison()
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
            events: Mutex::default(),
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
        if self.is_forked_child() {
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

    fn stream(&self, on: WorkStream) -> sys::CUstream {
        self.streams.of(on)
    }

    fn times(&self) -> Result<[u64; 2]> {
        if let Some(times) = self.flights.spare() {
            return Ok(times);
        }
        let timed = sys::CUevent_flags::CU_EVENT_DEFAULT;
        Ok([self.make(timed)?, self.make(timed)?])
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

impl DeviceMemory for Cuda {
    fn allocate(&self, bytes: usize) -> Result<DevicePtr> {
        let what = format!("asking for {bytes} bytes of device memory");
        let made = self.call(&what, || {
            // SAFETY: gives a number.
            unsafe { result::malloc_sync(bytes) }
        });
        made.map(DevicePtr)
    }

    fn free(&self, memory: DevicePtr) {
        let _ = self.call("freeing device memory", || {
            // SAFETY: allocated by `allocate`, freed by its one owner; the driver checks the number.
            unsafe { result::free_sync(memory.0) }
        });
    }

    fn copy_within(&self, from: DevicePtr, to: DevicePtr, bytes: usize) -> Result<()> {
        self.call("copying on the device", || {
            // SAFETY: numbers, which the driver checks; what is there is ours.
            unsafe { result::memcpy_dtod_async(to.0, from.0, bytes, self.stream(WorkStream::Copy)) }
        })
    }

    fn free_bytes(&self) -> Result<u64> {
        self.call("asking for free memory", || Ok(result::mem_get_info()?.0 as u64))
    }
}

impl Uploads for Cuda {
    fn upload(&self, batch: &Arc<Batch>, to: DevicePtr, told: &OnCopied) -> Result<()> {
        let bytes = batch.fixed();
        if bytes.is_empty() {
            return Ok(());
        }
        let times = self.times()?;
        let put = || {
            self.record_handle(times[0], WorkStream::Copy)?;
            self.call("copying a batch", || {
                // SAFETY: the bytes stay and nobody writes them (the batch is sealed and kept in
                // `flights`); the driver checks the address on the device.
                unsafe { result::memcpy_htod_async(to.0, bytes, self.stream(WorkStream::Copy)) }
            })?;
            self.record_handle(times[1], WorkStream::Copy)
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

    fn reap(&self) -> Result<usize> {
        self.flights.land(|flight| self.time(flight))
    }

    fn await_copy(&self) -> Result<()> {
        // Whoever reaps it meanwhile may record its events again: then this waits for a later copy.
        self.flights.first().map_or(Ok(()), |[_, done]| self.synchronize(Event(done)))
    }
}

impl Driver for Cuda {
    fn name(&self) -> String {
        format!("cuda:{}", self.ordinal)
    }

    fn dlpack_device(&self) -> (i32, i32) {
        (DLPACK_CUDA, self.ordinal as i32)
    }

    fn is_forked_child(&self) -> bool {
        self.process != std::process::id()
    }

    fn warning(&self) -> Option<String> {
        held(&self.warning).clone()
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        if self.is_forked_child() {
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
        let events: Vec<u64> = held(&self.events).iter().copied().collect();
        events.into_iter().for_each(|event| self.destroy_event(Event(event)));
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
