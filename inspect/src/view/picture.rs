//! Thumbnails of pictures and of masks, by the reader's decoders.

use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder};
use tarflume::{Decode, Image, Sample, Scratch};
use tarflume_image::{Cut, Extent, Filter, ImageSize, Placement, Random, Transform, formats};
use tarflume_types::{PictureShape, Row};

/// Quality of thumbnails, 1 to 100.
const QUALITY: u8 = 68;

/// A small picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thumbnail {
    /// Bytes of a JPEG; of a PNG for a mask.
    pub bytes: Vec<u8>,
    /// Width and height of the picture itself, upright.
    pub size: (u32, u32),
}

/// Decodes a picture and encodes it as a JPEG whose longer side has at most `side` pixels.
///
/// # Errors
/// Returns a text if the picture cannot be decoded.
pub fn thumbnail(bytes: &[u8], side: u32) -> Result<Thumbnail, String> {
    let small = decode(bytes, side, Filter::Bilinear)?;
    let bytes = jpeg(&small.pixels, small.shape.width, small.shape.height)?;
    Ok(Thumbnail { bytes, size: small.size })
}

/// Encodes red, green and blue as a JPEG.
pub(super) fn jpeg(pixels: &[u8], width: u32, height: u32) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    JpegEncoder::new_with_quality(&mut out, QUALITY)
        .encode(pixels, width, height, ExtendedColorType::Rgb8)
        .map_err(|e| e.to_string())?;
    Ok(out)
}

/// Returns a JPEG as the address of a picture.
pub(super) fn jpeg_url(bytes: &[u8]) -> String {
    format!("data:image/jpeg;base64,{}", STANDARD.encode(bytes))
}

/// Returns a PNG as the address of a picture.
pub(super) fn png_url(bytes: &[u8]) -> String {
    format!("data:image/png;base64,{}", STANDARD.encode(bytes))
}

/// Decodes a mask and encodes it as a PNG: black is transparent, other grays get a color each, colors stay.
///
/// # Errors
/// Returns a text if the mask cannot be decoded.
pub fn mask(bytes: &[u8], side: u32) -> Result<Thumbnail, String> {
    let small = decode(bytes, side, Filter::Nearest)?;
    let colors = small.pixels.as_chunks::<3>().0.iter().flat_map(|&[red, green, blue]| {
        match (red, green, blue) {
            (0, 0, 0) => [0, 0, 0, 0],
            (gray, ..) if gray == green && gray == blue => region_color(u32::from(gray)),
            _ => [red, green, blue, 255],
        }
    });
    let colors: Vec<u8> = colors.collect();
    let bytes = png(&colors, small.shape.width, small.shape.height)?;
    Ok(Thumbnail { bytes, size: small.size })
}

/// Returns true if a picture that is not a JPEG states an orientation that exchanges width and height.
pub(super) fn exchanges_sides(bytes: &[u8]) -> bool {
    formats::facts(bytes).is_ok_and(|(_, orientation)| orientation >= 5)
}

/// Encodes red, green, blue and opacity.
pub(super) fn png(pixels: &[u8], width: u32, height: u32) -> Result<Vec<u8>, String> {
    let mut out = Cursor::new(Vec::new());
    PngEncoder::new_with_quality(&mut out, CompressionType::Default, FilterType::NoFilter)
        .write_image(pixels, width, height, ExtendedColorType::Rgba8)
        .map_err(|e| e.to_string())?;
    Ok(out.into_inner())
}

/// Returns the color of region `n`, from 1 on: neighbors in number differ in hue.
pub(super) fn region_color(n: u32) -> [u8; 4] {
    // The golden angle spreads hues evenly, however many there are.
    let hue = (f64::from(n) * 137.508) % 360.0 / 60.0;
    let rising = ((1.0 - (hue % 2.0 - 1.0).abs()) * 205.0) as u8 + 50;
    let (red, green, blue) = match hue as u32 {
        0 => (255, rising, 50),
        1 => (rising, 255, 50),
        2 => (50, 255, rising),
        3 => (50, rising, 255),
        4 => (rising, 50, 255),
        _ => (255, 50, rising),
    };
    [red, green, blue, 255]
}

