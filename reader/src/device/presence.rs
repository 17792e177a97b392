//! Whether there is a driver of NVIDIA's.
//!
//! A room with unsafe code: a library is loaded. What runs then is NVIDIA's own, as it would be by any other call of
//! the driver's.
#![allow(unsafe_code)]

use std::sync::OnceLock;

/// Names of it, the likely one first: a name that is nowhere has the loader look into every folder.
const NAMES: [&str; 2] = ["libcuda.so.1", "libcuda.so"];

/// Whether there is a driver, or what calls itself one: looked for once, as a driver does not come while a program
/// runs. Asked of the system, not of cudarc: that has an answer only where nothing else in the program (candle) has it
/// linked with the driver instead of looking for it. Which file cudarc then loads is its own matter; a stub, which
/// programs are linked with, is known by what `cuInit` says.
pub(crate) fn is_driver_there() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    *THERE.get_or_init(|| {
        NAMES.iter().any(|name| {
            // SAFETY: see above.
            let found = unsafe { libloading::Library::new(*name) };
            found.map(std::mem::forget).is_ok() // it stays: a driver does not survive being unloaded
        })
    })
}
