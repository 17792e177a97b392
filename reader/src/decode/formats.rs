//! All pictures but JPEG, by the `image` crate: PNG, WebP, GIF (its first frame), BMP, TIFF.
//!
//! What a file claims is looked at before its decoder is asked, since most decoders make room for claims and
//! copy what no pixel is made of. Pictures are decoded into the kept buffer and narrowed there to 8 bits and
//! the channels that are wanted.

mod bytes;
mod codes;
mod gif;
mod pieces;
mod png;
mod tiff;
mod tiff_jpeg;
mod webp;

use std::fmt;
use std::io::Cursor;

use image::codecs::bmp::BmpDecoder;
use image::codecs::gif::GifDecoder;
use image::codecs::png::PngDecoder;
use image::codecs::tiff::TiffDecoder;
use image::codecs::webp::WebPDecoder;
use image::metadata::Orientation;
use image::{ColorType, ImageDecoder, ImageError, ImageFormat, ImageResult, Limits};

use crate::error::{Error, ErrorKind, Result};
use crate::picture::geometry::ImageSize;
use crate::picture::orientation::Turn;
use crate::picture::pixels::{Channels, Pixels, buffer_bytes, luma, make_room};

/// Buffers of the decoder of BMP, whatever the picture.
const BUFFERS: u64 = 64 << 10;

/// A picture whose header was read.
pub(super) struct Other<'a> {
    decoder: Box<dyn ImageDecoder + 'a>,
    /// Stored size, before any turn.
    pub(super) size: ImageSize,
    /// How it lies.
    pub(super) turn: Turn,
    /// Bytes that its decoder takes beside the pixels.
    beside: u64,
}

impl fmt::Debug for Other<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Other({}, {:?})", self.size, self.turn)
    }
}

impl<'a> Other<'a> {
    /// Reads the header of a picture of any known format, told by its first bytes. It takes at most
    /// 8 MiB of memory.
    ///
    /// # Errors
    /// It is none, or its header is damaged.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Other<'a>> {
        match image::guess_format(bytes).ok() {
            Some(ImageFormat::Png) => {
                let decoder = PngDecoder::with_limits(png::pieces(bytes), Limits::no_limits());
                let other = Other::new(decoder)?;
                let row = other.decoder.total_bytes() / u64::from(other.size.height);
                Ok(other.turned(png::exif(bytes)).beside(png::beside(row)))
            }
            Some(ImageFormat::Gif) => {
                let other = Other::new(GifDecoder::new(gif::pieces(bytes)))?;
                Ok(other.beside(gif::beside(bytes)))
            }
            Some(ImageFormat::WebP) => {
                let other = Other::new(WebPDecoder::new(Cursor::new(bytes)))?;
                let chunks = webp::Chunks::of(bytes, other.size);
                let beside = chunks.beside().map_err(damaged)?;
                Ok(other.turned(chunks.exif).beside(beside))
            }
            Some(ImageFormat::Tiff) => {
                let beside = tiff::beside(bytes).map_err(damaged)?;
                let mut decoder = TiffDecoder::new(Cursor::new(bytes)).map_err(|e| fault(&e))?;
                // A picture whose EXIF can't be read lies as it is stored.
                let turn = decoder.orientation().map(Turn::of).unwrap_or_default();
                let other = Other::new(Ok(decoder))?;
                // The decoder has a buffer of its own, which for CMYK is larger than the pixels.
                let pixels = other.decoder.total_bytes() / 3 * 4;
                Ok(Other { turn, ..other }.beside(beside.saturating_add(pixels)))
            }
            Some(ImageFormat::Bmp) => {
                let other = Other::new(BmpDecoder::new(Cursor::new(bytes)))?;
                let row = other.decoder.total_bytes() / u64::from(other.size.height);
                Ok(other.beside(row.saturating_add(BUFFERS)))
            }
            _ => {
                let first = &bytes[..bytes.len().min(4)];
                Err(damaged(format!(
                    "its first bytes ({first:02x?}) are of no picture: JPEG, PNG, WebP, GIF, BMP or \
                     TIFF is expected"
                )))
            }
        }
    }

    fn new(decoder: ImageResult<impl ImageDecoder + 'a>) -> Result<Other<'a>> {
        let decoder = decoder.map_err(|e| fault(&e))?;
        let (width, height) = decoder.dimensions();
        let size = ImageSize::new(width, height);
        if size.pixels() == 0 {
            return Err(damaged(format!("a picture of {size} pixels is none")));
        }
        Ok(Other { decoder: Box::new(decoder), size, turn: Turn::default(), beside: 0 })
    }

    /// The picture lies as its EXIF says; as it is stored if that can't be read.
    fn turned(self, exif: Option<&[u8]>) -> Other<'a> {
        let turn = exif.and_then(Orientation::from_exif_chunk).map(Turn::of).unwrap_or_default();
        Other { turn, ..self }
    }

    fn beside(self, beside: u64) -> Other<'a> {
        Other { beside, ..self }
    }

    /// The most memory that decoding takes, in bytes: the pixels as they are stored or as they are wanted, and
    /// what the decoder takes beside them.
    pub(super) fn memory(&self) -> u64 {
        let pixels = self.decoder.total_bytes().max(self.size.pixels().saturating_mul(4));
        pixels.saturating_add(self.beside)
    }

    /// Decodes all of it into `pixels`, with 1 channel if it is gray or gray is wanted, else with
    /// 3, or 4 if they are wanted and there.
    ///
    /// # Errors
    /// The data are damaged or cut.
    pub(super) fn decode(self, wanted: Channels, pixels: &mut Pixels) -> Result<()> {
        let color = self.decoder.color_type();
        let Some(kind) = Kind::of(color) else {
            return Err(damaged(format!("pixels of kind {color:?} are not understood")));
        };
        let channels = match (wanted, kind.channels) {
            (Channels::Gray, _) | (_, 1) | (Channels::Rgb, 2) => 1,
            (Channels::Rgba, 2 | 4) => 4,
            _ => 3,
        };
        let count = buffer_bytes(self.size, 1)?;
        let stored = buffer_bytes(self.size, kind.bytes() as u64)?;
        let kept = buffer_bytes(self.size, channels as u64)?;
        make_room(&mut pixels.bytes, stored.max(kept))?;
        let mut limits = Limits::no_limits();
        limits.max_alloc = Some(self.memory());
        let mut decoder = self.decoder;
        decoder.set_limits(limits).map_err(|e| fault(&e))?;
        decoder.read_image_boxed(&mut pixels.bytes[..stored]).map_err(|e| fault(&e))?;
        narrow(&mut pixels.bytes, count, kind, channels);
        pixels.bytes.truncate(kept);
        (pixels.channels, pixels.width, pixels.height) =
            (channels, self.size.width, self.size.height);
        Ok(())
    }
}

