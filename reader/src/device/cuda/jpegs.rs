//! The decoders of JPEGs of a device: one for those in the host's memory, one for those in its own. Each is made
//! when it is first asked for. Nothing is decoded here.

use std::sync::OnceLock;

use crate::device::decoder::Abilities;
use crate::device::libraries::Libraries;
use crate::device::nvjpeg::{Found, Library, Nvjpeg};
use crate::error::{Error, ErrorKind, Result};

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

    /// Makes one ready, in the calling thread's context: of JPEGs in the device's memory if `stored`.
    ///
    /// # Errors
    /// There is no library, or it refuses.
    pub(super) fn prepare(&self, libraries: &Libraries, stored: bool) -> Result<Abilities> {
        let place = self.place(stored);
        if place.get().is_none() {
            let library = match Library::find(libraries)? {
                Found::Here(library) => library,
                Found::Nowhere(text) => return Err(Error::new(ErrorKind::Device, text)),
            };
            let made =
                if stored { Nvjpeg::of_stored(&library) } else { Nvjpeg::new(&library, None) };
            let _ = place.set(made?); // or somebody else was as fast
        }
        let nvjpeg = self.decoder(stored)?;
        Ok(Abilities { scales: nvjpeg.has_scales(), about: nvjpeg.about().to_string() })
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
