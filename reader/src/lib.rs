//! Streams WebDataset shards to whoever trains: order, splitting, resume, decoding, batches.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod column;
pub mod decode;
pub mod error;
pub mod order;
pub mod rank;
pub mod source;

pub use error::{Error, ErrorKind, Result};
