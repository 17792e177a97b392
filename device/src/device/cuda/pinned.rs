//! `Pinned`: page-locked host memory, which the device copies from directly.
//!
//! Contains unsafe code. What it relies on, and why it holds:
//! - it is initialized: zeroed after allocation;
//! - the slab is its only user and frees it once; a copy that reads it keeps the slab.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::{DriverError, result, sys};
use tarflume_types::Error;

use super::context::Primary;
use crate::slab::ExternalMemory;

/// `CU_MEMHOSTALLOC_PORTABLE`: visible to all contexts. Not write-combined, because the host reads the memory, too.
const PORTABLE: u32 = 1;

/// Page-locked memory.
#[derive(Debug)]
pub(super) struct Pinned {
    start: NonNull<u8>,
    length: usize,
    context: Arc<Primary>,
    process: u32,
}

impl Pinned {
    /// Allocates `length` zeroed bytes.
    ///
    /// # Errors
    /// Returns the driver's error if the system lets this process pin no more memory.
    pub(super) fn new(length: usize, context: Arc<Primary>) -> Result<Pinned, DriverError> {
        // SAFETY: returns an address.
        let start = unsafe { result::malloc_host(length, PORTABLE) }?;
        let refused = DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        let start = NonNull::new(start.cast::<u8>()).ok_or(refused)?;
        // SAFETY: `length` bytes, allocated above.
        unsafe { start.write_bytes(0, length) };
        Ok(Pinned { start, length, context, process: std::process::id() })
    }
}

// SAFETY: owns its memory, as a `Box<[u8]>` does; the driver's functions may be called by any thread.
unsafe impl Send for Pinned {}
// SAFETY: as above; a shared value only returns its address.
unsafe impl Sync for Pinned {}

// SAFETY: allocated and zeroed in `new`, not shared with other code, freed on drop.
unsafe impl ExternalMemory for Pinned {
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

/// The warning for memory that the driver could not pin.
pub(super) fn not_pinned(bytes: usize, error: &Error, ordinal: usize) -> String {
    format!(
        "{bytes} bytes of host memory could not be pinned ({error}): copies to cuda:{ordinal} are slower and block the \
         host. The memory limit of the container (cgroup) or the IOMMU may limit pinned memory: use fewer or smaller \
         batches, or raise that limit"
    )
}
