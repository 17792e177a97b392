//! The context in which a decoder was made, and the stream that it works for: by CUDA's driver.
//!
//! A room with unsafe code. What it relies on, and why it holds:
//! - a context is followed by its number: it is a device's primary one, which its owner keeps as long as
//!   anything made in it (`Nvjpeg::new` demands it), and the driver refuses one that was given back;
//! - what is put on the thread's stack of contexts is taken off again when its guard is dropped, by the
//!   same thread.
#![allow(unsafe_code)]

use std::marker::PhantomData;

use cudarc::driver::{result, sys};

use crate::device::presence::is_driver_there;
use crate::error::{Error, ErrorKind, Result};

/// A context, as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Context(usize);

/// The calling thread's context while this lives.
pub(super) struct Entered(PhantomData<*const ()>); // stays in its thread

impl Drop for Entered {
    fn drop(&mut self) {
        let mut before = std::ptr::null_mut();
        // SAFETY: takes off what `enter` put there; the pointer is to a variable here.
        let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut before) };
    }
}

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
    pub(super) fn enter(self) -> Option<Entered> {
        // SAFETY: a context that its owner keeps; taken off again by `Entered`.
        let entered = unsafe { sys::cuCtxPushCurrent_v2(self.0 as sys::CUcontext) }.result();
        entered.ok().map(|()| Entered(PhantomData))
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
