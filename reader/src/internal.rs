//! What the other crates of this project and its tests need beyond the public items. No promise of semver holds here:
//! an item may change or go in any release. Exports only; defines nothing.

mod example;

pub use self::example::ExampleShards;
pub use crate::decode::DecodeHooks;
pub use crate::decode::formats;
pub use crate::decode::hybrid::jpeg_decoder::{Compressed, PixelTarget, Stored, Verdict};
pub use crate::decode::hybrid::support::{Sampling, checked, supported};
pub use crate::decode::image::pixels_of;
pub use crate::device::kernels::args;
#[cfg(feature = "cuda")]
pub use crate::device::nvjpeg;
pub use crate::fetch::fetched::Fetched;
pub use crate::fetch::plan::{Bad, Limits, Plan, RowDraw};
pub use crate::fetch::wanted::Wanted;
pub use crate::loader::end_device_epochs;
pub use crate::picture::{convert, crop, resample, row_header};
pub use crate::source::shelf::Shelf;
pub use crate::stream::Next;
