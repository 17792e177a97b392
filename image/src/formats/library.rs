//! Pixels from the decoders of the crate `image`.

use image::{ColorType, ImageDecoder, ImageError, ImageResult, Limits};
use tarflume_types::{Error, Result};

use super::faults::{damaged, unsupported};
use super::samples::channels::PixelKind;
use super::samples::pixel_decoder::PixelDecoder;
use crate::picture::geometry::ImageSize;
use crate::picture::pixels::Depth;

/// A decoder of the crate `image` whose header was read.
pub(super) struct LibraryDecoder<D>(D);

impl<D: ImageDecoder> LibraryDecoder<D> {
    /// Takes a decoder, or the error of its header.
    pub(super) fn new(decoder: ImageResult<D>) -> Result<LibraryDecoder<D>> {
        decoder.map(LibraryDecoder).map_err(|e| fault(&e))
    }

    /// Size as stored.
    pub(super) fn size(&self) -> ImageSize {
        let (width, height) = self.0.dimensions();
        ImageSize::new(width, height)
    }
}

impl<D: ImageDecoder> PixelDecoder for LibraryDecoder<D> {
    fn kind(&self) -> Result<PixelKind> {
        let color = self.0.color_type();
        kind_of(color)
            .ok_or_else(|| unsupported(format!("pixels of type {color:?} are not decoded")))
    }

    fn bytes(&self) -> u64 {
        self.0.total_bytes()
    }

    fn decode(self: Box<Self>, memory: u64, target: &mut [u8]) -> Result<()> {
        let mut decoder = self.0;
        let mut limits = Limits::no_limits();
        limits.max_alloc = Some(memory);
        decoder.set_limits(limits).map_err(|e| fault(&e))?;
        decoder.read_image(target).map_err(|e| fault(&e))
    }
}

/// How pixels of this type are stored; `None` for types that are not decoded.
fn kind_of(color: ColorType) -> Option<PixelKind> {
    fn kind(channels: usize, depth: Depth) -> Option<PixelKind> {
        Some(PixelKind { channels, depth })
    }

    match color {
        ColorType::L8 => kind(1, Depth::Byte),
        ColorType::La8 => kind(2, Depth::Byte),
        ColorType::Rgb8 => kind(3, Depth::Byte),
        ColorType::Rgba8 => kind(4, Depth::Byte),
        ColorType::L16 => kind(1, Depth::Word),
        ColorType::La16 => kind(2, Depth::Word),
        ColorType::Rgb16 => kind(3, Depth::Word),
        ColorType::Rgba16 => kind(4, Depth::Word),
        ColorType::Rgb32F => kind(3, Depth::Float),
        ColorType::Rgba32F => kind(4, Depth::Float),
        _ => None,
    }
}

/// Converts an error of a decoder.
pub(super) fn fault(error: &ImageError) -> Error {
    // The errors of these decoders contain no byte offset.
    let text = format!("the picture cannot be decoded: {error}");
    match error {
        ImageError::Unsupported(_) => unsupported(text),
        _ => damaged(text),
    }
}
