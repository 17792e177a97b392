//! `CallScope`: what the calling thread is for the time of a call of the driver's, and then what it was before.
//!
//! `torch.cuda.graph` captures a stream so that calls of *any* thread that may wait or allocate are refused meanwhile,
//! and spoil the capture. That guards against a thread whose call changes what is captured. None of our calls does,
//! so each is made in the relaxed mode.
//!
//! A room with unsafe code. What it relies on, and why it holds:
//! - a context is followed by its number: its owner keeps it as long as the visit;
//! - what is put on the thread's stack of contexts is taken off again when the guard is dropped, by the same thread;
//! - the driver writes into variables here.
#![allow(unsafe_code)]

use std::marker::PhantomData;

use cudarc::driver::{DriverError, sys};

use sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED as RELAXED;

/// The calling thread's calls are no matter of captures while this lives.
pub(crate) struct Relaxed(Option<sys::CUstreamCaptureMode>, PhantomData<*const ()>); // stays in its thread

impl Relaxed {
    pub(crate) fn begin() -> Relaxed {
        let before = exchange(RELAXED).filter(|&before| before != RELAXED);
        Relaxed(before, PhantomData)
    }
}

impl Drop for Relaxed {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            exchange(before);
        }
    }
}

/// The mode before; none before the driver is ready, when there is no capture.
fn exchange(mut mode: sys::CUstreamCaptureMode) -> Option<sys::CUstreamCaptureMode> {
    // SAFETY: reads and writes a variable here.
    let done = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) };
    (done == sys::CUresult::CUDA_SUCCESS).then_some(mode)
}

/// A device's context is the calling thread's while this lives, and captures don't mind its calls.
pub(crate) struct CallScope(#[allow(dead_code)] Relaxed); // kept for its drop

impl CallScope {
    /// # Errors
    /// The driver's.
    ///
    /// # Safety
    /// The context is kept by its owner as long as the visit.
    pub(crate) unsafe fn begin(context: sys::CUcontext) -> Result<CallScope, DriverError> {
        let relaxed = Relaxed::begin();
        // SAFETY: by this function's promise; taken off again by `drop`.
        unsafe { sys::cuCtxPushCurrent_v2(context) }.result()?;
        Ok(CallScope(relaxed))
    }
}

impl Drop for CallScope {
    fn drop(&mut self) {
        let mut before = std::ptr::null_mut();
        // SAFETY: takes off what `begin` put there; the pointer is to a variable here.
        let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut before) };
    }
}
