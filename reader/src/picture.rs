//! picture

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
