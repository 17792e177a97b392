//! `Resize`: the action that changes the size of a picture.

use serde::{Deserialize, Serialize};
use tarflume_image::resize::memory;
use tarflume_image::{Cut, ImageSize, Placement};
use tarflume_types::Result;

use super::apply::Apply;
use crate::frame::Frame;
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
}
