//! Binding to NVTX, the interface to NVIDIA's profilers: CUDA 13's `libnvtx3interop`, or the `libnvToolsExt` of
//! earlier versions. Searched once, at the first range.
//!
//! Contains unsafe code: calls of C functions. What they rely on, and why it holds:
//! - both functions have the types of NVIDIA's nvToolsExt.h, unchanged since version 1;
//! - the library stays loaded as long as its functions: they are in one value, which is never dropped;
//! - names end in a zero byte and are `'static`.
#![allow(unsafe_code)]

use std::env;
use std::ffi::{CStr, OsString, c_char, c_int};
use std::path::PathBuf;
use std::sync::OnceLock;

use libloading::Library;

use crate::libraries::Libraries;

/// Library names to try, best first.
const NAMES: [&str; 2] = ["nvtx3interop", "nvToolsExt"];

/// Additional places to search.
static PLACES: OnceLock<Libraries> = OnceLock::new();

/// Adds places to search.
pub(super) fn search_in(libraries: Libraries) {
    let _ = PLACES.set(libraries);
}

struct Nvtx {
    push: unsafe extern "C" fn(*const c_char) -> c_int,
    pop: unsafe extern "C" fn() -> c_int,
    _library: Library,
}

impl Nvtx {
    /// Loads the file in the environment variable `TARFLUME_NVTX`, and nothing else if that is set. Otherwise tries
    /// each name in the packages and then with the system's loader.
    fn find() -> Option<Nvtx> {
        if let Some(named) = env::var_os("TARFLUME_NVTX") {
            return Nvtx::load(named);
        }
        let places = PLACES.get().cloned().unwrap_or_default();
        NAMES.iter().find_map(|name| {
            let names = [format!("lib{name}.so.1").into(), format!("lib{name}.so").into()];
            places
                .packaged(name)
                .into_iter()
                .map(PathBuf::into_os_string)
                .chain(names)
                .find_map(Nvtx::load)
        })
    }

    fn load(path: OsString) -> Option<Nvtx> {
        // SAFETY: NVIDIA's library, or a file that the user names as such; its initializers are trusted.
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

/// Begins a range on this thread. False if no library is loaded.
pub(super) fn begin(name: &'static CStr) -> bool {
    let Some(nvtx) = found() else { return false };
    // SAFETY: a `'static` text that ends in a zero byte.
    unsafe { (nvtx.push)(name.as_ptr()) };
    true
}

/// Ends the innermost open range of this thread.
pub(super) fn end() {
    if let Some(nvtx) = found() {
        // SAFETY: no arguments. Without an open range, the function returns an error code.
        unsafe { (nvtx.pop)() };
    }
}
