//! The sets of kernels, one for each kind of processor.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(super) mod neon;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) mod set;
#[cfg(target_arch = "x86_64")]
pub(super) mod sse41;
