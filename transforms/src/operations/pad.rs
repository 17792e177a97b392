//! Operations that add margins, and crops of a fixed size.

use serde::{Deserialize, Serialize};
use tarflume_image::ImageSize;
use tarflume_types::{Error, ErrorKind, Result};

use super::{Draw, Draws, Placing, Shape};
use crate::actions::{self, Action, Crop};
use crate::limits::{MOST_SIDE, check_size};
use crate::settings::{Fill, PaddingMode};

/// Adds a margin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pad {
    /// Left, top, right, bottom.
    pub padding: [u32; 4],
    /// Of the constant mode.
    #[serde(default)]
    pub fill: Fill,
    /// What is in the margin.
    #[serde(default)]
    pub padding_mode: PaddingMode,
}

impl Draw for Pad {
    fn draw(&self, on: Shape, _: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let Pad { padding, fill, padding_mode } = *self;
        actions.extend(margin("Pad", on, padding, fill, padding_mode)?);
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        check_padding("Pad", self.padding)
    }

    fn fixed_size(&self, from: Option<ImageSize>) -> Option<ImageSize> {
        let [left, top, right, bottom] = self.padding;
        from.map(|size| ImageSize::new(size.width + left + right, size.height + top + bottom))
    }

    fn most_pixels(&self, pixels: u64) -> u64 {
        // Width and height are at least 1, so that one is at most all pixels.
        let [left, top, right, bottom] = self.padding.map(u64::from);
        let across = (left + right).saturating_mul(pixels);
        let down = (top + bottom).saturating_mul(pixels);
        let corners = (left + right) * (top + bottom);
        pixels.saturating_add(across).saturating_add(down).saturating_add(corners)
    }
}

/// The action that adds a margin, if there is one.
///
/// # Errors
/// Returns an error if the mode needs more pixels than the picture has, as torchvision does.
pub(super) fn margin(
    operation: &str,
    on: Shape,
    padding: [u32; 4],
    fill: Fill,
    padding_mode: PaddingMode,
) -> Result<Option<Action>> {
    let [left, top, right, bottom] = padding;
    let ImageSize { width, height } = on.size;
    let most = match padding_mode {
        PaddingMode::Constant | PaddingMode::Edge => [u32::MAX; 2],
        PaddingMode::Reflect => [width.saturating_sub(1), height.saturating_sub(1)],
        PaddingMode::Symmetric => [width, height],
    };
    if left.max(right) > most[0] || top.max(bottom) > most[1] {
        let size = on.size;
        return Err(Error::new(
            ErrorKind::Decode,
            format!(
                "{operation}: a margin of {padding:?} pixels (left, top, right, bottom) cannot be a mirrored picture of \
                 {size}; use padding_mode 'edge' or larger pictures"
            ),
        ));
    }
    let needed = padding.iter().any(|side| *side > 0);
    Ok(needed.then(|| actions::Pad { padding, fill, padding_mode }.into()))
}

fn check_padding(operation: &str, padding: [u32; 4]) -> Result<()> {
    if padding.iter().all(|side| *side <= MOST_SIDE) {
        return Ok(());
    }
    Err(Error::usage(format!(
        "{operation}: padding is {padding:?}; a margin has at most {MOST_SIDE} pixels"
    )))
}

/// A crop of a fixed size at a random position, of a picture with a margin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomCrop {
    /// Height and width.
    pub size: [u32; 2],
    /// The margin: left, top, right, bottom.
    #[serde(default)]
    pub padding: Option<[u32; 4]>,
    /// Adds what the picture lacks, on both sides.
    #[serde(default)]
    pub pad_if_needed: bool,
    /// Of the constant mode.
    #[serde(default)]
    pub fill: Fill,
    /// What is in the margin.
    #[serde(default)]
    pub padding_mode: PaddingMode,
}

impl RandomCrop {
    /// Left, top, right, bottom, for a picture of this size.
    fn padding(&self, size: ImageSize) -> [u32; 4] {
        let [height, width] = self.size;
        let [mut left, mut top, mut right, mut bottom] = self.padding.unwrap_or_default();
        if self.pad_if_needed {
            let across = width.saturating_sub(size.width + left + right);
            let down = height.saturating_sub(size.height + top + bottom);
            left += across;
            right += across;
            top += down;
            bottom += down;
        }
        [left, top, right, bottom]
    }
}

