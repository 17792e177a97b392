//! Pictures of the data loader [tarflume](https://docs.rs/tarflume): decoders for PNG, WebP, GIF, BMP, TIFF and Netpbm, and the
//! arithmetic of crops, sizes, colors and element types. JPEG is the crate `tarflume-jpeg`.
//!
//! No files, threads or devices. Programs use the types through the crate `tarflume`, which exports them. What it does
//! not export is for the crates of this project: no promise of semver holds for it.
#![deny(unsafe_code)]
#![warn(missing_docs)]

// Without some of the formats, some of what they share is not used.
#[cfg_attr(
    not(all(
        feature = "bmp",
        feature = "gif",
        feature = "png",
        feature = "tiff",
        feature = "webp"
    )),
    allow(dead_code, unused_imports, unused_variables)
)]
pub mod formats;
mod picture;

pub use crate::formats::{OtherPicture, index};
pub use crate::picture::from_fn::{TransformFn, transform_fn};
pub use crate::picture::geometry::{Area, Cut, Extent, ImageSize, Placement, Transform};
pub use crate::picture::orientation::Turn;
pub use crate::picture::output::wide::{WidePicture, WideValue};
pub use crate::picture::output::{Elements, Layout, Normalize, Picture};
pub use crate::picture::pixels::{Channels, Depth, Pixels, Wanted, luma, make_room};
pub use crate::picture::random::Random;
pub use crate::picture::resizing::resize::{Filter, Resizer};
pub use crate::picture::resizing::{crop, resize};
pub use crate::picture::stored::{StoredPicture, StoredRegion};
pub use crate::picture::yuv420::{planes_on_host, yuv420_bytes};
pub use crate::picture::{convert, resample, row_header};
