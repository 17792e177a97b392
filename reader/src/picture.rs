//! Picture arithmetic: sizes, boxes and pixels, cropping, resizing and conversion.
//!
//! Pure: no files, decoders or devices. The host decoders use it, and it is the reference that the device kernels
//! are tested against.

pub mod convert;
pub mod crop;
pub mod geometry;
pub(crate) mod orientation;
pub mod output;
pub mod pixels;
pub mod random;
pub mod resample;
pub mod resize;
pub mod row_header;
pub mod yuv420;
