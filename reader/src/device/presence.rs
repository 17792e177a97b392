//! Whether there is a driver of NVIDIA's.
//!
//! A room with unsafe code: a library is loaded. What runs then is NVIDIA's own, as it would be by any other call of
//! the driver's.
#![allow(unsafe_code)]

/// Whether there is a driver. Asked of the system, not of cudarc: that has an answer only where nothing else
/// in the program (candle) has it linked with the driver instead of looking for it.
pub(super) fn is_driver_there() -> bool {
    ["libcuda.so", "libcuda.so.1"].iter().any(|name| {
        // SAFETY: see above.
        let found = unsafe { libloading::Library::new(*name) };
        found.map(std::mem::forget).is_ok() // it stays: cudarc loads it again
    })
}
