//! The device's context, for the time of a call; where the device hangs; what its driver says of errors.
//!
//! A room with unsafe code. What it relies on, and why it holds:
//! - a context is a device's primary one, retained as long as the value that has it;
//! - the driver writes into variables of the length that it is told.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::fmt;

use cudarc::driver::{DriverError, result, sys};

use crate::device::call_scope::{CallScope, Relaxed};

/// A device's primary context: what PyTorch and others use, too. Neither taking it nor giving it back changes which
/// context the calling thread has.
#[derive(Debug)]
pub(super) struct Primary {
    device: sys::CUdevice,
    /// A handle.
    context: usize,
    process: u32,
}

impl Primary {
    /// That of the device of this number.
    ///
    /// # Errors
    /// The driver's.
    pub(super) fn retain(ordinal: usize) -> Result<Primary, DriverError> {
        result::init()?;
        let none = DriverError(sys::CUresult::CUDA_ERROR_INVALID_DEVICE);
        let device = result::device::get(i32::try_from(ordinal).map_err(|_| none)?)?;
        let _relaxed = Relaxed::begin();
        // SAFETY: a device that the driver named just now; given back when this is dropped.
        let context = unsafe { result::primary_ctx::retain(device) }?;
        Ok(Primary { device, context: context as usize, process: std::process::id() })
    }

    /// It becomes that of the calling thread, for a while.
    ///
    /// # Errors
    /// The driver's.
    pub(super) fn enter(&self) -> Result<CallScope, DriverError> {
        // SAFETY: retained as long as this value, which callers keep.
        unsafe { CallScope::begin(self.context as sys::CUcontext) }
    }

    /// # Errors
    /// The driver's.
    pub(super) fn attribute(&self, of: sys::CUdevice_attribute) -> Result<i32, DriverError> {
        // SAFETY: a device that the driver named.
        unsafe { result::device::get_attribute(self.device, of) }
    }

    /// Where the device hangs: `0000:3b:00.0`.
    pub(super) fn bus(&self) -> Option<String> {
        let mut text: [c_char; 16] = [0; 16];
        // SAFETY: the driver writes at most 16 bytes, a text that ends in a zero.
        let said = unsafe { sys::cuDeviceGetPCIBusId(text.as_mut_ptr(), 16, self.device) };
        said.result().ok()?;
        let bytes: Vec<u8> = text.iter().map(|&byte| byte as u8).collect();
        Some(CStr::from_bytes_until_nul(&bytes).ok()?.to_str().ok()?.to_string())
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        let _relaxed = Relaxed::begin();
        // SAFETY: retained once by `retain`, given back once.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// What to say of a device that could not be had.
pub(super) fn why_refused(error: DriverError) -> String {
    if error.0 == sys::CUresult::CUDA_ERROR_STUB_LIBRARY {
        return "a stub libcuda.so of the CUDA toolkit was loaded instead of the driver: its folder (lib64/stubs) is \
                on LD_LIBRARY_PATH; remove it from there"
            .into();
    }
    let count = result::device::get_count().unwrap_or(0);
    format!("the driver refused it; it has {count} devices")
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
