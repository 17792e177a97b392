//! Turns samples into rows of pixels: upsampling and color conversion.

use crate::picture::extent::Region;
use crate::picture::layout::{Layout, ScaledComponent, Upsampling};
use crate::picture::planes::Planes;
use crate::simd::Simd;

/// The format of a pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Color {
    /// Three bytes: red, green, blue.
    #[default]
    Rgb,
    /// One byte. For a picture stored as luma and chroma it is the luma, as in libjpeg.
    Gray,
}

impl Color {
    /// Returns the bytes of a pixel.
    pub fn bytes(self) -> usize {
        match self {
            Color::Rgb => 3,
            Color::Gray => 1,
        }
    }
}

/// Writes pixels of one byte as red, green and blue: each byte three times.
///
/// ```
/// let mut rgb = [0; 6];
/// tarflume_jpeg::gray_to_rgb(&[7, 9], &mut rgb);
/// assert_eq!(rgb, [7, 7, 7, 9, 9, 9]);
/// ```
///
/// # Panics
/// Panics if `rgb` has fewer than three bytes for each byte of `gray`.
pub fn gray_to_rgb(gray: &[u8], rgb: &mut [u8]) {
    (Simd::best().gray_rgb)(gray, rgb);
}

/// Writes bytes as floats: each times `by[0]` plus `by[1]`, rounded after both. The shorter slice has the count.
///
/// ```
/// let mut floats = [0.0; 3];
/// tarflume_jpeg::bytes_to_floats(&[0, 1, 255], [0.5, -1.0], &mut floats);
/// assert_eq!(floats, [-1.0, -0.5, 126.5]);
/// ```
pub fn bytes_to_floats(bytes: &[u8], by: [f32; 2], floats: &mut [f32]) {
    (Simd::best().floats)(bytes, by, floats);
}

/// Writes the red, the green and the blue of pixels of three bytes, each to a slice. `red` determines the number of pixels.
///
/// ```
/// let mut red = [0; 2];
/// let mut green = [0; 2];
/// let mut blue = [0; 2];
/// tarflume_jpeg::rgb_to_planes(&[1, 2, 3, 4, 5, 6], &mut red, &mut green, &mut blue);
/// assert_eq!([red, green, blue], [[1, 4], [2, 5], [3, 6]]);
/// ```
///
/// # Panics
/// Panics if `green` or `blue` is shorter than `red`, or if `rgb` has fewer than three bytes for each byte of `red`.
pub fn rgb_to_planes(rgb: &[u8], red: &mut [u8], green: &mut [u8], blue: &mut [u8]) {
    (Simd::best().rgb_planes)(rgb, red, green, blue);
}

/// Buffers for upsampled lines, and one for colors; reused from picture to picture.
#[derive(Debug, Default)]
pub(crate) struct Lines([Vec<u8>; 4], Vec<u8>);

/// The samples of a picture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Samples<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) planes: &'a Planes,
}

/// The format of the rows of pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PixelFormat {
    pub(crate) color: Color,
    /// Whether the first three components are luma and chroma.
    pub(crate) ycc: bool,
}

impl Lines {
    /// Writes row `y` of the picture, within its region, to `out`.
    pub(crate) fn write(
        &mut self,
        simd: &Simd,
        samples: Samples<'_>,
        wanted: PixelFormat,
        region: &Region,
        y: u32,
        out: &mut [u8],
    ) {
        let Samples { layout, planes } = samples;
        let stored = wanted.color == Color::Gray && wanted.ycc && layout.count == 3;
        // Luma is stored as such, so gray output needs no chroma at all; of stored red, green and
        // blue it must be computed.
        let gray = layout.count == 1 || stored;
        let needed = if gray { 1 } else { layout.count };
        for (n, part) in layout.parts().enumerate().take(needed) {
            fill(&mut self.0[n], simd, planes, n, part, region, y);
        }
        let width = region.width as usize;
        let mut colors = std::mem::take(&mut self.1);
        let line = |n: usize| self.0[n].as_slice();
        let direct = |n: usize| &planes.line(n, y, region.left)[1..=width];
        let samples = |n: usize| match layout.parts[n].upsampling {
            Upsampling::None => direct(n),
            upsampling => {
                let skip = (region.left % upsampling.factors().0) as usize;
                &line(n)[skip..skip + width]
            }
        };
        if layout.count == 4 {
            let inks = [0, 1, 2, 3].map(samples);
            match wanted.color {
                Color::Rgb => from_inks(simd, inks, wanted.ycc, out),
                Color::Gray => {
                    colors.resize(3 * width, 0);
                    from_inks(simd, inks, wanted.ycc, &mut colors);
                    for (gray, &[r, g, b]) in out.iter_mut().zip(colors.as_chunks().0) {
                        *gray = luma_of(r, g, b);
                    }
                }
            }
            self.1 = colors;
            return;
        }
        self.1 = colors;
        match (gray, wanted.color) {
            (true, Color::Gray) => out.copy_from_slice(samples(0)),
            (true, Color::Rgb) => (simd.gray_rgb)(samples(0), out),
            (false, Color::Rgb) if wanted.ycc => {
                (simd.ycc_rgb)(samples(0), samples(1), samples(2), out);
            }
            (false, Color::Rgb) => interleave(samples(0), samples(1), samples(2), out),
            (false, Color::Gray) => luma(samples(0), samples(1), samples(2), out),
        }
    }
}

