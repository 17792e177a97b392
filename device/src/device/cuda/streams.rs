//! The three streams that this crate owns, and queries about the consumer's streams.
//!
//! Contains unsafe code. What it relies on, and why it holds:
//! - owned streams are alive until `destroy`, which their only owner calls last; the consumer's by the contract of
//!   `DeviceStream::raw`;
//! - the driver writes into local variables.
#![allow(unsafe_code)]

use cudarc::driver::{DriverError, result, sys};

use crate::device::driver::{DeviceStream, WorkStream};

/// The owned streams by their handles, in the context that was current at their creation.
pub(super) struct Streams {
    copying: usize,
    computing: usize,
    decoding: usize,
}

impl Streams {
    /// Creates the streams.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub(super) fn new() -> Result<Streams, DriverError> {
        // Three streams, so that copies, kernels and decoding do not wait for each other.
        Ok(Streams { copying: first()?, computing: first()?, decoding: first()? })
    }

    pub(super) fn of(&self, on: WorkStream) -> sys::CUstream {
        match on {
            WorkStream::Copy => self.copying as sys::CUstream,
            WorkStream::Kernel => self.computing as sys::CUstream,
            WorkStream::Decode => self.decoding as sys::CUstream,
            WorkStream::Consumer(stream) => stream.handle() as usize as sys::CUstream,
        }
    }

    fn all(&self) -> [sys::CUstream; 3] {
        [WorkStream::Copy, WorkStream::Kernel, WorkStream::Decode].map(|stream| self.of(stream))
    }

    /// Waits until the owned streams have finished their work.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub(super) fn wait(&self) -> Result<(), DriverError> {
        // SAFETY: owned and alive.
        self.all().iter().try_for_each(|&stream| unsafe { result::stream::synchronize(stream) })
    }

    /// Destroys the owned streams.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Safety
    /// They are not used again.
    pub(super) unsafe fn destroy(&self) -> Result<(), DriverError> {
        // SAFETY: by this function's contract.
        self.all().iter().try_for_each(|&stream| unsafe { result::stream::destroy(stream) })
    }
}

/// Creates a stream of the highest priority. Its kernels are short, and the next batch should not wait for the long
/// kernels of a training step. Non-blocking, so that it does not synchronize with the legacy default stream.
fn first() -> Result<usize, DriverError> {
    let mut least = 0;
    let mut greatest = 0;
    let mut made = std::ptr::null_mut();
    // SAFETY: writes to local variables.
    unsafe { sys::cuCtxGetStreamPriorityRange(&mut least, &mut greatest) }.result()?;
    let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
    // SAFETY: as above.
    unsafe { sys::cuStreamCreateWithPriority(&mut made, flags, greatest) }.result()?;
    Ok(made as usize)
}

/// Why a stream of the consumer cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hindrance {
    /// Its context is not the current one of the calling thread.
    OtherContext,
    /// It is being captured into a graph.
    Captured,
}

/// Returns why a stream of the consumer cannot be used in the calling thread's current context; `None` if it can. The
/// default streams belong to that context.
///
/// # Errors
/// Returns the driver's error.
pub(super) fn hindrance(stream: DeviceStream) -> Result<Option<Hindrance>, DriverError> {
    let raw = stream.handle() as usize as sys::CUstream;
    let is_default = stream.handle() <= DeviceStream::PER_THREAD.handle();
    if !is_default && !is_of_this_context(raw)? {
        return Ok(Some(Hindrance::OtherContext));
    }
    Ok(is_captured(raw)?.then_some(Hindrance::Captured))
}

/// Whether a stream of the consumer is of the calling thread's current context. Streams of green contexts have another one,
/// and so have those of other devices.
///
/// # Errors
/// Returns the driver's error.
fn is_of_this_context(stream: sys::CUstream) -> Result<bool, DriverError> {
    let mut of_stream = std::ptr::null_mut();
    // SAFETY: the consumer's by its contract; writes to a local variable.
    unsafe { sys::cuStreamGetCtx(stream, &mut of_stream) }.result()?;
    Ok(result::ctx::get_current()?.is_some_and(|current| current == of_stream))
}

/// Whether a stream is being captured into a graph.
///
/// # Errors
/// Returns the driver's error.
fn is_captured(stream: sys::CUstream) -> Result<bool, DriverError> {
    let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: owned, or the consumer's by its contract; writes to a local variable.
    let result = unsafe { sys::cuStreamIsCapturing(stream, &mut status) };
    // The legacy stream returns this error while a stream that it would synchronize with is captured.
    if result == sys::CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT {
        return Ok(true);
    }
    result.result()?;
    Ok(status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
}
