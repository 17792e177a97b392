//! `FixedSizeCrop`: the crop of large-scale jitter.

use serde::{Deserialize, Serialize};
use tarflume_image::ImageSize;
use tarflume_types::Result;

use crate::actions::{Action, Crop};
use crate::limits::check_size;
use crate::operations::pad::margin;
use crate::operations::{Draw, Draws, Placing, Shape};
use crate::settings::{Fill, PaddingMode};

/// A crop of a fixed size at a random place. A smaller picture is in the upper left corner, and the rest is filled up.
///
/// The crop is as far from the left edge as from the upper one, as parts of what is left over: one number is drawn for both,
/// as in torchvision's references for detection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedSizeCrop {
    /// Height and width.
    pub size: [u32; 2],
    /// Of the constant mode.
    #[serde(default)]
    pub fill: Fill,
    /// What is beside a smaller picture.
    #[serde(default)]
    pub padding_mode: PaddingMode,
}

impl FixedSizeCrop {
    fn result(&self) -> ImageSize {
        ImageSize::new(self.size[1], self.size[0])
    }
}

impl Draw for FixedSizeCrop {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let all = on.size;
        let size = self.result();
        let inside = ImageSize::new(all.width.min(size.width), all.height.min(size.height));
        if inside != all {
            let part = draws.random().unit();
            let [left, top] = [all.width - inside.width, all.height - inside.height]
                .map(|rest| (f64::from(rest) * part) as u32);
            let ImageSize { width, height } = inside;
            actions.push(Crop { top, left, height, width }.into());
        }
        let padding = [0, 0, size.width - inside.width, size.height - inside.height];
        let on = Shape { size: inside, ..on };
        actions.extend(margin("FixedSizeCrop", on, padding, self.fill, self.padding_mode)?);
        Ok(())
    }

    fn placing(&self) -> Option<Placing> {
        Some(Placing::Crop(self.result()))
    }

    fn validate(&self) -> Result<()> {
        check_size("FixedSizeCrop", "size", self.size)
    }

    fn fixed_size(&self, _: Option<ImageSize>) -> Option<ImageSize> {
        Some(self.result())
    }

    fn most_pixels(&self, _: u64) -> u64 {
        self.result().pixels()
    }
}
