//! Streams WebDataset shards to whoever trains: order, splitting, resume, decoding, batches.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod array;
pub mod batch;
pub mod column;
pub mod dataset;
pub mod decode;
pub mod error;
pub mod fetch;
pub mod loader;
pub mod order;
mod pool;
pub mod rank;
pub mod size;
pub mod slab;
pub mod source;
pub mod stream;

pub use array::ArrayDataset;
pub use batch::{Batch, Column};
pub use dataset::Dataset;
pub use dataset::pattern::Shards;
pub use error::{Error, ErrorKind, Result};
pub use loader::{Epoch, Loader, LoaderBuilder, OnBad};
pub use order::{LoaderState, Remainder, Shuffle, Split};
pub use size::Size;
