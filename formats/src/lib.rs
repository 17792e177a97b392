//! The on-disk formats of tarflume and nothing else: tar blocks, sample names, the sidecar index,
//! the manifest, the plan.
//!
//! Floors, lower ones first; a file imports only from floors below its own:
//!
//! 1. [`shown`], [`place`], [`blame`], [`error`], [`name`], [`checksum`], [`content`], [`recheck`],
//!    [`repeat`], [`resident`], [`varint`], `le`: types and functions that all modules share;
//! 2. [`files`]: how files are opened and examined; [`tar`]: headers and the walk over members,
//!    without I/O; [`map`]: the memory map;
//! 3. [`index`], [`manifest`], [`npy`], [`plan`], [`record`]: the formats, from bytes and to bytes;
//! 4. [`publish`]: how a file gets its final name; [`reading`]: a tar read member by member;
//! 5. [`shard`]: tar and index written in step; [`dataset`]: all of a data set, opened.
//!
//! Every length read from a file is checked before it is used; the parsers are fuzzed.
//!
//! ```
//! use tarflume_formats::shard::{Durability, ShardWriter};
//! use tarflume_formats::index::Index;
//!
//! # fn main() -> tarflume_formats::error::Result<()> {
//! # let dir = std::env::temp_dir().join(format!("tarflume-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&dir).unwrap();
//! let mut shard = ShardWriter::create(&dir, "cats.tar")?;
//! shard.begin(b"cat/001");
//! shard.part(b"txt", 5)?.copy_from_slice(b"hello");
//! shard.commit(None)?;
//! shard.finish()?.publish(&dir, "cats.tar", Durability::Synced)?;
//!
//! let index = Index::open(&dir.join("cats.index"))?;
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

// Hidden modules are for the crates of this project. They carry no promise of semver.

pub mod about;
pub mod blame;
pub mod checksum;
pub mod content;
pub mod dataset;
pub mod error;
#[doc(hidden)]
pub mod files;
pub mod index;
mod le;
pub mod manifest;
pub mod map;
pub mod name;
pub mod npy;
pub mod place;
pub mod plan;
#[doc(hidden)]
pub mod poison;
pub mod publish;
pub mod reading;
#[doc(hidden)]
pub mod recheck;
pub mod record;
#[doc(hidden)]
pub mod repeat;
pub mod resident;
pub mod shard;
#[doc(hidden)]
pub mod shown;
pub mod tar;
#[doc(hidden)]
pub mod varint;

pub use blame::Blame;
pub use checksum::Digest;
pub use dataset::Dataset;
pub use error::{Error, ErrorKind, Result};
pub use index::Index;
pub use manifest::Manifest;
pub use place::Place;
pub use plan::Plan;
pub use shard::ShardWriter;

/// The examples of the README, as tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
