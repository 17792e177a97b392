//! A data set with a column of each type and several shapes, for the tests of the adapters; what its columns
//! must hold is arithmetic. Nothing of a framework.

mod shards;

pub use shards::{BOOL, COLUMNS, SAMPLES, Samples, bytes};
