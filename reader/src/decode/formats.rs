//! All pictures except JPEG, decoded with the `image` crate: PNG, WebP, GIF (first frame), BMP, TIFF.
//!
//! The declared sizes are checked before the decoder runs, because most decoders allocate what a file declares and
//! copy metadata that is not needed. Pictures are decoded into the reused buffer and narrowed there to 8 bits and the
//! wanted channels.

mod bytes;
mod codes;
mod gif;
mod patched;
mod pieces;
mod png;
mod tiff;
mod tiff_jpeg;
mod webp;

use std::fmt;
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use image::codecs::bmp::BmpDecoder;
use image::codecs::gif::GifDecoder;
use image::codecs::png::PngDecoder;
use image::codecs::tiff::TiffDecoder;
use image::codecs::webp::WebPDecoder;
use image::metadata::Orientation;
use image::{ColorType, ImageDecoder, ImageError, ImageFormat, ImageResult, Limits};
use tarflume_formats::Content;

use self::patched::Patched;
use crate::error::{Error, ErrorKind, Result};
use crate::picture::geometry::ImageSize;
use crate::picture::orientation::Turn;
use crate::picture::pixels::{Channels, Pixels, buffer_bytes, luma, make_room};

/// Bytes of the BMP decoder's buffers for any picture.
const BUFFERS: u64 = 64 << 10;

/// A picture whose header was read.
pub(super) struct OtherPicture<'a> {
    decoder: Box<dyn ImageDecoder + 'a>,
    /// Size as stored, before any turn.
    pub(super) size: ImageSize,
    /// The turn of its EXIF orientation.
    pub(super) turn: Turn,
    /// Bytes that the decoder allocates in addition to the pixels.
    beside: u64,
}

impl fmt::Debug for OtherPicture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OtherPicture({}, {:?})", self.size, self.turn)
    }
}

