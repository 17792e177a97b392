//! Binding to NVRTC, NVIDIA's runtime compiler: from the kernel's source to code that the driver loads.
//!
//! Contains unsafe code: calls of its C functions. What they rely on, and why it holds:
//! - the functions have the types of NVIDIA's nvrtc.h, unchanged since version 8;
//! - the library stays loaded until the process ends, because its functions may be needed and it does not survive
//!   unloading;
//! - texts end in a zero byte, and buffers have the length that the library returned.
#![allow(unsafe_code)]

use std::cmp::Reverse;
use std::collections::HashSet;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::{fs, ptr};

use libloading::Library;
use tarflume_types::{Error, ErrorKind, Result};

use crate::libraries::Libraries;

type Program = *mut c_void;
type SizeFn = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Get = unsafe extern "C" fn(Program, *mut c_char) -> c_int;

/// How to take a text from a program.
#[derive(Clone, Copy)]
struct TextCalls {
    size: SizeFn,
    get: Get,
}

/// The compiler.
pub(super) struct Nvrtc {
    path: PathBuf,
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int,
    destroy: unsafe extern "C" fn(*mut Program) -> c_int,
    log: TextCalls,
    ptx: TextCalls,
    /// Available since version 11.1.
    cubin: Option<TextCalls>,
}

/// The requested output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// Machine code for a GPU of this compute capability, such as 90.
    Machine(u32),
    /// PTX, which the driver translates for GPUs of this capability and later.
    Portable(u32),
}

impl Nvrtc {
    /// The compilers, the newest first, because an old one may not know a new GPU. Each is loaded when the iterator
    /// comes to it: a library takes about 100 MB of addresses.
    pub(super) fn all(libraries: &Libraries) -> impl Iterator<Item = Nvrtc> + use<> {
        let mut seen = HashSet::new();
        let mut paths = libraries.candidates("nvrtc");
        paths.retain(|path| fs::canonicalize(path).map_or(true, |real| seen.insert(real)));
        paths.sort_by_key(|path| Reverse(version_of(path))); // of one version the first
        paths.into_iter().filter_map(Nvrtc::load)
    }

    /// The error if there is no compiler. The message lists the places that were searched.
    pub(super) fn none(libraries: &Libraries) -> Error {
        let candidates = libraries.candidates("nvrtc");
        let places: Vec<_> = candidates.iter().map(|path| path.display().to_string()).collect();
        let text = format!(
            "NVRTC, the compiler of CUDA, was not found (`pip install nvidia-cuda-nvrtc`, or set \
             TARFLUME_NVRTC to a libnvrtc.so); tried: {}",
            places.join(", ")
        );
        Error::new(ErrorKind::Device, text)
    }

    fn load(path: PathBuf) -> Option<Nvrtc> {
        // SAFETY: NVIDIA's library, or a file that the user names as such; its initializers are trusted.
        let library = unsafe { Library::new(&path) }.ok()?;
        macro_rules! symbol {
            ($name:literal) => {
                // SAFETY: the type is that of nvrtc.h.
                unsafe { library.get($name) }.map(|found| *found)
            };
        }
        let cubin = symbol!(b"nvrtcGetCUBINSize\0").ok().zip(symbol!(b"nvrtcGetCUBIN\0").ok());
        let cubin = cubin.map(|(size, get)| TextCalls { size, get });
        let found = Nvrtc {
            path,
            create: symbol!(b"nvrtcCreateProgram\0").ok()?,
            compile: symbol!(b"nvrtcCompileProgram\0").ok()?,
            destroy: symbol!(b"nvrtcDestroyProgram\0").ok()?,
            log: TextCalls {
                size: symbol!(b"nvrtcGetProgramLogSize\0").ok()?,
                get: symbol!(b"nvrtcGetProgramLog\0").ok()?,
            },
            ptx: TextCalls {
                size: symbol!(b"nvrtcGetPTXSize\0").ok()?,
                get: symbol!(b"nvrtcGetPTX\0").ok()?,
            },
            cubin,
        };
        std::mem::forget(library);
        Some(found)
    }

    /// Whether it supports this kind of target.
    pub(super) fn makes(&self, target: Target) -> bool {
        matches!(target, Target::Portable(_)) || self.cubin.is_some()
    }

