//! Annotations of detection data sets -> the JSON of samples: COCO, YOLO, Pascal VOC, and files that other programs export.
//!
//! The JSON of a sample has one list for each kind of value, with one element for each object:
//! `boxes`, classes, masks. Each reader yields rows for a join and knows no samples.

mod classes;
pub mod coco;
pub mod exports;
mod files;
pub mod voc;
pub mod yolo;

pub use self::yolo::class_names;
