//! How decoders see the bytes of a file.

pub(super) mod bytes;
#[cfg(any(feature = "tiff", feature = "webp"))]
pub(super) mod patched;
#[cfg(any(feature = "gif", feature = "png"))]
pub(super) mod pieces;
