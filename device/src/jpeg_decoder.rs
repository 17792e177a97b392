//! `JpegDecoder`: the interface to a device's JPEG decoder, with its request and result types.
//!
//! The other device traits are in `device::driver`. This one is below the device, because decoding uses it to decide
//! which pictures go there.

use tarflume_formats::message::Message;
use tarflume_jpeg::{Header, Scale};
use tarflume_types::Result;

/// Decodes JPEGs on a device, asynchronously, in the decode stream.
pub trait JpegDecoder: Send + Sync {
    /// Loads and tests the decoder of JPEGs in host memory, or of JPEGs in device memory (`stored`). Call it once,
    /// before the first JPEG. Returns its capabilities.
    ///
    /// # Errors
    /// Returns an error if the library is missing or decodes the test pictures wrongly.
    fn prepare_decoder(&self, stored: bool) -> Result<Abilities>;
    /// Checks whether the device can decode this complete JPEG with this header as `wanted`. The inner error states
    /// the reason if it cannot. May be called on any thread.
    ///
    /// # Errors
    /// Returns an error if the decoder was not prepared.
    fn admit(
        &self,
        jpeg: &[u8],
        header: &Header,
        wanted: WantedJpeg,
    ) -> Result<std::result::Result<(), String>>;
    /// Decodes admitted JPEGs in host memory. Returns a verdict for each.
    ///
    /// A hardware decoder writes during the call, before earlier work of the stream has finished. Therefore, when this
    /// is called, no work in any stream may use the output memory: the host has synchronized with it. Until an event
    /// recorded after the call is reached, the JPEGs must not change and no other work may write to the output memory.
    ///
    /// # Errors
    /// Returns the device's error.
    fn decode(&self, jpegs: &[Compressed<'_>]) -> Result<Vec<Verdict>>;
    /// As [`JpegDecoder::decode`], for JPEGs in device memory.
    ///
    /// # Errors
    /// Returns the device's error.
    fn decode_stored(&self, jpegs: &[Stored]) -> Result<Vec<Verdict>>;
}

/// Device memory for the pixels of a JPEG: `[height, width, channels]` bytes without gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PixelTarget {
    /// Device address of the output.
    pub to: u64,
    /// Width at `scale`, as by [`Scale::of`] for the stored picture, before any turn.
    pub width: u32,
    /// Height at `scale`.
    pub height: u32,
    /// The reduction. Only hardware decoders reduce.
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

/// An admitted JPEG in device memory that the device decodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// Device address of its first byte.
    pub at: u64,
    /// Length in bytes.
    pub length: u64,
    /// Where its pixels go.
    pub target: PixelTarget,
}

/// The required output of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedJpeg {
    /// The scale of the pixels.
    pub scale: Scale,
    /// 1 or 3.
    pub channels: u8,
    /// Whether the JPEG is in device memory.
    pub stored: bool,
}

/// The result for one picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The device decodes it. The pixels are ready when the stream reaches this point.
    Decoded,
    /// The device did not decode it, for this reason. Its output memory is unspecified. Another decoder may succeed.
    Refused(Message),
}

/// The capabilities of a device's decoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abilities {
    /// The smallest scale that it supports; [`Scale::Full`] if it does not reduce.
    pub least: Scale,
    /// Its name, in one line.
    pub about: Message,
}
