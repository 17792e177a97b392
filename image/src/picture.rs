//! Picture arithmetic: sizes, boxes and pixels, cropping, resizing and conversion.
//!
//! Pure: no files, decoders or devices. The host decoders use it, and it is the reference that the device kernels
//! are tested against.

pub mod convert;
pub(crate) mod from_fn;
pub(crate) mod geometry;
pub(crate) mod orientation;
pub(crate) mod output;
pub(crate) mod pixels;
pub(crate) mod random;
pub mod resample;
pub(crate) mod resizing;
pub mod row_header;
pub(crate) mod stored;
pub(crate) mod yuv420;
