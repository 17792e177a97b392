//! Bilinear and bicubic pixels at the points of a row.
//!
//! Pixels outside the picture are black and have no weight; where weights are missing, the fill has a part. That is
//! torchvision's result, in which a bicubic pixel at the edge is darkened twice.
//!
//! The taps of a pixel are neighbors, moved into the picture at its edges. A tap's weight depends only on its distance
//! from the point, so that what is moved gets none.
//!
//! `taps` finds the taps of a block of pixels and their weights. `lanes` blends a block in loops whose lanes are pixels;
//! `avx2` has a lane for each of three channels. Both add in torch's order, so the bytes are the same.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod lanes;
mod taps;

use self::taps::Taps;
use crate::frame::Source;
use crate::kernels::sets::{Set, wide};

pub(super) use self::taps::BLOCK;

// The set is given twice below: the first chooses the copy of the loop, the second the kernel of a block.

/// Writes the bilinear pixels at the points `xs`, `ys`.
pub(super) fn bilinear(
    set: Set,
    source: Source<'_>,
    xs: &[f32],
    ys: &[f32],
    fill: [u8; 3],
    out: &mut [u8],
) {
    two_taps(set, set, source, xs, ys, fill, out);
}

/// Writes the bicubic pixels at the points `xs`, `ys`.
pub(super) fn bicubic(
    set: Set,
    source: Source<'_>,
    xs: &[f32],
    ys: &[f32],
    fill: [u8; 3],
    out: &mut [u8],
) {
    four_taps(set, set, source, xs, ys, fill, out);
}

wide! {
    fn two_taps(
        set: Set,
        source: Source<'_>,
        xs: &[f32],
        ys: &[f32],
        fill: [u8; 3],
        out: &mut [u8],
    ) {
        blend::<2>(set, source, xs, ys, fill, out);
    }
}

wide! {
    fn four_taps(
        set: Set,
        source: Source<'_>,
        xs: &[f32],
        ys: &[f32],
        fill: [u8; 3],
        out: &mut [u8],
    ) {
        blend::<4>(set, source, xs, ys, fill, out);
    }
}

#[inline(always)]
fn blend<const TAPS: usize>(
    set: Set,
    source: Source<'_>,
    xs: &[f32],
    ys: &[f32],
    fill: [u8; 3],
    out: &mut [u8],
) {
    let mut taps = Taps::<TAPS>::new(source.size);
    let points = xs.as_chunks().0.iter().zip(ys.as_chunks().0);
    for ((xs, ys), out) in points.zip(out.chunks_mut(BLOCK * source.channels)) {
        taps.find(xs, ys);
        block(set, source, &taps, fill, out);
    }
}

/// Writes the pixels of a block.
#[inline(always)]
fn block<const TAPS: usize>(
    set: Set,
    source: Source<'_>,
    taps: &Taps<TAPS>,
    fill: [u8; 3],
    out: &mut [u8],
) {
    if source.channels != 3 {
        return lanes::block::<1, TAPS>(source, taps, [fill[0]], out);
    }
    if taps.are_outside() {
        out.as_chunks_mut().0.fill(fill);
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if avx2::block(set, source, taps, fill, out) {
        return;
    }
    lanes::block(source, taps, fill, out);
}
