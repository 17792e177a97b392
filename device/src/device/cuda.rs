//! `Cuda`: the driver for NVIDIA's GPUs. Loads the CUDA driver library on first use.
//!
//! Contains unsafe code: calls of the driver's C functions. What they rely on, and why it holds:
//! - contexts, streams and events passed to the driver are alive: this value owns three streams and all events, which are
//!   in tables that are emptied on drop; the consumer's streams are alive by the contract of `DeviceStream::raw`;
//! - a batch, and what is copied beside it, is unchanged while a copy reads it: `flights` keeps both until the event after
//!   the copy is reached, and forever if the device cannot tell;
//! - device memory is only an address here.
//!
//! The context is the device's primary one, which other libraries of the process use, too. After each call the calling
//! thread has its previous context and capture mode (see `call_scope`).
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

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use cudarc::driver::{DriverError, result, sys};
use tarflume_formats::message::Message;
use tarflume_types::{Error, ErrorKind, Result};

use self::context::{Primary, why_refused};
use self::flights::{Flight, Flights};
use self::jpegs::Jpegs;
use self::kernels::Kernels;
use self::pinned::{Pinned, copy_span, not_pinned};
use self::streams::Streams;
use super::driver::{
    DeviceMemory, DevicePtr, Driver, Event, Events, OnUploaded, UploadParts, Uploads, WorkStream,
};
use crate::device::call_scope::DriverMessage;
use crate::device::kernels::program::Program;
use crate::device::presence::is_driver_there;
use crate::device::room::DeviceRoom;
use crate::device::room::meter::{MemoryCounts, MemoryKind, MemoryMeter};
use crate::device::room::shortage::{self, Shortage};
use crate::libraries::Libraries;
use crate::slab::{ExternalMemory, HostMemory};
use tarflume_formats::IgnorePoison;

/// `kDLCUDA` in dlpack.h.
const DLPACK_CUDA: i32 = 2;

/// A GPU.
pub(super) struct Cuda {
    ordinal: usize,
    context: Arc<Primary>,
    streams: Streams,
    /// The handles of all events created here.
    events: Mutex<HashSet<u64>>,
    flights: Flights,
    meter: Arc<MemoryMeter>,
    /// The bytes of each block of device memory, by its address.
    blocks: Mutex<HashMap<u64, usize>>,
    /// CPUs of the device's NUMA node.
    near: Vec<usize>,
    libraries: Libraries,
    kernels: OnceLock<Kernels>,
    jpeg_kernels: OnceLock<Kernels>,
    jpegs: Jpegs,
    warning: Mutex<Option<Message>>,
    process: u32,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().ignore_poison()
}

impl Cuda {
    /// Opens the device.
    ///
    /// # Errors
    /// [`ErrorKind::Device`]: no driver or no such device exists.
    pub(super) fn open(ordinal: usize, libraries: Libraries) -> Result<Cuda> {
        fn refused(ordinal: usize, what: &str) -> Error {
            Error::new(ErrorKind::Device, format!("cuda:{ordinal}: {what}"))
        }

        if !is_driver_there() {
            return Err(refused(
                ordinal,
                "this machine has no NVIDIA driver (libcuda.so was not found); remove the device option \
                 to get batches in host memory",
            ));
        }
        let context = Primary::retain(ordinal).map_err(|error| {
            refused(ordinal, &why_refused(error)).with_source(DriverMessage(error))
        })?;
        let entered = context
            .enter()
            .map_err(|e| refused(ordinal, "no context").with_source(DriverMessage(e)))?;
        let streams = Streams::new()
            .map_err(|e| refused(ordinal, "no stream").with_source(DriverMessage(e)))?;
        drop(entered);
        let near = numa::near(Path::new("/sys"), &context.bus().unwrap_or_default());
        Ok(Cuda {
            ordinal,
            context: Arc::new(context),
            streams,
            events: Mutex::default(),
            flights: Flights::default(),
            meter: Arc::default(),
            blocks: Mutex::default(),
            near,
            libraries,
            kernels: OnceLock::new(),
            jpeg_kernels: OnceLock::new(),
            jpegs: Jpegs::default(),
            warning: Mutex::default(),
            process: std::process::id(),
        })
    }

    /// Number of devices that this process sees; 0 without a driver.
    pub(super) fn visible() -> usize {
        fn count() -> Result<i32, DriverError> {
            result::init().and_then(|()| result::device::get_count())
        }

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
                "cuda:{} was opened before this process was forked, and CUDA does not work in a forked \
                 child: open the device in this process, or start processes with spawn",
                self.ordinal
            );
            return Err(Error::new(ErrorKind::Device, text));
        }
        let entered = self.context.enter();
        entered.and_then(|_entered| call()).map_err(|error| self.failed(what, error))
    }

    /// The error of a call that the driver refused.
    fn failed(&self, what: &str, error: DriverError) -> Error {
        let text = format!("cuda:{}: {what} failed", self.ordinal);
        Error::new(ErrorKind::Device, text).with_source(DriverMessage(error))
    }

    fn kernels(&self, program: Program) -> &OnceLock<Kernels> {
        match program {
            Program::Pictures => &self.kernels,
            Program::Jpegs => &self.jpeg_kernels,
        }
    }

    /// Takes out what `drop` unloads.
    fn take_loaded(&mut self) -> ([Option<Kernels>; 2], Jpegs) {
        let kernels = [&mut self.kernels, &mut self.jpeg_kernels].map(OnceLock::take);
        (kernels, std::mem::take(&mut self.jpegs))
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

    /// The duration of a copy, if it is complete.
    fn time(&self, flight: &Flight) -> Result<Option<Duration>> {
        let [from, to] = [self.known(flight.times[0])?, self.known(flight.times[1])?];
        let milliseconds = self.call("copying a batch", || {
            // SAFETY: an event created here, alive.
            match unsafe { result::event::query(to) } {
                Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_READY)) => return Ok(None),
                result => result?,
            }
            // SAFETY: both are timed events created here, recorded, and the later one is reached.
            unsafe { result::event::elapsed(from, to) }.map(Some)
        })?;
        Ok(milliseconds.map(|some| Duration::from_secs_f64(f64::from(some.max(0.0)) / 1e3)))
    }
}

