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
//! | read the head of an `.npy` | [`parts::npy::Header`] |
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

mod bytes;
mod disk;
mod errors;
pub mod index;
pub mod message;
mod parts;
pub mod plan;
mod records;
mod shards;
pub mod tar;
mod text;

// What is hidden is for the crates of this project. It carries no promise of semver.
pub use self::bytes::frames;
#[doc(hidden)]
pub use self::bytes::varint;
pub use self::disk::publish;
#[doc(hidden)]
pub use self::disk::{files, freshness, lfs, output};
#[doc(hidden)]
pub use self::errors::panics;
#[doc(hidden)]
pub use self::parts::json;
#[doc(hidden)]
pub use self::parts::number_kind;
pub use self::parts::{name, npy};
pub use self::records::manifest;
#[doc(hidden)]
pub use self::shards::probe;
#[doc(hidden)]
pub use self::text::shown;
pub use self::text::url;
pub use bytes::checksum::{Crc, Digest, crc32c};
#[doc(hidden)]
pub use disk::map::SharedWords;
pub use disk::map::{Access, FileMap, Mapped};
pub use disk::publish::Durability;
#[doc(hidden)]
pub use disk::recheck::RecheckTimer;
pub use disk::resident::is_resident;
pub use errors::blame::Blame;
pub use errors::error::{Error, ErrorKind, Result};
pub use errors::place::Place;
#[doc(hidden)]
pub use errors::poison::IgnorePoison;
#[doc(hidden)]
pub use errors::threads::room_for_threads;
pub use index::Index;
pub use parts::content::{Content, IMAGE_EXTS};
pub use parts::irregular::{IrregularJpeg, IrregularJpegs};
#[doc(hidden)]
pub use parts::repeat::Repeat;
pub use plan::Plan;
pub use records::about::{About, ClassTable, Column};
pub use records::key_list::{KeyLine, KeyList};
pub use records::manifest::Manifest;
pub use records::objects::{BoxForm, KeypointTable, ObjectTable};
pub use records::record::ShardRecord;
pub use shards::dataset::{
    Dataset, KeySearch, check_index, open_index, read_manifest, read_manifest_text,
};
pub use shards::reading::{ReadAt, Reading, TarReader};
pub use shards::shard::{ShardWriter, WrittenShard, digest_of, has_bytes, index_path};
pub use text::words::UnknownWord;

/// The examples of the README, as tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
