//! Streams: our own two, and what is asked of the consumer's.
//!
//! A room with unsafe code. What it relies on, and why it holds:
//! - our streams are alive until `destroy`, which their one owner calls last; the consumer's by the promise of
//!   `DeviceStream::raw`;
//! - the driver writes into variables here.
#![allow(unsafe_code)]

use cudarc::driver::{DriverError, result, sys};

use crate::device::driver::WorkStream;

/// Our own streams, in the context that was current when they were made, by their handles.
pub(super) struct Streams {
    copying: usize,
    decoding: usize,
}

impl Streams {
    /// # Errors
    /// The driver's.
    pub(super) fn new() -> Result<Streams, DriverError> {
        // Decoding waits for no copy, and no copy for it.
        Ok(Streams { copying: first()?, decoding: first()? })
    }

    pub(super) fn of(&self, on: WorkStream) -> sys::CUstream {
        match on {
            WorkStream::Copy => self.copying as sys::CUstream,
            WorkStream::Decode => self.decoding as sys::CUstream,
            WorkStream::Consumer(stream) => stream.handle() as usize as sys::CUstream,
        }
    }

    fn both(&self) -> [sys::CUstream; 2] {
        [self.of(WorkStream::Copy), self.of(WorkStream::Decode)]
    }

    /// Waits until ours have done what was put into them.
    ///
    /// # Errors
    /// The driver's.
    pub(super) fn wait(&self) -> Result<(), DriverError> {
        // SAFETY: ours, and alive.
        self.both().iter().try_for_each(|&stream| unsafe { result::stream::synchronize(stream) })
    }

    /// Destroys ours.
    ///
    /// # Errors
    /// The driver's.
    ///
    /// # Safety
    /// They are not used again.
    pub(super) unsafe fn destroy(&self) -> Result<(), DriverError> {
        // SAFETY: by this function's promise.
        self.both().iter().try_for_each(|&stream| unsafe { result::stream::destroy(stream) })
    }
}

/// A stream. What it starts comes before kernels of streams that say nothing of it: ours are short, and the next batch
/// should not wait for a training's long ones.
fn first() -> Result<usize, DriverError> {
    let (mut least, mut greatest, mut made) = (0, 0, std::ptr::null_mut());
    // SAFETY: writes to variables here.
    unsafe { sys::cuCtxGetStreamPriorityRange(&mut least, &mut greatest) }.result()?;
    let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
    // SAFETY: as above.
    unsafe { sys::cuStreamCreateWithPriority(&mut made, flags, greatest) }.result()?;
    Ok(made as usize)
}

/// Whether a stream is being captured into a graph.
///
/// # Errors
/// The driver's.
pub(super) fn is_captured(stream: sys::CUstream) -> Result<bool, DriverError> {
    let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: ours, or the consumer's, by his promise; writes to a variable here.
    let asked = unsafe { sys::cuStreamIsCapturing(stream, &mut status) };
    // The legacy stream would wait for a stream that is captured.
    if asked == sys::CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT {
        return Ok(true);
    }
    asked.result()?;
    Ok(status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
}
