//! `DecodeRequest`: what a column needs of a JPEG that a device decodes. Plain data.

use tarflume_image::{Area, ImageSize};
use tarflume_jpeg::{Offload, Scale};

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

/// What decodes JPEGs on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum DecodedBy {
    /// NVIDIA's library, which decodes whole pictures.
    #[default]
    Library,
    /// Our kernels, which decode what a column needs, from entry points.
    Kernels,
}

/// A request to decode a part of one JPEG by our kernels.
#[derive(Debug, Clone)]
pub(crate) struct OffloadRequest {
    /// The part.
    pub(crate) work: Offload,
    /// Size and box are in the pixels of the part.
    pub(crate) request: DecodeRequest,
}
