//! `DecodeRequest`: what a column wants of a JPEG if a device decodes it. Words; nothing is decoded here.

use tarflume_jpeg::Scale;

use crate::picture::geometry::{Area, ImageSize};

/// What is wanted of a JPEG.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DecodeRequest {
    /// How much smaller it is decoded than it is stored.
    pub(crate) scale: Scale,
    /// Width and height at that scale, in pixels.
    pub(crate) size: ImageSize,
    /// The part that becomes the output, in pixels at that scale. A filter reads nothing outside the
    /// whole pixels that it touches.
    pub(crate) area: Area,
    /// Whether the output is mirrored left to right.
    pub(crate) flip: bool,
}
