//! JPEG for training: bytes in, pixels out; no files, no threads, nothing of shards.
//!
//! Baseline and extended sequential Huffman JPEGs are decoded here, byte for byte as libjpeg-turbo
//! does by default; everything else goes to `zune-jpeg` behind the same interface.

mod checksum;
mod decoder;
mod entropy;
mod error;
mod extent;
mod foreign;
mod group;
mod header;
mod job;
mod layout;
mod lines;
mod memory;
mod planes;
mod points;
mod position;
mod scanner;
mod simd;
mod slot;
mod strand;

pub use crate::decoder::Decoder;
pub use crate::error::{Error, ErrorKind, Result};
pub use crate::extent::{Region, Scale};
pub use crate::header::{Header, whole};
pub use crate::job::{Job, Report, Use};
pub use crate::lines::Colour;
pub use crate::points::EntryPoints;
pub use crate::scanner::Scanner;
