//! `DecodeRequest`: what a column needs of a JPEG that a device decodes. Plain data.

use tarflume_image::{Area, ImageSize};
use tarflume_jpeg::Scale;

/// A request to decode one JPEG.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DecodeRequest {
    /// The reduction.
    pub(crate) scale: Scale,
    /// Size at that scale, in pixels.
    pub(crate) size: ImageSize,
    /// The box that becomes the output, in pixels at that scale. A filter reads nothing outside the whole
    /// pixels that the box touches.
    pub(crate) area: Area,
    /// Whether the output is mirrored left to right.
    pub(crate) flip: bool,
}
