//! Cropping and resizing.

pub mod crop;
pub mod resize;
