//! The functions of libnvjpeg that are called here, as NVIDIA's `nvjpeg.h` declares them.
//!
//! A room with unsafe code: a library is loaded and its functions are taken by name. What it relies on,
//! and why it holds:
//! - a library called libnvjpeg that has all these names has them with these parameters: versions 12.4 and
//!   13.3 were compared with their headers;
//! - loading it runs its initializers, which is what whoever names such a library asks for;
//! - it is never unloaded, so functions stay where they are: CUDA's libraries don't survive it.
#![allow(unsafe_code)]

use std::ffi::{OsStr, c_int, c_uint, c_void};
use std::fmt;

use super::status::Status;

/// Any of the library's own things.
pub(super) type Raw = *mut c_void;

/// `nvjpegImage_t`: where planes go, in the device's memory, and their bytes from row to row.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Image {
    pub(super) channel: [u64; 4],
    pub(super) pitch: [usize; 4],
}

const _: () = assert!(size_of::<Image>() == 64 && size_of::<usize>() == 8);

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
    nvjpegCreateEx(c_int, Raw, Raw, c_uint, *mut Raw);
    nvjpegDestroy(Raw);
    nvjpegGetHardwareDecoderInfo(Raw, *mut c_uint, *mut c_uint);
    nvjpegJpegStateCreate(Raw, *mut Raw);
    nvjpegJpegStateDestroy(Raw);
    nvjpegJpegStreamCreate(Raw, *mut Raw);
    nvjpegJpegStreamDestroy(Raw);
    nvjpegJpegStreamParse(Raw, *const u8, usize, c_int, c_int, Raw);
    nvjpegDecodeParamsCreate(Raw, *mut Raw);
    nvjpegDecodeParamsDestroy(Raw);
    nvjpegDecodeParamsSetOutputFormat(Raw, c_int);
    nvjpegDecodeParamsSetScaleFactor(Raw, c_int);
    nvjpegDecodeBatchedSupportedEx(Raw, Raw, Raw, *mut c_int);
    nvjpegDecodeBatchedPreAllocate(Raw, Raw, c_int, c_int, c_int, c_int, c_int);
    nvjpegDecodeBatchedInitialize(Raw, Raw, c_int, c_int, c_int);
    nvjpegDecodeBatched(Raw, Raw, *const *const u8, *const usize, *mut Image, Raw);
    nvjpegDecodeBatchedEx(Raw, Raw, *const *const u8, *const usize, *mut Image, *mut Raw, Raw);
}

impl Functions {
    /// Loads the library of this name, and takes its functions.
    ///
    /// # Errors
    /// In words: it can't be loaded, or lacks one.
    pub(super) fn load(name: &OsStr) -> Result<Functions, String> {
        // SAFETY: initializers of a library that calls itself libnvjpeg.
        let library = unsafe { libloading::Library::new(name) }.map_err(|error| words(&error))?;
        let functions = Functions::of(&library).map_err(|error| {
            format!("it is loaded, but is none of nvJPEG 12 or later: {}", words(&error))
        })?;
        std::mem::forget(library); // see above
        Ok(functions)
    }

    /// Where the library stands in memory: the same for whoever loads it twice.
    pub(super) fn place(&self) -> usize {
        self.nvjpegCreateEx as usize
    }

    /// Major, minor and patch number of the library.
    ///
    /// # Errors
    /// The library's.
    pub(super) fn version(&self) -> Result<[i32; 3], Status> {
        let mut version = [0; 3];
        for (kind, number) in (0..).zip(&mut version) {
            // SAFETY: writes one number to a variable here.
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

/// The loader's own words, which stand in the source of its error.
fn words(error: &libloading::Error) -> String {
    let source = std::error::Error::source(error);
    source.map_or_else(|| error.to_string(), ToString::to_string)
}
