//! `Pinned`: host memory that the device copies from without the driver's help.
//!
//! A room with unsafe code. What it relies on, and why it holds:
//! - it is initialized: written with zeros first;
//! - it is the slab's alone, and freed once, when the slab is; a copy that reads it keeps the slab.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::{DriverError, result, sys};

use super::context::Primary;
use crate::error::Error;
use crate::slab::Foreign;

/// All contexts see it; not write-combined, as it is read here, too.
const PORTABLE: u32 = 1;

/// Memory that the device copies from without the driver's help.
#[derive(Debug)]
pub(super) struct Pinned {
    start: NonNull<u8>,
    length: usize,
    context: Arc<Primary>,
    process: u32,
}

impl Pinned {
    /// So many bytes of zeros.
    ///
    /// # Errors
    /// The driver's: the system lets this process pin no more.
    pub(super) fn new(length: usize, context: Arc<Primary>) -> Result<Pinned, DriverError> {
        // SAFETY: gives an address.
        let start = unsafe { result::malloc_host(length, PORTABLE) }?;
        let refused = DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        let start = NonNull::new(start.cast::<u8>()).ok_or(refused)?;
        // SAFETY: so many bytes, just allocated.
        unsafe { start.write_bytes(0, length) };
        Ok(Pinned { start, length, context, process: std::process::id() })
    }
}

// SAFETY: owns its memory, as a `Box<[u8]>` does; the driver's functions may be called by any thread.
unsafe impl Send for Pinned {}
// SAFETY: as above; a shared one gives its address and nothing else.
unsafe impl Sync for Pinned {}

// SAFETY: allocated and zeroed in `new`, not handed to anybody else, freed when dropped.
unsafe impl Foreign for Pinned {
    fn start(&self) -> NonNull<u8> {
        self.start
    }

    fn length(&self) -> usize {
        self.length
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: allocated in `new` by the driver, freed once.
            let _ = unsafe { result::free_host(self.start.as_ptr().cast()) };
        }
    }
}

/// What to say of memory that the driver did not pin.
pub(super) fn not_pinned(bytes: usize, error: &Error, ordinal: usize) -> String {
    format!(
        "{bytes} bytes of host memory could not be pinned ({error}): copies to cuda:{ordinal} are slower and hold the \
         host up. The memory limit of the container (cgroup) or the IOMMU may leave no more to be pinned: take fewer or \
         smaller batches, or raise that limit"
    )
}
