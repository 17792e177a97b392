//! Annotations of the data loader [tarflume](https://docs.rs/tarflume): from the JSON part of a sample to boxes, points and
//! masks, in pixels of the picture.
//!
//! A [`field::Field`] is where the values of the objects are. [`read`] takes them: one value for each object, in their order.
//! [`mask`] makes the pixels of polygons and of run lengths, the same ones as pycocotools.
//!
//! No files, no pictures, no geometry: what moves annotations is in `tarflume-transforms`. Programs use the types through the
//! crate `tarflume`, which exports them.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod boxes;
pub mod fault;
pub mod field;
pub mod mask;
mod part;
pub mod read;
pub mod turn;
