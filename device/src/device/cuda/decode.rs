//! The JPEG decoder of [`Cuda`], and the copies of another one.
//!
//! Contains unsafe code: it passes on the contracts of the callers of [`JpegDecoder`] and [`DecodeCopies`]. `jpegs` loads
//! the library.
#![allow(unsafe_code)]

use cudarc::driver::result;
use tarflume_jpeg::Header;
use tarflume_types::Result;

use super::Cuda;
use crate::device::driver::{DecodeCopies, DevicePtr, Events, WorkStream};
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

impl DecodeCopies for Cuda {
    fn copy_in(&self, from: &[u8], to: DevicePtr) -> Result<()> {
        self.call("copying to the device", || {
            // SAFETY: unchanged until the stream has passed this call, by the contract of this trait's callers; the driver
            // validates the device address.
            unsafe { result::memcpy_htod_async(to.0, from, self.stream(WorkStream::Decode)) }
        })
    }

    fn copy_out(&self, from: DevicePtr, to: &mut [u32]) -> Result<()> {
        let done = self.create_event()?;
        let copied = self.call("copying from the device", || {
            // SAFETY: waited for below, before the borrow ends. If the wait cannot be recorded, the device has failed; a copy into
            // pageable memory, as here, returns when it is done. The driver validates the device address.
            unsafe { result::memcpy_dtoh_async(to, from.0, self.stream(WorkStream::Decode)) }
        });
        let waited = self.record(done, WorkStream::Decode).and_then(|()| self.synchronize(done));
        self.destroy_event(done);
        copied.and(waited)
    }
}