impl<'a> OtherPicture<'a> {
    /// Reads the header of a picture. The format is detected from its first bytes. Uses at most 8 MiB of
    /// memory.
    ///
    /// # Errors
    /// Returns an error if the format is unknown or the header is damaged.
    pub(super) fn open(bytes: &'a [u8]) -> Result<OtherPicture<'a>> {
        guarded(|| OtherPicture::open_unguarded(bytes))
    }

    fn open_unguarded(bytes: &'a [u8]) -> Result<OtherPicture<'a>> {
        match image::guess_format(bytes).ok() {
            Some(ImageFormat::Png) => {
                let decoder = PngDecoder::with_limits(png::pieces(bytes), Limits::no_limits());
                let other = OtherPicture::new(decoder)?;
                let row = other.decoder.total_bytes() / u64::from(other.size.height);
                Ok(other.turned(png::exif(bytes)).beside(png::beside(row)))
            }
            Some(ImageFormat::Gif) => {
                let other = OtherPicture::new(GifDecoder::new(gif::pieces(bytes)))?;
                Ok(other.beside(gif::beside(bytes)))
            }
            Some(ImageFormat::WebP) => {
                let other = OtherPicture::new(WebPDecoder::new(Cursor::new(bytes)))?;
                let chunks = webp::Chunks::of(bytes, other.size);
                let beside = chunks.beside().map_err(damaged)?;
                Ok(other.turned(chunks.exif).beside(beside))
            }
            Some(ImageFormat::Tiff) => {
                let beside = tiff::beside(bytes).map_err(damaged)?;
                let padding = tiff::padding(bytes).map_err(unsupported)?;
                let source = Patched::new(bytes, padding.map(|padding| padding.patch));
                let mut decoder = TiffDecoder::new(source).map_err(|e| fault(&e))?;
                // A picture with unreadable EXIF is used as stored.
                let turn = decoder.orientation().map(Turn::of).unwrap_or_default();
                let mut other = OtherPicture::new(Ok(decoder))?;
                if let Some(padding) = padding {
                    other.size.height = padding.height;
                }
                // The decoder has a second buffer, which for CMYK is larger than the pixels.
                let pixels = other.decoder.total_bytes() / 3 * 4;
                Ok(OtherPicture { turn, ..other }.beside(beside.saturating_add(pixels)))
            }
            Some(ImageFormat::Bmp) => {
                let other = OtherPicture::new(BmpDecoder::new(Cursor::new(bytes)))?;
                let row = other.decoder.total_bytes() / u64::from(other.size.height);
                Ok(other.beside(row.saturating_add(BUFFERS)))
            }
            _ => Err(unknown(bytes)),
        }
    }

    fn new(decoder: ImageResult<impl ImageDecoder + 'a>) -> Result<OtherPicture<'a>> {
        let decoder = decoder.map_err(|e| fault(&e))?;
        let (width, height) = decoder.dimensions();
        let size = ImageSize::new(width, height);
        if size.pixels() == 0 {
            return Err(damaged(format!("the picture has no pixels: its size is {size}")));
        }
        Ok(OtherPicture { decoder: Box::new(decoder), size, turn: Turn::default(), beside: 0 })
    }

    /// Sets the turn from an EXIF chunk; none if the chunk cannot be read.
    fn turned(self, exif: Option<&[u8]>) -> OtherPicture<'a> {
        let turn = exif.and_then(Orientation::from_exif_chunk).map(Turn::of).unwrap_or_default();
        OtherPicture { turn, ..self }
    }

    fn beside(self, beside: u64) -> OtherPicture<'a> {
        OtherPicture { beside, ..self }
    }

    /// Size of what the decoder decodes.
    fn stored(&self) -> ImageSize {
        let (width, height) = self.decoder.dimensions();
        ImageSize::new(width, height)
    }

    /// Maximum memory for decoding, in bytes: the pixels, as stored or as wanted, and the decoder's own
    /// allocations.
    pub(super) fn memory(&self) -> u64 {
        let pixels = self.decoder.total_bytes().max(self.size.pixels().saturating_mul(4));
        pixels.saturating_add(self.beside)
    }

    /// Decodes the picture into `pixels`: 1 channel if the picture is gray or gray is wanted, 4 if the picture has
    /// opacity and it is wanted, otherwise 3.
    ///
    /// # Errors
    /// Returns an error if the data is damaged or truncated.
    pub(super) fn decode(self, wanted: Channels, pixels: &mut Pixels) -> Result<()> {
        let color = self.decoder.color_type();
        let Some(kind) = PixelKind::of(color) else {
            return Err(unsupported(format!("pixels of type {color:?} are not decoded")));
        };
        let channels = match (wanted, kind.channels) {
            (Channels::Gray, _) | (_, 1) | (Channels::Rgb, 2) => 1,
            (Channels::Rgba, 2 | 4) => 4,
            _ => 3,
        };
        let count = buffer_bytes(self.size, 1)?;
        // May have more rows than the picture.
        let stored = buffer_bytes(self.stored(), kind.bytes() as u64)?;
        let kept = buffer_bytes(self.size, channels as u64)?;
        make_room(&mut pixels.bytes, stored.max(kept))?;
        let mut limits = Limits::no_limits();
        limits.max_alloc = Some(self.memory());
        let mut decoder = self.decoder;
        let target = &mut pixels.bytes[..stored];
        guarded(|| {
            decoder.set_limits(limits).map_err(|e| fault(&e))?;
            decoder.read_image_boxed(target).map_err(|e| fault(&e))
        })?;
        narrow(&mut pixels.bytes, count, kind, channels);
        pixels.bytes.truncate(kept);
        (pixels.channels, pixels.width, pixels.height) =
            (channels, self.size.width, self.size.height);
        Ok(())
    }
}

/// Size as stored of a picture that is not a JPEG, from its header. The format is detected from its first bytes.
///
/// # Errors
/// Returns an error if the format is unknown or the header is damaged.
pub fn size(bytes: &[u8]) -> Result<ImageSize> {
    OtherPicture::open(bytes).map(|other| other.size)
}

/// Size as stored and EXIF orientation (1 to 8) of a picture that is not a JPEG, from its header.
///
/// # Errors
/// Returns the errors of [`size`].
pub fn facts(bytes: &[u8]) -> Result<(ImageSize, u8)> {
    OtherPicture::open(bytes).map(|other| (other.size, other.turn.exif()))
}

/// Decodes a picture that is not a JPEG and discards the pixels. Uses at most `memory` bytes.
///
/// # Errors
/// Returns an error if it is damaged. [`ErrorKind::Limit`]: decoding needs more memory.
pub fn check(bytes: &[u8], memory: u64) -> Result<ImageSize> {
    let other = OtherPicture::open(bytes)?;
    let (size, needed) = (other.size, other.memory());
    if needed > memory {
        return Err(too_much(size, needed, memory));
    }
    other.decode(Channels::Rgba, &mut Pixels::default()).map(|()| size)
}

/// A decoded picture that is not a JPEG, as stored.
#[derive(Debug)]
pub struct DecodedPicture {
    /// Rows of pixels without gaps.
    pub bytes: Vec<u8>,
    /// 1 (gray), 3 (red, green, blue) or 4 (and opacity).
    pub channels: usize,
    /// Size as stored.
    pub size: ImageSize,
}

/// Decodes a picture that is not a JPEG, with its opacity if it has any. Uses at most `memory` bytes.
///
/// # Errors
/// Returns the errors of [`check`].
pub fn decode(bytes: &[u8], memory: u64) -> Result<DecodedPicture> {
    let other = OtherPicture::open(bytes)?;
    let (size, needed) = (other.size, other.memory());
    if needed > memory {
        return Err(too_much(size, needed, memory));
    }
    let mut pixels = Pixels::default();
    other.decode(Channels::Rgba, &mut pixels)?;
    Ok(DecodedPicture { bytes: pixels.bytes, channels: pixels.channels, size })
}

fn too_much(size: ImageSize, needed: u64, memory: u64) -> Error {
    let text = format!("a picture of {size} pixels needs {needed} bytes to decode, above {memory}");
    Error::new(ErrorKind::Limit, text)
}

/// Runs code of the decoders. Some of them panic on damaged data: the panic becomes an error of the data, so that one
/// picture cannot end a training run.
fn guarded<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    // After a panic the decoder is dropped, and the pixels are plain bytes.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| {
        let text = "the picture cannot be decoded: its decoder panicked; convert it to PNG or JPEG";
        Err(damaged(text.into()))
    })
}

