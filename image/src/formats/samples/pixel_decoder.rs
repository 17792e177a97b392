//! `PixelDecoder`: what each format implements.

use tarflume_types::Result;

use super::channels::PixelKind;

/// What decodes the pixels of a picture whose header was read.
pub(in crate::formats) trait PixelDecoder {
    /// How a pixel is decoded.
    ///
    /// # Errors
    /// Returns an error for a type of pixels that is not decoded.
    fn kind(&self) -> Result<PixelKind>;

    /// Bytes of all pixels as decoded.
    fn bytes(&self) -> u64;

    /// Decodes the pixels with at most `memory` bytes in addition to `target`.
    ///
    /// # Errors
    /// Returns an error if the data is damaged or truncated, or memory is exhausted.
    fn decode(self: Box<Self>, memory: u64, target: &mut [u8]) -> Result<()>;
}
