//! Actions that move whole pixels: flips, quarter turns, crops and margins.

use serde::{Deserialize, Serialize};
use tarflume_image::ImageSize;
use tarflume_types::{Error, Result};

use crate::actions::apply::Apply;
use crate::actions::record::{Change, Record};
use crate::frame::Frame;
use crate::kernels::geometry::moves;
use crate::kernels::sets::Set;
use crate::settings::{Fill, PaddingMode};

/// Takes a rectangle that is inside the picture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crop {
    /// The first row.
    pub top: u32,
    /// The first column.
    pub left: u32,
    /// Rows.
    pub height: u32,
    /// Columns.
    pub width: u32,
}

impl Apply for Crop {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        fn fits(first: u32, length: u32, all: u32) -> bool {
            length > 0 && first.checked_add(length).is_some_and(|end| end <= all)
        }

        let Crop { top, left, height, width } = *self;
        let size = frame.size();
        if !fits(top, height, size.height) || !fits(left, width, size.width) {
            return Err(Error::usage(format!(
                "crop: {width} x {height} pixels from column {left} and row {top} on are not in a picture of {size}; \
                 pad it first"
            )));
        }
        frame.redraw(self.size(size), |source, out, _| {
            moves::crop(source, top as usize, left as usize, width as usize, out);
        })
    }

    fn size(&self, _: ImageSize) -> ImageSize {
        ImageSize::new(self.width, self.height)
    }
}

/// Exchanges left and right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HorizontalFlip {}

impl Apply for HorizontalFlip {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let size = frame.size();
        frame.redraw(size, |source, out, _| moves::mirror(Set::best(), source, out))
    }

    fn in_words(&self, _: ImageSize, _: usize, to: &mut Record) -> bool {
        to.set(Change::Flip, []);
        true
    }
}

/// Adds a margin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pad {
    /// Left, top, right, bottom.
    pub padding: [u32; 4],
    /// Of the constant mode.
    pub fill: Fill,
    /// What is in the margin.
    pub padding_mode: PaddingMode,
}

impl Apply for Pad {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let [left, top, right, _] = self.padding.map(|side| side as usize);
        let margin = moves::Margin { left, top, right, mode: self.padding_mode, fill: self.fill };
        frame.redraw(self.size(frame.size()), |source, out, _| moves::pad(source, &margin, out))
    }

    fn size(&self, from: ImageSize) -> ImageSize {
        let [left, top, right, bottom] = self.padding;
        let width = from.width.saturating_add(left).saturating_add(right);
        ImageSize::new(width, from.height.saturating_add(top).saturating_add(bottom))
    }
}

/// Turns counterclockwise by multiples of 90 degrees.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuarterTurn {
    /// 0 to 3. More are full turns.
    pub turns: u8,
}

impl Apply for QuarterTurn {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let turns = self.turns % 4;
        if turns == 0 {
            return Ok(());
        }
        frame.redraw(self.size(frame.size()), |source, out, _| {
            if turns == 2 {
                moves::reverse(Set::best(), source.channels, source.bytes, out);
            } else {
                moves::quarter(source, turns, out);
            }
        })
    }

    fn size(&self, from: ImageSize) -> ImageSize {
        if self.turns % 2 == 1 { from.transposed() } else { from }
    }

    fn in_words(&self, _: ImageSize, _: usize, to: &mut Record) -> bool {
        let turns = u32::from(self.turns % 4);
        if turns > 0 {
            to.set(Change::Quarter, [turns]);
        }
        true
    }
}

/// Exchanges top and bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerticalFlip {}

impl Apply for VerticalFlip {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let stride = frame.size().width as usize * frame.channels();
        moves::exchange_rows(frame.pixels_mut(), stride);
        Ok(())
    }

    fn in_words(&self, _: ImageSize, _: usize, to: &mut Record) -> bool {
        to.set(Change::Upend, []);
        true
    }
}
