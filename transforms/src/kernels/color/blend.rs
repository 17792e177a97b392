//! Blends of a picture with its gray picture, rounded as torchvision's on a processor with fused
//! products and sums.

use crate::kernels::color::bytes::byte;
use crate::kernels::color::gray::gray;
use crate::kernels::color::planes::{BLOCK, Planes};
use crate::kernels::color::table::Table;
use crate::kernels::sets::{Set, wide};

/// The parts of a picture and of what it is blended with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ratio {
    own: f32,
    other: f32,
}

impl Ratio {
    /// The part of the picture is `own`: 1 changes nothing.
    pub(crate) fn new(own: f64) -> Ratio {
        Ratio { own: own as f32, other: (1.0 - own) as f32 }
    }

    /// The part of the picture, and that of what it is blended with.
    pub(crate) fn parts(self) -> [f32; 2] {
        [self.own, self.other]
    }

    /// The blend of one byte.
    #[inline(always)]
    fn blend<const FUSED: bool>(self, own: f32, other: f32) -> u8 {
        let own = own * self.own;
        let sum = if FUSED {
            other.mul_add(self.other, own)
        } else {
            (f64::from(other) * f64::from(self.other) + f64::from(own)) as f32
        };
        byte(sum)
    }

    /// The blends of all bytes with one value.
    pub(crate) fn table(self, other: f32) -> Table {
        std::array::from_fn(|byte| self.blend::<true>(byte as f32, other))
    }
}

/// Blends each pixel of three channels with its gray value.
pub(crate) fn blend_with_gray(set: Set, pixels: &mut [u8], ratio: Ratio) {
    // Without the instruction, `mul_add` is a call. The product of 32 bits and the sum fit the 53
    // bits of f64.
    if cfg!(target_arch = "aarch64") || set >= Set::Avx2 {
        fused(set, pixels, ratio);
    } else {
        unfused(set, pixels, ratio);
    }
}

wide! {
    fn fused(pixels: &mut [u8], ratio: Ratio) {
        blend::<true>(pixels, ratio);
    }
}

wide! {
    fn unfused(pixels: &mut [u8], ratio: Ratio) {
        blend::<false>(pixels, ratio);
    }
}

#[inline(always)]
fn blend<const FUSED: bool>(pixels: &mut [u8], ratio: Ratio) {
    let mut planes = Planes::black();
    for block in pixels.chunks_mut(3 * BLOCK) {
        planes.split(block);
        let Planes { red, green, blue } = &mut planes;
        for at in 0..BLOCK {
            let gray = gray(red[at], green[at], blue[at]) as f32;
            red[at] = ratio.blend::<FUSED>(f32::from(red[at]), gray);
            green[at] = ratio.blend::<FUSED>(f32::from(green[at]), gray);
            blue[at] = ratio.blend::<FUSED>(f32::from(blue[at]), gray);
        }
        planes.join(block);
    }
}