impl DeviceMemory for Cuda {
    fn allocate(&self, bytes: usize) -> Result<DevicePtr> {
        let what = format!("allocating {bytes} bytes of device memory");
        let made = self.call(&what, || {
            // SAFETY: returns an address.
            let made = unsafe { result::malloc_sync(bytes) };
            Ok(made.map_err(|error| (error, Shortage::of_driver(bytes, error))))
        })?;
        let made = made.map_err(|(error, shortage)| match shortage {
            Some(shortage) => shortage.of(&self.name()),
            None => self.failed(&what, error),
        })?;
        self.meter.took(MemoryKind::Device, bytes);
        held(&self.blocks).insert(made, bytes);
        Ok(DevicePtr(made))
    }

    fn free(&self, memory: DevicePtr) {
        let bytes = held(&self.blocks).remove(&memory.0);
        let freed = self.call("freeing device memory", || {
            // SAFETY: allocated by `allocate` and freed by its only owner; the driver validates the address.
            unsafe { result::free_sync(memory.0) }
        });
        if let Some(bytes) = bytes.filter(|_| freed.is_ok()) {
            self.meter.gave(MemoryKind::Device, bytes);
        }
    }

    fn copy_within(&self, from: DevicePtr, to: DevicePtr, bytes: usize) -> Result<()> {
        self.call("copying on the device", || {
            // SAFETY: addresses, which the driver validates; the memory belongs to this crate.
            unsafe { result::memcpy_dtod_async(to.0, from.0, bytes, self.stream(WorkStream::Copy)) }
        })
    }

    fn room(&self) -> Result<DeviceRoom> {
        self.call("querying free memory", shortage::room)
    }

    fn memory_counts(&self) -> MemoryCounts {
        self.meter.counts()
    }
}

impl Uploads for Cuda {
    fn upload(&self, parts: UploadParts<'_>, on_uploaded: &OnUploaded) -> Result<()> {
        let UploadParts { batch, spans, to, staged } = parts;
        let fixed = batch.fixed();
        if spans.is_empty() && staged.is_none() {
            return Ok(());
        }
        let times = self.times()?;
        let put = || {
            self.record_handle(times[0], WorkStream::Copy)?;
            self.call("copying a batch", || {
                let stream = self.stream(WorkStream::Copy);
                spans.iter().try_for_each(|span| {
                    // SAFETY: the bytes stay unchanged (the batch is sealed and kept in `flights`); the driver
                    // validates the device address.
                    unsafe { copy_span(fixed, *span, to, stream) }
                })?;
                staged.map_or(Ok(()), |staged| {
                    // SAFETY: the bytes stay unchanged (they are shared and kept in `flights`); the driver validates the
                    // device address.
                    unsafe { result::memcpy_htod_async(staged.to.0, staged.bytes(), stream) }
                })
            })?;
            self.record_handle(times[1], WorkStream::Copy)
        };
        let done = put();
        if done.is_ok() {
            self.flights.begun(Flight {
                batch: batch.clone(),
                staged: staged.map(|staged| staged.bytes.clone()),
                bytes: parts.bytes(),
                times,
                on_uploaded: on_uploaded.clone(),
            });
        } else {
            // It is unknown whether the device still reads the batch, so the batch is leaked.
            std::mem::forget((batch.clone(), staged.cloned()));
        }
        done
    }

    fn reap(&self) -> Result<usize> {
        self.flights.land(|flight| self.time(flight))
    }

    fn await_copy(&self) -> Result<()> {
        // Another thread may reap the copy and reuse its events meanwhile: then this waits for a later copy, which
        // is harmless.
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

    fn warning(&self) -> Option<Message> {
        held(&self.warning).clone()
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        if self.is_forked_child() {
            // Locks may stay held forever, and what they guard belongs to the parent process.
            self.flights.forget();
            std::mem::forget(self.take_loaded());
            return;
        }
        let done = self.call("waiting for copies", || self.streams.wait());
        if done.is_err() {
            self.flights.forget();
            std::mem::forget(self.take_loaded());
            return;
        }
        let made = self.take_loaded();
        let _ = self.call("unloading kernels and decoder", || {
            drop(made);
            Ok(())
        });
        let events: Vec<u64> = held(&self.events).iter().copied().collect();
        events.into_iter().for_each(|event| self.destroy_event(Event(event)));
        let _ = self.call("freeing streams", || {
            // SAFETY: this value is being dropped, so the streams are not used again.
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
    fn block(&self, bytes: usize) -> Option<Box<dyn ExternalMemory>> {
        // Linux places a page on the NUMA node of the thread that touches it first.
        let pinned = numa::on(&self.near, || {
            self.call("pinning memory", || {
                Pinned::new(bytes, self.context.clone(), self.meter.clone())
            })
        });
        match pinned {
            Ok(pinned) => Some(Box::new(pinned)),
            Err(error) => {
                let beside = self.meter.counts().pinned_bytes;
                let mut warning = held(&self.warning);
                warning.get_or_insert_with(|| not_pinned(bytes, beside, &error, self.ordinal));
                None
            }
        }
    }
}
