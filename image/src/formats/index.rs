//! The numbers that a picture stores, for [`Channels::Index`](crate::Channels::Index): indices of a palette, or gray levels that are not scaled.

#[cfg(feature = "png")]
use png::{BitDepth, ColorType, Transformations};
use tarflume_types::{Error, Result};

use super::faults::damaged;
#[cfg(feature = "png")]
use super::png as chunks;
use super::pnm::PnmPicture;
#[cfg(feature = "tiff")]
use super::tiff;
use crate::picture::geometry::ImageSize;
use crate::picture::pixels::{Depth, Pixels, buffer_bytes, make_room};

/// The error for a picture without numbers.
pub fn colors(what: &str) -> Error {
    damaged(format!(
        "{what} stores colors, and channels=\"index\" (`Channels::Index`) reads numbers: of a palette, or gray levels; \
         use channels=\"rgb\" or \"gray\""
    ))
}

fn too_wide() -> Error {
    damaged(
        "the picture stores numbers of 16 bits, which uint8 cannot hold: use dtype=\"uint16\" (`Image::to_u16`)".into(),
    )
}

/// Decodes the numbers of a PNG of this size with at most `memory` bytes. Numbers of 16 bits are an error unless `exact`.
///
/// # Errors
/// Returns an error if the picture stores colors, or if its data is damaged or truncated.
#[cfg(feature = "png")]
pub(super) fn of_png(
    bytes: &[u8],
    size: ImageSize,
    memory: u64,
    exact: bool,
    pixels: &mut Pixels,
) -> Result<()> {
    fn bad(e: png::DecodingError) -> Error {
        damaged(format!("the picture cannot be decoded: {e}"))
    }

    let limits = png::Limits { bytes: usize::try_from(memory).unwrap_or(usize::MAX) };
    let source = chunks::pieces(bytes);
    let mut decoder = png::Decoder::new_with_limits(source, limits);
    decoder.set_transformations(Transformations::IDENTITY);
    let mut reader = decoder.read_info().map_err(bad)?;
    let (color, depth) = reader.output_color_type();
    if !matches!(color, ColorType::Grayscale | ColorType::Indexed) {
        return Err(colors("a PNG of this kind"));
    }
    let count = buffer_bytes(size, 1)?;
    if depth == BitDepth::Sixteen {
        if !exact {
            return Err(too_wide());
        }
        make_room(&mut pixels.words, count)?;
        pixels.describe(size, 1, Depth::Word);
        reader.next_frame(bytemuck::cast_slice_mut(&mut pixels.words)).map_err(bad)?;
        pixels.words.iter_mut().for_each(|word| *word = u16::from_be(*word));
        return Ok(());
    }
    pixels.set(size, 1)?;
    // The decoder adds the bits of interlaced pixels to what the buffer has, which may be another picture.
    if reader.info().interlaced {
        pixels.bytes.fill(0);
    }
    reader.next_frame(&mut pixels.bytes).map_err(bad)?;
    unpack(&mut pixels.bytes, size, depth as usize);
    Ok(())
}

/// Converts lines of pixels of 1, 2, 4 or 8 bits, each line a whole number of bytes, to a byte each, in place.
#[cfg(feature = "png")]
fn unpack(bytes: &mut [u8], size: ImageSize, bits: usize) {
    let width = size.width as usize;
    let height = size.height as usize;
    let line = (width * bits).div_ceil(8);
    let mask = u8::MAX >> (8 - bits);
    // From the end: a packed line is no longer than its pixels, so nothing is overwritten before it is read.
    for y in (0..height).rev() {
        for x in (0..width).rev() {
            let bit = x * bits;
            let byte = bytes[y * line + bit / 8];
            bytes[y * width + x] = byte >> (8 - bits - bit % 8) & mask;
        }
    }
}

/// Decodes the indices of a GIF's first frame.
///
/// # Errors
/// Returns an error if its data is damaged or truncated.
#[cfg(feature = "gif")]
pub(super) fn of_gif(bytes: &[u8], size: ImageSize, pixels: &mut Pixels) -> Result<()> {
    use super::gif::{GifPicture, fault};

    let gif = GifPicture::open(bytes).map_err(|e| fault(&e))?;
    pixels.set(size, 1)?;
    gif.decode_indices(&mut pixels.bytes)
}

