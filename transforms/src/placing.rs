//! Placements of pictures: the crops and sizes that a decoder takes part in. Each is one [`Placement`].
//!
//! [`Placement`]: tarflume_image::Placement

pub(crate) mod aspect_buckets;
pub(crate) mod fixed_crop;
pub(crate) mod random_crop;

pub use self::aspect_buckets::AspectBuckets;
pub use self::fixed_crop::{CenterCrop, Resize, ResizeCenterCrop, Whole};
pub use self::random_crop::RandomResizedCrop;
