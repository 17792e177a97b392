//! Pictures as numbers: sizes, boxes and pixels, and how they are cut, resized and converted.
//!
//! Pure: knows no files, no decoders and no devices. Decoders on the host work with it, and it is the oracle that the
//! kernels of a device are tested against.

pub mod convert;
pub mod crop;
pub(crate) mod geometry;
pub(crate) mod orientation;
pub(crate) mod output;
pub(crate) mod pixels;
pub(crate) mod random;
pub mod resample;
pub(crate) mod resize;
pub mod row_header;
pub(crate) mod yuv420;
