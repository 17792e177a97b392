//! A JPEG decoder for training data: bytes in, pixels out. It opens no files and starts no threads.
//!
//! Huffman-coded JPEGs of 8 bits, sequential and progressive, are decoded to the same bytes as
//! libjpeg-turbo's defaults: accurate integer inverse DCT, fancy upsampling. A region equals the
//! same crop of the whole; a scale equals libjpeg-turbo's scaled decoding. For CMYK and YCCK, red,
//! green and blue are those that Pillow computes from libjpeg-turbo's inks. Arithmetic coding, more
//! than 8 bits and lossless pictures are refused.
//!
//! Differences from other decoders:
//! - one thread decodes several streams in step ([`Decoder::decode_group`]): while one waits for a
//!   table, the others continue;
//! - [`EntryPoints`], made once by a [`Scanner`], hold the start of each row of blocks, so that a
//!   crop is decoded without the blocks above and beside it, and the rows of one picture are
//!   independent streams;
//! - a [`Rewriter`] writes a JPEG again without a change of its pixels: smaller, as baseline,
//!   without metadata;
//! - damage is never concealed: what loses pixels is an [`Error`] with its byte, unless
//!   [`OnDamage::Keep`] asks for libjpeg-turbo's pixels; what loses none is reported ([`Damage`]).
//!
//! ```
//! use tarflume_jpeg::{Decoder, Header, Job, Region, Scanner};
//! # let jpeg = tarflume_fixtures::PHOTOS[0].jpeg;
//! let header = Header::parse(jpeg)?;
//! let mut points = Vec::new();
//! Scanner::new().scan(jpeg, &header, &mut points)?; // once, when it is packed
//!
//! let region = Region { left: 40, top: 30, width: 64, height: 48 };
//! let mut pixels = vec![0; 64 * 48 * 3];
//! let whole = Job::new(jpeg, &header, &mut pixels);
//! let job = Job { region: Some(region), entry_points: Some(&points), stride: 64 * 3, ..whole };
//! let report = Decoder::new().decode(job)?;
//! assert!(report.decoded < report.blocks);
//! # Ok::<(), tarflume_jpeg::Error>(())
//! ```

// `header` is everything before the data; `entropy` turns codes into coefficients, `simd` coefficients into samples and
// pixels, `resize` pixels into fewer or more. tests/house/floors.txt lists which of them uses which.

mod damaged;
mod decoding;
mod entropy;
mod error;
mod header;
mod picture;
mod positions;
mod resize;
mod rewrite;
mod scanner;
mod several_scans;
mod simd;

pub use crate::decoding::decoder::Decoder;
pub use crate::decoding::offload::{Offload, OffloadPlace};
pub use crate::error::{Error, ErrorKind, Result};
pub use crate::header::orientation::orientation_in;
pub use crate::header::{Header, whole};
pub use crate::picture::excerpt::Excerpt;
pub use crate::picture::extent::{Region, Scale, Size};
pub use crate::picture::job::{Damage, Job, OnDamage, Report, Use};
pub use crate::picture::lines::{Color, bytes_to_floats, gray_to_rgb, rgb_to_planes};
pub use crate::positions::points::EntryPoints;
pub use crate::positions::strips::{ExcerptBytes, orientation_of, strips, strips_fit};
pub use crate::resize::{ResizeFilter, Resizer, Resizing, columns_first};
pub use crate::rewrite::{Metadata, Rewriter, color_profile, exif_of, strip_metadata};
pub use crate::scanner::{ScanJob, Scanned, Scanner};

/// The examples of the README, as tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
