//! Resizing: bilinear, bicubic and Lanczos of bytes with the kernels of `tarflume-jpeg`, other filters, other samples and
//! opacity with the crate `fast_image_resize`. Bilinear bytes of both are the same. The caller keeps the resizer and its
//! buffers.
//!
//! Reads only the pixels of the cut.

use std::fmt;

use fast_image_resize::images::{TypedCroppedImage, TypedImage, TypedImageRef};
use fast_image_resize::pixels::{F32, F32x3, F32x4, InnerPixel, U8, U8x3, U8x4, U16, U16x3, U16x4};
use fast_image_resize::{FilterType, PixelTrait, ResizeAlg, ResizeOptions};
use tarflume_jpeg::{ResizeFilter, Resizing};
use tarflume_types::{Error, ErrorKind, Result};

use crate::picture::geometry::{ImageSize, Placement};
use crate::picture::pixels::{Depth, Pixels};
use tarflume_order::words;

/// The filter that computes an output pixel from the picture's pixels.
///
/// All but the last two are antialiased when downscaling (torchvision's `antialias=True`), like Pillow's
/// filters of the same names. Of RGB and gray with 8 bits, `Bicubic` and `Lanczos` give the bytes of
/// Pillow 13. `Bilinear` differs from Pillow's by at most 1, because its weights have 15 bits and the
/// two axes are processed in the other order. RGBA is multiplied by its opacity and divided again: where it is visible,
/// all three differ by at most 2 (`Lanczos` by 3). `Nearest` may choose the other of two equally near pixels.
///
/// A JPEG that becomes much smaller may be decoded at a reduced scale before: see `Image::reducing_gap`.
///
/// ```
/// use tarflume::{Filter, Image, Resize};
///
/// let masks = Image::new("mask.png", Resize::exact(64)).filter(Filter::Nearest);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
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

words!(Filter, "filter", {
    Bilinear => "bilinear",
    Bicubic => "bicubic",
    Lanczos => "lanczos",
    Nearest => "nearest",
    BilinearFast => "bilinear-fast",
});

impl Filter {
    /// Whether an output pixel may mix several input pixels. If so, a picture decoded at a reduced scale,
    /// whose pixels are means, is a valid input.
    #[doc(hidden)]
    pub fn mixes(self) -> bool {
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

    /// The filter of the own kernels.
    fn own(self) -> Option<ResizeFilter> {
        match self {
            Filter::Bilinear => Some(ResizeFilter::Triangle),
            Filter::Bicubic => Some(ResizeFilter::Cubic),
            Filter::Lanczos => Some(ResizeFilter::Lanczos),
            Filter::Nearest | Filter::BilinearFast => None,
        }
    }
}

/// How pixels are resized, and what becomes of the result.
#[derive(Debug, Clone, Copy)]
pub struct Resampling {
    /// The filter.
    pub filter: Filter,
    /// Whether the result is mirrored left to right, which only [`mirrors`] permits.
    pub flip: bool,
    /// Whether the caller will exchange rows and columns of the result.
    pub transposed: bool,
}

impl From<Filter> for Resampling {
    /// Neither mirrored nor transposed.
    fn from(filter: Filter) -> Resampling {
        Resampling { filter, flip: false, transposed: false }
    }
}

/// The resizers of a thread, with their buffers.
#[derive(Debug, Default)]
pub struct Resizer {
    own: tarflume_jpeg::Resizer,
    library: fast_image_resize::Resizer,
}

/// Whether the kernels of `tarflume-jpeg` resize this picture. They mirror in the same pass; the library does not
/// mirror.
pub fn mirrors(filter: Filter, pixels: &Pixels, placement: &Placement) -> bool {
    let cut = placement.cut.size;
    let size = placement.size;
    let sides = [cut.width, cut.height, size.width, size.height];
    let fits = sides.iter().all(|&side| side <= tarflume_jpeg::Resizer::MOST_SIDE);
    filter.own().is_some() && pixels.depth == Depth::Byte && pixels.channels != 4 && fits
}

impl Resizer {
    /// Crops and resizes `pixels` into `out`, which has the same type and number of channels.
    ///
    /// # Errors
    /// Returns an error if the placement is outside the pixels or `out` has the wrong length.
    pub fn resize(
        &mut self,
        pixels: &Pixels,
        placement: &Placement,
        by: Resampling,
        out: &mut [u8],
    ) -> Result<()> {
        let filter = by.filter;
        if mirrors(filter, pixels, placement) {
            return own(&mut self.own, pixels, placement, by, out);
        }
        let library = &mut self.library;
        match (pixels.depth, pixels.channels) {
            (Depth::Byte, 1) => typed::<U8>(library, pixels, placement, filter, out),
            (Depth::Byte, 3) => typed::<U8x3>(library, pixels, placement, filter, out),
            (Depth::Byte, _) => typed::<U8x4>(library, pixels, placement, filter, out),
            (Depth::Word, 1) => typed::<U16>(library, pixels, placement, filter, out),
            (Depth::Word, 3) => typed::<U16x3>(library, pixels, placement, filter, out),
            (Depth::Word, _) => typed::<U16x4>(library, pixels, placement, filter, out),
            (Depth::Float, 1) => typed::<F32>(library, pixels, placement, filter, out),
            (Depth::Float, 3) => typed::<F32x3>(library, pixels, placement, filter, out),
            (Depth::Float, _) => typed::<F32x4>(library, pixels, placement, filter, out),
        }
    }

