//! The smoothed picture of `adjust_sharpness`, blended with the picture.

use crate::kernels::sets::wide;

wide! {
    /// Writes a row without its first and last pixel to `out`: the row plus `alpha` times what smoothing adds to it.
    ///
    /// The weights of the smoothing are 5 for the pixel and 1 for each of its eight neighbors, all divided by 13. `sums` is
    /// as long as two rows; its content is any.
    pub(crate) fn sharpen_row(
        above: &[u8],
        row: &[u8],
        below: &[u8],
        channels: usize,
        alpha: f32,
        sums: &mut [u16],
        out: &mut [u8],
    ) {
        let columns = above.iter().zip(row).zip(below);
        for (sum, ((above, middle), below)) in sums.iter_mut().zip(columns) {
            *sum = u16::from(*above) + u16::from(*middle) + u16::from(*below);
        }
        let inner = out.len();
        let (sums, smooth) = sums.split_at_mut(inner + 2 * channels);
        let smooth = &mut smooth[..inner];
        let left = &sums[..inner];
        let middle = &sums[channels..][..inner];
        let right = &sums[2 * channels..][..inner];
        let pixels = &row[channels..][..inner];
        for at in 0..inner {
            let sum = left[at] + middle[at] + right[at] + 4 * u16::from(pixels[at]);
            // Exactly the quotient by 13, rounded: the sum is at most 3,315, and no quotient is halfway.
            smooth[at] = ((u32::from(sum + 6) * 5042) >> 16) as u16;
        }
        for at in 0..inner {
            let pixel = f32::from(pixels[at]);
            out[at] = truncated(pixel + (f32::from(smooth[at]) - pixel) * alpha);
        }
    }
}

/// The integer part, at least 0 and at most 255.
#[inline(always)]
fn truncated(value: f32) -> u8 {
    // These comparisons are one instruction each; those of `clamp` are not. What is no number becomes 0.
    let value = if value > 0.0 { value } else { 0.0 };
    let value = if value < 255.0 { value } else { 255.0 };
    // The sum has no fraction: it is rounded as every sum is, and its last byte is the integer.
    let sum = value + WHOLE;
    sum.to_bits().wrapping_sub(u32::from(sum - WHOLE > value)) as u8
}

/// From here to twice it, numbers have no fraction.
const WHOLE: f32 = 8_388_608.0;
