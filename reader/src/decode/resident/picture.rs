//! `PreloadImage`: preloads whole pictures of moderate size into device memory, each after a `RowHeader` with its size.
//! Fills host rows; allocates no device memory.

use std::mem;
use std::sync::Arc;

use tarflume_image::convert::Pictures;
use tarflume_image::row_header::{Format, RowHeader, RowPicture};
use tarflume_image::{
    Cut, Extent, ImageSize, Placement, Random, Transform, planes_on_host, yuv420_bytes,
};
use tarflume_types::{DType, Result, Row, RowShape};

use crate::decode::{Decode, Sample, Scratch};

/// Rows of a store begin at multiples of this many bytes.
const ALIGNED: usize = 64;

/// A transform that keeps the whole picture and its aspect ratio, and shrinks it to at most `side * side` pixels. Never
/// enlarges.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FitWithin {
    pub(crate) side: u32,
}

impl FitWithin {
    fn pixels(self) -> u64 {
        u64::from(self.side) * u64::from(self.side)
    }

    /// The size of a resized picture. A side has at least 1 pixel and at most four times `side`.
    pub(crate) fn size(self, source: ImageSize) -> ImageSize {
        let longest = f64::from(source.width.max(source.height).max(1));
        let area = (self.pixels() as f64 / source.pixels().max(1) as f64).sqrt();
        let factor = area.min(4.0 * f64::from(self.side) / longest).min(1.0);
        ImageSize::new(shrunk(source.width, factor), shrunk(source.height, factor))
    }
}

/// `factor` times a side, and at least 1 pixel.
fn shrunk(side: u32, factor: f64) -> u32 {
    ((f64::from(side) * factor) as u32).max(1)
}

impl Transform for FitWithin {
    fn extent(&self) -> Extent {
        Extent::UpTo(self.pixels())
    }

    fn place(&self, source: ImageSize, _: &mut Random) -> Result<Placement> {
        Ok(Placement::of(Cut::whole(source), self.size(source)))
    }
}

/// A buffer that a thread keeps, no larger than a stored picture.
#[derive(Default)]
struct PixelBuffer(Vec<u8>);

/// A column of u8 rows for preloading: a header, then the picture.
pub(crate) struct PreloadImage {
    /// Writes pixels in the size that [`Within`] gives.
    pixels: Arc<dyn Decode>,
    /// Writes that size: `[height, width]` as u32.
    sizes: Arc<dyn Decode>,
    channels: usize,
    format: Format,
    room: usize,
}

impl PreloadImage {
    /// Stores what `pixels` writes with the transform `within`. `sizes` writes `[height, width]` of each picture.
    ///
    /// # Errors
    /// Returns an error if pictures of that many pixels are too large for a device, or if the format does not
    /// support these channels.
    pub(crate) fn new(
        pixels: Arc<dyn Decode>,
        sizes: Arc<dyn Decode>,
        within: FitWithin,
        channels: usize,
        format: Format,
    ) -> Result<PreloadImage> {
        // Chroma planes round each side up, which costs up to half a sample for each pixel of a side.
        let square = ImageSize::new(within.side, within.side);
        let bytes = match format {
            Format::Pixels => format.bytes(square, channels)?,
            Format::Yuv420 => format.bytes(square, channels)? + 4 * within.side as usize,
        };
        let room = (RowHeader::BYTES + bytes).next_multiple_of(ALIGNED) - RowHeader::BYTES;
        Ok(PreloadImage { pixels, sizes, channels, format, room })
    }

    /// Bytes of a row.
    pub(crate) fn stride(&self) -> usize {
        RowHeader::BYTES + self.room
    }

    /// Writes a picture's pixels.
    fn draw(&self, sample: &Sample<'_>, to: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        let mut used = 0;
        self.pixels.decode(sample, Row::variable(to, &mut used), scratch)
    }

    /// Writes a picture's planes. The pixels go through a buffer that the thread keeps.
    fn draw_planes(
        &self,
        size: ImageSize,
        sample: &Sample<'_>,
        to: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let shape = Pictures::new(1, size, self.channels)?;
        let mut pixels = mem::take(&mut scratch.get::<PixelBuffer>().0);
        pixels.resize(shape.bytes(), 0);
        let drawn = self.draw(sample, &mut pixels, scratch).and_then(|()| {
            let bytes = yuv420_bytes(size);
            planes_on_host(&shape, &pixels, &mut to[..bytes], bytes, 0)
        });
        scratch.get::<PixelBuffer>().0 = pixels;
        drawn
    }
}

impl Decode for PreloadImage {
    fn parts(&self) -> Vec<String> {
        self.pixels.parts()
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(DType::U8, vec![self.stride()])
    }

    fn validate(&self) -> Result<()> {
        self.pixels.validate()
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let mut sides = [0u32; 2];
        self.sizes.decode(sample, Row::fixed(bytemuck::bytes_of_mut(&mut sides)), scratch)?;
        let size = ImageSize::new(sides[1], sides[0]);
        let area = Cut::whole(size).into();
        let picture = RowPicture { format: self.format, size, area, flip: false };
        let head = RowHeader::row(picture, self.channels, self.room)?;
        let bytes = row.bytes();
        let (to, rest) = bytes.split_at_mut(RowHeader::BYTES);
        to.copy_from_slice(bytemuck::bytes_of(&head));
        match self.format {
            Format::Pixels => self.draw(sample, rest, scratch),
            Format::Yuv420 => self.draw_planes(size, sample, rest, scratch),
        }
    }

    fn wants_entry_points(&self) -> bool {
        self.pixels.wants_entry_points()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_keep_their_shape_and_never_grow() {
        let within = FitWithin { side: 256 };
        assert_eq!(within.size(ImageSize::new(500, 375)), ImageSize::new(295, 221));
        assert_eq!(within.size(ImageSize::new(100, 600)), ImageSize::new(100, 600));
        assert_eq!(within.size(ImageSize::new(256, 256)), ImageSize::new(256, 256));
        assert_eq!(within.size(ImageSize::new(1 << 20, 1)), ImageSize::new(1 << 10, 1));
        for (width, height) in [(1, 1 << 20), (70_000, 3), (4000, 3000), (3, 5)] {
            let size = within.size(ImageSize::new(width, height));
            assert!((1..=1 << 16).contains(&size.pixels()), "{size}");
        }
    }
}
