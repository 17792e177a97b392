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
use std::path::PathBuf;
use std::sync::OnceLock;

use libloading::Library;

use crate::libraries::Libraries;

/// Names to try, the best first.
const NAMES: [&str; 2] = ["nvtx3interop", "nvToolsExt"];

/// Where packages are.
static PLACES: OnceLock<Libraries> = OnceLock::new();

/// It is looked for in these places, too.
pub(super) fn look_in(libraries: Libraries) {
    let _ = PLACES.set(libraries);
}

struct Nvtx {
    push: unsafe extern "C" fn(*const c_char) -> c_int,
    pop: unsafe extern "C" fn() -> c_int,
    _library: Library,
}

impl Nvtx {
    /// What the environment variable `TARFLUME_NVTX` names, and nothing else if it is set; else what packages bring,
    /// or what the system's loader finds: of each name, the best first.
    fn find() -> Option<Nvtx> {
        if let Some(named) = env::var_os("TARFLUME_NVTX") {
            return Nvtx::load(named);
        }
        let places = PLACES.get().cloned().unwrap_or_default();
        let packaged = |name: &str| places.packaged(name).into_iter().map(PathBuf::into_os_string);
        let found = |name: &&str| {
            let names = [format!("lib{name}.so.1").into(), format!("lib{name}.so").into()];
            packaged(name).chain(names).find_map(Nvtx::load)
        };
        NAMES.iter().find_map(found)
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
