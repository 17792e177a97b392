//! The context in which a decoder was made, and the stream that it works for: by CUDA's driver.
//!
//! A room with unsafe code. What it relies on, and why it holds:
//! - a context is followed by its number: it is a device's primary one, which its owner keeps as long as
//!   anything made in it (`Nvjpeg::new` demands it), and the driver refuses one that was given back.
#![allow(unsafe_code)]

use cudarc::driver::{result, sys};

use crate::device::call_scope::CallScope;
use crate::device::presence::is_driver_there;
use crate::error::{Error, ErrorKind, Result};

/// A context, as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Context(usize);

impl Context {
    /// The calling thread's.
    ///
    /// # Errors
    /// [`ErrorKind::Device`]: there is no driver; the thread has none.
    pub(super) fn current() -> Result<Context> {
        if !is_driver_there() {
            let text = "nvJPEG needs an NVIDIA driver, and there is none on this machine (libcuda.so was \
                        not found)";
            return Err(Error::new(ErrorKind::Device, text));
        }
        match result::ctx::get_current() {
            Ok(Some(context)) => Ok(Context(context as usize)),
            _ => {
                let text = "nvJPEG was asked for by a thread that has entered no device's context";
                Err(Error::new(ErrorKind::Device, text))
            }
        }
    }

    /// It becomes that of the calling thread, for a while; none if the driver refuses.
    pub(super) fn enter(self) -> Option<CallScope> {
        // SAFETY: a context that its owner keeps.
        unsafe { CallScope::begin(self.0 as sys::CUcontext) }.ok()
    }

    /// Waits until the stream is done with all that was put into it.
    ///
    /// # Errors
    /// [`ErrorKind::Device`]: the device does nothing any more, in the driver's words.
    ///
    /// # Safety
    /// The stream is one of this context and alive.
    pub(super) unsafe fn finish(self, stream: u64) -> Result<()> {
        // SAFETY: by this function's promise.
        let done = unsafe { result::stream::synchronize(stream as usize as sys::CUstream) };
        done.map_err(|error| {
            let words = error.error_string();
            let words = words.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
            let text = format!("the device failed while it decoded JPEGs: {words} ({:?})", error.0);
            Error::new(ErrorKind::Device, text)
        })
    }
}

/// A mark behind what was put into a stream, and nothing before it was set.
#[derive(Debug)]
pub(super) struct Event {
    /// A handle.
    event: usize,
    context: Context,
    process: u32,
}

impl Event {
    /// In the calling thread's context, which is `context`; none if the driver refuses.
    pub(super) fn new(context: Context) -> Option<Event> {
        let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32
            | sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC as u32;
        let mut event = std::ptr::null_mut();
        // SAFETY: writes one handle to a variable here.
        unsafe { sys::cuEventCreate(&mut event, flags) }.result().ok()?;
        Some(Event { event: event as usize, context, process: std::process::id() })
    }

    /// Behind all that stands in the stream.
    ///
    /// # Safety
    /// The stream is one of this context and alive.
    pub(super) unsafe fn set(&self, stream: u64) -> bool {
        // SAFETY: an event of ours, which is alive; a stream by this function's promise.
        let set = unsafe {
            result::event::record(self.event as sys::CUevent, stream as usize as sys::CUstream)
        };
        set.is_ok()
    }

    /// Waits until it is reached, here; false if the device does nothing any more.
    pub(super) fn wait(&self) -> bool {
        // SAFETY: an event of ours, which is alive.
        unsafe { result::event::synchronize(self.event as sys::CUevent) }.is_ok()
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        if let Some(_entered) = self.context.enter() {
            // SAFETY: made by `new`, destroyed once.
            let _ = unsafe { result::event::destroy(self.event as sys::CUevent) };
        }
    }
}
