//! One module for each format whose rows or members become samples.

pub(crate) mod arrays;
#[cfg(feature = "tables")]
pub(crate) mod columnar;
pub(crate) mod litdata;
pub(crate) mod mds;
pub(crate) mod npy;
pub(crate) mod npz;
pub(crate) mod raw;
pub(crate) mod samples;
pub(crate) mod table;
pub(crate) mod tar;
pub(crate) mod tfrecord;
pub(crate) mod zip;
