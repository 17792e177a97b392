//! The indexed data sets of Megatron-LM: `PREFIX.bin` has the ids, `PREFIX.idx` where they are.
//!
//! ```text
//! idx: "MMIDIDX\0\0", u64 version 1, u8 type, u64 sequences, u64 documents + 1,
//!      i32 length of each sequence, i64 byte of each sequence,
//!      i64 number of the first sequence of each document, and at the end their total,
//!      optionally i8 mode of each sequence
//! ```
//!
//! All numbers are little-endian. A type is a code: 1 u8, 2 i8, 3 i16, 4 i32, 5 i64, 6 f64, 7 f32,
//! 8 u16. Files of floats are refused. [`Reader`] trusts no number of the index and holds a bounded
//! part of it; [`Writer`] writes the same layout, without modes.

mod index;
mod layout;
mod reader;
mod writer;

pub use index::{Bytes, IdType, Index, Sequence};
pub use layout::{MAGIC, MegatronPaths};
pub use reader::Reader;
pub use writer::Writer;

#[cfg(test)]
mod tests;
