//! `CallScope`: sets the calling thread's context and capture mode for one driver call, and restores both.
//! `DriverMessage`: the driver's description of an error.
//!
//! `torch.cuda.graph` captures a stream in the global mode. Then calls of *any* thread that may wait or allocate fail
//! and invalidate the capture, to guard against calls that affect it. No call of this crate does, so each is made in
//! the relaxed mode (CUDA driver API, `cuThreadExchangeStreamCaptureMode`).
//!
//! Contains unsafe code. What it relies on, and why it holds:
//! - a context handle is valid: its owner keeps it for the lifetime of the guard;
//! - the guard pops the context that it pushed, on the same thread;
//! - the driver writes into local variables.
#![allow(unsafe_code)]

use std::error;
use std::ffi::CStr;
use std::fmt;
use std::marker::PhantomData;

use cudarc::driver::{DriverError, sys};

use sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED as RELAXED;

/// Exempts the calling thread's calls from captures during its lifetime.
/// Not `Send`, because the mode belongs to the thread.
pub(crate) struct RelaxedCapture(Option<sys::CUstreamCaptureMode>, PhantomData<*const ()>);

impl RelaxedCapture {
    pub(crate) fn begin() -> RelaxedCapture {
        let before = exchange(RELAXED).filter(|&before| before != RELAXED);
        RelaxedCapture(before, PhantomData)
    }
}

impl Drop for RelaxedCapture {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            exchange(before);
        }
    }
}

/// Exchanges the mode and returns the previous one; `None` before the driver is initialized, when no capture exists.
fn exchange(mut mode: sys::CUstreamCaptureMode) -> Option<sys::CUstreamCaptureMode> {
    // SAFETY: reads and writes a local variable.
    let done = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) };
    (done == sys::CUresult::CUDA_SUCCESS).then_some(mode)
}

/// Makes a device's context current on the calling thread, in the relaxed mode, during its lifetime.
pub(crate) struct CallScope {
    /// Restores the mode when the scope is dropped.
    _mode: RelaxedCapture,
}

impl CallScope {
    /// Enters the context.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Safety
    /// The owner of the context keeps it for the lifetime of the result.
    pub(crate) unsafe fn begin(context: sys::CUcontext) -> Result<CallScope, DriverError> {
        let relaxed = RelaxedCapture::begin();
        // SAFETY: by this function's contract; `drop` pops it.
        unsafe { sys::cuCtxPushCurrent_v2(context) }.result()?;
        Ok(CallScope { _mode: relaxed })
    }
}

impl Drop for CallScope {
    fn drop(&mut self) {
        let mut before = std::ptr::null_mut();
        // SAFETY: pops what `begin` pushed; the pointer is to a local variable.
        let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut before) };
    }
}

/// The driver's description of an error.
#[derive(Debug)]
pub(crate) struct DriverMessage(pub(crate) DriverError);

impl fmt::Display for DriverMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", text_of(self.0.error_string()), text_of(self.0.error_name()))
    }
}

fn text_of(found: Result<&CStr, DriverError>) -> String {
    found.map_or_else(|_| "unknown error".into(), |text| text.to_string_lossy().into_owned())
}

impl error::Error for DriverMessage {}
