//! Resizing by `fast_image_resize`, its buffers kept by the thread.
//!
//! Only the pixels of the cut are touched.

use std::fmt;

use fast_image_resize::images::{TypedCroppedImage, TypedImage, TypedImageRef};
use fast_image_resize::pixels::{InnerPixel, U8, U8x3, U8x4};
use fast_image_resize::{FilterType, PixelTrait, ResizeAlg, ResizeOptions, Resizer};

use crate::error::{Error, ErrorKind, Result};
use crate::picture::geometry::{ImageSize, Placement};
use crate::picture::pixels::Pixels;

/// How an output pixel is made of the picture's.
///
/// All but the last two smooth what is made smaller (torchvision's `antialias=True`), as Pillow's
/// filters of these names do: values differ from Pillow's by 1 at most (2 for Lanczos), because
/// weights have 16 bits here and the two directions come in another order; RGBA, which is
/// multiplied by its opacity and divided again, by 1 more as it shows. `Nearest` may take
/// another of two pixels that are equally near.
///
/// ```
/// use tarflume::{Filter, Image, Resize};
///
/// let masks = Image::new("mask.png", Resize::exact(64)).filter(Filter::Nearest);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Filter {
    /// Triangles: what training pipelines use.
    #[default]
    Bilinear,
    /// Cubic (a = -0.5).
    Bicubic,
    /// Lanczos, three lobes: the sharpest and slowest.
    Lanczos,
    /// The nearest pixel alone: for masks and label pictures.
    Nearest,
    /// Four pixels however much smaller the output is: the fastest, aliased; OpenCV's bilinear.
    BilinearFast,
}

impl Filter {
    /// Whether an output pixel may be made of several of the picture's, so that means of them serve.
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

/// Cuts and resizes `pixels` into `out`, which has as many channels.
///
/// # Errors
/// The placement does not lie within the pixels, or `out` has another length.
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

/// The most bytes that resizing and what follows take beside the pixels and the row, with `channels` wanted:
/// lines as wide as the picture, weights for each of its columns and rows, pixels multiplied by their
/// opacity, and the resized picture.
pub(crate) fn memory(placement: &Placement, filter: Filter, channels: usize) -> u64 {
    let Placement { cut, size, .. } = *placement;
    // Gray pictures have one channel, others at least three.
    let channels = channels.max(3) as u64;
    let resized = size.pixels().saturating_mul(channels);
    if filter == Filter::Nearest {
        return resized;
    }
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
    // Rounding may have put an edge a billionth of a pixel outside.
    let (left, top) = (area.left - f64::from(cut.left), area.top - f64::from(cut.top));
    let width = area.width.min(f64::from(cut.size.width) - left);
    let height = area.height.min(f64::from(cut.size.height) - top);
    let options =
        ResizeOptions::new().resize_alg(filter.algorithm()).crop(left, top, width, height);
    resizer.resize_typed(&view, &mut out, &options).map_err(refused)
}

fn refused(error: impl fmt::Debug) -> Error {
    Error::new(ErrorKind::Decode, format!("the picture can't be resized: {error:?}"))
}