/// Decoded pixels, and the size of the picture itself.
struct Small {
    pixels: Vec<u8>,
    shape: PictureShape,
    size: (u32, u32),
}

fn decode(bytes: &[u8], side: u32, filter: Filter) -> Result<Small, String> {
    let seen = Arc::new(AtomicU64::new(0));
    let fit = Fit { side, seen: Arc::clone(&seen) };
    let column = Image::new("picture", fit).filter(filter);
    let mut pixels = vec![0; side as usize * side as usize * 3];
    let mut used = 0;
    let mut shape = None;
    let parts = [("picture", bytes)];
    let sample = Sample { parts: &parts, ..Sample::default() };
    let row = Row::pictured(&mut pixels, &mut used, &mut shape);
    column.decode(&sample, row, &mut Scratch::default()).map_err(|e| e.text().to_string())?;
    pixels.truncate(used);
    let seen = seen.load(Ordering::Relaxed);
    let shape = shape.ok_or("the decoder returned no picture")?;
    Ok(Small { pixels, shape, size: ((seen >> 32) as u32, seen as u32) })
}

/// Resizes the whole picture into a square, with its aspect ratio. Never enlarges.
#[derive(Debug)]
struct Fit {
    side: u32,
    /// The size of the last picture: width in the upper half.
    seen: Arc<AtomicU64>,
}

impl Transform for Fit {
    fn extent(&self) -> Extent {
        Extent::UpTo(u64::from(self.side) * u64::from(self.side))
    }

    fn place(&self, source: ImageSize, _: &mut Random) -> tarflume_types::Result<Placement> {
        let seen = u64::from(source.width) << 32 | u64::from(source.height);
        self.seen.store(seen, Ordering::Relaxed);
        let longer = u64::from(source.width.max(source.height).max(self.side));
        let size = if source.width.max(source.height) <= self.side {
            source
        } else {
            let [width, height] = [source.width, source.height].map(|side| {
                ((u64::from(side) * u64::from(self.side) + longer / 2) / longer).max(1) as u32
            });
            ImageSize::new(width, height)
        };
        Ok(Placement::of(Cut::whole(source), size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarflume_fixtures::PHOTOS;

    #[test]
    fn thumbnails_keep_the_aspect_ratio_and_are_small() {
        for photo in PHOTOS {
            let small = thumbnail(photo.jpeg, 96).unwrap();
            let shown = image::load_from_memory(&small.bytes).unwrap();
            let (width, height) = small.size;
            assert_eq!(shown.width().max(shown.height()), 96);
            let wanted = f64::from(width) / f64::from(height);
            let got = f64::from(shown.width()) / f64::from(shown.height());
            assert!((wanted / got - 1.0).abs() < 0.03, "{width}x{height}: {got}");
            assert!(small.bytes.len() < 8000, "{}", small.bytes.len());
        }
        assert!(thumbnail(b"not a picture", 96).is_err());
    }

    #[test]
    fn masks_have_a_color_for_each_region_and_none_for_the_rest() {
        let mut gray = image::GrayImage::new(40, 20);
        gray.put_pixel(3, 4, image::Luma([1]));
        gray.put_pixel(5, 6, image::Luma([2]));
        let mut bytes = Cursor::new(Vec::new());
        gray.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
        let shown = mask(&bytes.into_inner(), 64).unwrap();
        let shown = image::load_from_memory(&shown.bytes).unwrap().to_rgba8();
        assert_eq!(shown.dimensions(), (40, 20));
        assert_eq!(shown.get_pixel(0, 0)[3], 0);
        assert_eq!(shown.get_pixel(3, 4).0, region_color(1));
        assert_eq!(shown.get_pixel(5, 6).0, region_color(2));
        assert_ne!(region_color(1), region_color(2));
    }
}