    /// Frees buffers of more than `bytes` bytes.
    pub fn drop_large(&mut self, bytes: usize) {
        self.own.drop_large(bytes);
        if self.library.size_of_internal_buffers() > bytes {
            self.library.reset_internal_buffers();
        }
    }
}

fn own(
    resizer: &mut tarflume_jpeg::Resizer,
    pixels: &Pixels,
    placement: &Placement,
    by: Resampling,
    out: &mut [u8],
) -> Result<()> {
    let cut = placement.cut;
    let size = placement.size;
    let stride = pixels.stride();
    let first = cut.top as usize * stride + cut.left as usize * pixels.channels;
    let job = Resizing {
        bytes: pixels.bytes.get(first..).unwrap_or_default(),
        stride,
        size: (cut.size.width, cut.size.height),
        channels: pixels.channels,
        area: inside(placement),
        out_size: (size.width, size.height),
        filter: by.filter.own().unwrap_or_default(),
        transposed: by.transposed,
        flip: by.flip,
        output: out,
    };
    resizer.resize(job).map_err(refused)
}

/// Whether `resize` processes the columns of bytes first, as Pillow does. A placement whose cut is a part of another's
/// gives the same pixels only if both agree, since each pass rounds.
#[doc(hidden)]
pub fn columns_first(placement: &Placement) -> bool {
    let Placement { cut, area, size, .. } = *placement;
    tarflume_jpeg::columns_first(
        [cut.size.width, cut.size.height],
        [area.width, area.height],
        [size.width, size.height],
    )
}

/// The area within the cut: left, top, width, height. Rounding may put an edge 1e-9 of a pixel outside, which
/// both resizers reject.
fn inside(placement: &Placement) -> [f64; 4] {
    let Placement { cut, area, .. } = *placement;
    let left = area.left - f64::from(cut.left);
    let top = area.top - f64::from(cut.top);
    let width = area.width.min(f64::from(cut.size.width) - left);
    let height = area.height.min(f64::from(cut.size.height) - top);
    [left, top, width, height]
}

/// Maximum bytes of memory for resizing and writing, in addition to the pixels and the row, with `channels` wanted.
/// Counts the intermediate picture between the two axes, the weights of both axes, pixels multiplied by their
/// opacity, and the resized picture.
pub fn memory(placement: &Placement, filter: Filter, channels: usize) -> u64 {
    fn sides(size: ImageSize) -> u64 {
        u64::from(size.width) + u64::from(size.height)
    }

    let Placement { cut, size, .. } = *placement;
    // Gray pictures have one channel, others at least three.
    let channels = channels.max(3) as u64;
    let resized = size.pixels().saturating_mul(channels);
    if filter == Filter::Nearest {
        return resized;
    }
    // The vertical pass runs first: as wide as the cut, as high as the output.
    let lines = u64::from(cut.size.width) * u64::from(size.height);
    // Or the horizontal pass: as wide as the output, at most as high as the cut.
    let turned = u64::from(size.width) * u64::from(cut.size.height);
    let lines = if filter == Filter::Bilinear { lines } else { lines.max(turned) };
    let weights = (6 * sides(cut.size) + 8 * sides(size) + 64).saturating_mul(16);
    let opaque = if channels == 4 { cut.size.pixels().saturating_mul(4) } else { 0 };
    lines
        .saturating_mul(channels)
        .saturating_add(weights)
        .saturating_add(opaque)
        .saturating_add(resized)
}

fn typed<P: PixelTrait + InnerPixel>(
    resizer: &mut fast_image_resize::Resizer,
    pixels: &Pixels,
    placement: &Placement,
    filter: Filter,
    out: &mut [u8],
) -> Result<()> {
    let Placement { cut, size, .. } = *placement;
    let source = TypedImageRef::<P>::from_buffer(pixels.width, pixels.height, pixels.samples());
    let source = source.map_err(refused)?;
    let view = TypedCroppedImage::new(source, cut.left, cut.top, cut.size.width, cut.size.height);
    let view = view.map_err(refused)?;
    let mut out = TypedImage::<P>::from_buffer(size.width, size.height, out).map_err(refused)?;
    let [left, top, width, height] = inside(placement);
    let options =
        ResizeOptions::new().resize_alg(filter.algorithm()).crop(left, top, width, height);
    resizer.resize_typed(&view, &mut out, &options).map_err(refused)
}

fn refused(error: impl fmt::Debug) -> Error {
    Error::new(ErrorKind::Decode, format!("the picture cannot be resized: {error:?}"))
}

#[cfg(test)]
mod tests {
    use tarflume_fixtures::SplitMix64;

