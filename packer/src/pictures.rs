//! Images that are prepared while they are packed: resized, turned upright, converted to JPEG, or
//! written again without a change of their pixels.
//!
//! [`Preparation`] has the options, and a [`Preparer`] applies them to the bytes of one image. Both
//! know nothing of shards and files. Images that no option concerns keep their bytes.
//!
//! ```
//! use tarflume_packer::pictures::{Preparation, Preparer, ResizeTo};
//!
//! # let jpeg = tarflume_fixtures::PHOTOS[0].jpeg;
//! let resize = Some(ResizeTo::parse("short:64")?);
//! let mut preparer = Preparer::new(Preparation { resize, ..Preparation::default() });
//! let prepared = preparer.prepare(b"jpg", jpeg, false)?.expect("it is larger");
//! assert_eq!(prepared.after.width.min(prepared.after.height), 64);
//! assert!(prepared.bytes.len() < jpeg.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// Floors, lower ones first: `fault options sizes` < `pixels` < `decode` < `preparer` < `totals`.

mod decode;
mod fault;
mod options;
mod pixels;
mod preparer;
mod sizes;
#[cfg(test)]
mod tests;
mod totals;

pub use self::fault::PictureFault;
pub use self::options::{Preparation, ResizeTo};
pub use self::preparer::{Prepared, Preparer};
pub use self::sizes::ImageSizes;
pub use self::totals::{DecodeSpeed, PictureTotals, SamplePair};
