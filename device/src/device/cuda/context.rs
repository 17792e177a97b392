//! The device's primary context, its PCI address, and why a device could not be opened.
//!
//! Contains unsafe code. What it relies on, and why it holds:
//! - a context is a device's primary one, retained for the lifetime of its value;
//! - the driver writes into local variables of the length that it receives.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};

use cudarc::driver::{DriverError, result, sys};

use crate::device::call_scope::{CallScope, RelaxedCapture};

/// A device's primary context, which PyTorch and others use, too. Retaining and releasing it do not change the calling
/// thread's current context.
#[derive(Debug)]
pub(super) struct Primary {
    device: sys::CUdevice,
    /// A handle.
    context: usize,
    process: u32,
}

impl Primary {
    /// Retains the context of the device with this ordinal.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub(super) fn retain(ordinal: usize) -> Result<Primary, DriverError> {
        result::init()?;
        let none = DriverError(sys::CUresult::CUDA_ERROR_INVALID_DEVICE);
        let device = result::device::get(i32::try_from(ordinal).map_err(|_| none)?)?;
        let _relaxed = RelaxedCapture::begin();
        // SAFETY: a device that the driver returned; released when this value is dropped.
        let context = unsafe { result::primary_ctx::retain(device) }?;
        Ok(Primary { device, context: context as usize, process: std::process::id() })
    }

    /// Makes the context current on the calling thread for the lifetime of the result.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub(super) fn enter(&self) -> Result<CallScope, DriverError> {
        // SAFETY: retained for the lifetime of this value, which outlives the guard.
        unsafe { CallScope::begin(self.context as sys::CUcontext) }
    }

    /// An attribute of the device.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub(super) fn attribute(&self, of: sys::CUdevice_attribute) -> Result<i32, DriverError> {
        // SAFETY: a device that the driver returned.
        unsafe { result::device::get_attribute(self.device, of) }
    }

    /// The PCI address: `0000:3b:00.0`.
    pub(super) fn bus(&self) -> Option<String> {
        let mut text: [c_char; 16] = [0; 16];
        // SAFETY: the driver writes at most 16 bytes, a text that ends in a zero byte.
        let status = unsafe { sys::cuDeviceGetPCIBusId(text.as_mut_ptr(), 16, self.device) };
        status.result().ok()?;
        let bytes: Vec<u8> = text.iter().map(|&byte| byte as u8).collect();
        Some(CStr::from_bytes_until_nul(&bytes).ok()?.to_str().ok()?.to_string())
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        let _relaxed = RelaxedCapture::begin();
        // SAFETY: retained once by `retain`, released once.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// Why a device could not be opened.
pub(super) fn why_refused(error: DriverError) -> String {
    if error.0 == sys::CUresult::CUDA_ERROR_STUB_LIBRARY {
        return "a stub libcuda.so of the CUDA toolkit was loaded instead of the driver: its folder (lib64/stubs) is \
                on LD_LIBRARY_PATH; remove it from there"
            .into();
    }
    if error.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY {
        return "it has no memory for a context of this program, which takes some hundred MB: end other programs that \
                use it (nvidia-smi lists them), or choose another device"
            .into();
    }
    let count = result::device::get_count().unwrap_or(0);
    format!("the driver refused it; it has {count} devices")
}
