//! Parsers of other tools' files, from which samples are packed: zip directories, MDS and LitData indexes and their
//! samples, TFRecord frames and `tf.train.Example`, metadata and chunks of Zarr, arrays of MATLAB. `parts` checks
//! parts of samples.
//!
//! Pure: no I/O. Each takes bytes that the caller has read and checks every length before it is used; the memory that a
//! parser takes is bounded by the bytes that it was given, that of a chunk of Zarr by its metadata, which has limits.
//!
//! For the crates of this project: no promise of semver holds for what is exported.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod litdata;
pub mod mat;
pub mod mds;
pub mod parts;
pub mod samples;
pub mod tfrecord;
pub mod zarr;
pub mod zip;

mod le;
