//! The files of tarflume on disk: WebDataset tar shards, sample names, the sidecar index of a shard, the manifest of a
//! data set, the plan of a packing job.
//!
//! | to | types |
//! |---|---|
//! | write a shard and its sidecar | [`ShardWriter`], [`WrittenShard`], [`Durability`] |
//! | look up samples in a sidecar | [`Index`], [`index::Sample`], [`index::Part`] |
//! | open a whole data set | [`Dataset`], [`Manifest`], [`KeySearch`] |
//! | read any tar member by member | [`TarReader`]; without I/O: [`tar::Walk`] |
//! | write and read a plan of shards | [`plan::PlanWriter`], [`Plan`], [`ShardRecord`] |
//! | read a list of keys, such as a report of bad samples | [`KeyList`] |
//! | read the head of an `.npy` | [`npy::Header`] |
//!
//! A failed call returns an [`Error`] with its [`ErrorKind`] and its [`Place`]: path, byte and key.
//!
//! Every length read from a file is checked before it is used; the parsers are fuzzed.
//!
//! ```
//! use tarflume_formats::{Durability, Index, ShardWriter};
//!
//! # fn main() -> tarflume_formats::Result<()> {
//! # let dir = std::env::temp_dir().join(format!("tarflume-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&dir).unwrap();
//! let mut shard = ShardWriter::create(&dir, "cats.tar")?;
//! shard.begin(b"cat/001");
//! shard.part(b"txt", 5)?.copy_from_slice(b"hello");
//! shard.commit(None)?;
//! shard.finish()?.publish(&dir, "cats.tar", Durability::Synced)?;
//!
//! let index = Index::open(dir.join("cats.index"))?;
//! let row = index.find(b"cat/001")?.unwrap();
//! let sample = index.sample(row)?.unwrap();
//! assert_eq!(sample.part(b"txt")?.unwrap().offset, 512);
//! # std::fs::remove_dir_all(&dir).unwrap();
//! # Ok(())
//! # }
//! ```
//!
#![doc = include_str!("../FORMAT.md")]
#![deny(unsafe_code)]
#![warn(missing_docs)]

mod about;
mod blame;
mod checksum;
mod content;
mod dataset;
mod error;
#[doc(hidden)]
pub mod foreign;
pub mod frames;
pub mod index;
mod irregular;
#[doc(hidden)]
pub mod json;
mod key_list;
mod le;
#[doc(hidden)]
pub mod lfs;
pub mod manifest;
mod map;
pub mod message;
pub mod name;
pub mod npy;
mod place;
pub mod plan;
mod poison;
pub mod publish;
mod reading;
mod recheck;
mod record;
mod repeat;
mod resident;
mod shard;
pub mod tar;
pub mod url;
mod words;
mod zstd_codec;

// What is hidden is for the crates of this project. It carries no promise of semver.
#[doc(hidden)]
pub mod files;
#[doc(hidden)]
pub mod freshness;
#[doc(hidden)]
pub mod output;
#[doc(hidden)]
pub mod panics;
#[doc(hidden)]
pub mod probe;
#[doc(hidden)]
pub mod shown;
#[doc(hidden)]
pub mod varint;

pub use about::{About, ClassTable, Column};
pub use blame::Blame;
pub use checksum::{Crc, Digest, crc32c};
pub use content::{Content, IMAGE_EXTS};
pub use dataset::{Dataset, KeySearch, check_index, open_index, read_manifest};
pub use error::{Error, ErrorKind, Result};
pub use index::Index;
pub use irregular::{IrregularJpeg, IrregularJpegs};
pub use key_list::{KeyLine, KeyList};
pub use manifest::Manifest;
#[doc(hidden)]
pub use map::SharedWords;
pub use map::{Access, FileMap, Mapped};
pub use place::Place;
pub use plan::Plan;
pub use publish::Durability;
pub use reading::{ReadAt, Reading, TarReader};
pub use record::ShardRecord;
pub use resident::is_resident;
pub use shard::{ShardWriter, WrittenShard, digest_of, has_bytes, index_path};
pub use words::UnknownWord;
#[doc(hidden)]
pub use {poison::IgnorePoison, recheck::RecheckTimer, repeat::Repeat};

/// The examples of the README, as tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
