//! Masks: the pixels inside polygons and run lengths, the same ones as those of pycocotools.

mod crossings;
pub mod plane;
pub mod rle;

use std::ops::Range;

/// The segmentation of one object, as it was read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Segmentation<'a> {
    /// Any number of polygons.
    Polygons {
        /// Ranges of `numbers`.
        of: &'a [Range<usize>],
        /// x and y of each point, in pixels.
        numbers: &'a [f64],
    },
    /// Lengths of runs, column by column: of pixels outside, then inside, and so on. They add up to the picture.
    Runs(&'a [u32]),
}
