//! The events of a device: CUDA events created by this process, in a table of handles.
//!
//! Contains unsafe code. What it relies on, and why it holds:
//! - an event in the table is alive: it is removed before it is destroyed;
//! - streams are owned here, or the consumer's by the contract of `DeviceStream::raw`.
#![allow(unsafe_code)]

use cudarc::driver::{result, sys};
use tarflume_types::{Error, ErrorKind, Result};

use super::streams::{Hindrance, hindrance};
use super::{Cuda, held};
use crate::device::driver::{Event, Events, WorkStream};

fn raw(handle: u64) -> sys::CUevent {
    handle as usize as sys::CUevent
}

impl Cuda {
    /// Returns an error if the stream is being captured, because recording an event there would invalidate the capture; or
    /// if it is of another context, because events are recorded in streams of their own context alone.
    pub(super) fn expect_usable(&self, on: WorkStream) -> Result<()> {
        let WorkStream::Consumer(stream) = on else { return Ok(()) };
        let text = match self.call("querying a stream", || hindrance(stream))? {
            None => return Ok(()),
            Some(Hindrance::OtherContext) => {
                "the stream is of another context than the primary one of the device: of a green context, or of another \
                 device. Take and drop batches on a stream of the primary context, and order the other stream behind it \
                 with an event"
            }
            Some(Hindrance::Captured) => {
                "the stream is being captured into a CUDA graph, where batches cannot be taken or dropped: take batches \
                 before the capture, drop them after it, and copy them into the graph's own tensors"
            }
        };
        Err(Error::new(ErrorKind::Device, format!("cuda:{}: {text}", self.ordinal)))
    }

    /// The CUDA event with this handle.
    ///
    /// # Errors
    /// Returns an error if it is not an event of this device.
    pub(super) fn known(&self, handle: u64) -> Result<sys::CUevent> {
        let known = held(&self.events).contains(&handle);
        let text = "this event does not belong to this device";
        known.then(|| raw(handle)).ok_or_else(|| Error::new(ErrorKind::Device, text))
    }

    pub(super) fn make(&self, flags: sys::CUevent_flags) -> Result<u64> {
        // A waiting thread sleeps instead of spinning.
        let flags = flags as u32 | sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC as u32;
        let mut made = std::ptr::null_mut();
        self.call("creating an event", || {
            // SAFETY: the pointer is to a local variable.
            unsafe { sys::cuEventCreate(&mut made, flags) }.result()
        })?;
        held(&self.events).insert(made as u64);
        Ok(made as u64)
    }

    pub(super) fn record_handle(&self, handle: u64, on: WorkStream) -> Result<()> {
        self.expect_usable(on)?;
        let event = self.known(handle)?;
        let stream = self.stream(on);
        self.call("recording an event", || {
            // SAFETY: an event created here, alive; a stream owned here, or the consumer's by the contract of
            // `DeviceStream::raw`.
            unsafe { result::event::record(event, stream) }
        })
    }
}

impl Events for Cuda {
    fn create_event(&self) -> Result<Event> {
        self.make(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).map(Event)
    }

    fn destroy_event(&self, event: Event) {
        if held(&self.events).remove(&event.0) {
            let _ = self.call("destroying an event", || {
                // SAFETY: an event created here, removed from the table above, so no other call finds it.
                unsafe { result::event::destroy(raw(event.0)) }
            });
        }
    }

    fn event_handle(&self, event: Event) -> u64 {
        event.0
    }

    fn record(&self, event: Event, stream: WorkStream) -> Result<()> {
        self.record_handle(event.0, stream)
    }

    fn wait_event(&self, event: Event, stream: WorkStream) -> Result<()> {
        self.expect_usable(stream)?;
        let event = self.known(event.0)?;
        let stream = self.stream(stream);
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        self.call("making a stream wait", || {
            // SAFETY: as in `record_handle`.
            unsafe { result::stream::wait_event(stream, event, flags) }
        })
    }

    fn synchronize(&self, event: Event) -> Result<()> {
        let event = self.known(event.0)?;
        self.call("waiting for the device", || {
            // SAFETY: an event created here, alive.
            unsafe { result::event::synchronize(event) }
        })
    }
}
