//! Writes finished shards in the formats of other programs.
//!
//! | module | task |
//! |---|---|
//! | [`mod@export`] | writes the formats of other loaders; the feature `tables` adds Parquet |
//! | [`mod@unpack`] | restores files from shards |
//! | [`foreign_index`] | makes the index files of other readers, and checks them |
#![warn(missing_docs)]

pub mod export;
pub mod foreign_index;
pub mod unpack;
