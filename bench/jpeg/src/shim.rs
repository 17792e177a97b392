//! The rival behind `turbo_shim.c`, with lengths checked. The one file here with unsafe code.

use std::ffi::{CStr, c_char, c_int};

#[repr(C)]
struct Handle {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    fn turbo_new() -> *mut Handle;
    fn turbo_free(t: *mut Handle);
    fn turbo_error(t: *const Handle) -> *const c_char;
    fn turbo_header(t: *mut Handle, jpeg: *const u8, length: usize, got: *mut u32) -> c_int;
    fn turbo_full(
        t: *mut Handle,
        jpeg: *const u8,
        length: usize,
        to: *mut u8,
        room: usize,
    ) -> c_int;
    fn turbo_region(
        t: *mut Handle,
        jpeg: *const u8,
        length: usize,
        eighths: u32,
        window: *const u32,
        to: *mut u8,
        room: usize,
        got: *mut u32,
    ) -> c_int;
    fn turbo_coefficients(t: *mut Handle, jpeg: *const u8, length: usize) -> c_int;
    fn turbo_encode_420(
        pixels: *const u8,
        width: u32,
        height: u32,
        quality: c_int,
        length: *mut usize,
    ) -> *mut u8;
    fn turbo_progressive(
        t: *mut Handle,
        jpeg: *const u8,
        length: usize,
        got: *mut usize,
    ) -> *mut u8;
    fn turbo_drop(jpeg: *mut u8);
    fn turbo_cpu_seconds() -> f64;
}

/// What a file's header says.
pub(crate) struct Header {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) progressive: bool,
}

/// A decompressor that is kept from image to image.
pub(crate) struct Turbo(*mut Handle);

// SAFETY: the handle is used by its owner alone, and libjpeg keeps nothing by thread.
unsafe impl Send for Turbo {}

impl Turbo {
    pub(crate) fn new() -> Turbo {
        // SAFETY: takes nothing.
        let handle = unsafe { turbo_new() };
        assert!(!handle.is_null(), "no memory");
        Turbo(handle)
    }

    pub(crate) fn header(&mut self, jpeg: &[u8]) -> Result<Header, String> {
        let mut got = [0; 3];
        // SAFETY: the file's true length; room for three numbers.
        let rc = unsafe { turbo_header(self.0, jpeg.as_ptr(), jpeg.len(), got.as_mut_ptr()) };
        self.check(rc)?;
        Ok(Header { width: got[0], height: got[1], progressive: got[2] != 0 })
    }

    /// All pixels, RGB without gaps.
    pub(crate) fn full(&mut self, jpeg: &[u8], to: &mut [u8]) -> Result<(), String> {
        let from = jpeg.as_ptr();
        let room = to.len();
        // SAFETY: the file's true length, and the buffer's.
        let rc = unsafe { turbo_full(self.0, from, jpeg.len(), to.as_mut_ptr(), room) };
        self.check(rc)
    }

    /// The window (left, top, width, height) of the image at `eighths` of its size; the left edge
    /// and the width of what was decoded.
    pub(crate) fn region(
        &mut self,
        jpeg: &[u8],
        eighths: u32,
        window: [u32; 4],
        to: &mut [u8],
    ) -> Result<[u32; 2], String> {
        let mut got = [0; 2];
        let room = to.len();
        let window = window.as_ptr();
        let to = to.as_mut_ptr();
        // SAFETY: the file's true length, four numbers, the buffer's length, room for two numbers.
        let rc = unsafe {
            let from = jpeg.as_ptr();
            let length = jpeg.len();
            turbo_region(self.0, from, length, eighths, window, to, room, got.as_mut_ptr())
        };
        self.check(rc)?;
        Ok(got)
    }

    /// Entropy decoding alone.
    pub(crate) fn coefficients(&mut self, jpeg: &[u8]) -> Result<(), String> {
        // SAFETY: the file's true length.
        let rc = unsafe { turbo_coefficients(self.0, jpeg.as_ptr(), jpeg.len()) };
        self.check(rc)
    }

    /// The same coefficients in the scans of libjpeg's progressive script.
    pub(crate) fn progressive(&mut self, jpeg: &[u8]) -> Result<Vec<u8>, String> {
        let mut length = 0;
        // SAFETY: the file's true length; what comes back has `length` bytes and is copied.
        unsafe {
            let made = turbo_progressive(self.0, jpeg.as_ptr(), jpeg.len(), &raw mut length);
            if made.is_null() {
                self.check(1)?;
            }
            let copy = std::slice::from_raw_parts(made, length).to_vec();
            turbo_drop(made);
            Ok(copy)
        }
    }

    fn check(&self, rc: c_int) -> Result<(), String> {
        if rc == 0 {
            return Ok(());
        }
        // SAFETY: a text that ends in zero, kept in the handle.
        let text = unsafe { CStr::from_ptr(turbo_error(self.0)) };
        Err(text.to_string_lossy().into_owned())
    }
}

impl Drop for Turbo {
    fn drop(&mut self) {
        // SAFETY: made by turbo_new, dropped once.
        unsafe { turbo_free(self.0) }
    }
}

/// RGB as a baseline 4:2:0 JPEG.
pub(crate) fn encode_420(pixels: &[u8], width: u32, height: u32, quality: i32) -> Vec<u8> {
    assert_eq!(pixels.len(), width as usize * height as usize * 3);
    let mut length = 0;
    // SAFETY: as many pixels as the size says; what comes back has `length` bytes and is copied.
    unsafe {
        let jpeg = turbo_encode_420(pixels.as_ptr(), width, height, quality, &raw mut length);
        let copy = std::slice::from_raw_parts(jpeg, length).to_vec();
        turbo_drop(jpeg);
        copy
    }
}

/// Processor seconds of this process so far.
pub(crate) fn cpu_seconds() -> f64 {
    // SAFETY: takes nothing.
    unsafe { turbo_cpu_seconds() }
}
