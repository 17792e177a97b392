//! Resizing with the crate `fast_image_resize`. The caller keeps the resizer and its buffers.
//!
//! Reads only the pixels of the cut.

use std::fmt;

use fast_image_resize::images::{TypedCroppedImage, TypedImage, TypedImageRef};
use fast_image_resize::pixels::{InnerPixel, U8, U8x3, U8x4};
use fast_image_resize::{FilterType, PixelTrait, ResizeAlg, ResizeOptions, Resizer};

use crate::error::{Error, ErrorKind, Result};
use crate::picture::geometry::{ImageSize, Placement};
use crate::picture::pixels::Pixels;

/// The filter that computes an output pixel from the picture's pixels.
///
/// All but the last two are antialiased when downscaling (torchvision's `antialias=True`), like Pillow's
/// filters of the same names. Values differ from Pillow's by at most 1 (2 for Lanczos), because weights
/// have 16 bits here and the two axes are processed in a different order. RGBA, which is multiplied by
/// its opacity and divided again, differs by 1 more where it is visible. `Nearest` may choose the other of two
/// equally near pixels.
///
/// ```
/// use tarflume::{Filter, Image, Resize};
///
/// let masks = Image::new("mask.png", Resize::exact(64)).filter(Filter::Nearest);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Filter {
    /// Triangle filter, the default of training pipelines.
    #[default]
    Bilinear,
    /// Cubic convolution with a = -0.5 (Catmull-Rom).
    Bicubic,
    /// Lanczos with three lobes: the sharpest and slowest.
    Lanczos,
    /// The nearest pixel: for masks and label pictures.
    Nearest,
    /// Four pixels at any scale, without antialiasing: the fastest. Equals OpenCV's bilinear.
    BilinearFast,
}

impl Filter {
    /// Whether an output pixel may mix several input pixels. If so, a picture decoded at a reduced scale,
    /// whose pixels are means, is a valid input.
    pub(crate) fn mixes(self) -> bool {
        self != Filter::Nearest
    }

    fn algorithm(self) -> ResizeAlg {
        match self {
            Filter::Bilinear => ResizeAlg::Convolution(FilterType::Bilinear),
            Filter::Bicubic => ResizeAlg::Convolution(FilterType::CatmullRom),
            Filter::Lanczos => ResizeAlg::Convolution(FilterType::Lanczos3),
            Filter::Nearest => ResizeAlg::Nearest,
            Filter::BilinearFast => ResizeAlg::Interpolation(FilterType::Bilinear),
        }
    }
}

/// Crops and resizes `pixels` into `out`, which has the same number of channels.
///
/// # Errors
/// Returns an error if the placement is outside the pixels or `out` has the wrong length.
pub(crate) fn resize(
    resizer: &mut Resizer,
    pixels: &Pixels,
    placement: &Placement,
    filter: Filter,
    out: &mut [u8],
) -> Result<()> {
    match pixels.channels {
        1 => typed::<U8>(resizer, pixels, placement, filter, out),
        3 => typed::<U8x3>(resizer, pixels, placement, filter, out),
        _ => typed::<U8x4>(resizer, pixels, placement, filter, out),
    }
}

/// Maximum bytes of memory for resizing and writing, in addition to the pixels and the row, with `channels` wanted.
/// Counts the intermediate picture between the two axes, the weights of both axes, pixels multiplied by their
/// opacity, and the resized picture.
pub(crate) fn memory(placement: &Placement, filter: Filter, channels: usize) -> u64 {
    let Placement { cut, size, .. } = *placement;
    // Gray pictures have one channel, others at least three.
    let channels = channels.max(3) as u64;
    let resized = size.pixels().saturating_mul(channels);
    if filter == Filter::Nearest {
        return resized;
    }
    // The vertical pass runs first: as wide as the cut, as high as the output.
    let lines = u64::from(cut.size.width) * u64::from(size.height);
    let sides = |size: ImageSize| u64::from(size.width) + u64::from(size.height);
    let weights = (6 * sides(cut.size) + 3 * sides(size)).saturating_mul(16);
    let opaque = if channels == 4 { cut.size.pixels().saturating_mul(4) } else { 0 };
    lines
        .saturating_mul(channels)
        .saturating_add(weights)
        .saturating_add(opaque)
        .saturating_add(resized)
}

fn typed<P: PixelTrait + InnerPixel>(
    resizer: &mut Resizer,
    pixels: &Pixels,
    placement: &Placement,
    filter: Filter,
    out: &mut [u8],
) -> Result<()> {
    let Placement { cut, area, size, .. } = *placement;
    let source = TypedImageRef::<P>::from_buffer(pixels.width, pixels.height, &pixels.bytes);
    let source = source.map_err(refused)?;
    let view = TypedCroppedImage::new(source, cut.left, cut.top, cut.size.width, cut.size.height);
    let view = view.map_err(refused)?;
    let mut out = TypedImage::<P>::from_buffer(size.width, size.height, out).map_err(refused)?;
    // Rounding may put an edge 1e-9 of a pixel outside, which the crate rejects.
    let (left, top) = (area.left - f64::from(cut.left), area.top - f64::from(cut.top));
    let width = area.width.min(f64::from(cut.size.width) - left);
    let height = area.height.min(f64::from(cut.size.height) - top);
    let options =
        ResizeOptions::new().resize_alg(filter.algorithm()).crop(left, top, width, height);
    resizer.resize_typed(&view, &mut out, &options).map_err(refused)
}

fn refused(error: impl fmt::Debug) -> Error {
    Error::new(ErrorKind::Decode, format!("the picture cannot be resized: {error:?}"))
}