/// The stored size of a picture that is no JPEG, told by its first bytes, from its header.
///
/// # Errors
/// It is none of these, or its header is damaged.
pub fn size(bytes: &[u8]) -> Result<ImageSize> {
    Other::open(bytes).map(|other| other.size)
}

/// Decodes a picture that is no JPEG, and forgets it. It may take `memory` bytes.
///
/// # Errors
/// It is damaged. [`ErrorKind::Limit`]: decoding takes more memory.
pub fn check(bytes: &[u8], memory: u64) -> Result<ImageSize> {
    let other = Other::open(bytes)?;
    let (size, needed) = (other.size, other.memory());
    if needed > memory {
        let text =
            format!("a picture of {size} pixels takes {needed} bytes to decode, above {memory}");
        return Err(Error::new(ErrorKind::Limit, text));
    }
    other.decode(Channels::Rgba, &mut Pixels::default()).map(|()| size)
}

fn fault(error: &ImageError) -> Error {
    // These decoders name no byte.
    damaged(format!("the picture can't be decoded: {error}"))
}

fn damaged(text: String) -> Error {
    Error::new(ErrorKind::Decode, text)
}

/// How a decoder stores a pixel.
#[derive(Debug, Clone, Copy)]
struct Kind {
    channels: usize,
    depth: Depth,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    Byte,
    Word,
    Float,
}

impl Kind {
    fn of(color: ColorType) -> Option<Kind> {
        let (channels, depth) = match color {
            ColorType::L8 => (1, Depth::Byte),
            ColorType::La8 => (2, Depth::Byte),
            ColorType::Rgb8 => (3, Depth::Byte),
            ColorType::Rgba8 => (4, Depth::Byte),
            ColorType::L16 => (1, Depth::Word),
            ColorType::La16 => (2, Depth::Word),
            ColorType::Rgb16 => (3, Depth::Word),
            ColorType::Rgba16 => (4, Depth::Word),
            ColorType::Rgb32F => (3, Depth::Float),
            ColorType::Rgba32F => (4, Depth::Float),
            _ => return None,
        };
        Some(Kind { channels, depth })
    }

    /// Bytes of a pixel.
    fn bytes(self) -> usize {
        let depth = match self.depth {
            Depth::Byte => 1,
            Depth::Word => 2,
            Depth::Float => 4,
        };
        self.channels * depth
    }

    /// One pixel as four bytes: red, green, blue, opacity.
    fn read(self, pixel: &[u8]) -> [u8; 4] {
        let value = |n: usize| match self.depth {
            Depth::Byte => pixel[n],
            Depth::Word => {
                let word = u16::from_ne_bytes([pixel[2 * n], pixel[2 * n + 1]]);
                ((u32::from(word) + 128) / 257) as u8
            }
            Depth::Float => {
                let at = 4 * n;
                let bytes = [pixel[at], pixel[at + 1], pixel[at + 2], pixel[at + 3]];
                (f32::from_ne_bytes(bytes).clamp(0.0, 1.0) * 255.0).round_ties_even() as u8
            }
        };
        match self.channels {
            1 => [value(0), value(0), value(0), 255],
            2 => [value(0), value(0), value(0), value(1)],
            3 => [value(0), value(1), value(2), 255],
            _ => [value(0), value(1), value(2), value(3)],
        }
    }
}

/// Turns `count` pixels of `kind` into ones of `channels` bytes, in place.
fn narrow(bytes: &mut [u8], count: usize, kind: Kind, channels: usize) {
    let stored = kind.bytes();
    if kind.depth == Depth::Byte && kind.channels == channels {
        return;
    }
    let mut turn = |at: usize| {
        let [red, green, blue, opacity] = kind.read(&bytes[at * stored..][..stored]);
        let to = &mut bytes[at * channels..][..channels];
        match channels {
            1 if kind.channels < 3 => to[0] = red,
            1 => to[0] = luma(red, green, blue),
            3 => to.copy_from_slice(&[red, green, blue]),
            _ => to.copy_from_slice(&[red, green, blue, opacity]),
        }
    };
    // Never write over a pixel that is still to be read.
    if channels <= stored {
        (0..count).for_each(&mut turn);
    } else {
        (0..count).rev().for_each(&mut turn);
    }
}

#[cfg(test)]
mod tests;
