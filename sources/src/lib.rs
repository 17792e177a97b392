//! Sources of samples that are not folders of files.
//!
//! | module | task |
//! |---|---|
//! | [`rows`] | samples that are rows of files: tars, TFRecord, MDS, Parquet, HDF5, Zarr |
//! | [`annotations`] | COCO, Pascal VOC, YOLO, Open Images, CVAT and Label Studio |
//! | [`join`] | rows of tables that are joined to samples |
//! | [`present`] | which samples a join found |
//! | [`part_bytes`] | the bytes of a part, from any source |
//! | [`arrays`] | finds arrays in HDF5 and Parquet files, and in folders of Zarr |
#![warn(missing_docs)]

pub mod annotations;
pub mod arrays;
#[doc(hidden)]
pub mod internal;
pub mod join;
pub mod part_bytes;
pub mod present;
pub mod rows;
mod sorter;
