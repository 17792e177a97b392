//! Whether an NVIDIA driver is installed.
//!
//! Contains unsafe code: it loads a library, whose initializers are NVIDIA's own and would run at any other call of the
//! driver, too.
#![allow(unsafe_code)]

use std::sync::OnceLock;

/// Library names, the likely one first: for a name that does not exist, the loader searches every folder.
const NAMES: [&str; 2] = ["libcuda.so.1", "libcuda.so"];

/// Whether a driver library can be loaded. Checked once, because a driver is not installed while a program runs. Uses
/// the system's loader and not cudarc, whose check gives no answer where another crate of the program (candle) links
/// cudarc with the driver. cudarc may load a different file. `cuInit` detects a stub library, which programs are linked
/// with.
pub(crate) fn is_driver_there() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    *THERE.get_or_init(|| {
        NAMES.iter().any(|name| {
            // SAFETY: see above.
            let found = unsafe { libloading::Library::new(*name) };
            found.map(std::mem::forget).is_ok() // stays loaded: a driver does not survive unloading
        })
    })
}
