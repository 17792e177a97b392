//! `ArrayDataset`: rows of a mapped array (`.npy`, raw, or at places of another file) by number. Only
//! the pages of the requested rows are read. Of an array that is stored in encoded blocks, whole blocks are decoded.
//!
//! Independent of samples and columns. Reads little-endian arrays in C order only.

mod batches;
mod blocks;
mod dataset;
mod layout;
mod view;

pub use batches::{ArrayBatch, ArrayBatches, ArrayOrder};
pub use blocks::{DecodeRows, RowBlocks};
pub use dataset::ArrayDataset;
pub use layout::ArrayPlace;
pub use view::RowView;
