//! Writes finished shards in the formats of other programs.
//!
//! | module | task |
//! |---|---|
//! | [`export()`] | writes the formats of other loaders; the feature `tables` adds Parquet |
//! | [`mod@unpack`] | restores files from shards |
//! | [`foreign_index`] | makes the index files of other readers, and checks them |
#![warn(missing_docs)]

mod export;
pub mod foreign_index;
pub mod unpack;

pub use export::{Encoding, ExportOptions, Exported, Format, JsonAs, Numbers, export};
