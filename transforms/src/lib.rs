//! Transforms of the data loader [tarflume](https://docs.rs/tarflume): operations with the names and the arguments of
//! `torchvision.transforms.v2`, on pixels of 8 bits.
//!
//! An [`operations::Operation`] draws; an [`actions::Action`] is what was drawn, with all its numbers,
//! and changes pixels. A [`Recipe`] is a list of operations. What a sample gets depends on its seed and on the names of
//! the operations, never on threads, ranks or the batch.
//!
//! What lies on a picture follows the actions: [`annotations`] moves boxes, points and masks.
//!
//! The first actions of a sample are often crops, a resize and flips. A decoder carries them out as one
//! [`Placement`](tarflume_image::Placement), so that it decodes no more than is needed ([`Recipe::placement`]). [`placing`] has
//! the transforms that are nothing else.
//!
//! No files, no decoder, no clock. Programs use the types through the crate `tarflume`, which exports them.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod actions;
pub mod annotations;
mod frame;
mod kernels;
mod limits;
pub mod mixing;
mod numbers;
pub mod operations;
pub mod placing;
mod recipe;
mod settings;
#[doc(hidden)]
pub mod text_form;

pub use crate::frame::Frame;
pub use crate::mixing::copy_paste::{self, CopyPaste};
pub use crate::mixing::mosaic::{self, Mosaic};
pub use crate::mixing::{Mix, MixMode, MixTargets, Partner};
pub use crate::operations::steps::Steps;
pub use crate::operations::{Operation, Shape};
#[doc(hidden)]
pub use crate::recipe::device_list;
pub use crate::recipe::split::memory;
pub use crate::recipe::{Recipe, apply, apply_each};
pub use crate::settings::{CropInterpolation, Fill, Interpolation, PaddingMode};
