//! The kernels in plain Rust: what every other set must equal, and what runs where there is none.
//!
//! Whole numbers are wrapped and saturated at the places where libjpeg-turbo's vector code for x86
//! does so: damaged files with absurd coefficients give its bytes too.

use super::run::Simd;

pub(super) mod idct;
pub(super) mod lines;
pub(super) mod reduced;

pub(super) static SIMD: Simd = Simd {
    name: "portable",
    idct: [idct::to_8x8, reduced::to_4x4, reduced::to_2x2, reduced::to_1x1],
    h2v1: lines::h2v1,
    h2v2: lines::h2v2,
    h1v2: lines::h1v2,
    ycc_rgb: lines::ycc_rgb,
    gray_rgb: lines::gray_rgb,
};
