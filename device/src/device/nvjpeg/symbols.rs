//! The functions of libnvjpeg that this crate calls, as NVIDIA's `nvjpeg.h` declares them.
//!
//! Contains unsafe code: it loads a library and resolves functions by name. What it relies on, and why it holds:
//! - a library named libnvjpeg that exports all these names declares them with these parameters: the headers of
//!   versions 12.0, 12.4 and 13.3 were compared;
//! - loading the library runs its initializers, which a user accepts by naming it;
//! - it is never unloaded, so the functions stay valid: CUDA's libraries do not survive unloading.
#![allow(unsafe_code)]

use std::ffi::{OsStr, c_int, c_uint, c_void};
use std::fmt;

use super::status::Status;

/// A handle of any of the library's objects.
pub(super) type RawHandle = *mut c_void;

/// `nvjpegImage_t`: the device addresses of the planes, and the bytes from row to row.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct RawImage {
    pub(super) channel: [u64; 4],
    pub(super) pitch: [usize; 4],
}

/// `nvjpegDevAllocatorV2_t` and `nvjpegPinnedAllocatorV2_t`, which have the same fields: functions that take and give back
/// a block, and their first argument.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct RawAllocator {
    pub(super) take: unsafe extern "C" fn(*mut c_void, *mut *mut c_void, usize, RawHandle) -> c_int,
    pub(super) give: unsafe extern "C" fn(*mut c_void, *mut c_void, usize, RawHandle) -> c_int,
    pub(super) pool: *mut c_void,
}

const _: () = assert!(size_of::<RawImage>() == 64 && size_of::<usize>() == 8);

macro_rules! functions {
    ($($name:ident($($parameter:ty),*);)*) => {
        /// The functions, by their own names; all return a status.
        #[derive(Clone, Copy)]
        #[allow(non_snake_case)] // the library's names
        pub(super) struct Functions {
            $(pub(super) $name: unsafe extern "C" fn($($parameter),*) -> c_int,)*
        }

        impl Functions {
            fn of(library: &libloading::Library) -> Result<Functions, libloading::Error> {
                Ok(Functions {
                    // SAFETY: the name is that of a function with these parameters in every libnvjpeg.
                    $($name: *unsafe { library.get(stringify!($name)) }?,)*
                })
            }
        }
    };
}

functions! {
    nvjpegGetProperty(c_int, *mut c_int);
    nvjpegCreateExV2(c_int, *mut RawAllocator, *mut RawAllocator, c_uint, *mut RawHandle);
    nvjpegDestroy(RawHandle);
    nvjpegGetHardwareDecoderInfo(RawHandle, *mut c_uint, *mut c_uint);
    nvjpegJpegStateCreate(RawHandle, *mut RawHandle);
    nvjpegJpegStateDestroy(RawHandle);
    nvjpegJpegStreamCreate(RawHandle, *mut RawHandle);
    nvjpegJpegStreamDestroy(RawHandle);
    nvjpegJpegStreamParse(RawHandle, *const u8, usize, c_int, c_int, RawHandle);
    nvjpegDecodeParamsCreate(RawHandle, *mut RawHandle);
    nvjpegDecodeParamsDestroy(RawHandle);
    nvjpegDecodeParamsSetOutputFormat(RawHandle, c_int);
    nvjpegDecodeParamsSetScaleFactor(RawHandle, c_int);
    nvjpegDecodeBatchedSupportedEx(RawHandle, RawHandle, RawHandle, *mut c_int);
    nvjpegDecodeBatchedPreAllocate(RawHandle, RawHandle, c_int, c_int, c_int, c_int, c_int);
    nvjpegDecodeBatchedInitialize(RawHandle, RawHandle, c_int, c_int, c_int);
    nvjpegDecodeBatched(RawHandle, RawHandle, *const *const u8, *const usize, *mut RawImage, RawHandle);
    nvjpegDecodeBatchedEx(RawHandle, RawHandle, *const *const u8, *const usize, *mut RawImage, *mut RawHandle, RawHandle);
}

impl Functions {
    /// Loads the library with this name and resolves its functions.
    ///
    /// # Errors
    /// Returns a message if it cannot be loaded or lacks a function.
    pub(super) fn load(name: &OsStr) -> Result<Functions, String> {
        // SAFETY: initializers of a library that calls itself libnvjpeg.
        let library = unsafe { libloading::Library::new(name) }.map_err(|error| words(&error))?;
        let functions = Functions::of(&library).map_err(|error| {
            format!("it is loaded, but is not nvJPEG 12 or later: {}", words(&error))
        })?;
        std::mem::forget(library); // see above
        Ok(functions)
    }

    /// An address in the library, which identifies it if it is loaded under two names.
    pub(super) fn place(&self) -> usize {
        self.nvjpegCreateExV2 as usize
    }

    /// Major, minor and patch version of the library.
    ///
    /// # Errors
    /// Returns the library's status.
    pub(super) fn version(&self) -> Result<[i32; 3], Status> {
        let mut version = [0; 3];
        for (kind, number) in (0..).zip(&mut version) {
            // SAFETY: writes one number to a local variable.
            Status::of(unsafe { (self.nvjpegGetProperty)(kind, number) })?;
        }
        Ok(version)
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Functions")
    }
}

/// The loader's message, which is in the source of its error.
fn words(error: &libloading::Error) -> String {
    let source = std::error::Error::source(error);
    source.map_or_else(|| error.to_string(), ToString::to_string)
}