    use super::*;
    use crate::picture::geometry::{Area, Cut};

    /// A cut of a picture, and an area with fractions within it.
    fn placement(dice: &mut SplitMix64, size: ImageSize) -> Placement {
        fn third(length: u32) -> f64 {
            f64::from(length) / 3.0
        }

        let left = dice.below(size.width);
        let top = dice.below(size.height);
        let cut_size =
            ImageSize::new(1 + dice.below(size.width - left), 1 + dice.below(size.height - top));
        let cut = Cut { left, top, size: cut_size };
        let mut placement =
            Placement::of(cut, ImageSize::new(1 + dice.below(90), 1 + dice.below(40)));
        if dice.below(2) == 0 {
            let x = third(cut_size.width);
            let y = third(cut_size.height);
            // The reader computes such areas: the right edge may be 1e-9 of a pixel outside.
            placement.area = Area {
                left: f64::from(left) + x,
                top: f64::from(top) + y,
                width: x * 2.0 + 1e-10,
                height: y * 1.7,
            };
        }
        placement
    }

    fn reversed(bytes: &[u8], width: u32, channels: usize) -> Vec<u8> {
        let rows = bytes.chunks(width as usize * channels);
        rows.flat_map(|row| row.chunks(channels).rev().flatten().copied()).collect()
    }

    #[test]
    fn the_own_resizer_gives_the_bytes_of_the_library() {
        let mut dice = SplitMix64::new(3);
        let mut resizer = Resizer::default();
        let mut library = fast_image_resize::Resizer::new();
        for n in 0..400 {
            let size = ImageSize::new(1 + dice.below(300), 1 + dice.below(60));
            let placement = placement(&mut dice, size);
            let channels = [1, 3][n % 2];
            let mut pixels = Pixels::default();
            pixels.set(size, channels).unwrap();
            pixels.bytes.fill_with(|| dice.next_u64() as u8);
            placement.check(size).unwrap();
            let ImageSize { width, height } = placement.size;
            let mut want = vec![0; (width * height) as usize * channels];
            let filter = Filter::Bilinear;
            match channels {
                1 => typed::<U8>(&mut library, &pixels, &placement, filter, &mut want).unwrap(),
                _ => typed::<U8x3>(&mut library, &pixels, &placement, filter, &mut want).unwrap(),
            }
            let mut found = vec![0; want.len()];
            let mut by = Resampling::from(filter);
            resizer.resize(&pixels, &placement, by, &mut found).unwrap();
            assert!(found == want, "{channels} channels of {size}, {placement:?}");
            by.flip = true;
            resizer.resize(&pixels, &placement, by, &mut found).unwrap();
            let want = reversed(&want, width, channels);
            assert!(found == want, "{channels} channels of {size}, mirrored, {placement:?}");
        }
    }

    #[test]
    fn a_side_too_long_for_the_own_resizer_is_resized_by_the_library() {
        let size = ImageSize::new(tarflume_jpeg::Resizer::MOST_SIDE + 1, 1);
        let mut pixels = Pixels::default();
        pixels.set(size, 1).unwrap();
        pixels.bytes.fill(9);
        let placement = Placement::of(Cut::whole(size), ImageSize::new(2, 1));
        assert!(!mirrors(Filter::Bilinear, &pixels, &placement));
        let mut out = [0; 2];
        let by = Filter::Bilinear.into();
        Resizer::default().resize(&pixels, &placement, by, &mut out).unwrap();
        assert_eq!(out, [9; 2]);
    }
}
