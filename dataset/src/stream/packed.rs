//! Compressed tars: gzip and zstd.

pub(crate) mod members;
pub(super) mod unpack;
#[cfg(feature = "zstd")]
pub(crate) mod zstd_frames;
