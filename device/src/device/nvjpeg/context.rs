//! The context of a decoder, and events in its stream, through CUDA's driver API.
//!
//! Contains unsafe code. What it relies on, and why it holds:
//! - a context handle is valid: it is a device's primary context, which its owner keeps as long as anything created
//!   in it (`Nvjpeg::new` requires that), and the driver rejects a released one.
#![allow(unsafe_code)]

use cudarc::driver::{result, sys};
use tarflume_types::{Error, ErrorKind, Result};

use crate::device::call_scope::{CallScope, DriverMessage};
use crate::device::presence::is_driver_there;

/// A context handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Context(usize);

impl Context {
    /// The calling thread's current context.
    ///
    /// # Errors
    /// [`ErrorKind::Device`]: no driver is installed, or the thread has no context.
    pub(super) fn current() -> Result<Context> {
        if !is_driver_there() {
            let text = "nvJPEG needs an NVIDIA driver, and this machine has none (libcuda.so was not \
                        found)";
            return Err(Error::new(ErrorKind::Device, text));
        }
        match result::ctx::get_current() {
            Ok(Some(context)) => Ok(Context(context as usize)),
            _ => {
                let text = "nvJPEG was called on a thread without a current CUDA context";
                Err(Error::new(ErrorKind::Device, text))
            }
        }
    }

    /// Makes the context current for the lifetime of the result; `None` if the driver fails.
    pub(super) fn enter(self) -> Option<CallScope> {
        // SAFETY: the owner of the context keeps it.
        unsafe { CallScope::begin(self.0 as sys::CUcontext) }.ok()
    }

    /// Waits until the stream has finished its work.
    ///
    /// # Errors
    /// [`ErrorKind::Device`]: the device failed, with the driver's message.
    ///
    /// # Safety
    /// The stream belongs to this context and is alive.
    pub(super) unsafe fn finish(self, stream: u64) -> Result<()> {
        // SAFETY: by this function's contract.
        let done = unsafe { result::stream::synchronize(stream as usize as sys::CUstream) };
        done.map_err(|error| {
            let said = DriverMessage(error);
            Error::new(
                ErrorKind::Device,
                format!("the device failed while it decoded JPEGs: {said}"),
            )
        })
    }
}

/// An event in a stream. Counts as reached before it is first recorded.
#[derive(Debug)]
pub(super) struct DecoderEvent {
    /// The handle.
    event: usize,
    context: Context,
    process: u32,
}

impl DecoderEvent {
    /// Creates an event in the calling thread's context, which is `context`; `None` if the driver fails.
    pub(super) fn new(context: Context) -> Option<DecoderEvent> {
        let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32
            | sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC as u32;
        let mut event = std::ptr::null_mut();
        // SAFETY: writes one handle to a local variable.
        unsafe { sys::cuEventCreate(&mut event, flags) }.result().ok()?;
        Some(DecoderEvent { event: event as usize, context, process: std::process::id() })
    }

    /// Records the event after all work in the stream.
    ///
    /// # Safety
    /// The stream belongs to this context and is alive.
    pub(super) unsafe fn set(&self, stream: u64) -> bool {
        // SAFETY: an event created here, alive; a stream by this function's contract.
        let set = unsafe {
            result::event::record(self.event as sys::CUevent, stream as usize as sys::CUstream)
        };
        set.is_ok()
    }

    /// Whether the event is reached; false if the device failed.
    pub(super) fn is_reached(&self) -> bool {
        // SAFETY: an event created here, alive.
        unsafe { result::event::query(self.event as sys::CUevent) }.is_ok()
    }

    /// Blocks until the event is reached; false if the device failed.
    pub(super) fn wait(&self) -> bool {
        // SAFETY: an event created here, alive.
        unsafe { result::event::synchronize(self.event as sys::CUevent) }.is_ok()
    }
}

impl Drop for DecoderEvent {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        if let Some(_entered) = self.context.enter() {
            // SAFETY: created by `new`, destroyed once.
            let _ = unsafe { result::event::destroy(self.event as sys::CUevent) };
        }
    }
}
