//! One module for each format that is written.

pub(super) mod coco;
pub(crate) mod csv;
pub(crate) mod folder;
pub(crate) mod litdata;
pub(crate) mod mds;
#[cfg(feature = "tables")]
pub(crate) mod parquet_file;
pub(crate) mod tfrecord;
