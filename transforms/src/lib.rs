//! Transforms of the data loader [tarflume](https://docs.rs/tarflume): operations with the names and the arguments of
//! `torchvision.transforms.v2`, on pixels of 8 bits.
//!
//! An [`Operation`](operations::Operation) draws; an [`Action`](actions::Action) is what was drawn, with all its numbers,
//! and changes pixels. A [`Recipe`] is a list of operations. What a sample gets depends on its seed and on the names of
//! the operations, never on threads, ranks or the batch.
//!
//! No files, no decoder, no clock. Programs use the types through the crate `tarflume`, which exports them.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod actions;
mod frame;
mod kernels;
pub mod mixing;
pub mod operations;
mod recipe;
mod settings;

pub use crate::frame::Frame;
pub use crate::mixing::{Mix, MixMode, MixTargets, Partner};
pub use crate::recipe::{Recipe, Steps, apply};
pub use crate::settings::{Fill, Interpolation, PaddingMode};
