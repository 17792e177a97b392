//! A data set with a column of each type and several shapes, for the tests of the adapters. The content of the
//! columns is computed. Independent of any framework.

mod shards;

pub use shards::{BOOL, COLUMNS, SAMPLES, SampleColumn, Samples, bytes};
