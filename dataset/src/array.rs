//! `ArrayDataset`: rows of a mapped array (`.npy`, raw, or at places of another file) by number. Only
//! the pages of the requested rows are read.
//!
//! Independent of samples and columns. Reads little-endian arrays in C order only.

mod batches;
mod dataset;
mod layout;
mod view;

pub use batches::{ArrayBatch, ArrayBatches, ArrayOrder};
pub use dataset::ArrayDataset;
pub use layout::ArrayPlace;
pub use view::RowView;
