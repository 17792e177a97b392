//! `Shortage`: a device has too little memory. States what was wanted, what there is, and what helps.

use std::error;
use std::fmt;

#[cfg(feature = "cuda")]
use cudarc::driver::{DriverError, result, sys};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Phrase};
use tarflume_types::{Error, ErrorKind, Size};

#[cfg(feature = "cuda")]
use crate::device::call_scope::DriverMessage;
use crate::device::room::DeviceRoom;

/// Too little memory on a device: the cause of an error, with the driver's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortage {
    /// Bytes that were wanted.
    pub wanted: u64,
    /// The device's memory at that time, if the driver told.
    pub room: Option<DeviceRoom>,
    /// What the driver said.
    pub said: String,
}

/// The memory of the calling thread's current device.
///
/// # Errors
/// Returns the driver's error.
#[cfg(feature = "cuda")]
pub(crate) fn room() -> Result<DeviceRoom, DriverError> {
    let (free, total) = result::mem_get_info()?;
    Ok(DeviceRoom { free: free as u64, total: total as u64 })
}

impl Shortage {
    /// The shortage by which an allocation of `wanted` bytes on the calling thread's current device failed; `None` if it
    /// failed for another reason.
    #[cfg(feature = "cuda")]
    pub(crate) fn of_driver(wanted: usize, error: DriverError) -> Option<Shortage> {
        let said = DriverMessage(error).to_string();
        let is_full = error.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY;
        is_full.then(|| Shortage { wanted: wanted as u64, room: room().ok(), said })
    }

    /// The error of an allocation on the device of this name.
    pub fn of(self, device: &str) -> Error {
        Error::new(ErrorKind::Device, self.message(device)).with_source(self)
    }

    /// True if this error comes of a shortage.
    pub fn caused(error: &Error) -> bool {
        error::Error::source(error).is_some_and(|cause| cause.is::<Shortage>())
    }

    /// The sentence of an allocation on the device, or for the purpose, of this name.
    pub(crate) fn message(&self, device: &str) -> Message {
        let Shortage { wanted, room, .. } = self;
        let there = room.map_or_else(String::new, |DeviceRoom { free, total }| {
            let [about_free, about_total] = [free, total].map(|bytes| Size::new(bytes).about());
            format!(": {free} of {total} bytes are free ({about_free} of {about_total})")
        });
        message!(
            "{device}: allocating {wanted} bytes of device memory failed{there}; {free}, or use {smaller}";
            free = Phrase::FreeDeviceMemory, smaller = Phrase::SmallerDeviceBatches
        )
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said)
    }
}

impl error::Error for Shortage {}

#[cfg(test)]
mod tests {
    use tarflume_formats::message::Face;

    use super::*;

    #[test]
    fn each_face_reads_bytes_and_what_helps() {
        let room = Some(DeviceRoom { free: 3 << 29, total: 139 << 30 });
        let shortage = Shortage { wanted: 4 << 30, room, said: "out of memory".into() };
        let error = shortage.clone().of("cuda:1");
        let begins = "cuda:1: allocating 4294967296 bytes of device memory failed: 1610612736 of 149250113536 bytes are \
                      free (1.5GiB of 139GiB); ";
        let python = error.in_face(Face::Python);
        assert_eq!(
            python.strip_prefix(begins),
            Some(
                "call torch.cuda.empty_cache(), which gives back what PyTorch keeps unused, or use a smaller batch_size= \
                 or fewer device_slots="
            ),
            "{python}"
        );
        let rust = error.in_face(Face::Rust);
        assert_eq!(
            rust.strip_prefix(begins),
            Some(
                "free what this program or others keep on the device, or use a smaller .batch(..) or fewer \
                 .device_slots(..)"
            ),
            "{rust}"
        );
        assert_eq!(error::Error::source(&error).unwrap().to_string(), "out of memory");
        assert!(Shortage::caused(&error) && !Shortage::caused(&Error::usage("no")));
        let error = Shortage { room: None, ..shortage }.of("cuda:1");
        assert!(error.text().contains("memory failed; free what"), "{error}");
    }
}
