//! Bytes: numbers, checksums and compressed frames.

pub(super) mod checksum;
pub mod frames;
pub(super) mod le;
#[doc(hidden)]
pub mod varint;
pub(super) mod zstd_codec;
