//! The gray value of a pixel, its sum over a picture, and gray pictures.

use crate::kernels::color::planes::{BLOCK, Planes};
use crate::kernels::sets::wide;

/// 0.2989 red + 0.587 green + 0.114 blue, rounded down: torchvision's gray.
///
/// The weights in units of 2^-22, rounded so that the result is exact for all colors. torchvision's
/// own rounding differs from it for 3 of the 16,777,216.
#[inline(always)]
pub(crate) fn gray(red: u8, green: u8, blue: u8) -> i32 {
    (1_253_678 * i32::from(red) + 2_462_057 * i32::from(green) + 478_151 * i32::from(blue)) >> 22
}

wide! {
    /// Returns the sum of the gray values of pixels of three channels.
    pub(crate) fn sum_of_grays(pixels: &[u8]) -> u64 {
        let mut planes = Planes::black();
        let mut sum = 0;
        for block in pixels.chunks(3 * BLOCK) {
            planes.split(block);
            let mut of_block = 0;
            for at in 0..BLOCK {
                of_block += gray(planes.red[at], planes.green[at], planes.blue[at]);
            }
            sum += of_block as u64;
        }
        sum
    }
}

wide! {
    /// Returns the sum of bytes.
    pub(crate) fn sum_of_bytes(bytes: &[u8]) -> u64 {
        bytes.chunks(1 << 16).map(|part| u64::from(part.iter().map(|&b| u32::from(b)).sum::<u32>())).sum()
    }
}

wide! {
    /// Replaces each pixel of three channels by its gray value.
    pub(crate) fn make_gray(pixels: &mut [u8]) {
        let mut planes = Planes::black();
        for block in pixels.chunks_mut(3 * BLOCK) {
            planes.split(block);
            let Planes { red, green, blue } = &mut planes;
            for at in 0..BLOCK {
                let gray = gray(red[at], green[at], blue[at]) as u8;
                red[at] = gray;
                green[at] = gray;
                blue[at] = gray;
            }
            planes.join(block);
        }
    }
}