impl Draw for RandomCrop {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let [height, width] = self.size;
        let padding = self.padding(on.size);
        let padded = ImageSize::new(
            on.size.width + padding[0] + padding[2],
            on.size.height + padding[1] + padding[3],
        );
        if padded.width < width || padded.height < height {
            return Err(Error::new(
                ErrorKind::Decode,
                format!(
                    "RandomCrop: a picture of {padded} pixels, with its margin, is smaller than the crop of {width} x \
                     {height}; set pad_if_needed, or resize before"
                ),
            ));
        }
        actions.extend(margin("RandomCrop", on, padding, self.fill, self.padding_mode)?);
        let mut random = draws.random();
        let top = random.below(u64::from(padded.height - height) + 1) as u32;
        let left = random.below(u64::from(padded.width - width) + 1) as u32;
        if padded != ImageSize::new(width, height) {
            actions.push(Crop { top, left, height, width }.into());
        }
        Ok(())
    }

    fn placing(&self) -> Option<Placing> {
        let size = ImageSize::new(self.size[1], self.size[0]);
        self.padding.is_none().then_some(Placing::Crop(size))
    }

    fn validate(&self) -> Result<()> {
        check_size("RandomCrop", "size", self.size)?;
        check_padding("RandomCrop", self.padding.unwrap_or_default())
    }

    fn fixed_size(&self, _: Option<ImageSize>) -> Option<ImageSize> {
        Some(ImageSize::new(self.size[1], self.size[0]))
    }

    fn most_pixels(&self, _: u64) -> u64 {
        u64::from(self.size[0]) * u64::from(self.size[1])
    }
}

/// A crop of a fixed size at the center. A smaller picture gets a black margin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CenterCrop {
    /// Height and width.
    pub size: [u32; 2],
}

impl Draw for CenterCrop {
    fn draw(&self, on: Shape, _: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        /// The first row or column: half of what is dropped, to the even number.
        fn first(all: u32, length: u32) -> u32 {
            (f64::from(all - length) / 2.0).round_ties_even() as u32
        }

        let [height, width] = self.size;
        let across = width.saturating_sub(on.size.width);
        let down = height.saturating_sub(on.size.height);
        let padding = [across / 2, down / 2, across.div_ceil(2), down.div_ceil(2)];
        actions.extend(margin("CenterCrop", on, padding, Fill::default(), PaddingMode::Constant)?);
        let padded = ImageSize::new(on.size.width + across, on.size.height + down);
        if padded != ImageSize::new(width, height) {
            let top = first(padded.height, height);
            let left = first(padded.width, width);
            actions.push(Crop { top, left, height, width }.into());
        }
        Ok(())
    }

    fn placing(&self) -> Option<Placing> {
        Some(Placing::Crop(ImageSize::new(self.size[1], self.size[0])))
    }

    fn validate(&self) -> Result<()> {
        check_size("CenterCrop", "size", self.size)
    }

    fn fixed_size(&self, _: Option<ImageSize>) -> Option<ImageSize> {
        Some(ImageSize::new(self.size[1], self.size[0]))
    }

    fn most_pixels(&self, _: u64) -> u64 {
        u64::from(self.size[0]) * u64::from(self.size[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(operation: &dyn Draw, width: u32, height: u32) -> bool {
        let on = Shape { size: ImageSize::new(width, height), channels: 3 };
        operation.draw(on, Draws::new(1, 2), &mut Vec::new()).is_err()
    }

    fn mirrored(padding: [u32; 4], padding_mode: PaddingMode) -> Pad {
        Pad { padding, fill: Fill::default(), padding_mode }
    }

    #[test]
    fn a_margin_that_torchvision_refuses_is_an_error() {
        assert!(refused(&mirrored([0, 0, 4, 0], PaddingMode::Reflect), 4, 9));
        assert!(!refused(&mirrored([3, 0, 3, 0], PaddingMode::Reflect), 4, 9));
        assert!(refused(&mirrored([0, 10, 0, 0], PaddingMode::Symmetric), 4, 9));
        assert!(!refused(&mirrored([4, 9, 4, 9], PaddingMode::Symmetric), 4, 9));
        assert!(!refused(&mirrored([40, 90, 40, 90], PaddingMode::Edge), 4, 9));
    }

    #[test]
    fn a_crop_larger_than_the_picture_is_an_error_unless_it_may_be_padded() {
        let text = r#"{"size": [8, 8], "padding": [1, 1, 1, 1]}"#;
        let mut crop: RandomCrop = serde_json::from_str(text).unwrap();
        assert!(refused(&crop, 5, 9));
        assert!(!refused(&crop, 6, 6));
        crop.pad_if_needed = true;
        assert!(!refused(&crop, 5, 1));
    }

    #[test]
    fn arguments_out_of_range_are_refused() {
        assert!(mirrored([0, 0, 0, 65_536], PaddingMode::Edge).validate().is_err());
        assert!(CenterCrop { size: [0, 5] }.validate().is_err());
        assert!(CenterCrop { size: [1, 65_535] }.validate().is_ok());
    }
}
