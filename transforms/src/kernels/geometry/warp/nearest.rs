//! The nearest pixel at each point of a row. A point halfway between two belongs to the even one.

use crate::frame::Source;
use crate::kernels::sets::wide;

/// Pixels whose places are computed before they are copied.
const BLOCK: usize = 128;

/// 1.5 * 2^23: in a sum with it, single precision has no digits below 1.
pub(super) const WHOLE: f32 = 12_582_912.0;

wide! {
    /// Writes the pixels at the points `xs`, `ys`. Outside the picture they are `fill`.
    pub(super) fn row(
        source: Source<'_>,
        xs: &[f32],
        ys: &[f32],
        fill: [u8; 3],
        out: &mut [u8],
    ) {
        let mut places = [0; BLOCK];
        let blocks = xs.chunks(BLOCK).zip(ys.chunks(BLOCK));
        for ((xs, ys), out) in blocks.zip(out.chunks_mut(BLOCK * source.channels)) {
            find(source, xs, ys, &mut places);
            if source.channels == 3 {
                copy(source.bytes, &places, fill, out);
            } else {
                copy(source.bytes, &places, [fill[0]], out);
            }
        }
    }
}

/// Writes the number of the pixel at each point; outside the picture, `u32::MAX`.
#[inline(always)]
fn find(source: Source<'_>, xs: &[f32], ys: &[f32], places: &mut [u32; BLOCK]) {
    let width = source.size.width;
    let height = source.size.height;
    for ((x, y), place) in xs.iter().zip(ys).zip(places) {
        let x = whole(*x, width as f32);
        let y = whole(*y, height as f32);
        let outside = (x >= width) | (y >= height);
        // As a mask: a branch would keep the loop from being done in lanes.
        let mask = u32::from(outside).wrapping_neg();
        *place = y.wrapping_mul(width).wrapping_add(x) | mask;
    }
}

/// The nearest integer; from -2 on, which is large.
#[inline(always)]
fn whole(place: f32, most: f32) -> u32 {
    let low = if place > -2.0 { place } else { -2.0 };
    let place = if low < most { low } else { most };
    (place + WHOLE).to_bits().wrapping_sub(WHOLE.to_bits())
}

#[inline(always)]
fn copy<const CHANNELS: usize>(
    bytes: &[u8],
    places: &[u32; BLOCK],
    fill: [u8; CHANNELS],
    out: &mut [u8],
) {
    let pixels = bytes.as_chunks::<CHANNELS>().0;
    for (to, place) in out.as_chunks_mut::<CHANNELS>().0.iter_mut().zip(places) {
        *to = pixels.get(*place as usize).copied().unwrap_or(fill);
    }
}
