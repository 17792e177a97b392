//! The kernels in plain Rust: the reference for every other set, and the fallback.
//!
//! Integers wrap and saturate at the same steps as in libjpeg-turbo's vector code for x86, so that
//! damaged files with extreme coefficients give the same bytes, too.

use super::run::Simd;
use super::weights;

pub(super) mod idct;
pub(super) mod lines;
pub(super) mod reduced;
pub(super) mod resize;

pub(super) static SIMD: Simd = Simd {
    name: "portable",
    idct: [idct::to_8x8, reduced::to_4x4, reduced::to_2x2, reduced::to_1x1],
    h2v1: lines::h2v1,
    h2v2: lines::h2v2,
    h1v2: lines::h1v2,
    ycc_rgb: lines::ycc_rgb,
    gray_rgb: lines::gray_rgb,
    rgb_planes: lines::rgb_planes,
    down: resize::down,
    across_rgb: resize::across_rgb,
    across_gray: resize::across_gray,
    floats: lines::floats,
    cubic: |outputs, exact, out| weights::cubic((), outputs, exact, out),
    lanczos: |outputs, exact, out| weights::lanczos((), outputs, exact, out),
    in_digits: |from, digits, beyond| weights::in_digits((), from, digits, beyond),
    groups: 0,
    bytes: None,
};
