//! The JPEG decoder of [`Cuda`].
//!
//! Contains unsafe code: it passes on the contracts of [`JpegDecoder`]'s callers. `jpegs` loads the library.
#![allow(unsafe_code)]

use tarflume_jpeg::Header;
use tarflume_types::Result;

use super::Cuda;
use crate::device::driver::WorkStream;
use crate::jpeg_decoder::{Abilities, Compressed, JpegDecoder, Stored, Verdict, WantedJpeg};

impl JpegDecoder for Cuda {
    fn prepare_decoder(&self, stored: bool) -> Result<Abilities> {
        self.call("entering the device", || {
            let stream = self.stream(WorkStream::Decode) as u64;
            // SAFETY: a stream owned by this value, alive.
            Ok(unsafe { self.jpegs.prepare(&self.libraries, stored, stream, &self.meter) })
        })?
    }

    fn admit(
        &self,
        jpeg: &[u8],
        header: &Header,
        wanted: WantedJpeg,
    ) -> Result<std::result::Result<(), String>> {
        let nvjpeg = self.jpegs.decoder(wanted.stored)?;
        self.call("entering the device", || {
            Ok(nvjpeg.admit(jpeg, header, wanted.channels, wanted.scale))
        })?
    }

    fn decode(&self, jpegs: &[Compressed<'_>]) -> Result<Vec<Verdict>> {
        let nvjpeg = self.jpegs.decoder(false)?;
        self.call("entering the device", || {
            // SAFETY: a stream owned by this value, alive; the rest by the contract of this trait's callers.
            Ok(unsafe { nvjpeg.decode(self.stream(WorkStream::Decode) as u64, jpegs) })
        })?
    }

    fn decode_stored(&self, jpegs: &[Stored]) -> Result<Vec<Verdict>> {
        let nvjpeg = self.jpegs.decoder(true)?;
        self.call("entering the device", || {
            // SAFETY: as above.
            Ok(unsafe { nvjpeg.decode_stored(self.stream(WorkStream::Decode) as u64, jpegs) })
        })?
    }
}
