//! NVTX, by which programs tell NVIDIA's profilers what they do, if a library of it is found: CUDA 13's `libnvtx3interop`
//! or the `libnvToolsExt` of earlier ones. Looked for once, at the first range.
//!
//! A room with unsafe code: calls of its C functions. What they rely on, and why it holds:
//! - both functions have the types of NVIDIA's nvToolsExt.h, which has kept them since version 1;
//! - the library stays loaded as long as the functions that came from it: they are in one value, which is never dropped;
//! - names end in a zero and live for ever.
#![allow(unsafe_code)]

use std::env;
use std::ffi::{CStr, OsString, c_char, c_int};
use std::sync::OnceLock;

use libloading::Library;

/// Names to try, the best first.
const NAMES: [&str; 4] =
    ["libnvtx3interop.so.1", "libnvtx3interop.so", "libnvToolsExt.so.1", "libnvToolsExt.so"];

struct Nvtx {
    push: unsafe extern "C" fn(*const c_char) -> c_int,
    pop: unsafe extern "C" fn() -> c_int,
    _library: Library,
}

impl Nvtx {
    /// What the environment variable `TARFLUME_NVTX` names, and nothing else if it is set; else what the
    /// system's loader finds.
    fn find() -> Option<Nvtx> {
        match env::var_os("TARFLUME_NVTX") {
            Some(named) => Nvtx::load(named),
            None => NAMES.iter().find_map(|name| Nvtx::load(name.into())),
        }
    }

    fn load(path: OsString) -> Option<Nvtx> {
        // SAFETY: NVIDIA's library, or what the user names as such: it is trusted to load well.
        let library = unsafe { Library::new(path) }.ok()?;
        // SAFETY: the type is that of nvToolsExt.h.
        let push = *unsafe { library.get(b"nvtxRangePushA\0") }.ok()?;
        // SAFETY: as above.
        let pop = *unsafe { library.get(b"nvtxRangePop\0") }.ok()?;
        Some(Nvtx { push, pop, _library: library })
    }
}

fn found() -> Option<&'static Nvtx> {
    static FOUND: OnceLock<Option<Nvtx>> = OnceLock::new();
    FOUND.get_or_init(Nvtx::find).as_ref()
}

/// Begins a range of this thread; false if nobody was told.
pub(super) fn begin(name: &'static CStr) -> bool {
    let Some(nvtx) = found() else { return false };
    // SAFETY: a text that ends in a zero; the library copies or looks at it.
    unsafe { (nvtx.push)(name.as_ptr()) };
    true
}

/// Ends the last range of this thread that was begun and not ended.
pub(super) fn end() {
    if let Some(nvtx) = found() {
        // SAFETY: takes nothing; one too many would be refused by a number.
        unsafe { (nvtx.pop)() };
    }
}
