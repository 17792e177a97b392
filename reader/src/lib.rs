//! A data loader for WebDataset shards: exact shuffling, equal steps on all ranks, resume at the exact sample, image
//! decoding and batching in one pool of threads, batches in host or GPU memory.
//!
//! ```
//! use tarflume::{Loader, RandomResizedCrop, Shuffle, Split};
//!
//! # fn main() -> tarflume::Result<()> {
//! # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
//! # let shards = made.path();
//! let loader = Loader::builder(shards) // folder, dataset.json, tar, glob, or braces
//!     .shuffle(Shuffle::Full { seed: 42 })
//!     .split(Split::from_env()?) // rank and world size
//!     .image("jpg", RandomResizedCrop::new(64).flip(0.5))
//!     .label("json", "/class")
//!     .batch(4)
//!     .build()?;
//! for epoch in loader.current_epoch()..2 {
//!     for batch in loader.epoch(epoch) {
//!         let batch = batch?;
//!         let images = batch.column("image")?; // u8 [4, 64, 64, 3]
//!         let labels = batch.column("label")?.elements::<i64>()?;
//!         assert_eq!((images.shape(), labels.len()), (vec![4, 64, 64, 3], 4));
//!     }
//!     println!("{}", loader.stats());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The order of samples is a function of data set, seed, epoch and shuffle. Threads, ranks, prefetch and memory limits
//! do not change it. [`Loader::state`] is a few integers, from which any number of ranks continues at the next sample.
//! [`Loader::ledger`] proves that each sample was delivered once.
//!
//! # Where to start
//!
//! The [`cookbook`] has recipes for common tasks.
//!
//! | task | types |
//! |---|---|
//! | train on indexed shards | [`Loader`], [`LoaderBuilder`], [`Epoch`], [`Batch`], [`Column`] |
//! | train on a GPU | [`Device`], [`DeviceLoader`], [`DeviceBatch`], [`Residency`] |
//! | read tars without an index | [`Stream`], [`StreamLoader`] |
//! | read single samples | [`Dataset`], [`ArrayDataset`] |
//! | select samples | [`SampleTable`], [`Subset`], [`KeySet`], [`Weights`] |
//! | choose an order | [`Shuffle`], [`Split`], [`Remainder`], [`LoaderState`], [`Ledger`]; the crate `tarflume-order` |
//! | make columns | [`Image`], [`Views`], [`Json`], [`Text`], [`Class`], [`Npy`], [`Raw`], [`Sequence`], [`Tokens`]; your own: [`Decode`] |
//! | make columns of what lies on a picture | [`Annotations`]: [`Boxes`], [`Masks`], [`Keypoints`], [`ObjectValues`]; [`MaskPicture`] |
//! | cut and resize images | [`RandomResizedCrop`], [`Resize`], [`CenterCrop`], [`ResizeCenterCrop`], [`Whole`]; your own: [`Transform`] |
//! | find what limits the rate | [`Stats`], [`Bottleneck`] |
//! | know what an epoch asks of a store | [`Forecast`], [`Price`] |
//! | read from another storage | [`Open`], [`Source`] |
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `png`, `webp`, `gif`, `bmp`, `tiff` (default) | pictures in these formats; JPEG needs no feature |
//! | `zstd` (default) | shards and streams that are compressed by zstd |
//! | `cuda` | batches in the memory of an NVIDIA GPU; the driver is loaded at run time, so the program also runs without one |
//! | `nvtx` | ranges for NVIDIA's profilers |
//! | `remote` | data sets in S3, GCS, Azure, on the Hugging Face Hub and behind HTTP: `Dataset::open("s3://bucket/set")`, `Storage` |
//!
//! Linux only, on x86-64 and aarch64.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod cookbook;
mod decode;
mod fetch;
mod fork;
#[doc(hidden)]
pub mod internal;
mod loader;
mod pool;
mod rounding;
mod sync;

use tarflume_order as order;

