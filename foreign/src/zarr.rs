//! Arrays of Zarr, versions 3 and 2: the metadata, the names of chunks, the codecs, and the indexes of shards.
//!
//! [`ZarrArray`] tells which files have the rows, and [`ZarrArray::put`] puts one decoded piece of them where it belongs.
//! A *piece* is what is decoded at once: a chunk, or an inner chunk of shards that nothing is done to as a whole.
//!
//! | module | task |
//! |---|---|
//! | `v3`, `v2` | metadata -> `ZarrArray` |
//! | `codecs` | the codecs of metadata -> `chain` |
//! | `chain` | the codecs of a chunk and of inner chunks, undone |
//! | `sharding` | the index of inner chunks |
//! | `packing` | gzip, zlib, zstd, LZ4, CRC32C, shuffle, delta |
//! | `blosc` | frames of Blosc |

mod array;
mod blosc;
mod chain;
mod codecs;
mod copy;
mod faults;
mod keys;
mod numbers;
mod packing;
mod sharding;
mod v2;
mod v3;

pub use self::array::{PiecePlace, ZarrArray};
pub use self::faults::{ArrayFault, ChunkFault, Unread};
pub use self::numbers::element::Element;
pub use self::v3::is_array as is_v3_array;
