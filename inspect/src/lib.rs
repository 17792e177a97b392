//! Looks at finished data sets: measures, shows and compares them. Changes nothing.
//!
//! | module | task |
//! |---|---|
//! | [`mod@stats`] | measures sizes, dimensions, classes, and what is unusual |
//! | [`mod@field_values`] | types, ranges and different values of the fields of samples |
//! | [`survey`] | counts and measures a data set |
//! | [`view`] | makes a page that shows a data set |
//! | [`mod@dedupe`] | finds images that occur twice or look alike |
//! | [`kept_apart`] | compares the data sets that a policy keeps apart |
//! | [`mod@diff`] | compares the samples of two data sets |
//! | [`ordinals`] | the number of a sample as shard and row |
#![warn(missing_docs)]

pub mod dedupe;
pub mod diff;
pub mod field_values;
pub mod kept_apart;
pub mod ordinals;
pub mod stats;
pub mod survey;
pub mod view;
