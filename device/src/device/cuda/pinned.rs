//! `Pinned`: page-locked host memory, which the device copies from directly, and these copies.
//!
//! Contains unsafe code. What it relies on, and why it holds:
//! - it is initialized: zeroed after allocation;
//! - the slab is its only user and frees it once; a copy that reads it keeps the slab.
#![allow(unsafe_code)]

use std::error;
use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::{DriverError, result, sys};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Phrase};
use tarflume_types::Error;

use super::context::Primary;
use crate::device::driver::{CopySpan, DevicePtr};
use crate::device::room::meter::{MemoryKind, MemoryMeter};
use crate::slab::ExternalMemory;

/// Page-locked memory.
#[derive(Debug)]
pub(super) struct Pinned {
    start: NonNull<u8>,
    length: usize,
    context: Arc<Primary>,
    meter: Arc<MemoryMeter>,
    process: u32,
}

impl Pinned {
    /// Allocates `length` zeroed bytes.
    ///
    /// # Errors
    /// Returns the driver's error if the system lets this process pin no more memory.
    pub(super) fn new(
        length: usize,
        context: Arc<Primary>,
        meter: Arc<MemoryMeter>,
    ) -> Result<Pinned, DriverError> {
        // Visible to all contexts. Not write-combined, because the host reads the memory, too.
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE;
        // SAFETY: returns an address.
        let start = unsafe { result::malloc_host(length, flags) }?;
        let refused = DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        let start = NonNull::new(start.cast::<u8>()).ok_or(refused)?;
        // SAFETY: `length` bytes, allocated above.
        unsafe { start.write_bytes(0, length) };
        meter.took(MemoryKind::Pinned, length);
        Ok(Pinned { start, length, context, meter, process: std::process::id() })
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
        self.meter.gave(MemoryKind::Pinned, self.length);
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: allocated in `new` by the driver, freed once.
            let _ = unsafe { result::free_host(self.start.as_ptr().cast()) };
        }
    }
}

/// Copies a part of `from` to the same offset behind `to`.
///
/// # Errors
/// Returns the driver's error.
///
/// # Safety
/// The bytes of the part stay unchanged until the stream has passed this call. The stream belongs to the calling thread's
/// context and is alive.
pub(super) unsafe fn copy_span(
    from: &[u8],
    span: CopySpan,
    to: DevicePtr,
    stream: sys::CUstream,
) -> Result<(), DriverError> {
    let CopySpan { at, width, pitch, rows } = span;
    let last = rows.saturating_sub(1) * pitch;
    let bytes = &from[at..at + last + width];
    let to = to.0 + at as u64;
    if rows == 1 {
        // SAFETY: by this function's contract; the driver validates the device address.
        return unsafe { result::memcpy_htod_async(to, bytes, stream) };
    }
    let copy = sys::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
        srcHost: bytes.as_ptr().cast(),
        srcDevice: 0,
        srcArray: std::ptr::null_mut(),
        srcPitch: pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstHost: std::ptr::null_mut(),
        dstDevice: to,
        dstArray: std::ptr::null_mut(),
        dstPitch: pitch,
        WidthInBytes: width,
        Height: rows,
    };
    // SAFETY: by this function's contract; the rows are within `bytes`; the driver validates the device address.
    unsafe { sys::cuMemcpy2DAsync_v2(&copy, stream) }.result()
}

/// The warning for memory that the driver could not pin, beside `pinned` bytes that it did pin.
pub(super) fn not_pinned(bytes: usize, pinned: u64, error: &Error, ordinal: usize) -> Message {
    let said = error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    message!(
        "{bytes} bytes of host memory could not be pinned beside the {pinned} bytes that are ({said}): copies to \
         cuda:{ordinal} are slower and block the host. The memory limit of the container (cgroup) or the IOMMU may limit \
         pinned memory: raise that limit, or use {smaller}";
        smaller = Phrase::SmallerDeviceBatches
    )
}