/// Upsamples the samples of a component that row `y` needs, from the one in which the region
/// begins.
fn fill(
    line: &mut Vec<u8>,
    simd: &Simd,
    planes: &Planes,
    n: usize,
    part: &ScaledComponent,
    region: &Region,
    y: u32,
) {
    let (across, down) = part.upsampling.factors();
    if part.upsampling == Upsampling::None {
        return;
    }
    let first = region.left / across;
    let count = ((region.left + region.width).div_ceil(across) - first) as usize;
    let pixels = count * across as usize;
    if line.len() < pixels {
        line.resize(pixels, 0);
    }
    let out = &mut line[..pixels];
    let near = y / down;
    // The upper pixel of a sample is weighted with the row above, the lower one with the row below;
    // at the edge of the picture the edge row replaces the missing one.
    let far =
        if y.is_multiple_of(2) { near.saturating_sub(1) } else { (near + 1).min(part.height - 1) };
    let row = |y: u32| planes.line(n, y, first);
    match part.upsampling {
        Upsampling::FancyAcross => (simd.h2v1)(&row(near)[..count + 2], out),
        Upsampling::FancyBoth => (simd.h2v2)(&row(near)[..count + 2], &row(far)[..count + 2], out),
        Upsampling::FancyDown => {
            let bias = if y.is_multiple_of(2) { 1 } else { 2 };
            (simd.h1v2)(&row(near)[1..=count], &row(far)[1..=count], bias, out);
        }
        Upsampling::Repeat(..) | Upsampling::None => {
            let samples = &row(near)[1..=count];
            for (pixels, &sample) in out.chunks_exact_mut(across as usize).zip(samples) {
                pixels.fill(sample);
            }
        }
    }
}

fn interleave(red: &[u8], green: &[u8], blue: &[u8], out: &mut [u8]) {
    let samples = red.iter().zip(green).zip(blue);
    for (pixel, ((&r, &g), &b)) in out.chunks_exact_mut(3).zip(samples) {
        pixel.copy_from_slice(&[r, g, b]);
    }
}

/// Computes the luma of stored red, green and blue (`rgb_gray_convert` of libjpeg-turbo).
fn luma(red: &[u8], green: &[u8], blue: &[u8], out: &mut [u8]) {
    let samples = red.iter().zip(green).zip(blue);
    for (gray, ((&r, &g), &b)) in out.iter_mut().zip(samples) {
        *gray = luma_of(r, g, b);
    }
}

/// ITU-R BT.601 with 16 bits of precision.
fn luma_of(red: u8, green: u8, blue: u8) -> u8 {
    let sum = u32::from(red) * 19595 + u32::from(green) * 38470 + u32::from(blue) * 7471;
    ((sum + 0x8000) >> 16) as u8
}

/// Converts four inks as JPEGs store them, 255 for none, to red, green and blue as Pillow does for
/// libjpeg-turbo's CMYK (its `cmyk2rgb`). With `ycc` three of the inks are stored as luma and
/// chroma.
fn from_inks(simd: &Simd, [cyan, magenta, yellow, black]: [&[u8]; 4], ycc: bool, out: &mut [u8]) {
    if ycc {
        (simd.ycc_rgb)(cyan, magenta, yellow, out);
    } else {
        interleave(cyan, magenta, yellow, out);
        out.iter_mut().for_each(|ink| *ink = !*ink);
    }
    for (pixel, &light) in out.as_chunks_mut::<3>().0.iter_mut().zip(black) {
        *pixel = pixel.map(|ink| {
            let product = u32::from(ink) * u32::from(light) + 128;
            light.saturating_sub(((product + (product >> 8)) >> 8) as u8)
        });
    }
}
