//! Annotations of detection data sets -> the JSON of samples: COCO, YOLO and Pascal VOC.
//!
//! The JSON of a sample has one list for each kind of value, with one element for each object:
//! `boxes`, classes, masks. Each reader yields rows for a join and knows no samples.

mod classes;
pub mod coco;
mod files;
pub mod voc;
pub mod yolo;
