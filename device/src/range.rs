//! `Range`: a named span of a thread's time in NVIDIA's profilers (NVTX), with the feature `nvtx`. Does nothing
//! without the feature or if no NVTX library is found.

use std::ffi::CStr;
use std::marker::PhantomData;

use crate::libraries::Libraries;

#[cfg(feature = "nvtx")]
mod nvtx;

/// Adds places in which the NVTX library is searched. Call it before the first loader is made, because the library is
/// searched once. Does nothing without the feature `nvtx`.
pub fn tell_profilers_by(libraries: &Libraries) {
    #[cfg(feature = "nvtx")]
    nvtx::search_in(libraries.clone());
    #[cfg(not(feature = "nvtx"))]
    let _ = libraries;
}

/// Planning of the next reads.
pub const PLAN: &CStr = c"tarflume plan";
/// Reading bytes of shards.
pub const READ: &CStr = c"tarflume read";
/// Decoding parts into rows.
pub const DECODE: &CStr = c"tarflume decode";
/// Closing a batch.
pub const BATCH: &CStr = c"tarflume batch";
/// Mixing rows of a batch with each other.
pub const MIX: &CStr = c"tarflume mix";
/// Submitting an upload to a device: the host's part, not the copy itself.
pub(crate) const UPLOAD: &CStr = c"tarflume upload";
/// The consumer waiting for a batch.
pub const WAIT: &CStr = c"tarflume wait";

/// A span from construction to drop. Spans of one thread nest, so a value stays on its thread.
#[must_use]
pub struct Range {
    #[cfg(feature = "nvtx")]
    begun: bool,
    _here: PhantomData<*const ()>,
}

impl Range {
    /// Begins a span of this thread. `name` is one of the constants of this module.
    #[cfg(not(feature = "nvtx"))]
    #[inline]
    pub fn begin(_: &'static CStr) -> Range {
        Range { _here: PhantomData }
    }

    /// Begins a span of this thread. `name` is one of the constants of this module.
    #[cfg(feature = "nvtx")]
    pub fn begin(name: &'static CStr) -> Range {
        Range { begun: nvtx::begin(name), _here: PhantomData }
    }
}

#[cfg(feature = "nvtx")]
impl Drop for Range {
    fn drop(&mut self) {
        if self.begun {
            nvtx::end();
        }
    }
}