    /// Compiles.
    ///
    /// # Errors
    /// Returns the compiler's message if it does not know the target or the source is invalid.
    pub(super) fn compile(&self, source: &CStr, target: Target) -> Result<Vec<u8>> {
        let mut program = ptr::null_mut();
        // SAFETY: texts that end in a zero byte; no headers; `program` is a local variable.
        let made = unsafe {
            (self.create)(
                &mut program,
                source.as_ptr(),
                c"tarflume.cu".as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        };
        let done =
            self.check("nvrtcCreateProgram", made).and_then(|()| self.translate(program, target));
        // SAFETY: created above, and not used again.
        unsafe { (self.destroy)(&mut program) };
        done
    }

    fn translate(&self, program: Program, target: Target) -> Result<Vec<u8>> {
        let (option, text) = match target {
            Target::Machine(capability) => {
                (format!("sm_{capability}"), self.cubin.unwrap_or(self.ptx))
            }
            Target::Portable(capability) => (format!("compute_{capability}"), self.ptx),
        };
        let option = CString::new(format!("--gpu-architecture={option}"));
        let option = option.expect("an option has no zero byte");
        // SAFETY: a valid program; one option, which ends in a zero byte.
        let compiled = unsafe { (self.compile)(program, 1, &option.as_ptr()) };
        let result = self.check(&format!("compiling with {}", option.to_string_lossy()), compiled);
        result.map_err(|error| {
            let log = self.text(program, self.log).unwrap_or_default();
            let log = String::from_utf8_lossy(&log).trim_end_matches('\0').trim().to_string();
            Error::new(ErrorKind::Device, format!("{}\n{log}", error.text()))
        })?;
        self.text(program, text)
    }

    fn text(&self, program: Program, calls: TextCalls) -> Result<Vec<u8>> {
        let mut length = 0;
        // SAFETY: a valid program; a local variable.
        self.check("asking for a length", unsafe { (calls.size)(program, &mut length) })?;
        let mut text = vec![0u8; length];
        // SAFETY: a buffer of the returned length.
        self.check("taking a text", unsafe { (calls.get)(program, text.as_mut_ptr().cast()) })?;
        Ok(text)
    }

    fn check(&self, what: &str, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let text = format!("{what} failed with NVRTC's error {code} ({})", self.path.display());
        Err(Error::new(ErrorKind::Device, text))
    }
}

/// The numbers after `.so.` in the name of a library's file, behind links; none of a name without a number.
fn version_of(path: &Path) -> Vec<u32> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let Some(name) = real.file_name() else { return Vec::new() };
    let name = name.to_string_lossy();
    let numbers = name.split_once(".so.").map(|(_, numbers)| numbers.split('.'));
    numbers.into_iter().flatten().map_while(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::kernels::program::Program;

    #[test]
    fn versions_are_those_of_file_names_behind_links() {
        let folder = tempfile::tempdir().unwrap();
        let [real, link] =
            ["libnvrtc.so.12.8.93", "libnvrtc.so"].map(|name| folder.path().join(name));
        fs::write(&real, "").unwrap();
        std::os::unix::fs::symlink(real, &link).unwrap();
        assert_eq!(version_of(&link), [12, 8, 93]);
        assert_eq!(version_of(Path::new("x/libnvrtc-36e11081.so.13")), [13]);
        assert_eq!(version_of(Path::new("libnvrtc.so")), [0; 0]);
        assert!(version_of(Path::new("libnvrtc.so.13")) > version_of(&link));
    }

    /// `TARFLUME_NVRTC=.../libnvrtc.so.12 cargo test --features cuda -- --ignored the_real_compiler`
    #[test]
    #[ignore = "needs NVIDIA's library"]
    fn the_real_compiler_makes_code_for_every_target() {
        let compiler = Nvrtc::all(&Libraries::default()).next().unwrap();
        let source = CString::new(Program::Pictures.source()).unwrap();
        for target in [Target::Machine(90), Target::Machine(80), Target::Portable(75)] {
            let code = compiler.compile(&source, target).unwrap();
            let begins: &[u8] =
                if compiler.makes(Target::Machine(90)) { b"\x7fELF" } else { b"//" };
            let portable = matches!(target, Target::Portable(_));
            assert!(code.starts_with(if portable { b"//" } else { begins }), "{target:?}");
        }
        let error = compiler.compile(&source, Target::Machine(7)).unwrap_err();
        assert!(error.text().contains("sm_7"), "{error}");
        let error = compiler.compile(c"int x = ;", Target::Portable(80)).unwrap_err();
        assert!(error.text().contains("tarflume.cu(1)"), "{error}");
    }
}