/// Decodes the indices of a BMP: those of a copy of the file whose palette shows them.
///
/// # Errors
/// Returns the errors of [`of_png`].
#[cfg(feature = "bmp")]
pub(super) fn of_bmp(bytes: &[u8], size: ImageSize, pixels: &mut Pixels) -> Result<()> {
    use image::ImageDecoder;
    use image::codecs::bmp::BmpDecoder;

    use super::bmp::BmpPalette;
    use super::library::fault;

    let palette = BmpPalette::of(bytes).ok_or_else(|| colors("a BMP without a palette"))?;
    let mut copy = Vec::new();
    make_room(&mut copy, bytes.len())?;
    copy.copy_from_slice(bytes);
    palette.show_indices(&mut copy);
    let decoder = BmpDecoder::new(std::io::Cursor::new(&copy)).map_err(|e| fault(&e))?;
    let each = usize::from(decoder.color_type().bytes_per_pixel());
    let count = buffer_bytes(size, 1)?;
    pixels.set(size, each)?;
    decoder.read_image(&mut pixels.bytes).map_err(|e| fault(&e))?;
    (0..count).for_each(|n| pixels.bytes[n] = pixels.bytes[n * each]);
    pixels.bytes.truncate(count);
    pixels.describe(size, 1, Depth::Byte);
    Ok(())
}

/// Decodes the numbers of a PGM, or the bits of a PBM, of which 1 is black.
///
/// # Errors
/// Returns an error if the picture stores colors or, unless `exact`, numbers of more than 8 bits.
pub(super) fn of_pnm(
    bytes: &[u8],
    size: ImageSize,
    exact: bool,
    pixels: &mut Pixels,
) -> Result<()> {
    let picture = PnmPicture::open(bytes)?;
    match picture.is_wide_gray() {
        None => Err(colors("a PPM")),
        Some(false) => {
            pixels.set(size, 1)?;
            picture.read_numbers(|n, number| pixels.bytes[n] = number as u8)
        }
        Some(true) if !exact => Err(too_wide()),
        Some(true) => {
            make_room(&mut pixels.words, buffer_bytes(size, 1)?)?;
            pixels.describe(size, 1, Depth::Word);
            picture.read_numbers(|n, number| pixels.words[n] = number)
        }
    }
}

/// How a TIFF stores its gray levels, which are its numbers.
///
/// # Errors
/// Returns an error if the picture stores colors, or numbers of 16 bits unless `exact`.
#[cfg(feature = "tiff")]
pub(super) fn of_tiff(bytes: &[u8], exact: bool) -> Result<TiffLevels> {
    let gray = tiff::stored_gray(bytes).filter(|gray| matches!(gray.bits, 1 | 8 | 16));
    let gray = gray.ok_or_else(|| colors("a TIFF that is not gray of 1, 8 or 16 bits"))?;
    if gray.bits == 16 && !exact {
        return Err(too_wide());
    }
    Ok(TiffLevels(gray))
}

/// The gray levels of a TIFF.
#[cfg(feature = "tiff")]
pub(super) struct TiffLevels(tiff::StoredGray);

#[cfg(feature = "tiff")]
impl TiffLevels {
    /// Converts decoded gray, from black to white, to the numbers that the file stores.
    pub(super) fn restore(&self, pixels: &mut Pixels) {
        let TiffLevels(gray) = self;
        if gray.bits == 1 {
            pixels.bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte > 0));
        }
        if !gray.white_is_zero {
            return;
        }
        let white = if gray.bits == 1 { 1 } else { u8::MAX };
        match pixels.depth {
            Depth::Word => pixels.words.iter_mut().for_each(|word| *word = u16::MAX - *word),
            _ => pixels.bytes.iter_mut().for_each(|byte| *byte = white - *byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use tarflume_fixtures::SplitMix64;

    use super::*;

    #[test]
    fn packed_lines_become_a_byte_a_pixel() {
        let mut dice = SplitMix64::new(1);
        for bits in [1usize, 2, 4, 8] {
            for (width, height) in [(1usize, 1usize), (1, 9), (7, 3), (8, 2), (13, 5), (33, 1)] {
                let numbers: Vec<u8> =
                    (0..width * height).map(|_| dice.below(1 << bits) as u8).collect();
                let mut packed = vec![0; numbers.len()];
                for (n, number) in numbers.iter().enumerate() {
                    let line = (width * bits).div_ceil(8);
                    let bit = n % width * bits;
                    packed[n / width * line + bit / 8] |= number << (8 - bits - bit % 8);
                }
                unpack(&mut packed, ImageSize::new(width as u32, height as u32), bits);
                assert_eq!(packed, numbers, "{width} x {height} of {bits} bits");
            }
        }
    }
}
