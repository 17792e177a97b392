//! The decoders of JPEGs of a device: one for those in the host's memory, one for those in its own. Each is made
//! when it is first asked for, and tried. Nothing else is decoded here.
//!
//! A room with unsafe code: it hands on a promise of the caller's.
#![allow(unsafe_code)]

use std::sync::OnceLock;

use crate::decode::hybrid::jpeg_decoder::Abilities;
use crate::device::nvjpeg::trial::trial;
use crate::device::nvjpeg::{Library, Nvjpeg};
use crate::error::{Error, ErrorKind, Result};
use crate::libraries::Libraries;

/// The decoders, in the context in which they were made.
#[derive(Default)]
pub(super) struct Jpegs {
    host: OnceLock<Nvjpeg>,
    stored: OnceLock<Nvjpeg>,
}

impl Jpegs {
    fn place(&self, stored: bool) -> &OnceLock<Nvjpeg> {
        if stored { &self.stored } else { &self.host }
    }

    /// Makes one ready, in the calling thread's context: of JPEGs in the device's memory if `stored`. `stream` is for
    /// pictures by which it is tried.
    ///
    /// # Errors
    /// There is no library, it refuses, or it decodes nothing as the CPU does.
    ///
    /// # Safety
    /// The stream is one of the calling thread's context, and alive.
    pub(super) unsafe fn prepare(
        &self,
        libraries: &Libraries,
        stored: bool,
        stream: u64,
    ) -> Result<Abilities> {
        let place = self.place(stored);
        if place.get().is_none() {
            let made = Library::first(libraries, |library| {
                // SAFETY: by this function's promise.
                Nvjpeg::tried(library, stored, |made| unsafe { trial(made, stream) })
            });
            let _ = place.set(made?); // or somebody else was as fast
        }
        let nvjpeg = self.decoder(stored)?;
        Ok(Abilities { least: nvjpeg.offer().least(), about: nvjpeg.about().to_string() })
    }

    /// One that was made ready.
    ///
    /// # Errors
    /// It was not.
    pub(super) fn decoder(&self, stored: bool) -> Result<&Nvjpeg> {
        let missing = || Error::new(ErrorKind::Device, "the decoder was not prepared");
        self.place(stored).get().ok_or_else(missing)
    }
}
