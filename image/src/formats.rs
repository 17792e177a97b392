//! All pictures except JPEG: PNG, WebP, GIF (first frame), BMP and TIFF, decoded with the `image` crate, and Netpbm.
//!
//! The declared sizes are checked before the decoder runs, because most decoders allocate what a file declares and
//! copy metadata that is not needed. Each format but Netpbm has a feature of its name. Pictures are decoded into the reused buffer and narrowed there to 8 bits and the
//! wanted channels.

#[cfg(feature = "bmp")]
mod bmp;
mod faults;
#[cfg(feature = "gif")]
mod gif;
pub mod index;
mod input;
mod kind;
#[cfg(feature = "_image")]
mod library;
#[cfg(feature = "png")]
mod png;
mod pnm;
mod samples;
#[cfg(feature = "tiff")]
pub mod tiff;
#[cfg(feature = "webp")]
mod webp;

use std::fmt;

#[cfg(feature = "_image")]
use image::{ImageDecoder, ImageResult};
use tarflume_jpeg::orientation_in;
use tarflume_types::Result;

#[cfg(feature = "bmp")]
use self::bmp::BmpPalette;
#[cfg(not(feature = "tiff"))]
use self::faults::{bands_size, check_bands};
use self::faults::{damaged, guarded, too_much, unknown};
use self::kind::PictureFormat;
#[cfg(feature = "_image")]
use self::library::LibraryDecoder;
use self::samples::channels::{PixelKind, WideSample, narrow, rearrange};
use self::samples::pixel_decoder::PixelDecoder;
#[cfg(feature = "tiff")]
use self::tiff::colorless::{bands_size, check_bands};
use crate::picture::geometry::ImageSize;
use crate::picture::orientation::Turn;
use crate::picture::pixels::{Channels, Depth, Pixels, Wanted, buffer_bytes, make_room};

/// Bytes of the BMP decoder's buffers for any picture.
const BUFFERS: u64 = 64 << 10;

/// Colors and opacity, 8 bits each.
const EVERYTHING: Wanted = Wanted { channels: Channels::Rgba, exact: false };

