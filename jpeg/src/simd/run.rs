//! The interface of kernels: a table of functions, and the arguments of the inverse DCT.

use super::taps::{Across, Column, Digits, Lines, MOST_LINES};
use super::weights::{FineWeights, InDigits};

/// A set of kernels. Lines are slices of samples. The first line determines the number of samples;
/// every function panics if another one is shorter than that requires, and touches nothing after
/// it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Simd {
    /// For messages and tests: `avx512`, `avx2`, `sse4.1`, `neon`, `portable`.
    pub(crate) name: &'static str,
    /// Inverse DCTs to 8x8, 4x4, 2x2 and 1x1 samples per block.
    pub(crate) idct: [fn(&mut Blocks<'_>); 4],
    /// Doubles the columns: `(line, out)`. `line` holds a left neighbor, n samples and a right
    /// neighbor; `out` 2 n.
    pub(crate) h2v1: fn(&[u8], &mut [u8]),
    /// Computes one of two rows and doubles the columns: `(near, far, out)`, lines as in `h2v1`.
    pub(crate) h2v2: fn(&[u8], &[u8], &mut [u8]),
    /// Computes one of two rows: `(near, far, bias, out)`, n samples each; bias 1 for the upper, 2
    /// for the lower.
    pub(crate) h1v2: fn(&[u8], &[u8], u8, &mut [u8]),
    /// `(y, cb, cr, out)`: n samples each, 3 n bytes of red, green, blue.
    pub(crate) ycc_rgb: Color,
    /// `(gray, out)`: n samples, 3 n bytes.
    pub(crate) gray_rgb: fn(&[u8], &mut [u8]),
    /// `(rgb, red, green, blue)`: 3 n bytes, n of each color. `red` determines n.
    pub(crate) rgb_planes: Apart,
    /// Bytes times a factor plus a summand, each rounded: `(bytes, [factor, summand], out)`.
    pub(crate) floats: Floats,
    /// Computes weighted sums of rows: `(column, out)`. `out` determines the number of bytes.
    pub(crate) down: fn(&Column<'_>, &mut [u8]),
    /// Computes weighted sums of pixels of three bytes: `(across, line, out)`. `line` begins with
    /// the first input and has as many bytes as [`super::Table::set`] returned, and its inputs; so
    /// has each of its lines.
    pub(crate) across_rgb: AcrossLine,
    /// The same for pixels of one byte.
    pub(crate) across_gray: AcrossLine,
    /// Weights of cubic filters.
    pub(crate) cubic: FineWeights,
    /// Weights of Lanczos filters.
    pub(crate) lanczos: FineWeights,
    /// Digits of weights.
    pub(crate) in_digits: InDigits,
    /// Groups of a vector, for [`super::Table::set`]; 0 if it needs no table.
    pub(crate) groups: usize,
    /// Of processors that multiply bytes by bytes.
    pub(crate) bytes: Option<ByteKernels>,
}

/// Weighted sums with fine weights in digits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByteKernels {
    /// Brings at most [`MOST_LINES`] lines of pixels of three bytes into the order of vectors: `(lines, woven)`. `woven`
    /// has the memory of [`ByteKernels::woven`].
    pub(crate) weave: fn(Lines<'_>, &mut [u8]),
    /// Computes so many lines: `(digits, woven, count, out)`. Units are aligned; `out` has each line without gaps.
    pub(crate) across: fn(&Digits, &[u8], usize, &mut [u8]),
    /// Computes a row of at least `shortest` bytes: `(rows, digits, output, out)`. `rows` begin with the first input of the
    /// output, whose units are its own.
    pub(crate) down: fn(Lines<'_>, &Digits, usize, &mut [u8]),
    /// Bytes of a vector.
    pub(crate) shortest: usize,
}

impl ByteKernels {
    /// Returns the memory that lines take up, unit by unit.
    pub(crate) fn woven(&self, digits: &Digits) -> usize {
        digits.all * MOST_LINES * 16
    }
}

/// See [`Simd::across_rgb`].
pub(crate) type AcrossLine = fn(&Across<'_>, &[u8], &mut [u8]);

/// See [`Simd::rgb_planes`].
pub(crate) type Apart = fn(&[u8], &mut [u8], &mut [u8], &mut [u8]);

/// See [`Simd::floats`].
pub(crate) type Floats = fn(&[u8], [f32; 2], &mut [f32]);

/// See [`Simd::ycc_rgb`].
pub(crate) type Color = fn(&[u8], &[u8], &[u8], &mut [u8]);

/// Blocks of one component that are adjacent in the picture.
#[derive(Debug)]
pub(crate) struct Blocks<'a> {
    /// Coefficients before dequantizing, in natural order (row by row), possibly with blocks of
    /// other components between the selected ones. The selected blocks are all zeros afterwards.
    pub(crate) coefficients: &'a mut [[i16; 64]],
    /// For each of `coefficients`, the zigzag number of its last coefficient that may not be 0.
    pub(crate) last: &'a [u8],
    /// Blocks 0, `step`, 2 `step`, ... are selected.
    pub(crate) step: usize,
    /// Number of selected blocks.
    pub(crate) count: usize,
    /// The quantization table, in natural order.
    pub(crate) quant: &'a [u16; 64],
    /// Samples, from the upper left one of the first block on.
    pub(crate) out: &'a mut [u8],
    /// Samples from row to row.
    pub(crate) stride: usize,
    /// Samples from the upper left one of a block to that of the next selected one.
    pub(crate) across: usize,
}
