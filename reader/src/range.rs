//! `Range`: a stretch of a thread's time that NVIDIA's profilers show by name (NVTX), with the feature `nvtx`. Without
//! it, or where no library of NVTX's is found, it is nothing.

use std::ffi::CStr;
use std::marker::PhantomData;

use crate::libraries::Libraries;

#[cfg(feature = "nvtx")]
mod nvtx;

/// The library that tells profilers is looked for in these places, too, unless it was looked for already: call it before
/// the first loader is made. Without the feature `nvtx` this does nothing.
pub fn tell_profilers_by(libraries: &Libraries) {
    #[cfg(feature = "nvtx")]
    nvtx::look_in(libraries.clone());
    #[cfg(not(feature = "nvtx"))]
    let _ = libraries;
}

/// Which reads are next.
pub(crate) const PLAN: &CStr = c"tarflume plan";
/// Bytes of shards.
pub(crate) const READ: &CStr = c"tarflume read";
/// From parts to rows.
pub(crate) const DECODE: &CStr = c"tarflume decode";
/// A batch is closed.
pub(crate) const BATCH: &CStr = c"tarflume batch";
/// A batch is put on its way to a device: the host's part of it, not the copy itself.
pub(crate) const UPLOAD: &CStr = c"tarflume upload";
/// The consumer waits for a batch.
pub(crate) const WAIT: &CStr = c"tarflume wait";

/// From its making to its end. Ranges of one thread lie one in the other, so it stays in its thread.
#[must_use]
pub(crate) struct Range {
    #[cfg(feature = "nvtx")]
    begun: bool,
    _here: PhantomData<*const ()>,
}

impl Range {
    #[cfg(not(feature = "nvtx"))]
    #[inline]
    pub(crate) fn begin(_: &'static CStr) -> Range {
        Range { _here: PhantomData }
    }

    #[cfg(feature = "nvtx")]
    pub(crate) fn begin(name: &'static CStr) -> Range {
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
