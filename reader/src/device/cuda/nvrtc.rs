//! NVRTC, NVIDIA's compiler at run time, if it is found: from the kernel's source to what a driver loads.
//!
//! A room with unsafe code: calls of its C functions. What they rely on, and why it holds:
//! - the functions have the types of NVIDIA's nvrtc.h, which has kept them since version 8;
//! - the library stays loaded as long as the functions that came from it: they are in one value;
//! - texts end in a zero, and buffers have the length that the library named.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr;

use libloading::Library;

use crate::device::libraries::Libraries;
use crate::error::{Error, ErrorKind, Result};

type Program = *mut c_void;
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Get = unsafe extern "C" fn(Program, *mut c_char) -> c_int;

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
    log: (Size, Get),
    ptx: (Size, Get),
    /// Not before version 11.1.
    cubin: Option<(Size, Get)>,
    _library: Library,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// Machine code for a GPU of this compute capability, as 90.
    Machine(u32),
    /// PTX, which the driver translates for GPUs of this capability and later ones.
    Portable(u32),
}

impl Nvrtc {
    /// # Errors
    /// It is nowhere; the text says where it was looked for.
    pub(super) fn find(libraries: &Libraries) -> Result<Nvrtc> {
        let candidates = libraries.candidates("nvrtc");
        let mut found = candidates.iter().filter_map(|path| Nvrtc::load(path.clone()));
        found.next().ok_or_else(|| {
            let places: Vec<_> = candidates.iter().map(|path| path.display().to_string()).collect();
            let text = format!(
                "NVRTC, the compiler of CUDA, was not found (`pip install nvidia-cuda-nvrtc`, or set \
                 TARFLUME_NVRTC to a libnvrtc.so); tried: {}",
                places.join(", ")
            );
            Error::new(ErrorKind::Device, text)
        })
    }

    fn load(path: PathBuf) -> Option<Nvrtc> {
        // SAFETY: NVIDIA's library, or what the user names as such: it is trusted to load well.
        let library = unsafe { Library::new(&path) }.ok()?;
        macro_rules! symbol {
            ($name:literal) => {
                // SAFETY: the type is that of nvrtc.h.
                unsafe { library.get($name) }.map(|found| *found)
            };
        }
        let pair = |size, get| Some((size, get));
        let cubin = symbol!(b"nvrtcGetCUBINSize\0").ok().zip(symbol!(b"nvrtcGetCUBIN\0").ok());
        Some(Nvrtc {
            path,
            create: symbol!(b"nvrtcCreateProgram\0").ok()?,
            compile: symbol!(b"nvrtcCompileProgram\0").ok()?,
            destroy: symbol!(b"nvrtcDestroyProgram\0").ok()?,
            log: pair(
                symbol!(b"nvrtcGetProgramLogSize\0").ok()?,
                symbol!(b"nvrtcGetProgramLog\0").ok()?,
            )?,
            ptx: pair(symbol!(b"nvrtcGetPTXSize\0").ok()?, symbol!(b"nvrtcGetPTX\0").ok()?)?,
            cubin,
            _library: library,
        })
    }

    /// Whether it can be asked for this.
    pub(super) fn makes(&self, target: Target) -> bool {
        matches!(target, Target::Portable(_)) || self.cubin.is_some()
    }

    /// Compiles.
    ///
    /// # Errors
    /// It does not know the target, or the source; with what it says.
    pub(super) fn compile(&self, source: &CStr, target: Target) -> Result<Vec<u8>> {
        let mut program = ptr::null_mut();
        // SAFETY: texts that end in a zero; no headers; `program` is a variable here.
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
        // SAFETY: made above, and not used again.
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
        let option = CString::new(format!("--gpu-architecture={option}")).unwrap_or_default();
        // SAFETY: a program that was made; one option, which ends in a zero.
        let compiled = unsafe { (self.compile)(program, 1, &option.as_ptr()) };
        let said = self.check(&format!("compiling with {}", option.to_string_lossy()), compiled);
        said.map_err(|error| {
            let log = self.text(program, self.log).unwrap_or_default();
            let log = String::from_utf8_lossy(&log).trim_end_matches('\0').trim().to_string();
            Error::new(ErrorKind::Device, format!("{}\n{log}", error.text()))
        })?;
        self.text(program, text)
    }

    fn text(&self, program: Program, (size, get): (Size, Get)) -> Result<Vec<u8>> {
        let mut length = 0;
        // SAFETY: a program that was made; a variable here.
        self.check("asking for a length", unsafe { size(program, &mut length) })?;
        let mut text = vec![0u8; length];
        // SAFETY: a buffer of the length that was named.
        self.check("taking a text", unsafe { get(program, text.as_mut_ptr().cast()) })?;
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
