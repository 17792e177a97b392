//! Streams WebDataset shards to whoever trains: order, splitting, resume, decoding, batches.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod array;
pub mod column;
pub mod dataset;
pub mod decode;
pub mod error;
pub mod fetch;
pub mod order;
pub mod size;
pub mod source;

pub use array::ArrayDataset;
pub use dataset::Dataset;
pub use error::{Error, ErrorKind, Result};
pub use size::Size;
