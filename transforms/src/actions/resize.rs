//! `Resize` and `ResizeMask`: the actions that change the size of a picture.

use serde::{Deserialize, Serialize};
use tarflume_image::resize::memory;
use tarflume_image::{Cut, ImageSize, Placement, make_room};
use tarflume_types::{Error, Result};

use super::apply::Apply;
use crate::frame::Frame;
use crate::kernels::geometry::resize_mask::resize_mask;
use crate::settings::Interpolation;

/// Resizes, antialiased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resize {
    /// Height and width of the result.
    pub size: [u32; 2],
    /// The filter.
    pub interpolation: Interpolation,
}

impl Resize {
    /// The placement of a whole picture of size `from`.
    fn placement(self, from: ImageSize) -> Placement {
        Placement::of(Cut::whole(from), self.size(from))
    }
}

impl Apply for Resize {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let placement = self.placement(frame.size());
        frame.resize(&placement, self.interpolation.filter())
    }

    fn size(&self, _: ImageSize) -> ImageSize {
        ImageSize::new(self.size[1], self.size[0])
    }

    fn room(&self, from: ImageSize, channels: usize) -> u64 {
        memory(&self.placement(from), self.interpolation.filter(), channels)
    }
}

/// Resizes a mask: each pixel is that of the picture at its own place times the ratio of the sides, rounded down, as PyTorch's
/// `nearest` has it. [`Interpolation::Nearest`] has the pixel at the center of the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResizeMask {
    /// Height and width of the result.
    pub size: [u32; 2],
}

impl Apply for ResizeMask {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let to = self.size(frame.size());
        if to.pixels() == 0 {
            let text = format!("resize_mask: size is {to}; a side has 1 pixel or more");
            return Err(Error::usage(text));
        }
        make_room(&mut frame.room.starts, to.width as usize)?;
        frame.redraw(to, |source, out, room| resize_mask(source, to, &mut room.starts, out))
    }

    fn size(&self, _: ImageSize) -> ImageSize {
        ImageSize::new(self.size[1], self.size[0])
    }

    fn room(&self, _: ImageSize, _: usize) -> u64 {
        4 * u64::from(self.size[1])
    }
}

#[cfg(test)]
mod tests {
    use tarflume_fixtures::SplitMix64;
    use tarflume_image::{Pixels, Resizer};

    use super::*;

    #[test]
    fn a_frame_is_resized_as_a_decoded_picture() {
        let mut dice = SplitMix64::new(1);
        let mut frame = Frame::default();
        for n in 0..60 {
            let from = ImageSize::new(1 + dice.below(90), 1 + dice.below(70));
            let to = ImageSize::new(1 + dice.below(50), 1 + dice.below(50));
            let channels = [1, 3][n % 2];
            let interpolation = [
                Interpolation::Nearest,
                Interpolation::Bilinear,
                Interpolation::Bicubic,
                Interpolation::Lanczos,
            ][n % 4];
            let mut pixels = Pixels::default();
            pixels.set(from, channels).unwrap();
            pixels.bytes.fill_with(|| dice.next_u64() as u8);
            let mut want = vec![0; to.pixels() as usize * channels];
            let filter = interpolation.filter();
            let placement = Placement::of(Cut::whole(from), to);
            Resizer::default().resize(&pixels, &placement, filter.into(), &mut want).unwrap();

            frame.begin(from, channels).unwrap().copy_from_slice(&pixels.bytes);
            let action = Resize { size: [to.height, to.width], interpolation };
            action.apply(&mut frame).unwrap();
            assert_eq!(frame.size(), to);
            assert!(frame.pixels() == want, "{from} to {to}, {channels} channels, {interpolation}");
        }
    }

    #[test]
    fn a_mask_has_the_pixels_at_places_rounded_down() {
        let mut frame = Frame::default();
        frame
            .begin(ImageSize::new(5, 2), 1)
            .unwrap()
            .copy_from_slice(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        ResizeMask { size: [3, 3] }.apply(&mut frame).unwrap();
        // Columns 0, 1.67 and 3.33; rows 0, 0.67 and 1.33.
        assert_eq!(frame.pixels(), [0, 1, 3, 0, 1, 3, 5, 6, 8]);
        ResizeMask { size: [1, 6] }.apply(&mut frame).unwrap();
        assert_eq!(frame.pixels(), [0, 0, 1, 1, 3, 3]);
        assert_eq!(frame.size(), ImageSize::new(6, 1));
        assert!(ResizeMask { size: [0, 6] }.apply(&mut frame).is_err());
    }
}