pub use crate::decode::bytes::npy::Npy;
pub use crate::decode::bytes::raw::Raw;
pub use crate::decode::costs::calls::Calls;
pub use crate::decode::costs::operations::OperationStats;
pub use crate::decode::from_fn::{DecodeFn, decode_fn};
pub use crate::decode::hybrid::balance::DeviceShare;
pub use crate::decode::hybrid::pictures::TransformsOn;
pub use crate::decode::json::{Json, JsonDefault};
pub use crate::decode::numbers::class::Class;
pub use crate::decode::pictures::annotations::boxed_image::BoxedImage;
pub use crate::decode::pictures::annotations::column::AnnotationColumn;
pub use crate::decode::pictures::annotations::mask_picture::{MaskKind, MaskPicture};
pub use crate::decode::pictures::annotations::{
    Annotations, Boxes, Keypoints, Masks, ObjectValues,
};
pub use crate::decode::pictures::fallback::{Fallback, FallbackPicture};
pub use crate::decode::pictures::image::views::Views;
pub use crate::decode::pictures::image::views::column::ViewsColumn;
pub use crate::decode::pictures::image::{Image, ImageSizes};
pub use crate::decode::pictures::patches::{PatchColumn, Patches};
pub use crate::decode::texts::blocks::Blocks;
pub use crate::decode::texts::sequence::{Sequence, SequenceLengths};
pub use crate::decode::texts::text::Text;
pub use crate::decode::texts::tokens::{TokenColumn, Tokens};
pub use crate::decode::values::number::Number;
pub use crate::decode::{Decode, Sample, Scratch};
pub use crate::fetch::verify::Verify;
pub use crate::loader::{
    BadSample, BatchWait, Bottleneck, Bucketing, ColumnTransforms, DecoderStats, DeviceEpoch,
    DeviceLoader, DeviceLoaderBuilder, DeviceMemoryStats, Epoch, Forecast, ForecastOptions,
    IdleStats, Loader, LoaderBuilder, Numbers, OnBad, PackStats, Packing, Residency, ResidentSize,
    RingStats, RowTransforms, SampledTime, StageStats, Stats, StreamEpoch, StreamLoader,
    StreamLoaderBuilder, TooLong, Warning, Weights,
};
#[doc(inline)]
pub use tarflume_annotations::boxes::{AnyBoxFormat, BoxFormat, RotatedFormat, UnknownFormat};
#[doc(inline)]
pub use tarflume_dataset::{
    ArrayBatch, ArrayBatches, ArrayDataset, ArrayOrder, ArrayPlace, CacheStats, Cost, Dataset,
    DatasetSample, DecodeRows, Exclude, Excluded, FetchStats, Identity, KeySet, MemorySource, Open,
    Price, Readahead, Refusal, RowBlocks, RowView, SampleBytes, SampleFacts, SamplePart,
    SampleTable, Samples, Shard, Shards, Source, SourceKind, Stream, StreamSample, StreamStats,
    Subset, TableBatch, TableColumn, TableValues,
};
#[cfg(feature = "remote")]
#[doc(inline)]
pub use tarflume_dataset::{Storage, Warmed, warm_cache};
#[doc(inline)]
pub use tarflume_device::batch::{Batch, Column, Padded, PaddedPictures, RowFacts, RowState};
#[doc(inline)]
pub use tarflume_device::range::tell_profilers_by;
#[doc(inline)]
pub use tarflume_device::upload::batch::{DeviceBatch, DeviceColumn};
#[doc(inline)]
pub use tarflume_device::{Device, DeviceStream, Libraries};
pub use tarflume_formats::Access;
pub use tarflume_formats::index::{ColumnSpec, ValueType};
pub use tarflume_formats::json::JsonRules;
pub use tarflume_formats::{ClassTable, KeypointTable, ObjectTable};
#[doc(inline)]
pub use tarflume_image::{
    Area, Channels, Cut, Extent, Filter, ImageSize, Layout, Normalize, Placement, Random,
    Transform, TransformFn, transform_fn,
};
pub use tarflume_order::{
    Fingerprint, Ledger, LoaderState, Order, Remainder, SameBucket, Shuffle, Split,
};
#[doc(inline)]
pub use tarflume_transforms as transforms;
#[doc(inline)]
pub use tarflume_transforms::placing::{
    AspectBuckets, CenterCrop, RandomResizedCrop, Resize, ResizeCenterCrop, Whole,
};
#[doc(inline)]
pub use tarflume_types::{
    DType, Element, Error, ErrorKind, PackedRows, PaddedRows, PictureShape, Place, Result, Row,
    RowShape, Size,
};

/// The examples of the README, as tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
