//! What the other crates of this project and its tests need beyond the public items. No promise of semver holds here:
//! an item may change or go in any release. Exports only; defines nothing.

mod example;

pub use self::example::ExampleShards;
pub use crate::decode::ObjectRows;
pub use crate::decode::pictures::image::{SingleRow, room_pixels};
pub use crate::decode::values::json_advice::Language;
pub use crate::fetch::draw::{Limits, RowDraw};
pub use crate::fetch::part_needs::PartNeeds;
pub use crate::fetch::plan::{ReadPlan, UnreadableSample};
pub use crate::fetch::run_bytes::RunBytes;
pub use crate::loader::{Indexed, Streamed, drawn_for, end_device_epochs, sample_seed};
pub use crate::rounding::{nearest_bf16, nearest_f16};
#[cfg(feature = "remote")]
pub use tarflume_dataset::Stores;
pub use tarflume_dataset::{Next, SourceCache};
pub use tarflume_device::jpeg_decoder::{Compressed, PixelTarget, Stored, Verdict};
pub use tarflume_device::jpeg_support::{Sampling, checked, supported};
pub use tarflume_device::kernels::{args, launch, program};
#[cfg(feature = "cuda")]
pub use tarflume_device::nvjpeg;
pub use tarflume_image::{convert, crop, formats, resample, row_header};
