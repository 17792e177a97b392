//! `KeepCenters`: the action that leaves out objects, and changes no pixel.

use serde::{Deserialize, Serialize};
use tarflume_image::ImageSize;
use tarflume_types::Result;

use super::apply::Apply;
use crate::actions::record::Record;
use crate::frame::Frame;

/// Leaves out the objects whose center is not inside a rectangle of the picture. `RandomIoUCrop` draws it before its crop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeepCenters {
    /// The first row.
    pub top: u32,
    /// The first column.
    pub left: u32,
    /// Rows.
    pub height: u32,
    /// Columns.
    pub width: u32,
}

impl KeepCenters {
    /// Whether a place is inside. Its edges are not.
    pub(crate) fn has(&self, [x, y]: [f64; 2]) -> bool {
        let KeepCenters { top, left, height, width } = *self;
        let [left, top, width, height] = [left, top, width, height].map(f64::from);
        left < x && x < left + width && top < y && y < top + height
    }

    /// Whether the center of a box is inside: left, top, right, bottom.
    pub(crate) fn keeps(&self, [left, top, right, bottom]: [f64; 4]) -> bool {
        self.has([0.5 * (left + right), 0.5 * (top + bottom)])
    }
}

impl Apply for KeepCenters {
    fn apply(&self, _: &mut Frame) -> Result<()> {
        Ok(())
    }

    fn room(&self, _: ImageSize, _: usize) -> u64 {
        0
    }

    fn in_words(&self, _: ImageSize, _: usize, _: &mut Record) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_center_on_an_edge_is_outside() {
        let keep = KeepCenters { top: 1, left: 2, height: 3, width: 4 };
        assert!(keep.keeps([0.0, 0.0, 5.0, 6.0]));
        assert!(!keep.keeps([1.0, 0.0, 3.0, 6.0]) && !keep.keeps([5.0, 0.0, 7.0, 6.0]));
        assert!(!keep.has([3.0, 1.0]) && !keep.has([3.0, 4.0]) && keep.has([3.0, 3.999]));
        assert!(!keep.keeps([f64::NAN, 0.0, 5.0, 6.0]));
    }
}
