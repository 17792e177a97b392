//! The interface of kernels: a table of functions, and what the inverse DCT is handed.

/// A set of kernels. Lines are slices of samples. The first one says how many they are; every function
/// panics if another is shorter than that asks for, and reads and writes nothing behind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Simd {
    /// For messages and tests: `avx2`, `sse4.1`, `neon`, `portable`.
    pub(crate) name: &'static str,
    /// Inverse DCTs to 8x8, 4x4, 2x2 and 1x1 samples a block.
    pub(crate) idct: [fn(&mut Blocks<'_>); 4],
    /// Twice as many columns: `(line, out)`. `line` holds a left neighbor, n samples and a right
    /// neighbor; `out` 2 n.
    pub(crate) h2v1: fn(&[u8], &mut [u8]),
    /// One of two rows, and twice as many columns: `(near, far, out)`, lines as in `h2v1`.
    pub(crate) h2v2: fn(&[u8], &[u8], &mut [u8]),
    /// One of two rows: `(near, far, bias, out)`, n samples each; bias 1 for the upper, 2 for the lower.
    pub(crate) h1v2: fn(&[u8], &[u8], u8, &mut [u8]),
    /// `(y, cb, cr, out)`: n samples each, 3 n bytes of red, green, blue.
    pub(crate) ycc_rgb: Color,
    /// `(gray, out)`: n samples, 3 n bytes.
    pub(crate) gray_rgb: fn(&[u8], &mut [u8]),
}

/// See [`Simd::ycc_rgb`].
pub(crate) type Color = fn(&[u8], &[u8], &[u8], &mut [u8]);

/// Blocks of one component that lie beside each other in the picture.
#[derive(Debug)]
pub(crate) struct Blocks<'a> {
    /// Coefficients before dequantizing, in natural order (row by row); blocks of other components lie
    /// between those meant. The blocks meant are all zeros afterwards.
    pub(crate) coefficients: &'a mut [[i16; 64]],
    /// For each of `coefficients`, the zigzag number of its last coefficient that may not be 0.
    pub(crate) last: &'a [u8],
    /// Blocks 0, `step`, 2 `step`, ... are meant.
    pub(crate) step: usize,
    /// How many.
    pub(crate) count: usize,
    /// Natural order.
    pub(crate) quant: &'a [u16; 64],
    /// Samples, from the first block's upper left one on.
    pub(crate) out: &'a mut [u8],
    /// From row to row.
    pub(crate) stride: usize,
    /// From the upper left sample of a block to that of the next one meant.
    pub(crate) across: usize,
}