/// A picture whose header was read.
pub struct OtherPicture<'a> {
    bytes: &'a [u8],
    format: PictureFormat,
    decoder: Box<dyn PixelDecoder + 'a>,
    /// Size as stored, before any turn.
    pub size: ImageSize,
    /// Size of what the decoder decodes, which may have more rows.
    decoded: ImageSize,
    /// The turn of its orientation.
    pub turn: Turn,
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
    pub fn open(bytes: &'a [u8]) -> Result<OtherPicture<'a>> {
        guarded(|| OtherPicture::open_unguarded(bytes))
    }

    fn open_unguarded(bytes: &'a [u8]) -> Result<OtherPicture<'a>> {
        match PictureFormat::of(bytes) {
            Some(format) if !format.is_compiled() => Err(format.left_out()),
            #[cfg(feature = "png")]
            Some(PictureFormat::Png) => OtherPicture::open_png(bytes),
            #[cfg(feature = "gif")]
            Some(PictureFormat::Gif) => OtherPicture::open_gif(bytes),
            #[cfg(feature = "webp")]
            Some(PictureFormat::WebP) => OtherPicture::open_webp(bytes),
            #[cfg(feature = "tiff")]
            Some(PictureFormat::Tiff) => OtherPicture::open_tiff(bytes),
            #[cfg(feature = "bmp")]
            Some(PictureFormat::Bmp) => OtherPicture::open_bmp(bytes),
            Some(PictureFormat::Pnm) => {
                let picture = pnm::PnmPicture::open(bytes)?;
                let size = picture.size;
                OtherPicture::new(bytes, PictureFormat::Pnm, Box::new(picture), size)
            }
            _ => Err(unknown(bytes)),
        }
    }

    #[cfg(feature = "png")]
    fn open_png(bytes: &'a [u8]) -> Result<OtherPicture<'a>> {
        let limits = image::Limits::no_limits();
        let decoder = image::codecs::png::PngDecoder::with_limits(png::pieces(bytes), limits);
        let other = OtherPicture::of_library(bytes, PictureFormat::Png, decoder)?;
        let row = other.decoder.bytes() / u64::from(other.size.height);
        let metadata = png::metadata::PngMetadata::of(bytes);
        Ok(other.turned(metadata.exif(), metadata.xmp()).beside(png::beside(row)))
    }

    #[cfg(feature = "gif")]
    fn open_gif(bytes: &'a [u8]) -> Result<OtherPicture<'a>> {
        let gif = gif::GifPicture::open(bytes).map_err(|e| gif::fault(&e))?;
        let size = gif.size;
        let beside = gif.beside;
        Ok(OtherPicture::new(bytes, PictureFormat::Gif, Box::new(gif), size)?.beside(beside))
    }

    #[cfg(feature = "webp")]
    fn open_webp(bytes: &'a [u8]) -> Result<OtherPicture<'a>> {
        let source =
            input::patched::Patched::new(bytes, [webp::replacing_first_frame(bytes), None]);
        let decoder = image::codecs::webp::WebPDecoder::new(source);
        let other = OtherPicture::of_library(bytes, PictureFormat::WebP, decoder)?;
        let chunks = webp::Chunks::of(bytes, other.size);
        let beside = chunks.beside().map_err(damaged)?;
        Ok(other.turned(chunks.exif, chunks.xmp).beside(beside))
    }

    #[cfg(feature = "tiff")]
    fn open_tiff(bytes: &'a [u8]) -> Result<OtherPicture<'a>> {
        let beside = tiff::beside(bytes).map_err(damaged)?;
        let padding = tiff::padding::padding(bytes).map_err(faults::unsupported)?;
        let patches = padding.map_or([None; 2], |padding| padding.patches);
        let source = input::patched::Patched::new(bytes, patches);
        let decoder = image::codecs::tiff::TiffDecoder::new(source);
        let mut other = OtherPicture::of_library(bytes, PictureFormat::Tiff, decoder)?;
        if let Some(padding) = padding {
            other.size = ImageSize::new(padding.width, padding.height);
        }
        // The decoder has a second buffer, which for CMYK is larger than the pixels.
        let pixels = other.decoder.bytes() / 3 * 4;
        // EXIF has the structure of TIFF, so the file itself is its EXIF block.
        let turned = other.turned(Some(bytes), tiff::xmp(bytes));
        Ok(turned.beside(beside.saturating_add(pixels)))
    }

    #[cfg(feature = "bmp")]
    fn open_bmp(bytes: &'a [u8]) -> Result<OtherPicture<'a>> {
        let decoder = image::codecs::bmp::BmpDecoder::new(std::io::Cursor::new(bytes));
        let other = OtherPicture::of_library(bytes, PictureFormat::Bmp, decoder)?;
        let row = other.decoder.bytes() / u64::from(other.size.height);
        // To read its indices, the file is copied with another palette.
        let copy = BmpPalette::of(bytes).map_or(0, |_| bytes.len() as u64);
        Ok(other.beside(row.saturating_add(BUFFERS).saturating_add(copy)))
    }

    #[cfg(feature = "_image")]
    fn of_library(
        bytes: &'a [u8],
        format: PictureFormat,
        decoder: ImageResult<impl ImageDecoder + 'a>,
    ) -> Result<OtherPicture<'a>> {
        let decoder = LibraryDecoder::new(decoder)?;
        let size = decoder.size();
        OtherPicture::new(bytes, format, Box::new(decoder), size)
    }

    fn new(
        bytes: &'a [u8],
        format: PictureFormat,
        decoder: Box<dyn PixelDecoder + 'a>,
        size: ImageSize,
    ) -> Result<OtherPicture<'a>> {
        if size.pixels() == 0 {
            return Err(damaged(format!("the picture has no pixels: its size is {size}")));
        }
        Ok(OtherPicture {
            bytes,
            format,
            decoder,
            size,
            decoded: size,
            turn: Turn::default(),
            beside: 0,
        })
    }

    /// Sets the turn from metadata.
    fn turned(self, exif: Option<&[u8]>, xmp: Option<&[u8]>) -> OtherPicture<'a> {
        let turn = orientation_in(exif, xmp).map(Turn::of_exif).unwrap_or_default();
        OtherPicture { turn, ..self }
    }

    fn beside(self, beside: u64) -> OtherPicture<'a> {
        OtherPicture { beside, ..self }
    }

    /// Maximum memory for decoding, in bytes: the pixels, as stored or as wanted, and the decoder's own
    /// allocations.
    pub fn memory(&self) -> u64 {
        // Four channels are wanted at most.
        let pixels = self.decoded.pixels().saturating_mul(4 * self.depth().bytes() as u64);
        self.decoder.bytes().max(pixels).saturating_add(self.beside)
    }

    /// The type of the samples that the picture stores.
    pub fn depth(&self) -> Depth {
        self.decoder.kind().map_or(Depth::Byte, |kind| kind.depth)
    }

    /// Decodes the picture into `pixels`: 1 channel if the picture is gray or one is wanted, 4 if the picture has
    /// opacity and it is wanted, otherwise 3.
    ///
    /// # Errors
    /// Returns an error if the data is damaged or truncated, or if the picture does not have what is wanted.
    pub fn decode(self, wanted: Wanted, pixels: &mut Pixels) -> Result<()> {
        match wanted.channels {
            Channels::Index => self.decode_numbers(wanted.exact, pixels),
            Channels::Gray if self.palette_is_colored() => Err(damaged(
                "the picture has a palette: channels=\"index\" (`Channels::Index`) reads its indices, such as the classes \
                 of a mask, and channels=\"luma\" (`Channels::Luma`) the gray of its colors"
                    .into(),
            )),
            _ => self.decode_colors(wanted, pixels),
        }
    }

    /// Decodes the numbers that the picture stores.
    fn decode_numbers(self, exact: bool, pixels: &mut Pixels) -> Result<()> {
        match self.format {
            #[cfg(feature = "png")]
            PictureFormat::Png => {
                guarded(|| index::of_png(self.bytes, self.size, self.memory(), exact, pixels))
            }
            #[cfg(feature = "gif")]
            PictureFormat::Gif => guarded(|| index::of_gif(self.bytes, self.size, pixels)),
            #[cfg(feature = "bmp")]
            PictureFormat::Bmp => guarded(|| index::of_bmp(self.bytes, self.size, pixels)),
            #[cfg(feature = "tiff")]
            PictureFormat::Tiff => {
                let gray = index::of_tiff(self.bytes, exact)?;
                self.decode_colors(Wanted { channels: Channels::Luma, exact }, pixels)?;
                gray.restore(pixels);
                Ok(())
            }
            PictureFormat::Pnm => index::of_pnm(self.bytes, self.size, exact, pixels),
            _ => Err(index::colors("a WebP")),
        }
    }

    /// Whether the picture has a palette with another color than the gray of its index.
    fn palette_is_colored(&self) -> bool {
        match self.format {
            #[cfg(feature = "png")]
            PictureFormat::Png => png::palette(self.bytes).is_some_and(is_colored),
            #[cfg(feature = "gif")]
            PictureFormat::Gif => gif::palette(self.bytes).is_some_and(is_colored),
            // A BMP has no other way to store gray: levels from black to white are gray.
            #[cfg(feature = "bmp")]
            PictureFormat::Bmp => BmpPalette::of(self.bytes).is_some_and(|palette| {
                let colors = palette.colors(self.bytes);
                let step = 255 / (colors.len().max(2) - 1);
                let mut levels = colors.enumerate();
                levels.any(|(index, color)| color != [(index * step) as u8; 3])
            }),
            _ => false,
        }
    }

    fn decode_colors(self, wanted: Wanted, pixels: &mut Pixels) -> Result<()> {
        let kind = self.decoder.kind()?;
        let depth = if wanted.exact { kind.depth } else { Depth::Byte };
        let size = self.size;
        let channels = kind.decoded(wanted.channels);
        match depth {
            Depth::Byte => self.decode_bytes(kind, channels, &mut pixels.bytes),
            Depth::Word => self.decode_wide(kind, channels, &mut pixels.words),
            Depth::Float => self.decode_wide(kind, channels, &mut pixels.floats),
        }?;
        pixels.describe(size, channels, depth);
        Ok(())
    }

    fn decode_bytes(self, kind: PixelKind, channels: usize, bytes: &mut Vec<u8>) -> Result<()> {
        let count = buffer_bytes(self.size, 1)?;
        let stored = buffer_bytes(self.decoded, kind.bytes() as u64)?;
        let kept = buffer_bytes(self.size, channels as u64)?;
        make_room(bytes, stored.max(kept))?;
        let memory = self.memory();
        guarded(|| self.decoder.decode(memory, &mut bytes[..stored]))?;
        crop(bytes, self.decoded, self.size, kind.bytes());
        narrow(bytes, count, kind, channels);
        bytes.truncate(kept);
        Ok(())
    }

    /// Decodes samples of more than 8 bits as they are.
    fn decode_wide<T: WideSample>(
        self,
        kind: PixelKind,
        channels: usize,
        samples: &mut Vec<T>,
    ) -> Result<()> {
        // Also the bytes must be addressable.
        buffer_bytes(self.decoded, (4 * kind.depth.bytes()) as u64)?;
        let count = buffer_bytes(self.size, 1)?;
        let decoded = buffer_bytes(self.decoded, kind.channels as u64)?;
        make_room(samples, decoded.max(count * channels))?;
        let memory = self.memory();
        let stored = bytemuck::cast_slice_mut(&mut samples[..decoded]);
        guarded(|| self.decoder.decode(memory, stored))?;
        crop(samples, self.decoded, self.size, kind.channels);
        rearrange(samples, count, kind.channels, channels);
        samples.truncate(count * channels);
        Ok(())
    }
}

/// Leaves out the columns of a decoded picture that are no part of it. `each` is the number of samples of a pixel.
fn crop<T: Copy>(samples: &mut [T], decoded: ImageSize, size: ImageSize, each: usize) {
    if decoded.width == size.width {
        return;
    }
    let from = decoded.width as usize * each;
    let to = size.width as usize * each;
    (0..size.height as usize).for_each(|y| samples.copy_within(y * from..y * from + to, y * to));
}

/// Whether a color of a palette, three bytes each, is another than the gray of its index.
fn is_colored(colors: &[u8]) -> bool {
    let colors = colors.as_chunks::<3>().0;
    colors.iter().enumerate().any(|(index, color)| *color != [index as u8; 3])
}

/// Size as stored of a picture that is not a JPEG, from its header. The format is detected from its first bytes.
///
/// # Errors
/// Returns an error if the format is unknown or the header is damaged.
pub fn size(bytes: &[u8]) -> Result<ImageSize> {
    OtherPicture::open(bytes).map(|other| other.size).or_else(|error| bands_size(bytes, error))
}

/// Size as stored and orientation (1 to 8) of a picture that is not a JPEG, from its header.
///
/// # Errors
/// Returns the errors of [`size`].
pub fn facts(bytes: &[u8]) -> Result<(ImageSize, u8)> {
    OtherPicture::open(bytes).map(|other| (other.size, other.turn.exif()))
}

/// Decodes a picture that is not a JPEG and discards the pixels. Uses at most `memory` bytes.
///
/// # Errors
/// Returns an error if it is damaged. [`ErrorKind::Limit`](tarflume_types::ErrorKind::Limit): decoding needs more memory.
pub fn check(bytes: &[u8], memory: u64) -> Result<ImageSize> {
    check_as(bytes, memory, EVERYTHING).or_else(|error| check_bands(bytes, memory, error))
}

/// What decoding a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureLook {
    /// Size as stored.
    pub size: ImageSize,
    /// True if it has several pixels and all are equal.
    pub is_constant: bool,
}

/// As [`check`]; compares the pixels with one another.
///
/// # Errors
/// Returns the errors of [`check`].
pub fn look(bytes: &[u8], memory: u64) -> Result<PictureLook> {
    let decoded = match decode(bytes, memory) {
        Ok(decoded) => decoded,
        Err(error) => {
            let size = check_bands(bytes, memory, error)?;
            return Ok(PictureLook { size, is_constant: false });
        }
    };
    let mut pixels = decoded.bytes.chunks_exact(decoded.channels.max(1));
    let first = pixels.next();
    let is_constant = decoded.size.pixels() > 1 && pixels.all(|pixel| Some(pixel) == first);
    Ok(PictureLook { size: decoded.size, is_constant })
}

/// As [`check`], for the numbers that a mask stores, of 8 or 16 bits.
///
/// # Errors
/// Returns the errors of [`check`], and one for a picture that stores colors.
pub fn check_numbers(bytes: &[u8], memory: u64) -> Result<ImageSize> {
    check_as(bytes, memory, Wanted { channels: Channels::Index, exact: true })
}

fn check_as(bytes: &[u8], memory: u64, wanted: Wanted) -> Result<ImageSize> {
    let other = OtherPicture::open(bytes)?;
    let size = other.size;
    let needed = other.memory();
    if needed > memory {
        return Err(too_much(size, needed, memory));
    }
    other.decode(wanted, &mut Pixels::default()).map(|()| size)
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
    let size = other.size;
    let needed = other.memory();
    if needed > memory {
        return Err(too_much(size, needed, memory));
    }
    let mut pixels = Pixels::default();
    other.decode(EVERYTHING, &mut pixels)?;
    Ok(DecodedPicture { bytes: pixels.bytes, channels: pixels.channels, size })
}

#[cfg(test)]
mod tests;
