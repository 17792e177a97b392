//! `Raster`: decoded pixels; reduces, turns and encodes them.

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use tarflume_image::ImageSize;

use super::fault::PictureFault;

/// Pixels of 8 bits a channel, row by row.
#[derive(Debug)]
pub(super) struct Raster {
    pub(super) bytes: Vec<u8>,
    /// 1, 3 or 4.
    pub(super) channels: usize,
    pub(super) size: ImageSize,
}

/// The segments of a JPEG that is encoded.
#[derive(Debug, Default)]
pub(super) struct Segments {
    /// The color profile (ICC).
    pub(super) profile: Option<Vec<u8>>,
    /// The orientation of pixels that were not turned.
    pub(super) orientation: Option<u8>,
}

impl Raster {
    /// Returns the pixels at another size, by Lanczos with three lobes: of the usual filters the one
    /// that keeps the most detail. Opacity weighs the colors.
    pub(super) fn resized(
        &self,
        resizer: &mut Resizer,
        to: ImageSize,
    ) -> Result<Raster, PictureFault> {
        let kind = match self.channels {
            1 => PixelType::U8,
            3 => PixelType::U8x3,
            _ => PixelType::U8x4,
        };
        let ImageSize { width, height } = self.size;
        let from = ImageRef::new(width, height, &self.bytes, kind).map_err(|e| refused(&e))?;
        let mut out = Image::new(to.width, to.height, kind);
        let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3));
        resizer.resize(&from, &mut out, &options).map_err(|e| refused(&e))?;
        Ok(Raster { bytes: out.into_vec(), channels: self.channels, size: to })
    }

    /// Returns the pixels as an EXIF orientation, 1 to 8, shows them.
    pub(super) fn turned(self, orientation: u8) -> Raster {
        let width = self.size.width as usize;
        let height = self.size.height as usize;
        let is_transposed = orientation >= 5;
        // The columns and rows of the source run backwards.
        let mirrored = matches!(orientation, 2 | 3 | 7 | 8);
        let upended = matches!(orientation, 3 | 4 | 6 | 7);
        if !is_transposed && !mirrored && !upended {
            return self;
        }
        let mut bytes = Vec::with_capacity(self.bytes.len());
        let (across, down) = if is_transposed { (height, width) } else { (width, height) };
        for y in 0..down {
            for x in 0..across {
                let (x, y) = if is_transposed { (y, x) } else { (x, y) };
                let x = if mirrored { width - 1 - x } else { x };
                let y = if upended { height - 1 - y } else { y };
                let at = (y * width + x) * self.channels;
                bytes.extend_from_slice(&self.bytes[at..at + self.channels]);
            }
        }
        let size = ImageSize::new(across as u32, down as u32);
        Raster { bytes, channels: self.channels, size }
    }

    /// Returns true if a pixel is not opaque.
    pub(super) fn is_translucent(&self) -> bool {
        self.channels == 4 && self.bytes.iter().skip(3).step_by(4).any(|&opacity| opacity < 255)
    }

    /// Encodes a baseline JPEG with color at half resolution and the usual Huffman tables. Opacity is
    /// dropped.
    ///
    /// # Errors
    /// Returns an error if a side has more than 65535 pixels.
    pub(super) fn to_jpeg(
        &self,
        quality: u8,
        segments: &Segments,
    ) -> Result<Vec<u8>, PictureFault> {
        let sides = (u16::try_from(self.size.width), u16::try_from(self.size.height));
        let (Ok(width), Ok(height)) = sides else {
            return Err(PictureFault::encoding(&"a JPEG has at most 65535 pixels a side"));
        };
        let color = match self.channels {
            1 => ColorType::Luma,
            3 => ColorType::Rgb,
            _ => ColorType::Rgba,
        };
        let mut out = Vec::with_capacity(self.bytes.len() / 8 + 1024);
        let mut encoder = Encoder::new(&mut out, quality);
        encoder.set_sampling_factor(SamplingFactor::R_4_2_0);
        if let Some(profile) = &segments.profile {
            encoder.add_icc_profile(profile).map_err(|e| PictureFault::encoding(&e))?;
        }
        if let Some(orientation) = segments.orientation {
            let exif = tarflume_jpeg::exif_of(orientation).to_vec();
            encoder.add_app_segment(1, exif).map_err(|e| PictureFault::encoding(&e))?;
        }
        let encoded = encoder.encode(&self.bytes, width, height, color);
        encoded.map_err(|e| PictureFault::encoding(&e)).map(|()| out)
    }

    /// Encodes a PNG.
    pub(super) fn to_png(&self) -> Result<Vec<u8>, PictureFault> {
        let color = match self.channels {
            1 => ExtendedColorType::L8,
            3 => ExtendedColorType::Rgb8,
            _ => ExtendedColorType::Rgba8,
        };
        let ImageSize { width, height } = self.size;
        let mut out = Vec::with_capacity(self.bytes.len() / 2 + 1024);
        let encoder = PngEncoder::new(&mut out);
        let written = encoder.write_image(&self.bytes, width, height, color);
        written.map_err(|e| PictureFault::encoding(&e)).map(|()| out)
    }
}

fn refused(error: &dyn std::fmt::Debug) -> PictureFault {
    PictureFault::Data { byte: 0, reason: format!("the image cannot be resized: {error:?}") }
}

#[cfg(test)]
mod tests {
    use image::metadata::Orientation;
    use image::{DynamicImage, GrayImage};

    use super::*;

    #[test]
    fn pixels_are_turned_as_the_image_crate_turns_them() {
        let bytes: Vec<u8> = (0..15).collect();
        for orientation in 1..=8 {
            let stored = GrayImage::from_raw(5, 3, bytes.clone()).unwrap();
            let mut expected = DynamicImage::ImageLuma8(stored);
            expected.apply_orientation(Orientation::from_exif(orientation).unwrap());
            let size = ImageSize::new(5, 3);
            let raster = Raster { bytes: bytes.clone(), channels: 1, size };
            let turned = raster.turned(orientation);
            let size = ImageSize::new(expected.width(), expected.height());
            assert_eq!(turned.size, size, "{orientation}");
            assert_eq!(turned.bytes, expected.into_bytes(), "{orientation}");
        }
    }

    #[test]
    fn one_translucent_pixel_is_enough() {
        let size = ImageSize::new(2, 1);
        for (opacity, expected) in [(254, true), (255, false)] {
            let bytes = vec![9, 9, 9, 255, 9, 9, 9, opacity];
            assert_eq!(Raster { bytes, channels: 4, size }.is_translucent(), expected);
        }
        assert!(!Raster { bytes: vec![0; 6], channels: 3, size }.is_translucent());
    }
}
