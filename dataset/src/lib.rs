//! Data sets of the data loader [tarflume](https://docs.rs/tarflume): shards with an index, opened together from a disk
//! or an object store; single samples, tables and subsets; the samples of tars without an index in one pass.
//!
//! Nothing is decoded here, no order is decided and no batch made. Programs use the types through the crate `tarflume`,
//! which exports them. What it does not export is for the crates of this project: no promise of semver holds for it.
#![deny(unsafe_code)]
#![warn(missing_docs)]

mod array;
mod dataset;
mod packed_rows;
mod remote;
mod source;
mod stream;
mod sync;

pub use crate::array::{
    ArrayBatch, ArrayBatches, ArrayDataset, ArrayOrder, ArrayPlace, DecodeRows, RowBlocks, RowView,
};
pub use crate::dataset::Dataset;
pub use crate::dataset::opening::braces::expand as expand_braces;
pub use crate::dataset::opening::pattern::Shards;
pub use crate::dataset::sample::{DatasetSample, SampleBytes, SamplePart, match_checksum};
pub use crate::dataset::selection::exclude::Exclude;
pub use crate::dataset::selection::key_set::KeySet;
pub use crate::dataset::selection::select::{Excluded, SampleFacts};
pub use crate::dataset::selection::subset::Subset;
pub use crate::dataset::shard::Shard;
pub use crate::dataset::shard::pictures::is_image;
pub use crate::dataset::shard::proof;
pub use crate::dataset::values::numbers::ReadNumbers;
pub use crate::dataset::values::picture_sizes::StoredSize;
pub use crate::dataset::values::stored_values::StoredValues;
pub use crate::dataset::values::table::{SampleTable, TableBatch};
pub use crate::dataset::values::table_values::{TableColumn, TableValues};
#[cfg(feature = "remote")]
pub use crate::remote::Storage;
#[cfg(feature = "remote")]
pub use crate::remote::listing::{RemoteShard, RemoteShards, remote_shards};
#[cfg(feature = "remote")]
pub use crate::remote::warm::{Warmed, warm_cache};
pub use crate::source::Source;
pub use crate::source::ahead::offers::Offer;
pub use crate::source::ahead::pieces;
pub use crate::source::ahead::threads::Readahead;
pub use crate::source::cache::SourceCache;
pub use crate::source::fetch_stats::{CacheStats, FetchStats};
pub use crate::source::identity::Identity;
pub use crate::source::memory::MemorySource;
pub use crate::source::open::{Open, SourceKind};
pub use crate::source::price::{Cost, Price};
#[cfg(feature = "remote")]
pub use crate::stream::Stores;
pub use crate::stream::packed::members::{GzipMembers, MemberDecoder, Members};
#[cfg(feature = "zstd")]
pub use crate::stream::packed::zstd_frames::ZstdFrames;
pub use crate::stream::{Item, Next, Refusal, Samples, Stream, StreamSample, StreamStats};
