//! What a JPEG of a picture loses: the result of libjpeg-turbo's compression and decompression, without the codes between.
//!
//! The codes of a JPEG lose nothing. What is lost is lost where colors are converted, where their resolution is halved, and
//! where coefficients are rounded to multiples. These steps are those of libjpeg-turbo's defaults, to the bit: colors at
//! half resolution, the accurate integer transforms, smooth upsampling.

mod blocks;
mod color;

use tarflume_image::ImageSize;

use crate::kernels::sets::Set;

use self::blocks::{CHROMA, LUMA, SIDE, Steps, round_trip};
use self::color::{Chroma, halve, to_rgb, to_ycc, upsample};

/// The sizes of the planes of a picture.
#[derive(Debug, Clone, Copy)]
struct Planes {
    width: usize,
    height: usize,
    /// Bytes from row to row of the luma, whole blocks.
    stride: usize,
    /// Columns and rows of a plane of color.
    chroma: [usize; 2],
    /// Bytes from row to row of a plane of color, whole blocks.
    chroma_stride: usize,
}

impl Planes {
    fn new(size: ImageSize) -> Planes {
        let width = size.width as usize;
        let height = size.height as usize;
        let chroma = [width.div_ceil(2), height.div_ceil(2)];
        Planes {
            width,
            height,
            stride: width.next_multiple_of(SIDE),
            chroma,
            chroma_stride: chroma[0].next_multiple_of(SIDE),
        }
    }

    fn luma_bytes(self) -> usize {
        self.stride * self.height.next_multiple_of(SIDE)
    }

    fn chroma_bytes(self) -> usize {
        self.chroma_stride * self.chroma[1].next_multiple_of(SIDE)
    }

    /// Two rows of both colors, before their resolution is halved or after it is doubled.
    fn row_bytes(self) -> usize {
        4 * 2 * self.chroma_stride
    }
}

/// The bytes of memory that [`compress`] needs.
pub(crate) fn room(size: ImageSize, channels: usize) -> usize {
    let planes = Planes::new(size);
    match channels {
        1 => planes.luma_bytes(),
        _ => planes.luma_bytes() + 2 * planes.chroma_bytes() + planes.row_bytes(),
    }
}

/// Replaces pixels by those of a JPEG with this quality, 1 to 100. `room` has the length that [`room`] states.
pub(crate) fn compress(
    set: Set,
    pixels: &mut [u8],
    size: ImageSize,
    channels: usize,
    quality: u8,
    room: &mut [u8],
) {
    let planes = Planes::new(size);
    if planes.width == 0 || planes.height == 0 {
        return;
    }
    let (luma, rest) = room.split_at_mut(planes.luma_bytes());
    if channels == 1 {
        for y in 0..planes.height {
            let row = &pixels[y * planes.width..][..planes.width];
            luma[y * planes.stride..][..planes.width].copy_from_slice(row);
        }
        fill_margin(luma, planes.stride, planes.width, planes.height);
        round_trip(set, luma, planes.stride, &Steps::new(&LUMA, quality));
        for y in 0..planes.height {
            let row = &luma[y * planes.stride..][..planes.width];
            pixels[y * planes.width..][..planes.width].copy_from_slice(row);
        }
        return;
    }
    let (blue, rest) = rest.split_at_mut(planes.chroma_bytes());
    let (red, rows) = rest.split_at_mut(planes.chroma_bytes());
    split(set, pixels, planes, [&mut *luma, &mut *blue, &mut *red], rows);
    round_trip(set, luma, planes.stride, &Steps::new(&LUMA, quality));
    let steps = Steps::new(&CHROMA, quality);
    round_trip(set, blue, planes.chroma_stride, &steps);
    round_trip(set, red, planes.chroma_stride, &steps);
    join(set, [luma, blue, red], planes, rows, pixels);
}

/// Fills the planes of luma, blue and red, with their margins.
fn split(set: Set, pixels: &[u8], planes: Planes, out: [&mut [u8]; 3], rows: &mut [u8]) {
    let [luma, blue, red] = out;
    let full = 2 * planes.chroma_stride;
    for pair in 0..planes.chroma[1] {
        for below in 0..2 {
            // The last row of an odd height is its own neighbor.
            let y = (2 * pair + below).min(planes.height - 1);
            let pixels = &pixels[y * planes.width * 3..][..planes.width * 3];
            let (blues, reds) = rows[2 * below * full..][..2 * full].split_at_mut(full);
            let luma = &mut luma[y * planes.stride..][..planes.width];
            to_ycc(set, pixels, luma, blues, reds);
            for row in [blues, reds] {
                let last = row[planes.width - 1];
                row[planes.width..].fill(last);
            }
        }
        let (upper, lower) = rows.split_at(2 * full);
        let at = pair * planes.chroma_stride;
        halve(set, &upper[..full], &lower[..full], &mut blue[at..][..planes.chroma_stride]);
        halve(set, &upper[full..], &lower[full..], &mut red[at..][..planes.chroma_stride]);
    }
    fill_margin(luma, planes.stride, planes.width, planes.height);
    for plane in [blue, red] {
        fill_margin(plane, planes.chroma_stride, planes.chroma_stride, planes.chroma[1]);
    }
}

/// Repeats the last column and the last row.
fn fill_margin(plane: &mut [u8], stride: usize, width: usize, height: usize) {
    for row in plane.chunks_exact_mut(stride).take(height) {
        let last = row[width - 1];
        row[width..].fill(last);
    }
    let (rows, margin) = plane.split_at_mut(height * stride);
    for row in margin.chunks_exact_mut(stride) {
        row.copy_from_slice(&rows[(height - 1) * stride..]);
    }
}

/// Writes the pixels of the planes of luma, blue and red.
fn join(set: Set, from: [&[u8]; 3], planes: Planes, rows: &mut [u8], pixels: &mut [u8]) {
    let [luma, blue, red] = from;
    let (blues, reds) = rows.split_at_mut(rows.len() / 2);
    let width = planes.width;
    for y in 0..planes.height {
        let chroma = Chroma::of_row(y, planes.chroma, planes.chroma_stride);
        upsample(set, blue, chroma, blues);
        upsample(set, red, chroma, reds);
        let luma = &luma[y * planes.stride..][..width];
        let pixels = &mut pixels[y * width * 3..][..width * 3];
        to_rgb(set, luma, &blues[..width], &reds[..width], pixels);
    }
}

#[cfg(test)]
mod tests;
