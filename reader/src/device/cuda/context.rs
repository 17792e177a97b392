//! The device's context, for the time of a call; where the device hangs; what its driver says of errors.
//!
//! A room with unsafe code. What it relies on, and why it holds:
//! - a context is alive as long as the reference to it; what is put on the thread's stack of contexts is
//!   taken off again when its guard is dropped, by the same thread;
//! - the driver writes into variables of the length that it is told.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::fmt;
use std::marker::PhantomData;

use cudarc::driver::{CudaContext, DriverError, sys};

/// The calling thread's context while this lives.
pub(super) struct Entered(PhantomData<*const ()>); // stays in its thread

impl Drop for Entered {
    fn drop(&mut self) {
        let mut before = std::ptr::null_mut();
        // SAFETY: takes off what `enter` put there; the pointer is to a variable here.
        let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut before) };
    }
}

/// The device's context becomes that of the calling thread, for a while.
///
/// # Errors
/// The driver's.
pub(super) fn enter(context: &CudaContext) -> Result<Entered, DriverError> {
    // SAFETY: a context that is alive as long as the reference; taken off again by `Entered`.
    unsafe { sys::cuCtxPushCurrent_v2(context.cu_ctx()) }.result()?;
    Ok(Entered(PhantomData))
}

/// Where the device hangs: `0000:3b:00.0`.
pub(super) fn bus(context: &CudaContext) -> Option<String> {
    let mut text: [c_char; 16] = [0; 16];
    // SAFETY: the driver writes at most 16 bytes, a text that ends in a zero.
    let said = unsafe { sys::cuDeviceGetPCIBusId(text.as_mut_ptr(), 16, context.cu_device()) };
    said.result().ok()?;
    let bytes: Vec<u8> = text.iter().map(|&byte| byte as u8).collect();
    Some(CStr::from_bytes_until_nul(&bytes).ok()?.to_str().ok()?.to_string())
}

/// What the driver says of an error.
#[derive(Debug)]
pub(super) struct Words(pub(super) DriverError);

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |found: Result<&CStr, DriverError>| {
            found.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
        };
        write!(f, "{} ({})", text(self.0.error_string()), text(self.0.error_name()))
    }
}

impl std::error::Error for Words {}
