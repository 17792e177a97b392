//! The JPEG decoders of a device: one for JPEGs in host memory, one for JPEGs in device memory. Each is created and
//! tested on first use. Decodes nothing else.
//!
//! Contains unsafe code: it passes on the caller's contract.
#![allow(unsafe_code)]

use std::sync::{Arc, OnceLock};

use tarflume_types::{Error, ErrorKind, Result};

use crate::device::nvjpeg::trial::trial;
use crate::device::nvjpeg::{Library, Nvjpeg};
use crate::device::room::meter::MemoryMeter;
use crate::jpeg_decoder::Abilities;
use crate::libraries::Libraries;

/// The decoders, which belong to the context in which they were created.
#[derive(Default)]
pub(super) struct Jpegs {
    host: OnceLock<Nvjpeg>,
    stored: OnceLock<Nvjpeg>,
}

impl Jpegs {
    fn place(&self, stored: bool) -> &OnceLock<Nvjpeg> {
        if stored { &self.stored } else { &self.host }
    }

    /// Creates and tests a decoder in the calling thread's context, for JPEGs in device memory if `stored`. `stream`
    /// is used for the test; `meter` counts the decoder's memory.
    ///
    /// # Errors
    /// Returns an error if no library is found, if it fails, or if its pixels differ from the CPU's.
    ///
    /// # Safety
    /// The stream belongs to the calling thread's context and is alive.
    pub(super) unsafe fn prepare(
        &self,
        libraries: &Libraries,
        stored: bool,
        stream: u64,
        meter: &Arc<MemoryMeter>,
    ) -> Result<Abilities> {
        let place = self.place(stored);
        if place.get().is_none() {
            let made = Library::first(libraries, |library| {
                // SAFETY: by this function's contract.
                Nvjpeg::tried(library, stored, meter, |made| unsafe { trial(made, stream) })
            });
            let _ = place.set(made?); // ignored if another thread was faster
        }
        let nvjpeg = self.decoder(stored)?;
        Ok(Abilities { least: nvjpeg.offer().least(), about: nvjpeg.about().clone() })
    }

    /// A decoder that was prepared.
    ///
    /// # Errors
    /// Returns an error if it was not prepared.
    pub(super) fn decoder(&self, stored: bool) -> Result<&Nvjpeg> {
        self.place(stored).get().ok_or_else(unprepared)
    }
}

fn unprepared() -> Error {
    Error::new(ErrorKind::Device, "the decoder was not prepared")
}
