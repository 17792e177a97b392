//! `JpegDecoder`: the interface to a device that decodes JPEGs, with its request and result types.
//!
//! The traits of the device are in `device::driver`; this one is below it, because decoding decides with it which
//! pictures go to the device.

use tarflume_jpeg::{Header, Scale};

use crate::error::Result;

/// Decodes JPEGs on a device, asynchronously, in the decode stream.
pub(crate) trait JpegDecoder: Send + Sync {
    /// Loads and tests the decoder of JPEGs in host memory, or of JPEGs in device memory (`stored`); call it once,
    /// before the first JPEG. Returns what it can do.
    ///
    /// # Errors
    /// There is no library, or it decodes the test pictures wrongly.
    fn prepare_decoder(&self, stored: bool) -> Result<Abilities>;
    /// Whether the device decodes this complete JPEG with this header into what is wanted; if not, the inner error says
    /// why. Any thread may call it.
    ///
    /// # Errors
    /// The decoder was not prepared.
    fn admit(
        &self,
        jpeg: (&[u8], &Header),
        wanted: Wanted,
    ) -> Result<std::result::Result<(), String>>;
    /// Decodes admitted JPEGs out of host memory, and returns a verdict for each.
    ///
    /// Hardware decoders write during the call, before earlier work of the stream is done. So when this is called, no
    /// work in any stream uses the memory that pixels go to: the host has synchronized with it. The JPEGs stay
    /// unchanged, and no other work writes to that memory, until an event behind the call is reached.
    ///
    /// # Errors
    /// The device's.
    fn decode(&self, jpegs: &[Compressed<'_>]) -> Result<Vec<Verdict>>;
    /// As [`JpegDecoder::decode`], out of device memory.
    ///
    /// # Errors
    /// The device's.
    fn decode_stored(&self, jpegs: &[Stored]) -> Result<Vec<Verdict>>;
}

/// Where the pixels of a JPEG go, and their format: row after row without gaps, `width * height * channels` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PixelTarget {
    /// Address in the device's memory.
    pub to: u64,
    /// Columns at its scale: the stored ones by [`Scale::of`], before any turn.
    pub width: u32,
    /// Rows at its scale.
    pub height: u32,
    /// How much smaller than stored; only hardware decoders scale.
    pub scale: Scale,
    /// 1: luma; 3: red, green and blue.
    pub channels: u8,
}

/// A JPEG in host memory that the device decodes.
#[derive(Debug, Clone, Copy)]
pub struct Compressed<'a> {
    /// The JPEG.
    pub bytes: &'a [u8],
    /// Where its pixels go.
    pub target: PixelTarget,
}

/// A JPEG in device memory that the device decodes. It was admitted before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// Address of its first byte.
    pub at: u64,
    /// Its bytes.
    pub length: u64,
    /// Where its pixels go.
    pub target: PixelTarget,
}

/// What a picture is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) scale: Scale,
    /// 1 or 3.
    pub(crate) channels: u8,
    /// Out of the device's memory.
    pub(crate) stored: bool,
}

/// What became of a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The device has it, or will: it is there when the stream has come so far.
    Decoded,
    /// It does not, for this reason; something may be in its memory all the same. Another decoder may.
    Refused(String),
}

/// What a device's decoder is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Abilities {
    /// The smallest scale at which it decodes pictures: [`Scale::Full`] if it makes none smaller.
    pub(crate) least: Scale,
    /// Which one, in one line.
    pub(crate) about: String,
}