fn fault(error: &ImageError) -> Error {
    // The errors of these decoders contain no byte offset.
    let text = format!("the picture cannot be decoded: {error}");
    match error {
        ImageError::Unsupported(_) => unsupported(text),
        _ => damaged(text),
    }
}

/// The error of bytes that are none of the formats.
fn unknown(bytes: &[u8]) -> Error {
    match Content::of(bytes) {
        Some(found) if found.is_image() => {
            unsupported(format!("it is {}, which is not decoded", found.name))
        }
        Some(found) => damaged(format!("it is {}, not a picture", found.name)),
        None => {
            let first = &bytes[..bytes.len().min(4)];
            damaged(format!(
                "its first bytes ({first:02x?}) are not those of a picture: expected JPEG, PNG, WebP, GIF, BMP or TIFF"
            ))
        }
    }
}

fn unsupported(text: String) -> Error {
    Error::new(ErrorKind::Unsupported, text)
}

fn damaged(text: String) -> Error {
    Error::new(ErrorKind::Decode, text)
}

/// How a decoder stores a pixel.
#[derive(Debug, Clone, Copy)]
struct PixelKind {
    channels: usize,
    depth: Depth,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    Byte,
    Word,
    Float,
}

impl PixelKind {
    fn of(color: ColorType) -> Option<PixelKind> {
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
        Some(PixelKind { channels, depth })
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

    /// Reads one pixel as four bytes: red, green, blue, opacity.
    fn read(self, pixel: &[u8]) -> [u8; 4] {
        let value = |n: usize| match self.depth {
            Depth::Byte => pixel[n],
            Depth::Word => {
                let word = u16::from_ne_bytes([pixel[2 * n], pixel[2 * n + 1]]);
                // 65535 / 255 = 257, rounded to nearest.
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

/// Converts `count` pixels of `kind` into pixels of `channels` bytes, in place.
fn narrow(bytes: &mut [u8], count: usize, kind: PixelKind, channels: usize) {
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
    // In the direction in which no pixel is overwritten before it is read.
    if channels <= stored {
        (0..count).for_each(&mut turn);
    } else {
        (0..count).rev().for_each(&mut turn);
    }
}

#[cfg(test)]
mod tests;
