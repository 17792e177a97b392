//! Streams WebDataset shards to whoever trains: order, splitting, resume, decoding, batches.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod array;
pub mod batch;
pub mod column;
pub mod decode;
pub mod error;
pub mod order;
mod pool;
pub mod size;
pub mod slab;
pub mod source;
pub mod stream;

pub use array::ArrayDataset;
pub use error::{Error, ErrorKind, Result};
pub use size::Size;
