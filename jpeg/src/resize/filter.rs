//! The names of the filters.

/// The filter that computes an output pixel. All are antialiased: when downscaling, they are as wide
/// in the output as they are in the input when upscaling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ResizeFilter {
    /// A triangle ("bilinear"): weights of 15 bits, first the columns, then the rows.
    #[default]
    Triangle,
    /// Cubic convolution with a = -0.5 ("bicubic"). The bytes are those of Pillow 13: weights of 22 bits, first the
    /// rows, rounded to 8 bits, then the columns. Where the height loses more than twice what the width loses, the
    /// columns are first.
    Cubic,
    /// A sinc of three lobes ("Lanczos"). The bytes are those of Pillow 13, as of `Cubic`.
    Lanczos,
}
